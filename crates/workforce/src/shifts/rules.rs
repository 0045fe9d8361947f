//! Pure functions about shifts: when one should have ended, who is late, who is too far away.

use chrono::{Days, NaiveDate};
use opora::clock::Millis;

use super::records::{Plan, PlanStatus, Shift, ShiftTask};
use crate::money::{Money, PaidTimeRules, PayStart};
use crate::payroll::{self, LatenessFacts, NewAdjustment, PaidTime, ShiftFacts, TaskFacts, UnpaidStart};
use crate::sites::{AboutSite, LONGEST_DAY_MS, Period, Position, Site, local};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// The longest shift. A closing time farther away belongs to another day.
const MAX_SHIFT_HOURS: i64 = 16;
/// A longer working day gets a warning.
pub const LONG_DAY_MINUTES: i64 = 12 * 60;
/// How long before its start a planned shift may be opened. A setting says whether that time is paid.
pub const EARLY_START_MS: i64 = 2 * HOUR_MS;
/// How long a person who took a running slot has to arrive.
const ARRIVAL_MS: i64 = 15 * MINUTE_MS;
/// How far ahead people can plan.
const PLANNING_HORIZON_MS: i64 = 21 * 24 * HOUR_MS;

/// The settings that the pay of a shift depends on.
#[derive(Clone, Copy, Debug)]
pub struct PayRules {
    /// The penalty for an undone mandatory task without its own price.
    pub mandatory_task_penalty: Money,
    pub paid_time: PaidTimeRules,
}

/// When a forgotten shift ends, and when it may be closed automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// It is paid up to here.
    pub ends_at: Millis,
    pub due_at: Millis,
}

/// The end of the slot, else the closing time of the site, else some minutes after the start.
pub fn overdue(started_at: Millis, planned_end: Option<Millis>, site: &AboutSite) -> Overdue {
    let patience_ms = site.auto_close_minutes * MINUTE_MS;
    match planned_end.or_else(|| closing_after(started_at, site)) {
        Some(end) => {
            let ends_at = end.max(started_at);
            Overdue { ends_at, due_at: Millis(ends_at.0 + patience_ms) }
        }
        None => {
            let ends_at = Millis(started_at.0 + patience_ms);
            Overdue { ends_at, due_at: ends_at }
        }
    }
}

/// When an open site without shifts is closed automatically: some minutes after its hours. None for sites that are open
/// around the clock.
pub fn site_due(opened_at: Millis, site: &AboutSite) -> Option<Millis> {
    let hours = hours_around(opened_at, site)?;
    // A site that is opened long before its hours was opened after those of the day before.
    let is_for_them =
        hours.from.0 - opened_at.0 <= EARLY_START_MS || hours.to.0 - opened_at.0 <= MAX_SHIFT_HOURS * HOUR_MS;
    let end = if is_for_them { hours.to } else { opened_at };
    Some(Millis(end.0 + site.auto_close_minutes * MINUTE_MS))
}

/// The period in which slots start that people can plan. It includes slots that have started and not ended.
pub const fn plannable(now: Millis) -> Period {
    Period { from: Millis(now.0 - LONGEST_DAY_MS), to: Millis(now.0 + PLANNING_HORIZON_MS) }
}

/// The distance of a person who is too far away; None for a person who is near, or if the site has no position.
pub fn too_far(site: &AboutSite, position: Position) -> Option<i64> {
    let distance_m = site.position?.distance_m(position);
    (distance_m > site.max_distance_m).then_some(distance_m)
}

/// The minutes of work on the day of a period, including that period, by the site's clock.
pub fn minutes_of_day(of: Period, others: &[Period], site: &AboutSite) -> i64 {
    let day = local(of.from, site.time_zone).date();
    let same = others.iter().filter(|other| local(other.from, site.time_zone).date() == day);
    of.minutes() + same.map(|other| other.minutes()).sum::<i64>()
}

/// The day of a shift: that of its start, by the site's clock.
pub fn day_of(shift: &Shift, site: &AboutSite) -> NaiveDate {
    local(shift.started_at, site.time_zone).date()
}

/// Whole minutes past the threshold; zero if the person is not late or lateness does not count.
pub fn minutes_late(shift: &Shift) -> i64 {
    lateness(shift).map_or(0, |late| payroll::minutes_late(&late))
}

/// Whether the person should be at work and has not come. The forgiven minutes of the site have passed then; a person
/// who took the place after its start also gets the time to arrive.
pub fn is_missing(plan: &Plan, site: &AboutSite, now: Millis) -> bool {
    let expected_at = plan.expected_at();
    let forgiven_ms = site.late_threshold_minutes * MINUTE_MS;
    let grace_ms = if expected_at > plan.period.from { forgiven_ms.max(ARRIVAL_MS) } else { forgiven_ms };
    plan.status == PlanStatus::Planned && expected_at.0.saturating_add(grace_ms) < now.0
}

