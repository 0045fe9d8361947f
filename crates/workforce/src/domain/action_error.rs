//! The error of an action outside a turn. A rule of a room may have refused it.

use std::fmt::Debug;

use sea_orm::DbErr;

use super::NotWritten;
use super::form_key::ALREADY_DONE;

/// Refusal of a commit whose actor lost the right meanwhile: blocked, or with other roles.
pub const NOT_ALLOWED: &str = "the actor is not allowed to do this any more";

/// A room's reasons to refuse a commit.
pub trait RefusalReason: Copy + Debug + Sized {
    /// Parses the text of a refusal; none for refusals of other rooms.
    fn parse(refusal: &str) -> Option<Self>;
}

/// Why an action was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ActionError<W: RefusalReason> {
    #[error("refused: {0:?}")]
    Refused(W),
    /// The same form was sent before.
    #[error("carried out before")]
    Repeated,
    /// The actor was blocked, or lost the role, before the commit.
    #[error("{NOT_ALLOWED}")]
    NotAllowed,
    #[error(transparent)]
    Failed(anyhow::Error),
}

impl<W: RefusalReason> ActionError<W> {
    /// Translates the refusal into that of another room.
    pub fn map_refusal<V: RefusalReason>(self, map: impl FnOnce(W) -> V) -> ActionError<V> {
        match self {
            Self::Refused(refusal) => ActionError::Refused(map(refusal)),
            Self::Repeated => ActionError::Repeated,
            Self::NotAllowed => ActionError::NotAllowed,
            Self::Failed(error) => ActionError::Failed(error),
        }
    }
}

impl<W: RefusalReason> From<W> for ActionError<W> {
    fn from(refusal: W) -> Self {
        Self::Refused(refusal)
    }
}

impl<W: RefusalReason> From<DbErr> for ActionError<W> {
    fn from(error: DbErr) -> Self {
        Self::Failed(error.into())
    }
}

impl<W: RefusalReason> From<NotWritten> for ActionError<W> {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Refused(refusal) if refusal == ALREADY_DONE => Self::Repeated,
            NotWritten::Refused(refusal) if refusal == NOT_ALLOWED => Self::NotAllowed,
            NotWritten::Refused(refusal) => match W::parse(&refusal) {
                Some(why) => Self::Refused(why),
                None => Self::Failed(anyhow::anyhow!(refusal)),
            },
            NotWritten::Failed(error) => Self::Failed(error.into()),
        }
    }
}
