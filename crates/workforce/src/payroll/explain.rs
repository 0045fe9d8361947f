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
                price = (-penalty_per_minute.taken_away()).shown(language)
            ),
            Basis::Task { text, price, is_done } => task(self.kind, text, *price, *is_done, language),
            Basis::Order { total, materials, percent } => text!(
                language,
                "payroll-by-order",
                total = total.shown(language),
                materials = materials.shown(language),
                percent = *percent
            ),
            Basis::Cancellation { .. } if self.kind == Kind::CancelledInvalid => text!(language, "payroll-by-reason"),
            Basis::Cancellation { notice_hours, notice_minutes } => notice(*notice_hours, *notice_minutes, language),
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

/// How long before the start a plan was cancelled, and how long it should have been.
fn notice(limit: i64, minutes: i64, language: Language) -> String {
    let (is_before, length) = (minutes >= 0, minutes.abs());
    let (hours, minutes) = (length / 60, length % 60);
    if is_before {
        text!(language, "payroll-by-notice", hours = hours, minutes = minutes, limit = limit)
    } else {
        text!(language, "payroll-by-notice-after", hours = hours, minutes = minutes, limit = limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_told_as_it_was() {
        let told = |minutes| notice(24, minutes, Language::En);
        assert_eq!(told(119), "Cancelled 1 h 59 min before the start; less than 24 h is short notice");
        assert_eq!(told(-61), "Cancelled 1 h 1 min after the start; less than 24 h before it is short notice");
    }
}
