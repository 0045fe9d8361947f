//! Worked examples to the kopeck, and properties of every shift.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const ANNA: i64 = 7;

fn shift(id: i64, seconds: i64, roubles: i64) -> ShiftFacts {
    ShiftFacts {
        shift_id: id,
        user_id: ANNA,
        day: "2026-01-15".into(),
        worked_seconds: seconds,
        rate: Money::from_roubles(roubles),
        lateness: None,
        mandatory_task_penalty: Money::from_roubles(50),
        paid_time: PaidTime::default(),
    }
}

fn task(task_id: i64, kopecks: i64, is_mandatory: bool, is_done: bool) -> TaskFacts {
    TaskFacts { task_id, text: format!("task {task_id}"), amount: Money::from_kopecks(kopecks), is_mandatory, is_done }
}

fn amounts(rows: &[NewAdjustment]) -> Vec<(Kind, i64)> {
    rows.iter().map(|row| (row.kind, row.amount.kopecks())).collect()
}

fn total(rows: &[NewAdjustment]) -> i64 {
    rows.iter().map(|row| row.amount).sum::<Money>().kopecks()
}

#[test]
fn shift_352_is_late_by_ten_minutes_and_has_both_tasks_done() {
    let planned_start = Millis(1_768_467_600_000);
    let lateness = LatenessFacts {
        planned_start,
        actual_start: Millis(planned_start.0 + 15 * MINUTE_MS),
        threshold_minutes: 5,
        penalty_per_minute: Money::from_roubles(10),
    };
    let shift = ShiftFacts { lateness: Some(lateness), ..shift(352, 252, 111) };
    let rows = adjustments_of(&shift, &[task(1, 12_300, true, true), task(2, 0, false, true)]);
    assert_eq!(amounts(&rows), [(Kind::ShiftBase, 777), (Kind::LateStart, -10_000), (Kind::TaskBonus, 12_300)]);
    assert_eq!(total(&rows), 3077);
}

#[test]
fn shift_364_has_the_bonus_task_done_only() {
    let rows = adjustments_of(&shift(364, 360, 99), &[task(1, -3300, true, false), task(2, 10_000, false, true)]);
    assert_eq!(amounts(&rows), [(Kind::ShiftBase, 990), (Kind::TaskPenalty, -3300), (Kind::TaskBonus, 10_000)]);
    assert_eq!(total(&rows), 7690);
}

#[test]
fn shift_365_has_the_penalty_task_done_only() {
    let rows = adjustments_of(&shift(365, 36, 44), &[task(1, -4400, true, true), task(2, 10_000, false, false)]);
    assert_eq!(amounts(&rows), [(Kind::ShiftBase, 44), (Kind::TaskCompleted, 0)]);
    assert_eq!(total(&rows), 44);
}

fn paid_time(unpaid_seconds: i64, step: &str, direction: &str) -> PaidTime {
    let unpaid_start = Some(UnpaidStart { seconds: unpaid_seconds, planned_clock: "08:00".into() });
    let rounding = Rounding { step: step.parse().unwrap(), direction: direction.parse().unwrap() };
    PaidTime { unpaid_start: unpaid_start.filter(|start| start.seconds > 0), rounding }
}

#[test]
fn an_early_start_is_unpaid_and_the_rest_is_rounded() {
    // Opened 20 minutes early, worked 8:27:00: 8:07:00 from the planned start, 8:00:00 in quarters.
    let facts = ShiftFacts { paid_time: paid_time(20 * 60, "15", "down"), ..shift(1, 8 * 3600 + 27 * 60, 100) };
    let rows = adjustments_of(&facts, &[]);
    assert_eq!(amounts(&rows), [(Kind::ShiftBase, 80_000)]);
    let rounded = Some(RoundedTime { exact_seconds: 8 * 3600 + 7 * 60, step_minutes: 15 });
    let (hours, rate) = (PaidHours::from_hundredths(800), Money::from_roubles(100));
    let expected = Basis::Hours { seconds: 8 * 3600, hours, rate, paid_from: Some("08:00".into()), rounded };
    assert_eq!(rows[0].basis, expected);
}

#[test]
fn a_shift_that_ended_before_its_planned_start_pays_nothing() {
    let facts = ShiftFacts { paid_time: paid_time(3600, "none", "down"), ..shift(1, 600, 100) };
    assert_eq!(amounts(&adjustments_of(&facts, &[])), [(Kind::ShiftBase, 0)]);
}

#[test]
fn a_mandatory_task_without_a_price_costs_the_setting() {
    let fifty = Money::from_roubles(50);
    assert_eq!(task_row(&task(1, 0, true, true), fifty), Some((Kind::TaskCompleted, Money::ZERO)));
    assert_eq!(task_row(&task(1, 0, true, false), fifty), Some((Kind::TaskPenalty, -fifty)));
    assert_eq!(task_row(&task(1, 0, true, false), -fifty), Some((Kind::TaskPenalty, -fifty)));
    assert_eq!(task_row(&task(1, 0, false, false), fifty), None);
}

