//! What undone tasks cost, said before a shift is closed. The rules are those of [pay](crate::payroll).

use super::chat::caption;
use super::records::ShiftTask;
use crate::money::Money;
use crate::text;
use crate::texts::Language;

/// What an undone task costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Deducted(Money),
    /// A mandatory task with a bonus.
    BonusLost(Money),
    Nothing,
}

/// More undone tasks than this are only counted, so that the question still fits the message.
const MAX_LISTED: usize = 10;

/// A line for each undone task that is mandatory or costs something.
pub fn lines(tasks: &[ShiftTask], mandatory_penalty: Money, language: Language) -> Vec<String> {
    let undone = tasks.iter().filter(|task| task.done_at.is_none());
    let mut lines: Vec<_> = undone.filter_map(|task| line(task, mandatory_penalty, language)).collect();
    let more = lines.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        lines.truncate(MAX_LISTED);
        lines.push(text!(language, "shifts-undone-more", count = more));
    }
    lines
}

fn line(task: &ShiftTask, mandatory_penalty: Money, language: Language) -> Option<String> {
    let name = caption(&task.text);
    Some(match cost(task, mandatory_penalty) {
        Cost::Deducted(amount) => {
            text!(language, "shifts-undone-deducted", task = name, amount = amount.shown(language))
        }
        Cost::BonusLost(amount) => text!(language, "shifts-undone-bonus", task = name, amount = amount.shown(language)),
        Cost::Nothing if task.is_mandatory => text!(language, "shifts-undone", task = name),
        Cost::Nothing => return None,
    })
}

fn cost(task: &ShiftTask, mandatory_penalty: Money) -> Cost {
    let amount = Money::from_kopecks(task.amount_kopecks);
    match task.amount_kopecks {
        ..0 => Cost::Deducted(-amount),
        1.. if task.is_mandatory => Cost::BonusLost(amount),
        0 if task.is_mandatory && mandatory_penalty != Money::ZERO => Cost::Deducted(mandatory_penalty),
        _ => Cost::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use opora::clock::Millis;

    use super::*;

    fn task(text: &str, amount_kopecks: i64, is_mandatory: bool) -> ShiftTask {
        ShiftTask {
            id: 1,
            shift_id: 1,
            is_of_slot: false,
            text: text.into(),
            amount_kopecks,
            is_mandatory,
            needs_media: false,
            media_count: 0,
            done_at: None,
        }
    }

    #[test]
    fn undone_tasks_are_listed_with_their_cost() {
        let done = ShiftTask { done_at: Some(Millis(1)), ..task("Dust", -900, true) };
        let tasks = [
            task("Sweep", -3_300, false),
            task("Lock up", 0, true),
            task("Greet", 10_000, true),
            task("Smile", 10_000, false),
            task("Breathe", 0, false),
            done,
        ];
        let said = lines(&tasks, Money::from_kopecks(5_000), Language::En);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("Sweep") && said[0].contains("33"), "{said:?}");
        assert!(said[1].contains("Lock up") && said[1].contains("50"), "{said:?}");
        assert!(said[2].contains("Greet") && said[2].contains("bonus"), "{said:?}");
        let many = vec![tasks[0].clone(); MAX_LISTED + 3];
        let listed = lines(&many, Money::ZERO, Language::En);
        assert_eq!((listed.len(), listed[MAX_LISTED].as_str()), (MAX_LISTED + 1, "• and 3 more"));
        let free = lines(&tasks[1..2], Money::ZERO, Language::En);
        assert_eq!(free.len(), 1);
        assert!(!free[0].contains('₽'), "{free:?}");
    }
}
