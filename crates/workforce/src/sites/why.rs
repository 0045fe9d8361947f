//! Why something about sites and shifts cannot be done.
//!
//! Rules refuse by a short name, within a commit too; what people read of it comes from the Fluent files. What the
//! database itself keeps refuses in the same way: whoever comes second in a race is told, and not shown an error.

use std::fmt;

use opora::store::{Refusal, WriteError};
use sea_orm::DbErr;

use crate::domain::{self, Rule};
use crate::key;
use crate::texts::Language;
use crate::web::form::{Means, Told};

/// A rule that said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It has been changed since it was looked at.
    Stale,
    /// It is not there any more.
    Gone,
    NotAllowed,
    /// Something in the form is not as it should be.
    Bad,
    /// There is one already.
    Exists,
    /// More people have planned than there would be places.
    Taken,
    /// Somebody works there, or means to.
    InUse,
    /// Somebody works in this slot, or has worked.
    Worked,
    /// No place is left.
    Full,
    /// The person has a plan at that time.
    Overlap,
    NoContract,
    /// The contract allows planned shifts only.
    NotSpontaneous,
    /// The person works already.
    Working,
    NotWorking,
    /// It cannot have ended then.
    NotThen,
    /// The plan has been used, or cancelled.
    PlanUsed,
    /// Its time is over.
    Past,
    /// Its time has not come.
    Early,
    /// The task is done only with a photo.
    NeedsMedia,
    TooMuchMedia,
    /// A shift would have more tasks than it may.
    TooManyTasks,
    SiteOpen,
    SiteClosed,
    /// Somebody else works there still.
    OthersWork,
    /// Somebody else has decided.
    Decided,
    /// It is about whoever wants it, and somebody else is to decide.
    OwnCase,
}

/// Why something did not happen that was asked for outside of a turn.
pub type NotDone = domain::NotDone<Why>;

/// What the databases call that which they keep themselves, and what it means.
const KEPT: [(&str, Why); 12] = [
    ("shift_plans_overlap", Why::Overlap),
    ("time_slots_capacity", Why::Full),
    ("shift_tasks_media", Why::NeedsMedia),
    ("time_slots_once", Why::Exists),
    ("time_slots.site_id", Why::Exists),
    ("shifts_one_active", Why::Working),
    ("shifts.user_id", Why::Working),
    ("shifts_plan_id_key", Why::PlanUsed),
    ("shifts.plan_id", Why::PlanUsed),
    ("site_openings_one_active", Why::SiteOpen),
    ("site_openings.site_id", Why::SiteOpen),
    ("plan_cancellations", Why::PlanUsed),
];

impl Why {
    const ALL: [Self; 26] = [
        Self::Stale,
        Self::Gone,
        Self::NotAllowed,
        Self::Bad,
        Self::Exists,
        Self::Taken,
        Self::InUse,
        Self::Worked,
        Self::Full,
        Self::Overlap,
        Self::NoContract,
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
        Self::OwnCase,
    ];

    /// The key of its sentence; also its name in a refusal. All of them fit a toast.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Stale => key!("why-stale-toast"),
            Self::Gone => key!("why-gone-toast"),
            Self::NotAllowed => key!("why-not-allowed-toast"),
            Self::Bad => key!("why-bad-toast"),
            Self::Exists => key!("why-exists-toast"),
            Self::Taken => key!("why-taken-toast"),
            Self::InUse => key!("why-in-use-toast"),
            Self::Worked => key!("why-worked-toast"),
            Self::Full => key!("why-full-toast"),
            Self::Overlap => key!("why-overlap-toast"),
            Self::NoContract => key!("why-no-contract-toast"),
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
            Self::OwnCase => key!("why-own-case-toast"),
        }
    }

    /// What people read of it.
    pub fn words(self, language: Language) -> String {
        language.text(self.key())
    }

    /// As a commit refuses.
    pub fn refusal(self) -> WriteError {
        Refusal::because(self.key())
    }
}

impl Rule for Why {
    fn of(refusal: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.key() == refusal)
    }
}

impl Told for Why {
    fn words(self, language: Language) -> String {
        self.words(language)
    }

    fn means(self) -> Means {
        match self {
            Self::Stale => Means::Stale,
            Self::Gone => Means::Gone,
            Self::Bad | Self::NotThen => Means::Mistake,
            Self::NotAllowed => Means::Forbidden,
            _ => Means::Conflict,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// What a database said of a statement: a refusal where it kept a rule.
pub fn kept(error: DbErr) -> WriteError {
    let said = error.to_string();
    let rule = KEPT.iter().find(|(name, _)| said.contains(name) && said.contains("constraint") || said.ends_with(name));
    match rule {
        Some((_, why)) => why.refusal(),
        None => error.into(),
    }
}
