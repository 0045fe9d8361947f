//! What became of something that was asked for outside of a turn: a room's rule may have said no.

use std::fmt::Debug;

use sea_orm::DbErr;

use super::NotWritten;
use super::once::REPEATED;

/// The refusal of a commit whose actor may not do this any more: blocked since, or with other roles.
pub const NOT_ALLOWED: &str = "the actor is not allowed to do this any more";

/// The rules of a room, as commits refuse by them.
pub trait Rule: Copy + Debug + Sized {
    /// The rule behind a refusal; none for rules of other rooms.
    fn of(refusal: &str) -> Option<Self>;
}

/// It was not done.
#[derive(Debug, thiserror::Error)]
pub enum NotDone<W: Rule> {
    #[error("refused: {0:?}")]
    Refused(W),
    /// It was done before: the same form came twice.
    #[error("carried out before")]
    Repeated,
    /// The actor was blocked, or lost the role, before the commit.
    #[error("{NOT_ALLOWED}")]
    NotAllowed,
    #[error(transparent)]
    Failed(anyhow::Error),
}

impl<W: Rule> NotDone<W> {
    /// The same in other words.
    pub fn told_as<V: Rule>(self, tell: impl FnOnce(W) -> V) -> NotDone<V> {
        match self {
            Self::Refused(why) => NotDone::Refused(tell(why)),
            Self::Repeated => NotDone::Repeated,
            Self::NotAllowed => NotDone::NotAllowed,
            Self::Failed(error) => NotDone::Failed(error),
        }
    }
}

impl<W: Rule> From<W> for NotDone<W> {
    fn from(why: W) -> Self {
        Self::Refused(why)
    }
}

impl<W: Rule> From<DbErr> for NotDone<W> {
    fn from(error: DbErr) -> Self {
        Self::Failed(error.into())
    }
}

impl<W: Rule> From<NotWritten> for NotDone<W> {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Refused(refusal) if refusal == REPEATED => Self::Repeated,
            NotWritten::Refused(refusal) if refusal == NOT_ALLOWED => Self::NotAllowed,
            NotWritten::Refused(refusal) => match W::of(&refusal) {
                Some(why) => Self::Refused(why),
                None => Self::Failed(anyhow::anyhow!(refusal)),
            },
            NotWritten::Failed(error) => Self::Failed(error.into()),
        }
    }
}
