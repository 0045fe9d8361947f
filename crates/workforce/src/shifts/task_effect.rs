//! What a task means for pay, as people read it beside the task.

use super::records::ShiftTask;
use super::rules::task_facts;
use crate::money::{Kind, Money};
use crate::payroll::{TaskFacts, task_row};
use crate::text;
use crate::texts::Language;

/// What a task adds or costs. Amounts are positive prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEffect {
    /// Done.
    Bonus(Money),
    /// Not done yet.
    BonusIfDone(Money),
    /// Not done, and the shift is over.
    BonusMissed(Money),
    /// Done.
    PenaltyAvoided(Money),
    /// Not done yet.
    PenaltyIfSkipped(Money),
    /// Not done, and the shift is over.
    Penalty(Money),
    /// Has no price either way.
    Nothing,
}

impl TaskEffect {
    /// The effect of a task, by the rules that pay it. `mandatory_task_penalty` is the price of a mandatory task
    /// without its own.
    pub fn new(task: &ShiftTask, is_open: bool, mandatory_task_penalty: Money) -> Self {
        let facts = task_facts(task);
        let row_if = |is_done| task_row(&TaskFacts { is_done, ..facts.clone() }, mandatory_task_penalty);
        let bonus = row_if(true).filter(|(kind, _)| *kind == Kind::TaskBonus).map(|(_, amount)| amount);
        let penalty = row_if(false).filter(|(_, amount)| amount.is_negative()).map(|(_, amount)| -amount);
        match (bonus, penalty) {
            (Some(bonus), _) if facts.is_done => Self::Bonus(bonus),
            (Some(bonus), _) if is_open => Self::BonusIfDone(bonus),
            (Some(bonus), _) => Self::BonusMissed(bonus),
            (None, Some(penalty)) if facts.is_done => Self::PenaltyAvoided(penalty),
            (None, Some(penalty)) if is_open => Self::PenaltyIfSkipped(penalty),
            (None, Some(penalty)) => Self::Penalty(penalty),
            (None, None) => Self::Nothing,
        }
    }

    /// Whether it takes something away for good.
    pub const fn is_deduction(self) -> bool {
        matches!(self, Self::Penalty(_))
    }

    /// Whether it counts already: a bonus that was earned, a penalty that stays.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Bonus(_) | Self::Penalty(_))
    }

    pub fn text(self, language: Language) -> String {
        match self {
            Self::Bonus(price) => price.signed(language),
            Self::BonusIfDone(price) => text!(language, "shifts-task-bonus-if-done", price = price.shown(language)),
            Self::BonusMissed(price) => text!(language, "shifts-task-bonus-missed", price = price.shown(language)),
            Self::PenaltyAvoided(price) => {
                text!(language, "shifts-task-penalty-avoided", price = price.shown(language))
            }
            Self::PenaltyIfSkipped(price) => {
                text!(language, "shifts-task-penalty-if-skipped", price = price.shown(language))
            }
            Self::Penalty(price) => (-price).shown(language),
            Self::Nothing => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use opora::clock::Millis;

    use super::*;

    fn effect(kopecks: i64, is_mandatory: bool, is_done: bool, is_open: bool) -> String {
        let task = ShiftTask {
            id: 1,
            shift_id: 1,
            is_of_slot: false,
            text: "Sweep".into(),
            amount_kopecks: kopecks,
            is_mandatory,
            needs_media: false,
            media_count: 0,
            done_at: is_done.then_some(Millis(1)),
        };
        TaskEffect::new(&task, is_open, Money::from_roubles(50)).text(Language::En)
    }

    #[test]
    fn a_done_penalty_task_costs_nothing() {
        assert_eq!(effect(-10_000, true, true, true), "penalty of 100\u{a0}₽ avoided");
        assert_eq!(effect(-10_000, true, true, false), "penalty of 100\u{a0}₽ avoided");
        assert_eq!(effect(-10_000, true, false, true), "−100\u{a0}₽ if skipped");
        assert_eq!(effect(-10_000, true, false, false), "−100\u{a0}₽");
    }

    #[test]
    fn a_mandatory_task_without_a_price_says_what_skipping_costs() {
        assert_eq!(effect(0, true, false, true), "−50\u{a0}₽ if skipped");
        assert_eq!(effect(0, true, true, true), "penalty of 50\u{a0}₽ avoided");
        assert_eq!(effect(0, true, false, false), "−50\u{a0}₽");
        assert_eq!(effect(0, false, false, true), "");
    }

    #[test]
    fn a_bonus_counts_once_the_task_is_done() {
        assert_eq!(effect(10_000, false, false, true), "+100\u{a0}₽ when done");
        assert_eq!(effect(10_000, false, true, true), "+100\u{a0}₽");
        assert_eq!(effect(10_000, false, false, false), "no bonus of 100\u{a0}₽");
    }
}
