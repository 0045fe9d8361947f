//! What a shift and an order are worth: facts in, rows out.
//!
//! Pure: nothing here asks a database or a clock. Every amount is rounded once, and the rows of a shift do not depend on
//! the order in which its tasks were marked. That a task which needs a photo is not marked without one is the room of
//! shifts' to see to.

use opora::clock::Millis;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{Hours, Kind, Money};

#[cfg(test)]
mod tests;

const MINUTE_MS: i64 = 60_000;

/// What counts of a shift that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftFacts {
    pub shift_id: i64,
    pub user_id: i64,
    /// The day on which it began, by the clock of its site: `2026-01-31`.
    pub day: String,
    pub worked_seconds: i64,
    /// By the hour; see [`rate_of`].
    pub rate: Money,
    /// None for shifts without a plan, and where the slot does not penalise lateness.
    pub lateness: Option<LatenessFacts>,
    /// What a mandatory task without a price costs whoever leaves it undone: the setting, as it is now.
    pub mandatory_task_penalty: Money,
}

/// How a start is compared with its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatenessFacts {
    pub planned_start: Millis,
    pub actual_start: Millis,
    pub threshold_minutes: i64,
    /// A price: it is taken away, whichever sign it has.
    pub penalty_per_minute: Money,
}

/// What counts of a task of a shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFacts {
    /// Of the shift's own copy.
    pub task_id: i64,
    pub text: String,
    /// Positive for a bonus, negative for a penalty.
    pub amount: Money,
    pub is_mandatory: bool,
    pub is_done: bool,
}

/// What counts of an order that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderFacts {
    pub total: Money,
    pub materials: Money,
    pub has_review: bool,
    pub is_out_of_town: bool,
}

/// How masters share, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// From this net amount on, the larger share.
    pub large_from: Money,
    pub large: i64,
    pub small: i64,
    pub review: i64,
    pub out_of_town: i64,
}

/// An amount to be posted, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub user_id: i64,
    pub kind: Kind,
    pub source: Source,
    /// The day it belongs to, which says the period.
    pub day: String,
    pub amount: Money,
    pub basis: Basis,
}

/// What an amount comes of. No two rows of one kind come of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Shift(i64),
    /// A task of a shift: the shift, and the shift's own copy of the task.
    Task(i64, i64),
    /// A plan that was cancelled.
    Plan(i64),
    Order(i64),
}

/// How an amount came about; kept with it, so that it can be explained when prices have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Basis {
    Hours {
        seconds: i64,
        hours: Hours,
        rate: Money,
    },
    Lateness {
        minutes: i64,
        threshold_minutes: i64,
        penalty_per_minute: Money,
    },
    Task {
        text: String,
        price: Money,
        is_done: bool,
    },
    Order {
        total: Money,
        materials: Money,
        percent: i64,
    },
    Cancellation {
        /// Less than that was short notice.
        notice_hours: i64,
        /// How long before the start it was, rounded down; below zero after it.
        notice_minutes: i64,
    },
    /// Somebody wrote it; the reason says why.
    Hand,
}

/// More was spent on an order than it brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the materials cost more than the order brought")]
pub struct MaterialsExceedTotal;

impl Default for Shares {
    fn default() -> Self {
        Self { large_from: Money::from_roubles(7000), large: 50, small: 40, review: 10, out_of_town: 10 }
    }
}

/// The contract's own rate if it has one, else the slot's, else the site's.
pub fn rate_of(contract: Option<Money>, slot: Option<Money>, site: Money) -> Money {
    contract.or(slot).unwrap_or(site)
}

/// Every row of a shift that is over, tasks by their number.
pub fn adjustments_of(shift: &ShiftFacts, tasks: &[TaskFacts]) -> Vec<Row> {
    let source = Source::Shift(shift.shift_id);
    let row = |kind, source, amount, basis| {
        let (user_id, day) = (shift.user_id, shift.day.clone());
        Row { user_id, kind, source, day, amount, basis }
    };
    let (amount, basis) = shift_base(shift.worked_seconds, shift.rate);
    let mut rows = vec![row(Kind::ShiftBase, source, amount, basis)];
    if let Some((amount, basis)) = shift.lateness.as_ref().and_then(late_start) {
        rows.push(row(Kind::LateStart, source, amount, basis));
    }
    let mut tasks: Vec<_> = tasks.iter().collect();
    tasks.sort_by_key(|task| task.task_id);
    rows.extend(tasks.into_iter().filter_map(|task| {
        let (kind, amount) = task_row(task, shift.mandatory_task_penalty)?;
        let basis = Basis::Task { text: task.text.clone(), price: task.amount, is_done: task.is_done };
        Some(row(kind, Source::Task(shift.shift_id, task.task_id), amount, basis))
    }));
    rows
}

/// What the hours are worth.
fn shift_base(seconds: i64, rate: Money) -> (Money, Basis) {
    let hours = Hours::worked(seconds);
    (hours.at(rate), Basis::Hours { seconds, hours, rate })
}

/// What a late start takes away: nothing up to the threshold, then every whole minute.
fn late_start(late: &LatenessFacts) -> Option<(Money, Basis)> {
    let minutes = minutes_late(late);
    let amount = late.penalty_per_minute.taken_away().times(minutes);
    let LatenessFacts { threshold_minutes, penalty_per_minute, .. } = *late;
    amount.is_negative().then_some((amount, Basis::Lateness { minutes, threshold_minutes, penalty_per_minute }))
}

/// Whole minutes after the planned start and the threshold.
pub fn minutes_late(late: &LatenessFacts) -> i64 {
    let allowed = late.planned_start.0.saturating_add(late.threshold_minutes.saturating_mul(MINUTE_MS));
    (late.actual_start.0.saturating_sub(allowed) / MINUTE_MS).max(0)
}

/// The kind and amount of a task's row, if it makes one.
pub fn task_row(task: &TaskFacts, mandatory_task_penalty: Money) -> Option<(Kind, Money)> {
    let completed = Some((Kind::TaskCompleted, Money::ZERO));
    match (task.amount, task.is_done) {
        (amount, true) if amount.is_positive() => Some((Kind::TaskBonus, amount)),
        (amount, false) if amount.is_positive() => None,
        (amount, true) if amount.is_negative() => completed,
        (amount, false) if amount.is_negative() => Some((Kind::TaskPenalty, amount)),
        (_, _) if !task.is_mandatory => None,
        (_, true) => completed,
        (_, false) => Some((Kind::TaskPenalty, mandatory_task_penalty.taken_away())),
    }
}

/// The master's share of an order, and how it came about.
pub fn order_share(order: &OrderFacts, shares: &Shares) -> Result<(Money, Basis), MaterialsExceedTotal> {
    let OrderFacts { total, materials, .. } = *order;
    let net = total - materials;
    if net.is_negative() || materials.is_negative() {
        return Err(MaterialsExceedTotal);
    }
    let own = if net >= shares.large_from { shares.large } else { shares.small };
    let review = if order.has_review { shares.review } else { 0 };
    let out_of_town = if order.is_out_of_town { shares.out_of_town } else { 0 };
    let percent = own + review + out_of_town;
    let share = Money::rounded(net.decimal() * Decimal::new(percent, 2));
    Ok((share, Basis::Order { total, materials, percent }))
}