/// The adjustments of a shift that ends at `ended_at`.
pub fn shift_adjustments(
    shift: &Shift,
    tasks: &[ShiftTask],
    ended_at: Millis,
    site: &Site,
    rules: PayRules,
) -> Vec<NewAdjustment> {
    let facts = ShiftFacts {
        shift_id: shift.id,
        user_id: shift.user_id,
        day: day_of(shift, &site.about).to_string(),
        worked_seconds: (ended_at.0 - shift.started_at.0).max(0) / 1000,
        rate: Money::from_kopecks(shift.rate_kopecks),
        lateness: lateness(shift),
        mandatory_task_penalty: rules.mandatory_task_penalty,
        paid_time: paid_time(shift, &site.about, rules.paid_time),
    };
    let tasks: Vec<_> = tasks.iter().map(task_facts).collect();
    payroll::adjustments_of(&facts, &tasks)
}

/// Time before the planned start is unpaid if the setting says so. Lateness does not come into it: a late shift starts
/// after its planned start.
fn paid_time(shift: &Shift, site: &AboutSite, rules: PaidTimeRules) -> PaidTime {
    let planned_start = shift.planned.map(|planned| planned.from).filter(|_| rules.pay_start == PayStart::PlannedStart);
    let unpaid_start = planned_start.filter(|start| *start > shift.started_at).map(|start| UnpaidStart {
        seconds: (start.0 - shift.started_at.0) / 1000,
        planned_clock: local(start, site.time_zone).format("%H:%M").to_string(),
    });
    PaidTime { unpaid_start, rounding: rules.rounding }
}

fn lateness(shift: &Shift) -> Option<LatenessFacts> {
    let planned_start = shift.planned.filter(|_| shift.penalises_lateness)?.from;
    Some(LatenessFacts {
        planned_start,
        actual_start: shift.started_at,
        threshold_minutes: shift.late_threshold_minutes,
        penalty_per_minute: Money::from_kopecks(shift.late_minute_kopecks),
    })
}

pub(super) fn task_facts(task: &ShiftTask) -> TaskFacts {
    TaskFacts {
        task_id: task.id,
        text: task.text.clone(),
        amount: Money::from_kopecks(task.amount_kopecks),
        is_mandatory: task.is_mandatory,
        is_done: task.done_at.is_some(),
    }
}

/// The closing time after a start; None around the clock or if it is too far away.
fn closing_after(started_at: Millis, site: &AboutSite) -> Option<Millis> {
    let next = hours_around(started_at, site)?.to;
    (next.0 - started_at.0 <= MAX_SHIFT_HOURS * HOUR_MS).then_some(next)
}

