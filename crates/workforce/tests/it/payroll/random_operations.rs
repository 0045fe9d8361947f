//! Random operations on pay in random order: the sums agree with their rows, and closed months stay.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use opora::clock::Millis;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sea_orm::{ConnectionTrait, Statement};
use tokio::runtime::Runtime;
use workforce::money::{Money, PayrollMonth};
use workforce::payroll::{ActionError, Adjustment, NO_ENTRY, Payroll, ShiftFacts, adjustments_of};
use workforce::person::Role;
use workforce::shifts::{self, ClosedBy, ShiftEnd, ShiftStart, Shifts};
use workforce::sites::AboutTask;

use super::{PayrollFixture, roubles, shift_352};
use crate::kit::firm::{NOON, StorageKind};
use crate::shifts::{Workplace, person};

/// Each case has its own database. Creating one on a server takes longer.
const CASES: u32 = 12;
const CASES_ON_POSTGRES: u32 = 4;
/// Three past months and the current one.
const MONTHS: [&str; 4] = ["2025-10", "2025-11", "2025-12", "2026-01"];

/// Hours and total by month and person.
type Sums = BTreeMap<(String, i64), (i64, i64)>;

/// An operation on pay. `which` and `month` select from what exists.
#[derive(Clone, Debug)]
enum Action {
    Post { shift: i64, month: usize, seconds: i64, task_kopecks: i64 },
    Add { month: usize, is_vera: bool, kopecks: i64 },
    Change { which: usize, kopecks: i64 },
    Remove { which: usize },
    Restore { which: usize },
    Pay { month: usize, is_vera: bool, kopecks: i64 },
    Close { month: usize },
    Reopen { month: usize },
}

fn any_action() -> impl Strategy<Value = Action> {
    let (month, which) = (0_usize..4, 0_usize..20);
    let post = (1_i64..7, month.clone(), 0_i64..50_000, -20_000_i64..20_000);
    prop_oneof![
        3 => post.prop_map(|(shift, month, seconds, task_kopecks)| Action::Post { shift, month, seconds, task_kopecks }),
        4 => (month.clone(), any::<bool>(), -90_000_i64..90_000)
            .prop_map(|(month, is_vera, kopecks)| Action::Add { month, is_vera, kopecks }),
        3 => (which.clone(), -90_000_i64..90_000).prop_map(|(which, kopecks)| Action::Change { which, kopecks }),
        2 => which.clone().prop_map(|which| Action::Remove { which }),
        2 => which.prop_map(|which| Action::Restore { which }),
        2 => (month.clone(), any::<bool>(), 1_i64..90_000)
            .prop_map(|(month, is_vera, kopecks)| Action::Pay { month, is_vera, kopecks }),
        2 => month.clone().prop_map(|month| Action::Close { month }),
        1 => month.prop_map(|month| Action::Reopen { month }),
    ]
}

/// Runs tests of many cases on both databases.
macro_rules! on_both {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[test]
            fn $test() {
                super::$test(crate::kit::firm::StorageKind::Sqlite, super::CASES);
            })*
        }
        mod postgres {
            $(#[test]
            fn $test() {
                super::$test(crate::kit::firm::StorageKind::Postgres, super::CASES_ON_POSTGRES);
            })*
        }
    };
}

on_both! {
    sums_agree_with_their_rows,
    pay_follows_from_the_final_marks,
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() })
}

fn sums_agree_with_their_rows(kind: StorageKind, cases: u32) {
    let runtime = Runtime::new().unwrap();
    let played = runner(cases).run(&proptest::collection::vec(any_action(), 1..40), |actions| {
        runtime.block_on(check_sums(kind, actions));
        Ok(())
    });
    played.unwrap();
}

fn pay_follows_from_the_final_marks(kind: StorageKind, cases: u32) {
    let runtime = Runtime::new().unwrap();
    let tasks = proptest::collection::vec((-20_000_i64..20_000, any::<bool>()), 1..6);
    let marks = proptest::collection::vec((0_usize..6, any::<bool>()), 0..30);
    let worked = runner(cases).run(&(tasks, marks, 1_i64..50_000), |(tasks, marks, seconds)| {
        runtime.block_on(check_shift_pay(kind, tasks, marks, seconds));
        Ok(())
    });
    worked.unwrap();
}

