//! What a person is told who has closed the own shift: the amounts that the commit has written.

use serde::{Deserialize, Serialize};

use crate::front::fitting::fit_between;
use crate::money::{Hours, Kind, Money};
use crate::text;
use crate::texts::Language;

/// A shift that its person has closed, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub site: String,
    pub worked_seconds: i64,
    pub lines: Vec<PaidLine>,
    /// The site was closed with it.
    pub is_site_closed: bool,
}

/// One amount that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidLine {
    pub kind: Kind,
    pub task: Option<String>,
    pub amount: Money,
}

impl Closed {
    /// What the person reads.
    pub fn words(&self, language: Language) -> String {
        let hours = Hours::worked(self.worked_seconds).shown(language);
        let title = text!(language, "shifts-closed", site = self.site.as_str(), hours = hours);
        let total: Money = self.lines.iter().map(|line| line.amount).sum();
        let mut sum = text!(language, "shifts-closed-total", total = total.shown(language));
        if self.is_site_closed {
            sum = format!("{sum}\n\n{}", text!(language, "shifts-site-closed-too", site = self.site.as_str()));
        }
        let lines: Vec<_> = self.lines.iter().map(|line| line.words(language)).collect();
        fit_between(&format!("{title}\n\n"), &lines.join("\n"), &format!("\n{sum}"))
    }
}

impl PaidLine {
    fn words(&self, language: Language) -> String {
        let mut what = language.text(self.kind.caption());
        if let Some(task) = &self.task {
            what = format!("{what} «{task}»");
        }
        format!("{what}: {}", self.amount.signed(language))
    }
}
