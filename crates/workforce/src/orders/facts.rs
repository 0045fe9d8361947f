//! What can happen to an order: lines of its history, and of the audit log.

use std::str::FromStr;

use crate::audit;
use crate::texts::Language;

/// A line of the history of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    Created,
    Edited,
    Confirmed,
    Offered,
    OfferDeclined,
    OfferExpired,
    Assigned,
    TakenBack,
    Accepted,
    Declined,
    OnTheWay,
    Arrived,
    LongRepair,
    Resumed,
    Rescheduled,
    Refused,
    Reopened,
    AmountSet,
    AmountConfirmed,
    Closed,
    Corrected,
    Rated,
    ItemMarked,
    FileAttached,
    Messaged,
}

impl Fact {
    pub const ALL: [Self; 25] = [
        Self::Created,
        Self::Edited,
        Self::Confirmed,
        Self::Offered,
        Self::OfferDeclined,
        Self::OfferExpired,
        Self::Assigned,
        Self::TakenBack,
        Self::Accepted,
        Self::Declined,
        Self::OnTheWay,
        Self::Arrived,
        Self::LongRepair,
        Self::Resumed,
        Self::Rescheduled,
        Self::Refused,
        Self::Reopened,
        Self::AmountSet,
        Self::AmountConfirmed,
        Self::Closed,
        Self::Corrected,
        Self::Rated,
        Self::ItemMarked,
        Self::FileAttached,
        Self::Messaged,
    ];

    /// The action in the audit log, and the name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "order created",
            Self::Edited => "order edited",
            Self::Confirmed => "order confirmed",
            Self::Offered => "order offered",
            Self::OfferDeclined => "order offer declined",
            Self::OfferExpired => "order offer expired",
            Self::Assigned => "order assigned",
            Self::TakenBack => "order taken back",
            Self::Accepted => "order accepted",
            Self::Declined => "order declined",
            Self::OnTheWay => "order on the way",
            Self::Arrived => "order arrived",
            Self::LongRepair => "order long repair",
            Self::Resumed => "order resumed",
            Self::Rescheduled => "order rescheduled",
            Self::Refused => "order refused",
            Self::Reopened => "order reopened",
            Self::AmountSet => "order amount set",
            Self::AmountConfirmed => "order amount confirmed",
            Self::Closed => "order closed",
            Self::Corrected => "order corrected",
            Self::Rated => "order rated",
            Self::ItemMarked => "order item marked",
            Self::FileAttached => "order file attached",
            Self::Messaged => "order messaged",
        }
    }

    /// What people read.
    pub fn text(self, language: Language) -> String {
        language.text(&audit::key(self.name()))
    }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|fact| fact.name() == name).ok_or_else(|| format!("no fact `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_a_name_and_texts() {
        for fact in Fact::ALL {
            assert_eq!(fact.name().parse(), Ok(fact));
            assert!(Language::ALL.iter().all(|language| language.knows(&audit::key(fact.name()))), "{fact:?}");
        }
    }
}
