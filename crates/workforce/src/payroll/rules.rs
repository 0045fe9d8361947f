//! What a shift or an order is worth: facts in, adjustments out.
//!
//! Pure functions without a database or a clock. Every amount is rounded once, and the order in which tasks were marked
//! does not matter. The room of shifts ensures that a task that needs a photo is not marked without one.

use opora::clock::Millis;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{Kind, Money, PaidHours, Rounding};

#[cfg(test)]
mod tests;

const MINUTE_MS: i64 = 60_000;

/// The facts of a finished shift that pay depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftFacts {
    pub shift_id: i64,
    pub user_id: i64,
    /// The day of the start, by the site's clock: `2026-01-31`.
    pub day: String,
    pub worked_seconds: i64,
    /// Per hour; see [`rate_of`].
    pub rate: Money,
    /// None without a plan, or if the slot does not penalise lateness.
    pub lateness: Option<LatenessFacts>,
    /// The penalty for an undone mandatory task without its own price: the current setting.
    pub mandatory_task_penalty: Money,
    pub paid_time: PaidTime,
}

/// Which part of the worked time is paid. By default all of it, to the second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaidTime {
    /// Time before the planned start, if that is not paid.
    pub unpaid_start: Option<UnpaidStart>,
    pub rounding: Rounding,
}

/// Time between an early opening and the planned start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpaidStart {
    pub seconds: i64,
    /// The planned start by the site's clock: `08:00`.
    pub planned_clock: String,
}

/// The start compared with its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatenessFacts {
    pub planned_start: Millis,
    pub actual_start: Millis,
    pub threshold_minutes: i64,
    /// A price; the sign is ignored.
    pub penalty_per_minute: Money,
}

/// The facts of a task that pay depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFacts {
    /// The id of the shift's copy of the task.
    pub task_id: i64,
    pub text: String,
    /// Positive for a bonus, negative for a penalty.
    pub amount: Money,
    pub is_mandatory: bool,
    pub is_done: bool,
}

/// The facts of a closed order that pay depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderFacts {
    pub total: Money,
    pub materials: Money,
    pub has_review: bool,
    pub is_out_of_town: bool,
}

/// The shares of masters, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// From this net amount on, the large share applies.
    pub large_from: Money,
    pub large: i64,
    pub small: i64,
    pub review: i64,
    pub out_of_town: i64,
}

/// An adjustment to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAdjustment {
    pub user_id: i64,
    pub kind: Kind,
    pub source: Source,
    /// The day that it belongs to, which determines the month.
    pub day: String,
    pub amount: Money,
    pub basis: Basis,
}

/// What an adjustment comes from. No two adjustments of one kind have the same source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Shift(i64),
    /// A task of a shift: the id of the shift, and of its copy of the task.
    Task(i64, i64),
    /// A cancelled plan.
    Plan(i64),
    Order(i64),
}

/// How an amount was calculated. It is stored with the adjustment, so it can be explained after prices have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Basis {
    Hours {
        /// The paid time.
        seconds: i64,
        hours: PaidHours,
        rate: Money,
        /// The planned start by the site's clock, if pay counts from it instead of the opening.
        #[serde(skip_serializing_if = "Option::is_none")]
        paid_from: Option<String>,
        /// How the time was rounded, if that changed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        rounded: Option<RoundedTime>,
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
        /// The required notice.
        notice_hours: i64,
        /// The given notice, rounded down; negative after the start.
        notice_minutes: i64,
    },
    /// Entered by hand; the reason explains it.
    Hand,
}

/// The time before it was rounded, and the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundedTime {
    pub exact_seconds: i64,
    pub step_minutes: i64,
}

/// The materials cost more than the order brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the materials cost more than the order brought")]
pub struct MaterialsExceedTotal;

impl Default for Shares {
    fn default() -> Self {
        Self { large_from: Money::from_roubles(7000), large: 50, small: 40, review: 10, out_of_town: 10 }
    }
}

/// The rate of the contract, else of the slot, else of the site.
pub fn rate_of(contract: Option<Money>, slot: Option<Money>, site: Money) -> Money {
    contract.or(slot).unwrap_or(site)
}

/// All adjustments of a finished shift, tasks in order of their ids.
pub fn adjustments_of(shift: &ShiftFacts, tasks: &[TaskFacts]) -> Vec<NewAdjustment> {
    let source = Source::Shift(shift.shift_id);
    let row = |kind, source, amount, basis| {
        let (user_id, day) = (shift.user_id, shift.day.clone());
        NewAdjustment { user_id, kind, source, day, amount, basis }
    };
    let (amount, basis) = shift_base(shift);
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

/// The pay for the hours: the worked time, without an unpaid start, rounded as the settings say.
fn shift_base(shift: &ShiftFacts) -> (Money, Basis) {
    let PaidTime { unpaid_start, rounding } = &shift.paid_time;
    let unpaid_seconds = unpaid_start.as_ref().map_or(0, |start| start.seconds);
    let exact_seconds = shift.worked_seconds.saturating_sub(unpaid_seconds).max(0);
    let (seconds, rate) = (rounding.round(exact_seconds), shift.rate);
    let rounded = RoundedTime { exact_seconds, step_minutes: rounding.step.minutes() };
    let rounded = Some(rounded).filter(|_| seconds != exact_seconds);
    let paid_from = unpaid_start.as_ref().map(|start| start.planned_clock.clone());
    let hours = PaidHours::worked(seconds);
    (hours.at(rate), Basis::Hours { seconds, hours, rate, paid_from, rounded })
}

/// The penalty for a late start: each whole minute past the threshold.
fn late_start(late: &LatenessFacts) -> Option<(Money, Basis)> {
    let minutes = minutes_late(late);
    let amount = late.penalty_per_minute.as_deduction().times(minutes);
    let LatenessFacts { threshold_minutes, penalty_per_minute, .. } = *late;
    amount.is_negative().then_some((amount, Basis::Lateness { minutes, threshold_minutes, penalty_per_minute }))
}

/// Whole minutes past the planned start and the threshold.
pub fn minutes_late(late: &LatenessFacts) -> i64 {
    let allowed = late.planned_start.0.saturating_add(late.threshold_minutes.saturating_mul(MINUTE_MS));
    (late.actual_start.0.saturating_sub(allowed) / MINUTE_MS).max(0)
}

/// The kind and the amount of a task's adjustment, if it has one.
pub fn task_row(task: &TaskFacts, mandatory_task_penalty: Money) -> Option<(Kind, Money)> {
    let completed = Some((Kind::TaskCompleted, Money::ZERO));
    match (task.amount, task.is_done) {
        (amount, true) if amount.is_positive() => Some((Kind::TaskBonus, amount)),
        (amount, false) if amount.is_positive() => None,
        (amount, true) if amount.is_negative() => completed,
        (amount, false) if amount.is_negative() => Some((Kind::TaskPenalty, amount)),
        (_, _) if !task.is_mandatory => None,
        (_, true) => completed,
        (_, false) => Some((Kind::TaskPenalty, mandatory_task_penalty.as_deduction())),
    }
}

/// The master's share of an order, with its calculation.
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