async fn check_sums(kind: StorageKind, actions: Vec<Action>) {
    let fixture = PayrollFixture::open(kind).await;
    let zoe = fixture.firm.member("Zoe", &[Role::Employee]).await.key().user;
    let zoe = fixture.firm.app.people.by_telegram(zoe).await.unwrap().unwrap().id;
    let mut closed = Sums::new();
    for action in actions {
        let done = apply(&fixture, zoe, &action).await;
        assert!(!matches!(done, Err(ActionError::Failed(_) | ActionError::Repeated)), "{action:?}: {done:?}");
        let (rows, sums) = (sums_of_rows(&fixture).await, sums_of_entries(&fixture).await);
        for key in rows.keys().chain(sums.keys()) {
            let (of_rows, of_sums) = (rows.get(key).copied(), sums.get(key).copied());
            assert_eq!(of_rows.unwrap_or_default(), of_sums.unwrap_or_default(), "{key:?} after {action:?}");
        }
        assert_eq!(sums_of_payments(&fixture).await, sums_of_paid(&fixture).await, "after {action:?}");
        assert!(closed.iter().all(|(key, stood)| sums[key] == *stood), "a closed month has changed: {action:?}");
        match (&action, done) {
            (Action::Close { month }, Ok(())) => {
                closed.extend(sums.into_iter().filter(|((period, _), _)| period == MONTHS[*month]));
            }
            (Action::Reopen { month }, Ok(())) => closed.retain(|(period, _), _| period != MONTHS[*month]),
            _ => {}
        }
    }
}

async fn apply(fixture: &PayrollFixture, zoe: i64, action: &Action) -> Result<(), ActionError> {
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    match *action {
        Action::Post { shift, month, seconds, task_kopecks } => {
            let (facts, mut tasks) =
                shift_352(if shift % 2 == 0 { vera } else { zoe }, &format!("{}-15", MONTHS[month]));
            tasks[0].amount = Money::from_kopecks(task_kopecks);
            let rows = adjustments_of(&ShiftFacts { shift_id: shift, worked_seconds: seconds, ..facts }, &tasks);
            Ok(fixture.firm.app.domain.write(move |db| Box::pin(Payroll::post(db, rows, NOON))).await?)
        }
        Action::Add { month, is_vera, kopecks } => {
            let day: NaiveDate = format!("{}-15", MONTHS[month]).parse().unwrap();
            let user = if is_vera { vera } else { zoe };
            payroll.add_manual(owner, user, day, Money::from_kopecks(kopecks), "A happy client").await.map(drop)
        }
        Action::Change { which, kopecks } => match any_line(fixture, zoe, which).await {
            Some(line) => {
                let amount = Money::from_kopecks(kopecks);
                payroll.change(owner, line.id, line.version, amount, "Not so much").await?;
                // With its corrections the amount is what was written last, whether its month was closed or not.
                let now = payroll.adjustment(line.id).await?.unwrap();
                assert_eq!(now.corrected.unwrap_or(now.amount), amount);
                Ok(())
            }
            None => Ok(()),
        },
        Action::Remove { which } => match any_line(fixture, zoe, which).await {
            Some(line) => payroll.remove(owner, line.id, line.version, "A mistake").await,
            None => Ok(()),
        },
        Action::Restore { which } => match any_line(fixture, zoe, which).await {
            Some(line) => payroll.restore(owner, line.id).await,
            None => Ok(()),
        },
        Action::Pay { month, is_vera, kopecks } => {
            let (period, user) = (MONTHS[month].parse().unwrap(), if is_vera { vera } else { zoe });
            let version = payroll.entry_of(user, period).await?.map_or(NO_ENTRY, |entry| entry.version);
            payroll.mark_paid(owner, period, user, Money::from_kopecks(kopecks), version, true).await.map(drop)
        }
        Action::Close { month } => payroll.close_period(owner, MONTHS[month].parse().unwrap()).await,
        Action::Reopen { month } => payroll.reopen_period(owner, MONTHS[month].parse().unwrap(), "A mistake").await,
    }
}

/// A pay line, manual or not, removed or not.
async fn any_line(fixture: &PayrollFixture, zoe: i64, which: usize) -> Option<Adjustment> {
    let mut lines = Vec::new();
    for month in MONTHS {
        for user in [fixture.vera.id, zoe] {
            let period: PayrollMonth = month.parse().unwrap();
            lines.extend(fixture.payroll().of_person(user, period).await.unwrap().lines);
        }
    }
    let at = which.checked_rem(lines.len())?;
    Some(lines.swap_remove(at))
}