#[test]
fn lateness_counts_whole_minutes_past_the_threshold_only() {
    let late = |seconds: i64, threshold_minutes: i64| {
        minutes_late(&LatenessFacts {
            planned_start: Millis(0),
            actual_start: Millis(seconds * 1000),
            threshold_minutes,
            penalty_per_minute: Money::from_roubles(1),
        })
    };
    assert_eq!((late(-600, 0), late(59, 0), late(60, 0), late(359, 5), late(360, 5)), (0, 0, 1, 0, 1));
}

#[test]
fn the_rate_comes_from_contract_then_slot_then_site() {
    let (one, two, three) = (Money::from_roubles(1), Money::from_roubles(2), Money::from_roubles(3));
    assert_eq!(rate_of(Some(one), Some(two), three), one);
    assert_eq!(rate_of(None, Some(two), three), two);
    assert_eq!(rate_of(None, None, three), three);
}

#[test]
fn a_master_shares_by_the_net_amount() {
    let share = |total, materials, has_review, is_out_of_town| {
        let order = OrderFacts {
            total: Money::from_kopecks(total),
            materials: Money::from_kopecks(materials),
            has_review,
            is_out_of_town,
        };
        order_share(&order, &Shares::default()).map(|(share, _)| share.kopecks())
    };
    assert_eq!(share(1_000_000, 200_000, false, false), Ok(400_000));
    assert_eq!(share(1_000_000, 200_000, true, false), Ok(480_000));
    assert_eq!(share(1_000_000, 200_000, true, true), Ok(560_000));
    assert_eq!(share(500_000, 0, false, false), Ok(200_000));
    assert_eq!(share(700_000, 0, false, false), Ok(350_000));
    assert_eq!(share(699_999, 0, false, false), Ok(280_000));
    assert_eq!(share(100, 101, false, false), Err(MaterialsExceedTotal));
}

fn any_task() -> impl Strategy<Value = (i64, bool, bool)> {
    (prop_oneof![Just(0), -500_000_i64..500_000], any::<bool>(), any::<bool>())
}

fn any_shift() -> impl Strategy<Value = (ShiftFacts, Vec<TaskFacts>)> {
    let lateness = proptest::option::of((-7200_i64..7200, 0_i64..60, -10_000_i64..10_000));
    let facts = (0_i64..100_000, 0_i64..1_000_000, lateness, 0_i64..100_000);
    (facts, proptest::collection::vec(any_task(), 0..12)).prop_map(|((seconds, rate, late, penalty), tasks)| {
        let lateness = late.map(|(late_seconds, threshold_minutes, price)| LatenessFacts {
            planned_start: Millis(0),
            actual_start: Millis(late_seconds * 1000),
            threshold_minutes,
            penalty_per_minute: Money::from_kopecks(price),
        });
        let rate = Money::from_kopecks(rate);
        let mandatory_task_penalty = Money::from_kopecks(penalty);
        let facts = ShiftFacts { rate, lateness, mandatory_task_penalty, ..shift(1, seconds, 0) };
        let tasks = (1..).zip(tasks).map(|(id, (amount, mandatory, done))| task(id, amount, mandatory, done));
        (facts, tasks.collect())
    })
}

/// The exact value of an adjustment in hundredths of a kopeck, calculated independently with integers.
fn exactly(facts: &ShiftFacts, tasks: &[TaskFacts], row: &NewAdjustment) -> i128 {
    let wide = |money: Money| i128::from(money.kopecks());
    let of_task = |id: i64| tasks.iter().find(|task| task.task_id == id);
    match (row.kind, row.source) {
        // Hours are paid in hundredths of 36 seconds, rounded half up.
        (Kind::ShiftBase, _) => i128::from((facts.worked_seconds + 18).div_euclid(36)) * wide(facts.rate),
        (Kind::LateStart, _) => facts.lateness.map_or(0, |late| {
            let late_ms = late.actual_start.0 - late.planned_start.0;
            let minutes = late_ms.div_euclid(60_000) - late.threshold_minutes;
            -i128::from(minutes) * wide(late.penalty_per_minute).abs() * 100
        }),
        (Kind::TaskBonus, Source::Task(_, id)) => of_task(id).map_or(0, |task| wide(task.amount) * 100),
        (Kind::TaskPenalty, Source::Task(_, id)) => of_task(id).map_or(0, |task| match wide(task.amount) {
            0 => -wide(facts.mandatory_task_penalty) * 100,
            amount => amount * 100,
        }),
        _ => 0,
    }
}

