//! What a task adds to pay or costs, in words and without signs, as pages and bot say it.

use crate::money::Money;
use crate::text;
use crate::texts::Language;

/// The price of a task: a bonus or a penalty.
pub fn price_text(amount: Money, language: Language) -> String {
    let plain = (-amount.as_deduction()).shown(language);
    match amount.kopecks().signum() {
        1 => text!(language, "cabinet-task-shown-bonus", amount = plain),
        -1 => text!(language, "cabinet-task-shown-penalty", amount = plain),
        _ => text!(language, "cabinet-task-shown-free"),
    }
}

/// What skipping a required task without an amount of its own costs, within a line.
pub fn skipping_text(fine: Money, language: Language) -> String {
    text!(language, "cabinet-task-shown-skipped", amount = fine.shown(language))
}
