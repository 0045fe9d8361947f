//! Where somebody stands who is not blocked any more: as before.

use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::tables::{decision, document};
use super::{DocumentKind, DocumentStatus};
use crate::people;
use crate::person::{Person, Role, Status};

/// What is known of somebody's registration.
#[derive(Clone, Copy, Debug)]
struct Facts {
    works_here: bool,
    /// Made known by a role, and not by a registration.
    is_granted: bool,
    /// There are documents to look at.
    waits: bool,
    /// The last decision: whether it was a yes.
    decided: Option<bool>,
}

/// What a person's status is without the block. Only who has documents to look at waits: nobody could decide otherwise.
pub async fn standing(db: &impl ConnectionTrait, person: &Person) -> Result<Status, DbErr> {
    let pending = document::Entity::find()
        .filter(document::Column::UserId.eq(person.id))
        .filter(document::Column::Status.eq(DocumentStatus::Pending.name()))
        .filter(document::Column::Kind.ne(DocumentKind::Selfie.name()));
    let decisions = decision::Entity::find().filter(decision::Column::UserId.eq(person.id));
    let last = decisions.order_by_desc(decision::Column::Id).limit(1).one(db).await?;
    let facts = Facts {
        works_here: person.roles.iter().any(|role| role != Role::Applicant),
        is_granted: people::is_granted(db, person.id).await?,
        waits: pending.limit(1).one(db).await?.is_some(),
        decided: last.map(|row| row.is_approved),
    };
    Ok(judge(facts))
}

fn judge(facts: Facts) -> Status {
    let Facts { works_here, is_granted, waits, decided } = facts;
    match decided {
        // Whoever was granted a role while waiting was let in by that.
        _ if is_granted && works_here => Status::Verified,
        _ if waits => Status::Pending,
        _ if is_granted => Status::Verified,
        Some(true) => Status::Verified,
        // Who was turned away may register again, and so may somebody of whom nothing is left to look at.
        Some(false) | None => Status::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_documents_to_look_at_waits_again() {
        let new = Facts { works_here: false, is_granted: false, waits: true, decided: None };
        assert_eq!(judge(new), Status::Pending);
        assert_eq!(judge(Facts { decided: Some(false), ..new }), Status::Pending, "registered once more");
        let seen = Facts { waits: false, ..new };
        assert_eq!(judge(Facts { decided: Some(true), ..seen }), Status::Verified, "the role was taken away");
        assert_eq!(judge(Facts { decided: Some(true), works_here: true, ..seen }), Status::Verified);
        assert_eq!(judge(Facts { decided: Some(false), ..seen }), Status::Rejected);
        assert_eq!(judge(seen), Status::Rejected, "nothing is left to look at");
        let granted = Facts { is_granted: true, ..seen };
        assert_eq!(judge(granted), Status::Verified);
        assert_eq!(judge(Facts { works_here: true, waits: true, ..granted }), Status::Verified);
        assert_eq!(judge(Facts { waits: true, ..granted }), Status::Pending, "of an older bot, with documents");
    }
}