proptest! {
    /// The parts, calculated separately with integers, add up to the adjustments: nothing is rounded twice.
    #[test]
    fn the_total_is_the_sum_of_its_parts((facts, tasks) in any_shift()) {
        let rows = adjustments_of(&facts, &tasks);
        let hundredths = (i128::from(facts.worked_seconds) * 200 + 3600) / 7200;
        let base = (hundredths * i128::from(facts.rate.kopecks()) * 2 + 100) / 200;
        let late = facts.lateness.map_or(0, |late| -minutes_late(&late) * late.penalty_per_minute.kopecks().abs());
        let of_tasks: i64 = tasks.iter().map(|task| match (task.amount.kopecks(), task.is_done) {
            (amount, true) if amount > 0 => amount,
            (amount, false) if amount < 0 => amount,
            (0, false) if task.is_mandatory => -facts.mandatory_task_penalty.kopecks(),
            _ => 0,
        }).sum();
        prop_assert_eq!(i128::from(total(&rows)), base + i128::from(late + of_tasks));
    }

    /// Each adjustment is the exact value rounded to the kopeck, and the sum differs from the exact sum only by these
    /// roundings.
    #[test]
    fn amounts_do_not_drift(shifts in proptest::collection::vec(any_shift(), 1..40)) {
        let (mut rows, mut exact_hundredths, mut fractions) = (Vec::new(), 0_i128, 0_i128);
        for (facts, tasks) in &shifts {
            for row in adjustments_of(facts, tasks) {
                let exact = exactly(facts, tasks, &row);
                // Rounded half up. Only pay for hours has fractions, and it is never negative.
                let beyond = i128::from(row.amount.kopecks()) * 100 - exact;
                prop_assert!((-49..=50).contains(&beyond), "{row:?} is worth {exact} hundredths of a kopeck");
                prop_assert!(beyond == 0 || row.kind == Kind::ShiftBase, "{row:?}");
                exact_hundredths += exact;
                fractions += beyond;
                rows.push(row);
            }
        }
        let one_by_one: i128 = rows.iter().map(|row| i128::from(row.amount.kopecks())).sum();
        prop_assert_eq!(i128::from(total(&rows)), one_by_one);
        prop_assert_eq!(i128::from(total(&rows)) * 100, exact_hundredths + fractions);
        prop_assert!(fractions.abs() <= 50 * shifts.len() as i128);
    }

    /// A share is rounded to the nearest kopeck of its percentage of the net amount.
    #[test]
    fn a_share_is_rounded_once(net in 0_i64..100_000_000, materials in 0_i64..100_000_000, extras in any::<(bool, bool)>()) {
        let (has_review, is_out_of_town) = extras;
        let (total, materials) = (Money::from_kopecks(net + materials), Money::from_kopecks(materials));
        let order = OrderFacts { total, materials, has_review, is_out_of_town };
        let (share, _) = order_share(&order, &Shares::default()).unwrap();
        let own = if net >= 700_000 { 50 } else { 40 };
        let percent = own + 10 * (i64::from(has_review) + i64::from(is_out_of_town));
        let beyond = share.kopecks() * 100 - net * percent;
        prop_assert!((-49..=50).contains(&beyond), "{share} of {net} kopecks at {percent} %");
    }

    #[test]
    fn the_order_of_marking_does_not_matter((facts, tasks) in any_shift(), seed in any::<u64>()) {
        let mut shuffled = tasks.clone();
        shuffled.sort_by_key(|task| (seed ^ task.task_id.unsigned_abs()).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        prop_assert_eq!(adjustments_of(&facts, &tasks), adjustments_of(&facts, &shuffled));
    }

    #[test]
    fn no_sign_flips((facts, tasks) in any_shift()) {
        let rows = adjustments_of(&facts, &tasks);
        for row in &rows {
            prop_assert!(row.kind.fits(row.amount), "{row:?}");
            if let Basis::Task { price, .. } = &row.basis {
                prop_assert!(row.amount == Money::ZERO || *price == Money::ZERO || row.amount == *price, "{row:?}");
            }
        }
    }

    /// Sources are unique: a task has one adjustment, and the shift one of each kind.
    #[test]
    fn nothing_is_paid_or_fined_twice((facts, tasks) in any_shift()) {
        let rows = adjustments_of(&facts, &tasks);
        let kinds: HashSet<_> = rows.iter().map(|row| (row.kind, row.source)).collect();
        prop_assert_eq!(kinds.len(), rows.len());
        let of_tasks: Vec<_> = rows.iter().map(|row| row.source).filter(|one| *one != Source::Shift(1)).collect();
        prop_assert_eq!(of_tasks.iter().collect::<HashSet<_>>().len(), of_tasks.len());
    }

    #[test]
    fn formatted_amounts_parse_back(kopecks in -99_999_999_999_i64..99_999_999_999) {
        let amount = Money::from_kopecks(kopecks);
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        let shown = amount.shown(crate::texts::Language::Ru).replace('₽', "");
        prop_assert_eq!(shown.parse(), Ok(amount));
    }
}