async fn sums_of_rows(fixture: &PayrollFixture) -> Sums {
    sums(
        fixture,
        "SELECT period, user_id, CAST(SUM(hours_hundredths) AS BIGINT), CAST(SUM(amount_kopecks) AS BIGINT) FROM adjustments
        WHERE deleted_at IS NULL GROUP BY period, user_id",
    )
    .await
}

async fn sums_of_entries(fixture: &PayrollFixture) -> Sums {
    sums(fixture, "SELECT period, user_id, hours_hundredths, total_kopecks FROM payroll_entries").await
}

/// Payments by month and person, from the payments themselves.
async fn sums_of_payments(fixture: &PayrollFixture) -> Sums {
    sums(
        fixture,
        "SELECT period, user_id, CAST(1 AS BIGINT), CAST(SUM(amount_kopecks) AS BIGINT) FROM payments GROUP BY period, user_id",
    )
    .await
}

async fn sums_of_paid(fixture: &PayrollFixture) -> Sums {
    sums(
        fixture,
        "SELECT period, user_id, CAST(1 AS BIGINT), paid_kopecks FROM payroll_entries WHERE paid_kopecks <> 0",
    )
    .await
}

async fn sums(fixture: &PayrollFixture, sql: &str) -> Sums {
    let db = fixture.firm.app.domain.read();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    let number = |row: &sea_orm::QueryResult, at: usize| row.try_get_by_index::<i64>(at).unwrap();
    let sum = |row: &sea_orm::QueryResult| {
        let key = (row.try_get_by_index::<String>(0).unwrap(), number(row, 1));
        (key, (number(row, 2), number(row, 3)))
    };
    rows.iter().map(sum).collect()
}

/// Opens a shift, marks and unmarks tasks, and closes it. Only the final marks decide what is posted.
async fn check_shift_pay(kind: StorageKind, tasks: Vec<(i64, bool)>, marks: Vec<(usize, bool)>, seconds: i64) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 36_000).await;
    for (number, (amount_kopecks, is_mandatory)) in tasks.iter().enumerate() {
        let about = AboutTask {
            text: format!("Task {number}"),
            amount_kopecks: *amount_kopecks,
            is_mandatory: *is_mandatory,
            needs_media: false,
        };
        workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    }
    let vera = workplace.worker("Vera", &[site], |about| about.allows_spontaneous = true).await;
    let (user_id, domain) = (person(&workplace.firm, &vera).await.id, &workplace.firm.app.domain);
    let start = ShiftStart { user_id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
    let shift_id = domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    let room = Shifts::of_app(&workplace.firm.app);
    let ids: Vec<i64> = room.tasks(&[shift_id]).await.unwrap().iter().map(|task| task.id).collect();
    let mut is_done = vec![false; ids.len()];
    for (at, mark) in marks {
        let (at, id) = (at % ids.len(), ids[at % ids.len()]);
        let marked = domain.write(move |db| {
            Box::pin(async move {
                if mark { shifts::mark(db, user_id, id, NOON).await } else { shifts::unmark(db, user_id, id).await }
            })
        });
        marked.await.unwrap();
        is_done[at] = mark;
    }
    let penalty = roubles(50);
    let ended_at = Millis(NOON.0 + seconds * 1000);
    let (closed_by, mandatory_task_penalty) = (ClosedBy::Person, penalty);
    let end =
        ShiftEnd { shift_id, version: None, position: None, closed_by, ended_at, mandatory_task_penalty, at: ended_at };
    domain.write(move |db| Box::pin(shifts::close(db, end))).await.unwrap();

    let of_tasks = tasks.iter().zip(&is_done).map(|((kopecks, is_mandatory), is_done)| match (*kopecks, is_done) {
        (bonus, true) if bonus > 0 => bonus,
        (fine, false) if fine < 0 => fine,
        (0, false) if *is_mandatory => -penalty.kopecks(),
        _ => 0,
    });
    // An hour is 360 roubles, so a hundredth of an hour is 360 kopecks.
    let hundredths = (seconds * 2 + 36) / 72;
    let expected = hundredths * 360 + of_tasks.sum::<i64>();
    let posted: i64 = workplace.adjustments().await.iter().map(|(_, kopecks)| kopecks).sum();
    assert_eq!(posted, expected, "{tasks:?}, done: {is_done:?}");
    let sums = workplace.rows("SELECT hours_hundredths, total_kopecks FROM payroll_entries").await;
    assert_eq!(sums, [[hundredths.to_string(), expected.to_string()]]);
}