/// The opening hours at an instant, or the next ones; None around the clock.
fn hours_around(at: Millis, site: &AboutSite) -> Option<Period> {
    let hours = site.closing_hours()?;
    let today = local(at, site.time_zone).date();
    // Yesterday's hours may continue into today.
    let days = [today.checked_sub_days(Days::new(1))?, today, today.checked_add_days(Days::new(1))?];
    let all = days.into_iter().filter_map(|day| hours.on(day, site.time_zone));
    all.filter(|hours| hours.to > at).min_by_key(|hours| hours.to)
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::{Berlin, Moscow};
    use chrono_tz::Tz;

    use super::*;
    use crate::sites::Hours;

    fn at(text: &str, zone: Tz) -> Millis {
        let local: chrono::NaiveDateTime = text.parse().unwrap();
        Millis(local.and_local_timezone(zone).unwrap().timestamp_millis())
    }

    fn site(zone: Tz, from: i64, to: i64) -> AboutSite {
        AboutSite { hours: Hours::new(from * 60, to * 60), ..AboutSite::usual(zone) }
    }

    fn ends(start: &str, site: &AboutSite) -> String {
        let overdue = overdue(at(start, site.time_zone), None, site);
        local(overdue.ends_at, site.time_zone).format("%d %H:%M").to_string()
    }

    #[test]
    fn a_person_who_takes_a_running_slot_is_missed_later() {
        let at = |minute: i64| Millis(minute * MINUTE_MS);
        let plan = |created_minute: i64| Plan {
            id: 1,
            user_id: 1,
            slot_id: 1,
            site_id: 1,
            period: Period { from: at(600), to: at(1000) },
            status: PlanStatus::Planned,
            created_at: at(created_minute),
            awaited_from: None,
            missed_at: None,
            version: 1,
        };
        let site = AboutSite { late_threshold_minutes: 5, ..AboutSite::usual(chrono_tz::Europe::Moscow) };
        let early = plan(0);
        assert_eq!([605, 606].map(|minute| is_missing(&early, &site, at(minute))), [false, true]);
        let late = plan(720);
        assert_eq!([721, 735, 736].map(|minute| is_missing(&late, &site, at(minute))), [false, false, true]);
        let working = Plan { status: PlanStatus::InProgress, ..early };
        assert!(!is_missing(&working, &site, at(900)));
    }

    #[test]
    fn a_planned_shift_ends_with_its_slot() {
        let shop = site(Moscow, 9, 18);
        let (start, end) = (at("2026-01-10T09:00:00", Moscow), at("2026-01-10T15:00:00", Moscow));
        let overdue = overdue(start, Some(end), &shop);
        assert_eq!(overdue, Overdue { ends_at: end, due_at: Millis(end.0 + 3_600_000) });
        // A person who came after the end is paid nothing.
        assert_eq!(super::overdue(Millis(end.0 + 5), Some(end), &shop).ends_at, Millis(end.0 + 5));
    }

    #[test]
    fn a_shift_without_a_plan_ends_at_closing_time() {
        assert_eq!(ends("2026-01-10T09:30:00", &site(Moscow, 9, 18)), "10 18:00");
        assert_eq!(ends("2026-01-10T08:30:00", &site(Moscow, 9, 18)), "10 18:00");
        let bar = site(Moscow, 20, 4);
        assert_eq!(ends("2026-01-10T21:00:00", &bar), "11 04:00");
        assert_eq!(ends("2026-01-11T01:00:00", &bar), "11 04:00");
        // The night on which clocks go forward.
        assert_eq!(ends("2026-03-28T23:00:00", &site(Berlin, 20, 4)), "29 04:00");
    }

    #[test]
    fn without_a_closing_time_a_shift_ends_some_minutes_later() {
        assert_eq!(ends("2026-01-10T13:00:00", &site(Moscow, 0, 0)), "10 14:00");
        // After closing, the next closing time is tomorrow's.
        assert_eq!(ends("2026-01-10T19:00:00", &site(Moscow, 9, 18)), "10 20:00");
    }

    #[test]
    fn an_open_site_is_due_some_minutes_after_its_hours() {
        let due = |opened: &str, site: &AboutSite| {
            let due = site_due(at(opened, site.time_zone), site);
            due.map(|due| local(due, site.time_zone).format("%d %H:%M").to_string())
        };
        let shop = site(Moscow, 9, 18);
        for opened in ["2026-01-10T08:00:00", "2026-01-10T09:00:00", "2026-01-10T17:59:00"] {
            assert_eq!(due(opened, &shop).as_deref(), Some("10 19:00"), "{opened}");
        }
        // A site that is opened after its hours is open for a while, not until tomorrow evening.
        assert_eq!(due("2026-01-10T18:30:00", &shop).as_deref(), Some("10 19:30"));
        assert_eq!(due("2026-01-11T01:00:00", &site(Moscow, 20, 4)).as_deref(), Some("11 05:00"));
        // Independent of the length of the hours.
        for opened in ["2026-01-10T04:00:00", "2026-01-10T05:00:00", "2026-01-10T22:00:00"] {
            assert_eq!(due(opened, &site(Moscow, 5, 23)).as_deref(), Some("11 00:00"), "{opened}");
        }
        assert_eq!(due("2026-01-10T13:00:00", &site(Moscow, 0, 0)), None);
    }

    #[test]
    fn too_far_is_beyond_the_allowed_distance() {
        let shop_position = Position { latitude: 55.75, longitude: 37.61 };
        let mut shop = AboutSite { position: Some(shop_position), ..site(Moscow, 9, 18) };
        let person_position = Position { latitude: 55.76, ..shop_position };
        assert_eq!(too_far(&shop, person_position), Some(1112));
        shop.max_distance_m = 1112;
        assert_eq!(too_far(&shop, person_position), None);
        assert_eq!(too_far(&site(Moscow, 9, 18), person_position), None);
    }

    #[test]
    fn minutes_of_a_day_follow_the_clock_of_the_site() {
        let shop = site(Moscow, 9, 18);
        let of = |from: &str, to: &str| Period { from: at(from, Moscow), to: at(to, Moscow) };
        let late = of("2026-01-10T22:00:00", "2026-01-11T06:00:00");
        let early = of("2026-01-10T08:00:00", "2026-01-10T13:00:00");
        let next = of("2026-01-11T08:00:00", "2026-01-11T13:00:00");
        assert_eq!(minutes_of_day(late, &[early, next], &shop), 13 * 60);
    }
}
