//! Six weeks of history and ten days of plans, by the clock of the sites.
//!
//! What happens on a day depends on its date only, so the same day looks the same whenever the demo is started. Today
//! stays free for the visitor: one person is at work, and the others can open a shift at once.

use chrono::{Datelike, NaiveDate, TimeDelta, Weekday};
use chrono_tz::Europe::Moscow;
use fastrand::Rng;
use opora::clock::Millis;
use opora::store::WriteError;

use super::work::{close, localized, open_shift};
use crate::application::App;
use crate::domain::Transaction;
use crate::shifts::{self, CancellationDetails, ClosedBy, Judgement, Proof, Reason, Shifts, tasks_of};
use crate::sites::{self, AboutSlot, ChangedBy, Hours, Slot, local};
use crate::texts::Language;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
const PAST_DAYS: i64 = 42;
const FUTURE_DAYS: i64 = 14;
const DAYS_PER_COMMIT: usize = 7;
/// Days ahead for which people have planned.
const PLANNED_DAYS: i64 = 10;
/// Days ahead on which a person has cancelled and waits for a decision.
const CANCELLED_AHEAD: [i64; 2] = [3, 5];
/// The usual notice for a cancellation.
const NOTICE_HOURS: i64 = 24;

/// The ids of people and sites that the history is about.
#[derive(Clone, Copy, Debug)]
pub struct Team {
    pub owner: i64,
    pub first: i64,
    pub second: i64,
    pub master: i64,
    pub cafe: i64,
    pub store: i64,
}

/// What a person made of a planned shift in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Minutes after the start; negative before it.
    Worked {
        late_minutes: i64,
    },
    /// Worked, and forgot to close the shift.
    Forgot,
    Missed,
    Cancelled {
        hours_before: i64,
    },
}

/// A slot, and who usually works in it.
struct Shift {
    site: i64,
    about: AboutSlot,
    user: i64,
}

/// What the history is about, and when it is written.
#[derive(Clone, Debug)]
pub struct Story {
    pub team: Team,
    pub pictures: Vec<Proof>,
    pub language: Language,
    pub now: Millis,
}

/// Writes slots, plans, shifts and cancellations of all days, a week in a commit: on a busy machine the whole would
/// exceed the time that one commit may take.
pub async fn write(app: &App, story: &Story) -> anyhow::Result<()> {
    for first in (-PAST_DAYS..=FUTURE_DAYS).step_by(DAYS_PER_COMMIT) {
        let story = story.clone();
        app.domain.write(move |db| Box::pin(async move { write_week(db, &story, first).await })).await?;
    }
    Ok(())
}

async fn write_week(db: &Transaction<'_, '_>, story: &Story, first: i64) -> Result<(), WriteError> {
    let Story { team, ref pictures, language, now } = *story;
    let (today, by) = (local(now, Moscow).date(), ChangedBy { person: Some(team.owner), at: now });
    for ahead in (first..=FUTURE_DAYS).take(DAYS_PER_COMMIT) {
        let day = today + TimeDelta::days(ahead);
        let mut random = Rng::with_seed(u64::from(day.num_days_from_ce().unsigned_abs()));
        for (number, shift) in timetable(team, day).into_iter().enumerate() {
            let id = sites::create_slot(db, shift.site, shift.about, by).await?;
            let Some(slot) = sites::slot(db, id).await? else { continue };
            if slot.period.to.0 + HOUR_MS < now.0 {
                // The last days have no surprises: a no-show would be announced at the start.
                let outcome = if ahead < -2 { outcome(&mut random) } else { Outcome::Worked { late_minutes: 2 } };
                let picture = pictures.get(usize::from(shift.site == team.store));
                past(db, (shift.user, &slot), outcome, (picture, &mut random), language).await?;
                continue;
            }
            let is_cancelled = number == 0 && CANCELLED_AHEAD.contains(&ahead);
            let is_wanted = random.u32(..10) < 8 || is_cancelled;
            if (1..=PLANNED_DAYS).contains(&ahead) && is_wanted {
                let plan = shifts::plan(db, shift.user, id, Millis(now.0 - 2 * DAY_MS)).await?;
                if is_cancelled {
                    cancel(db, (shift.user, plan), &mut random, language, Millis(now.0 - HOUR_MS)).await?;
                }
            }
        }
    }
    Ok(())
}

/// The slots of a day. On Sundays no one wants the early one; the warehouse works at night on weekdays.
fn timetable(team: Team, day: NaiveDate) -> Vec<Shift> {
    let is_swapped = matches!(day.weekday(), Weekday::Mon | Weekday::Tue);
    let (morning, evening) = if is_swapped { (team.first, team.second) } else { (team.second, team.first) };
    let early = AboutSlot { capacity: 2, ..AboutSlot::usual(day, Hours::new(8 * 60, 15 * 60)) };
    let late = AboutSlot { rate_kopecks: Some(31_000), ..AboutSlot::usual(day, Hours::new(15 * 60, 22 * 60)) };
    let mut shifts = vec![
        Shift { site: team.cafe, about: early, user: morning },
        Shift { site: team.cafe, about: late, user: evening },
    ];
    if day.weekday().number_from_monday() <= 5 {
        let about = AboutSlot::usual(day, Hours::new(22 * 60, 6 * 60));
        shifts.push(Shift { site: team.store, about, user: team.master });
    }
    shifts
}

