//! Who gets a notice, and the text that the person reads.

use std::time::Duration;

use opora::clock::Millis;

use super::Notice;
use crate::money::Money;
use crate::person::{Person, Status};
use crate::text;
use crate::texts::{Language, LocalPeriod, day, short_day, short_day_and_time};

/// A person who reads of a changed shift at the end of the quiet hours needs this long before the shift begins.
const TIME_TO_PREPARE: Duration = Duration::from_secs(2 * 3600);

impl Notice {
    /// Whether it is sent in quiet hours that end at a time: it is about what happens right now, answers what the
    /// person just did, or changes a shift that begins before the person could prepare for it.
    pub(super) fn is_urgent(&self, now: Millis, quiet_until: Millis) -> bool {
        let begins_soon = |when: &LocalPeriod| {
            let is_before = when.starts_at.is_some_and(|start| start < quiet_until.plus(TIME_TO_PREPARE));
            is_before && when.ends_at().is_some_and(|end| end > now)
        };
        match self {
            Self::PlanMade { when, .. } | Self::PlanCancelled { when, .. } | Self::PlanRestored { when, .. } => {
                begins_soon(when)
            }
            Self::PlanMoved { before, after, .. } => begins_soon(before) || begins_soon(after),
            _ => self.is_always_urgent(),
        }
    }

    /// Whether it is sent in all quiet hours.
    pub(super) fn is_always_urgent(&self) -> bool {
        if let Self::Order(news) = self {
            return news.is_urgent();
        }
        matches!(
            self,
            Self::Reminder { .. }
                | Self::Missed { .. }
                | Self::YouMissed { .. }
                | Self::Closed(_)
                | Self::DailySummary(_)
                | Self::Blocked { .. }
        )
    }

    /// Whether many people get it at once. Then everything else goes first.
    pub(super) fn is_bulk(&self) -> bool {
        matches!(self, Self::Reminder { .. } | Self::DailySummary(_))
    }

    /// Whether it came too late to be of use: the shift that it reminds of has begun.
    pub(super) fn is_outdated(&self, now: Millis) -> bool {
        matches!(self, Self::Reminder { when, .. } if when.starts_at.is_some_and(|start| start <= now))
    }

    /// Whether the person gets this notice. Blocked and forgotten people get none, except that they are blocked.
    pub(super) fn is_for(&self, person: &Person) -> bool {
        match self {
            Self::Blocked { .. } => !person.is_forgotten(),
            Self::Unblocked { .. } => !person.is_forgotten() && person.status != Status::Blocked,
            _ => person.status == Status::Verified,
        }
    }

    /// The text that the person reads.
    pub fn text(&self, language: Language) -> String {
        match self.clone() {
            Self::PlanMoved { site, before, after } => {
                text!(
                    language,
                    "notice-plan-moved",
                    site = site,
                    before = before.shown(language),
                    after = after.shown(language)
                )
            }
            Self::PlanMade { site, when } => {
                text!(language, "notice-plan-made", site = site, when = when.shown(language))
            }
            Self::ContractMade { sites, from, is_again } => {
                let (count, sites) = (sites.len(), sites.join(", "));
                match (from.map(|from| short_day(from, language)), is_again) {
                    (None, false) => text!(language, "notice-contract-made", count = count, sites = sites),
                    (None, true) => text!(language, "notice-contract-again", count = count, sites = sites),
                    (Some(day), false) => {
                        text!(language, "notice-contract-made-from", count = count, sites = sites, day = day)
                    }
                    (Some(day), true) => {
                        text!(language, "notice-contract-again-from", count = count, sites = sites, day = day)
                    }
                }
            }
            Self::PlanCancelled { site, when } => {
                text!(language, "notice-plan-cancelled", site = site, when = when.shown(language))
            }
            Self::PlanRestored { site, when } => {
                text!(language, "notice-plan-restored", site = site, when = when.shown(language))
            }
            Self::Reminder { site, when } => {
                text!(language, "notice-reminder", site = site, when = when.shown(language))
            }
            Self::Missed { name, site, when } => {
                text!(language, "notice-missed", name = name, site = site, when = when.shown(language))
            }
            Self::YouMissed { site, when } => {
                text!(language, "notice-you-missed", site = site, when = when.shown(language))
            }
            Self::Closed(closed) => closed.text(language),
            Self::ClosedByTime { site, end, total } => {
                let total = total.shown(language);
                text!(
                    language,
                    "notice-closed-by-time",
                    site = site,
                    end = short_day_and_time(end, language),
                    total = total
                )
            }
            Self::SiteClosedByTime { site } => text!(language, "notice-site-closed-by-time", site = site),
            Self::ClosedByStaff { site, end, total } => {
                let total = total.shown(language);
                text!(
                    language,
                    "notice-closed-by-staff",
                    site = site,
                    end = short_day_and_time(end, language),
                    total = total
                )
            }
            Self::Cancelled { name, site, when } => {
                text!(language, "notice-cancelled", name = name, site = site, when = when.shown(language))
            }
            Self::ReasonAccepted { site, when } => {
                text!(language, "notice-reason-accepted", site = site, when = when.shown(language))
            }
            Self::ReasonRejected { site, when, fine } if fine == Money::ZERO => {
                text!(language, "notice-reason-rejected-free", site = site, when = when.shown(language))
            }
            Self::ReasonRejected { site, when, fine } => {
                let fine = (-fine.as_deduction()).shown(language);
                text!(language, "notice-reason-rejected", site = site, when = when.shown(language), fine = fine)
            }
            Self::Blocked { given_back } => text!(language, "notice-blocked", count = given_back),
            Self::Unblocked { restored } => text!(language, "notice-unblocked", count = restored),
            Self::DecisionTakenBack { site, when, fine } if fine == Money::ZERO => {
                text!(language, "notice-decision-taken-back", site = site, when = when.shown(language))
            }
            Self::DecisionTakenBack { site, when, fine } => {
                let fine = (-fine.as_deduction()).shown(language);
                text!(language, "notice-fine-taken-back", site = site, when = when.shown(language), fine = fine)
            }
            Self::DailySummary(summary) => summary.text(language),
            Self::DocumentExpires { document, until } => {
                let day = day(until, language);
                text!(language, "notice-document-expires", document = document, day = day)
            }
            Self::DocumentOfMemberExpires { name, document, until } => {
                let day = day(until, language);
                text!(language, "notice-document-of-member-expires", name = name, document = document, day = day)
            }
            Self::Pay { month, what } => what.text(month, language),
            Self::Order(news) => news.text(language),
        }
    }
}
