//! The summary of the person's own closed shift, made of the adjustments of its commit.

use serde::{Deserialize, Serialize};

use crate::front::text_limits::fit_between;
use crate::money::{Kind, Money, PaidHours};
use crate::text;
use crate::texts::{Language, duration};

/// The summary of a closed shift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShiftSummary {
    pub site: String,
    pub worked_seconds: i64,
    /// The paid time, if it is not the worked time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_hours: Option<PaidHours>,
    pub lines: Vec<SummaryLine>,
    /// Whether the site was closed with it.
    pub is_site_closed: bool,
}

/// One adjustment of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryLine {
    pub kind: Kind,
    pub task: Option<String>,
    pub amount: Money,
}

impl ShiftSummary {
    /// The text that the person reads.
    pub fn text(&self, language: Language) -> String {
        let time = duration(self.worked_seconds, language);
        let mut title = text!(language, "shifts-closed", site = self.site.as_str(), time = time);
        if let Some(paid) = self.paid_hours {
            title = format!("{title}\n{}", text!(language, "shifts-closed-paid", hours = paid.shown(language)));
        }
        let total: Money = self.lines.iter().map(|line| line.amount).sum();
        let mut sum = text!(language, "shifts-closed-total", total = total.shown(language));
        if self.is_site_closed {
            sum = format!("{sum}\n\n{}", text!(language, "shifts-site-closed-too", site = self.site.as_str()));
        }
        let lines: Vec<_> = self.lines.iter().map(|line| line.text(language)).collect();
        fit_between(&format!("{title}\n\n"), &lines.join("\n"), &format!("\n{sum}"))
    }
}

impl SummaryLine {
    fn text(&self, language: Language) -> String {
        let mut caption = language.text(self.kind.caption());
        if let Some(task) = &self.task {
            caption = text!(language, "shifts-closed-task", kind = caption, task = task.as_str());
        }
        format!("{caption}: {}", self.amount.signed(language))
    }
}
