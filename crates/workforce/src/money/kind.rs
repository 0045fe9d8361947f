//! Kinds of adjustments.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Money;
use crate::key;

/// The kind of an adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    ShiftBase,
    LateStart,
    TaskBonus,
    /// Worth nothing, but recorded: a penalty was avoided, or a mandatory task done.
    TaskCompleted,
    TaskPenalty,
    OrderShare,
    /// A plan was cancelled at short notice.
    CancelledLate,
    /// A plan was cancelled without an accepted reason.
    CancelledInvalid,
    ManualBonus,
    ManualDeduction,
    /// A correction of a closed month.
    Correction,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::ShiftBase,
        Self::LateStart,
        Self::TaskBonus,
        Self::TaskCompleted,
        Self::TaskPenalty,
        Self::OrderShare,
        Self::CancelledLate,
        Self::CancelledInvalid,
        Self::ManualBonus,
        Self::ManualDeduction,
        Self::Correction,
    ];

    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ShiftBase => "shift_base",
            Self::LateStart => "late_start",
            Self::TaskBonus => "task_bonus",
            Self::TaskCompleted => "task_completed",
            Self::TaskPenalty => "task_penalty",
            Self::OrderShare => "order_share",
            Self::CancelledLate => "cancelled_late",
            Self::CancelledInvalid => "cancelled_invalid",
            Self::ManualBonus => "manual_bonus",
            Self::ManualDeduction => "manual_deduction",
            Self::Correction => "correction",
        }
    }

    /// The text key of its caption.
    pub const fn caption(self) -> &'static str {
        match self {
            Self::ShiftBase => key!("payroll-kind-shift-base"),
            Self::LateStart => key!("payroll-kind-late-start"),
            Self::TaskBonus => key!("payroll-kind-task-bonus"),
            Self::TaskCompleted => key!("payroll-kind-task-completed"),
            Self::TaskPenalty => key!("payroll-kind-task-penalty"),
            Self::OrderShare => key!("payroll-kind-order-share"),
            Self::CancelledLate => key!("payroll-kind-cancelled-late"),
            Self::CancelledInvalid => key!("payroll-kind-cancelled-invalid"),
            Self::ManualBonus => key!("payroll-kind-manual-bonus"),
            Self::ManualDeduction => key!("payroll-kind-manual-deduction"),
            Self::Correction => key!("payroll-kind-correction"),
        }
    }

    /// Whether the amount has an allowed sign. The database checks the same.
    pub const fn fits(self, amount: Money) -> bool {
        match self {
            Self::ShiftBase | Self::TaskBonus | Self::OrderShare | Self::ManualBonus => !amount.is_negative(),
            Self::LateStart | Self::TaskPenalty | Self::CancelledLate => !amount.is_positive(),
            Self::CancelledInvalid | Self::ManualDeduction => !amount.is_positive(),
            Self::TaskCompleted => amount.kopecks() == 0,
            Self::Correction => true,
        }
    }

    /// Earned by work; neither a bonus nor a deduction.
    pub const fn is_earned(self) -> bool {
        matches!(self, Self::ShiftBase | Self::OrderShare)
    }

    /// Entered by hand; owners may change it.
    pub const fn is_manual(self) -> bool {
        matches!(self, Self::ManualBonus | Self::ManualDeduction)
    }
}

/// The kinds that are earned by work, as a list for SQL.
pub fn earned_kinds_sql() -> String {
    let earned = Kind::ALL.iter().filter(|kind| kind.is_earned());
    earned.map(|kind| format!("'{}'", kind.name())).collect::<Vec<_>>().join(", ")
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("no kind `{name}`"))
    }
}
