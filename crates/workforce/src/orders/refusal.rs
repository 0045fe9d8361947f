//! Refusals of this room.

use opora::store::{Refusal, WriteError};

use super::fields::FieldMistake;
use crate::domain::{self, RefusalReason};
use crate::key;
use crate::texts::Language;
use crate::web::form::{FieldError, PageRefusal, PageRefusalKind};

/// Why a rule said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderRefusal {
    /// The order has changed since it was loaded.
    Stale,
    /// There is no such order, or the person may not see it.
    Gone,
    /// The person may not do this with the order.
    NotAllowed,
    /// The order is not in a status in which this is possible.
    WrongStatus,
    /// Another master has it.
    Taken,
    /// The person is no master who may get orders now.
    NoMaster,
    /// Materials cost more than the total.
    Materials,
    /// The amount is negative, too large, or not the sum of the lines.
    Amount,
    /// A photo of the work is required first.
    NeedsPhotoBefore,
    NeedsPhotoAfter,
    /// A required item of the checklist is not done.
    NeedsChecklist,
    /// The client has to confirm this amount, or the master notes cash.
    NeedsConfirmation,
    TooManyFiles,
    /// The item of a list is gone.
    NoItem,
    /// Not between one and five.
    Stars,
    /// The day or the deadline is past.
    Past,
    /// The rule is not readable, or has no day.
    Rule,
    /// Orders of clients are switched off.
    ClientsOff,
    /// An equal one exists already.
    Exists,
    Field(FieldMistake),
}

/// The error of an action that runs outside a turn.
pub type ActionError = domain::ActionError<OrderRefusal>;

impl OrderRefusal {
    const PLAIN: [Self; 19] = [
        Self::Stale,
        Self::Gone,
        Self::NotAllowed,
        Self::WrongStatus,
        Self::Taken,
        Self::NoMaster,
        Self::Materials,
        Self::Amount,
        Self::NeedsPhotoBefore,
        Self::NeedsPhotoAfter,
        Self::NeedsChecklist,
        Self::NeedsConfirmation,
        Self::TooManyFiles,
        Self::NoItem,
        Self::Stars,
        Self::Past,
        Self::Rule,
        Self::ClientsOff,
        Self::Exists,
    ];

    /// The text key; also the name inside a commit error. All texts fit a toast.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Stale => key!("orders-why-stale-toast"),
            Self::Gone => key!("orders-why-gone-toast"),
            Self::NotAllowed => key!("orders-why-not-allowed-toast"),
            Self::WrongStatus => key!("orders-why-status-toast"),
            Self::Taken => key!("orders-why-taken-toast"),
            Self::NoMaster => key!("orders-why-no-master-toast"),
            Self::Materials => key!("orders-why-materials-toast"),
            Self::Amount => key!("orders-why-amount-toast"),
            Self::NeedsPhotoBefore => key!("orders-why-photo-before-toast"),
            Self::NeedsPhotoAfter => key!("orders-why-photo-after-toast"),
            Self::NeedsChecklist => key!("orders-why-checklist-toast"),
            Self::NeedsConfirmation => key!("orders-why-confirmation-toast"),
            Self::TooManyFiles => key!("orders-why-files-toast"),
            Self::NoItem => key!("orders-why-no-item-toast"),
            Self::Stars => key!("orders-why-stars-toast"),
            Self::Past => key!("orders-why-past-toast"),
            Self::Rule => key!("orders-why-rule-toast"),
            Self::ClientsOff => key!("orders-why-clients-off-toast"),
            Self::Exists => key!("orders-why-exists-toast"),
            Self::Field(mistake) => mistake.key(),
        }
    }

    /// The text that people read.
    pub fn text(self, language: Language) -> String {
        language.text(self.key())
    }

    /// The refusal as a commit error.
    pub fn refusal(self) -> WriteError {
        Refusal::because(self.key())
    }
}

impl From<FieldMistake> for OrderRefusal {
    fn from(mistake: FieldMistake) -> Self {
        Self::Field(mistake)
    }
}

impl RefusalReason for OrderRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        let plain = Self::PLAIN.into_iter().find(|why| why.key() == refusal);
        plain.or_else(|| FieldMistake::ALL.into_iter().find(|why| why.key() == refusal).map(Self::Field))
    }
}

impl PageRefusal for OrderRefusal {
    fn text(self, language: Language) -> String {
        self.text(language)
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Stale => PageRefusalKind::Stale,
            Self::Gone => PageRefusalKind::Gone,
            Self::NotAllowed => PageRefusalKind::Forbidden,
            Self::Field(_) | Self::Amount | Self::Materials | Self::Stars | Self::Rule => PageRefusalKind::Mistake,
            _ => PageRefusalKind::Conflict,
        }
    }

    fn field_error(self) -> Option<FieldError> {
        match self {
            Self::Field(mistake) => Some(FieldError { field: mistake.field(), key: mistake.key() }),
            _ => None,
        }
    }
}
