//! How each amount came about, in words.

use super::{Basis, Hours, Kind, Line, Money};
use crate::text;
use crate::texts::Language;

impl Line {
    /// What it is for.
    pub fn caption(&self, language: Language) -> String {
        language.text(self.kind.caption())
    }

    /// How it came about.
    pub fn words(&self, language: Language) -> String {
        match &self.basis {
            Basis::Hours { seconds, hours, rate } => worked(*seconds, *hours, *rate, language),
            Basis::Lateness { minutes, threshold_minutes, penalty_per_minute } => text!(
                language,
                "payroll-by-lateness",
                minutes = *minutes,
                threshold = *threshold_minutes,
                price = penalty_per_minute.taken_away().shown(language)
            ),
            Basis::Task { text, price, is_done } => task(self.kind, text, *price, *is_done, language),
            Basis::Order { total, materials, percent } => text!(
                language,
                "payroll-by-order",
                total = total.shown(language),
                materials = materials.shown(language),
                percent = *percent
            ),
            Basis::Cancellation { notice_hours } => text!(language, "payroll-by-notice", hours = *notice_hours),
            Basis::Hand => self.reason.clone().unwrap_or_default(),
        }
    }
}

fn worked(seconds: i64, hours: Hours, rate: Money, language: Language) -> String {
    let clock = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    text!(language, "payroll-by-hours", clock = clock, hours = hours.shown(language), rate = rate.shown(language))
}

fn task(kind: Kind, words: &str, price: Money, is_done: bool, language: Language) -> String {
    let price_words = price.shown(language);
    match kind {
        Kind::TaskCompleted if price.is_negative() => {
            text!(language, "payroll-by-task-avoided", task = words, price = price_words)
        }
        _ if is_done => text!(language, "payroll-by-task-done", task = words),
        _ => text!(language, "payroll-by-task-not-done", task = words),
    }
}
