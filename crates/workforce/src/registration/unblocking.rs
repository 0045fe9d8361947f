//! The status of a person after an unblock: the same as before the block.

use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::tables::{decision, document};
use super::{DocumentKind, DocumentStatus};
use crate::people;
use crate::person::{Person, Role, Status};

/// What is known about a person's registration.
#[derive(Clone, Copy, Debug)]
struct Facts {
    works_here: bool,
    /// Added by a granted role, and not by registration.
    is_granted: bool,
    /// There are pending documents.
    waits: bool,
    /// The last decision: whether it was an approval.
    decided: Option<bool>,
    /// The documents of the registration are forgotten.
    are_documents_gone: bool,
}

/// A person's status without the block. Only a person with pending documents is pending: nothing else can be decided.
pub async fn status_after_unblock(db: &impl ConnectionTrait, person: &Person) -> Result<Status, DbErr> {
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
        are_documents_gone: !people::has_documents(db, person.id).await?,
    };
    Ok(judge(facts))
}

fn judge(facts: Facts) -> Status {
    let Facts { works_here, is_granted, waits, decided, are_documents_gone } = facts;
    match decided {
        // A role that was granted meanwhile has admitted the person.
        _ if is_granted && works_here => Status::Verified,
        _ if waits => Status::Pending,
        _ if is_granted => Status::Verified,
        // A member who registered has documents: this person sends them once more.
        _ if are_documents_gone => Status::Rejected,
        Some(true) => Status::Verified,
        // A rejected person may register again, and so may a person without documents to decide on.
        Some(false) | None => Status::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_people_with_documents_become_pending_again() {
        let new = Facts { works_here: false, is_granted: false, waits: true, decided: None, are_documents_gone: false };
        assert_eq!(judge(new), Status::Pending);
        assert_eq!(judge(Facts { decided: Some(false), ..new }), Status::Pending, "registered once more");
        let seen = Facts { waits: false, ..new };
        assert_eq!(judge(Facts { decided: Some(true), ..seen }), Status::Verified, "the role was taken away");
        assert_eq!(judge(Facts { decided: Some(true), works_here: true, ..seen }), Status::Verified);
        assert_eq!(judge(Facts { decided: Some(false), ..seen }), Status::Rejected);
        assert_eq!(judge(seen), Status::Rejected, "nothing is left to look at");
        let forgotten = Facts { decided: Some(true), works_here: true, are_documents_gone: true, ..seen };
        assert_eq!(judge(forgotten), Status::Rejected, "the documents were forgotten");
        let granted = Facts { is_granted: true, ..seen };
        assert_eq!(judge(granted), Status::Verified);
        assert_eq!(judge(Facts { works_here: true, waits: true, ..granted }), Status::Verified);
        assert_eq!(judge(Facts { waits: true, ..granted }), Status::Pending, "of an older bot, with documents");
    }
}