fn outcome(random: &mut Rng) -> Outcome {
    match random.u32(..100) {
        0..68 => Outcome::Worked { late_minutes: random.i64(-6..5) },
        68..84 => Outcome::Worked { late_minutes: random.i64(7..25) },
        84..88 => Outcome::Forgot,
        88..93 => Outcome::Missed,
        _ => Outcome::Cancelled { hours_before: if random.bool() { 40 } else { 6 } },
    }
}

async fn past(
    db: &Transaction<'_, '_>,
    (user, slot): (i64, &Slot),
    outcome: Outcome,
    (picture, random): (Option<&Proof>, &mut Rng),
    language: Language,
) -> Result<(), WriteError> {
    let plan = shifts::plan(db, user, slot.id, Millis(slot.period.from.0 - 3 * DAY_MS)).await?;
    let (late_minutes, closed_by) = match outcome {
        Outcome::Worked { late_minutes } => (late_minutes, ClosedBy::Person),
        Outcome::Forgot => (1, ClosedBy::Time),
        Outcome::Missed => return Ok(()),
        Outcome::Cancelled { hours_before } => {
            let at = Millis(slot.period.from.0 - hours_before * HOUR_MS);
            return cancel(db, (user, plan), random, language, at).await;
        }
    };
    let start = Millis(slot.period.from.0 + late_minutes * MINUTE_MS);
    let id = open_shift(db, user, slot.site_id, Some(plan), start).await?;
    for task in tasks_of(db, id).await? {
        let at = Millis(start.0 + random.i64(30..300) * MINUTE_MS);
        match picture.filter(|_| task.needs_media) {
            _ if random.u32(..10) < 2 => {}
            Some(picture) => shifts::attach(db, user, task.id, (picture.clone(), false), at).await?,
            None if task.needs_media => {}
            None => shifts::mark(db, user, task.id, at).await?,
        }
    }
    let ended_at = Millis(slot.period.to.0 + random.i64(0..9) * MINUTE_MS);
    close(db, (id, closed_by), ended_at).await
}

async fn cancel(
    db: &Transaction<'_, '_>,
    (user, plan): (i64, i64),
    random: &mut Rng,
    language: Language,
    at: Millis,
) -> Result<(), WriteError> {
    let (reason, words) = match random.u32(..3) {
        0 => (Reason::Illness, None),
        1 => (Reason::Family, Some(localized(language, "Ребёнок заболел, не с кем оставить.", "My child is ill."))),
        _ => (Reason::Other, Some(localized(language, "Экзамен в техникуме.", "I have an exam that day."))),
    };
    let details = CancellationDetails { reason, words, document: None, photo: None };
    // The name is for the notice of the judges, and here no one judges yet.
    shifts::cancel(db, plan, (user, String::new()), details, NOTICE_HOURS, Vec::new(), at).await
}

/// Decides on the cancellations of the past: every third reason is rejected. Those to come wait.
pub async fn judge(app: &App, team: Team) -> anyhow::Result<()> {
    let (room, now) = (Shifts::of_app(app), app.clock.now());
    let fines = room.fines().await?;
    let waiting = room.cancellations(&[team.cafe, team.store]).await?;
    let past: Vec<_> = waiting.into_iter().filter(|(_, plan)| plan.period.from < now).collect();
    let judged = app.domain.write(move |db| {
        Box::pin(async move {
            for (number, (cancellation, plan)) in past.into_iter().enumerate() {
                let by = ChangedBy { person: Some(team.owner), at: plan.period.from };
                let judgement = Judgement { is_accepted: number % 3 != 0, seen_fine: None };
                shifts::judge(db, cancellation.id, judgement, fines, by).await?;
            }
            Ok(())
        })
    });
    Ok(judged.await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: Team = Team { owner: 1, first: 5, second: 6, master: 4, cafe: 1, store: 2 };

    #[test]
    fn nobody_has_two_slots_at_once() {
        let monday: NaiveDate = "2026-01-05".parse().unwrap();
        for ahead in 0..7 {
            let day = timetable(TEAM, monday + TimeDelta::days(ahead));
            let mut users: Vec<_> = day.iter().map(|shift| shift.user).collect();
            users.sort_unstable();
            users.dedup();
            assert_eq!(users.len(), day.len());
        }
    }

    #[test]
    fn six_weeks_have_all_kinds_of_outcomes() {
        let all: Vec<_> = (1..=42).map(|seed| outcome(&mut Rng::with_seed(seed))).collect();
        let has = |fits: fn(&Outcome) -> bool| assert!(all.iter().any(fits), "{all:?}");
        has(|one| matches!(one, Outcome::Worked { late_minutes } if *late_minutes <= 0));
        has(|one| matches!(one, Outcome::Worked { late_minutes } if *late_minutes > 5));
        has(|one| matches!(one, Outcome::Missed));
        has(|one| matches!(one, Outcome::Cancelled { .. }));
    }
}
