//! Explanations of adjustments as text.

use super::{Adjustment, Basis, Kind, Money, PaidHours, RoundedTime};
use crate::text;
use crate::texts::Language;

impl Adjustment {
    /// What the amount is for.
    pub fn caption(&self, language: Language) -> String {
        language.text(self.kind.caption())
    }

    /// How the amount was calculated.
    pub fn text(&self, language: Language) -> String {
        match &self.basis {
            Basis::Hours { seconds, hours, rate, paid_from, rounded } => {
                let mut text = worked(*seconds, *hours, *rate, language);
                if let Some(start) = paid_from {
                    text = format!("{text}; {}", text!(language, "payroll-from-planned-start", start = start.as_str()));
                }
                if let Some(RoundedTime { exact_seconds, step_minutes }) = rounded {
                    let exact = clock(*exact_seconds);
                    text =
                        format!("{text}; {}", text!(language, "payroll-rounded", exact = exact, step = *step_minutes));
                }
                text
            }
            Basis::Lateness { minutes, threshold_minutes, penalty_per_minute } => text!(
                language,
                "payroll-by-lateness",
                late = minutes.saturating_add(*threshold_minutes),
                minutes = *minutes,
                threshold = *threshold_minutes,
                price = (-penalty_per_minute.as_deduction()).shown(language)
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

fn worked(seconds: i64, hours: PaidHours, rate: Money, language: Language) -> String {
    let clock = clock(seconds);
    text!(language, "payroll-by-hours", clock = clock, hours = hours.shown(language), rate = rate.shown(language))
}

/// Hours, minutes and seconds: `8:07:00`.
fn clock(seconds: i64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn task(kind: Kind, text: &str, price: Money, is_done: bool, language: Language) -> String {
    let price_text = (-price.as_deduction()).shown(language);
    match kind {
        Kind::TaskCompleted if price.is_negative() => {
            text!(language, "payroll-by-task-avoided", task = text, price = price_text)
        }
        _ if is_done => text!(language, "payroll-by-task-done", task = text),
        _ => text!(language, "payroll-by-task-not-done", task = text),
    }
}

/// How long before the start a plan was cancelled, and the required notice.
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
    fn short_notice_is_explained() {
        let explanation = |minutes| notice(24, minutes, Language::En);
        assert_eq!(explanation(119), "Cancelled 1 h 59 min before the start; no penalty up to 24 h before");
        assert_eq!(explanation(-61), "Cancelled 1 h 1 min after the start; no penalty up to 24 h before it");
    }
}
