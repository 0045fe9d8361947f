//! Refusals of the rooms of sites and shifts.
//!
//! A refusal is stored in a commit error by its text key; people read the text from the Fluent files. Violated database
//! constraints become the same refusals, so the loser of a race reads a text instead of an error.

use std::fmt;

use opora::store::{Refusal, WriteError};
use sea_orm::DbErr;

use super::field_help;
use crate::domain::{self, RefusalReason};
use crate::key;
use crate::texts::Language;
use crate::web::form::{FieldError, PageRefusal, PageRefusalKind};

/// Begins the name of a refused field inside a commit error.
const FIELD: &str = "field:";

/// Why a rule said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteRefusal {
    /// The row has changed since it was loaded.
    Stale,
    /// The row does not exist any more.
    Gone,
    NotAllowed,
    /// A field of the form does not fit.
    Bad(FieldError),
    /// An equal row exists already.
    Exists,
    /// More places are taken than the new capacity allows.
    Taken,
    /// The site or slot has active shifts or future plans.
    InUse,
    /// A shift has been started in this slot.
    Worked,
    /// All places are taken.
    Full,
    /// The person has another plan at that time.
    Overlap,
    NoContract,
    /// The person has no access: blocked, for instance.
    NotMember,
    /// The person has another active contract for the site.
    ContractExists,
    /// The contract allows planned shifts only.
    NotSpontaneous,
    /// The person has an active shift.
    Working,
    NotWorking,
    /// The shift cannot have ended at that time.
    NotThen,
    /// The plan has been used or cancelled.
    PlanUsed,
    /// The slot has ended.
    Past,
    /// The slot begins too late for an early start.
    Early,
    /// The task needs a photo before it can be marked.
    NeedsMedia,
    TooMuchMedia,
    /// A shift would have too many tasks.
    TooManyTasks,
    SiteOpen,
    SiteClosed,
    /// Other people still work at the site.
    OthersWork,
    /// Another person has decided already.
    Decided,
    /// Rejecting a reason costs another fine than the person saw.
    FineChanged,
    /// The month of the fine is closed.
    MonthClosed,
    /// The matter concerns the person who asks; another person must decide.
    OwnCase,
}

/// The error of an action that runs outside a turn.
pub type ActionError = domain::ActionError<SiteRefusal>;

/// Names of database constraints, and the refusals that they stand for.
const CONSTRAINTS: [(&str, SiteRefusal); 13] = [
    ("contract_sites_overlap", SiteRefusal::ContractExists),
    ("shift_plans_overlap", SiteRefusal::Overlap),
    ("time_slots_capacity", SiteRefusal::Full),
    ("shift_tasks_media", SiteRefusal::NeedsMedia),
    ("time_slots_once", SiteRefusal::Exists),
    ("time_slots.site_id", SiteRefusal::Exists),
    ("shifts_one_active", SiteRefusal::Working),
    ("shifts.user_id", SiteRefusal::Working),
    ("shifts_plan_id_key", SiteRefusal::PlanUsed),
    ("shifts.plan_id", SiteRefusal::PlanUsed),
    ("site_openings_one_active", SiteRefusal::SiteOpen),
    ("site_openings.site_id", SiteRefusal::SiteOpen),
    ("plan_cancellations", SiteRefusal::PlanUsed),
];

impl SiteRefusal {
    /// All but those of fields.
    const ALL: [Self; 29] = [
        Self::Stale,
        Self::Gone,
        Self::NotAllowed,
        Self::Exists,
        Self::Taken,
        Self::InUse,
        Self::Worked,
        Self::Full,
        Self::Overlap,
        Self::NoContract,
        Self::NotMember,
        Self::ContractExists,
        Self::NotSpontaneous,
        Self::Working,
        Self::NotWorking,
        Self::NotThen,
        Self::PlanUsed,
        Self::Past,
        Self::Early,
        Self::NeedsMedia,
        Self::TooMuchMedia,
        Self::TooManyTasks,
        Self::SiteOpen,
        Self::SiteClosed,
        Self::OthersWork,
        Self::Decided,
        Self::FineChanged,
        Self::MonthClosed,
        Self::OwnCase,
    ];

    /// A field that does not fit, by the name that rules give it.
    pub fn bad(field: &str) -> Self {
        Self::Bad(field_help::wrong(field))
    }

    /// The text key; also the name inside a commit error, except for a field. All texts fit a toast.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Stale => key!("why-stale-toast"),
            Self::Gone => key!("why-gone-toast"),
            Self::NotAllowed => key!("why-not-allowed-toast"),
            Self::Bad(error) => error.key,
            Self::Exists => key!("why-exists-toast"),
            Self::Taken => key!("why-taken-toast"),
            Self::InUse => key!("why-in-use-toast"),
            Self::Worked => key!("why-worked-toast"),
            Self::Full => key!("why-full-toast"),
            Self::Overlap => key!("why-overlap-toast"),
            Self::NoContract => key!("why-no-contract-toast"),
            Self::NotMember => key!("why-not-member-toast"),
            Self::ContractExists => key!("why-contract-exists-toast"),
            Self::NotSpontaneous => key!("why-not-spontaneous-toast"),
            Self::Working => key!("why-working-toast"),
            Self::NotWorking => key!("why-not-working-toast"),
            Self::NotThen => key!("why-not-then-toast"),
            Self::PlanUsed => key!("why-plan-used-toast"),
            Self::Past => key!("why-past-toast"),
            Self::Early => key!("why-early-toast"),
            Self::NeedsMedia => key!("why-needs-media-toast"),
            Self::TooMuchMedia => key!("why-too-much-media-toast"),
            Self::TooManyTasks => key!("why-too-many-tasks-toast"),
            Self::SiteOpen => key!("why-site-open-toast"),
            Self::SiteClosed => key!("why-site-closed-toast"),
            Self::OthersWork => key!("why-others-work-toast"),
            Self::Decided => key!("why-decided-toast"),
            Self::FineChanged => key!("why-fine-changed-toast"),
            Self::MonthClosed => key!("why-month-closed-toast"),
            Self::OwnCase => key!("why-own-case-toast"),
        }
    }

    /// The text that people read.
    pub fn text(self, language: Language) -> String {
        language.text(self.key())
    }

    /// The refusal as a commit error.
    pub fn refusal(self) -> WriteError {
        match self {
            Self::Bad(error) => Refusal::because(format!("{FIELD}{}", error.field)),
            why => Refusal::because(why.key()),
        }
    }
}

impl RefusalReason for SiteRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        match refusal.strip_prefix(FIELD) {
            Some(field) => Some(Self::bad(field)),
            None => Self::ALL.into_iter().find(|why| why.key() == refusal),
        }
    }
}

impl PageRefusal for SiteRefusal {
    fn text(self, language: Language) -> String {
        self.text(language)
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Stale => PageRefusalKind::Stale,
            Self::Gone => PageRefusalKind::Gone,
            Self::Bad(_) | Self::NotThen => PageRefusalKind::Mistake,
            Self::NotAllowed => PageRefusalKind::Forbidden,
            _ => PageRefusalKind::Conflict,
        }
    }

    fn field_error(self) -> Option<FieldError> {
        match self {
            Self::Bad(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for SiteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// Converts a database error: a violated constraint becomes a refusal.
pub fn constraint_refusal(error: DbErr) -> WriteError {
    let message = error.to_string();
    let rule = CONSTRAINTS
        .iter()
        .find(|(name, _)| message.contains(name) && message.contains("constraint") || message.ends_with(name));
    match rule {
        Some((_, why)) => why.refusal(),
        None => error.into(),
    }
}
