//! Actions of owners on people, checked within their commit.
//!
//! A page checks the actor and the target first, and both may change before the commit. So the commit locks both rows
//! and the rows of all owners, always in the same order, and applies the same rules again. If two owners remove each
//! other, the first succeeds and the second is refused. The last owner cannot be removed, not even on the command line.

use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::{LockType, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::tables::{role as user_role, user};
use super::{Person, Role, Status, find};
use crate::domain::{NOT_ALLOWED, Transaction};
use crate::person::OWNERS;

const NOT_POSSIBLE: &str = "this cannot be done to this person";
const LAST_OWNER: &str = "this is the last owner, and the business needs one; make another person an owner first";

/// An action of an owner on a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerAction {
    Block,
    Unblock,
    Export,
    Forget,
    Edit,
    Grant(Role),
    Revoke(Role),
}

/// Why an action is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerActionRefusal {
    /// The actor lacks the right.
    NotAllowed,
    /// The actor has the right, but the action is impossible for this person.
    NotPossible,
}

impl OwnerAction {
    /// Whether the actor may do this to the person.
    ///
    /// Only a superadmin may grant or revoke that role, or act on superadmins. Owners cannot block or forget
    /// themselves, nor revoke their own power. A forgotten person cannot be changed.
    pub fn check(self, actor: &Person, person: &Person) -> Result<(), OwnerActionRefusal> {
        if !actor.may(OWNERS) {
            return Err(OwnerActionRefusal::NotAllowed);
        }
        if person.is_forgotten() {
            return Err(OwnerActionRefusal::NotPossible);
        }
        let touches_superadmin = person.roles.has(Role::Superadmin) || self.role() == Some(Role::Superadmin);
        if touches_superadmin && !actor.roles.has(Role::Superadmin) {
            return Err(OwnerActionRefusal::NotAllowed);
        }
        let is_for_others_only = match self {
            Self::Block | Self::Unblock | Self::Forget => true,
            Self::Revoke(role) => OWNERS.contains(&role),
            Self::Export | Self::Edit | Self::Grant(_) => false,
        };
        if is_for_others_only && actor.id == person.id { Err(OwnerActionRefusal::NotPossible) } else { Ok(()) }
    }

    /// Whether the person is in the wanted condition already.
    fn is_done(self, person: &Person) -> bool {
        match self {
            Self::Block => person.status == Status::Blocked,
            Self::Unblock => person.status != Status::Blocked,
            Self::Grant(role) => person.roles.has(role),
            Self::Revoke(role) => !person.roles.has(role),
            Self::Export | Self::Forget | Self::Edit => false,
        }
    }

    const fn role(self) -> Option<Role> {
        match self {
            Self::Grant(role) | Self::Revoke(role) => Some(role),
            Self::Block | Self::Unblock | Self::Export | Self::Forget | Self::Edit => None,
        }
    }
}

/// Locks the actor, the person and all owners, and checks the action again. Returns the person, or none if nothing is
/// left to do.
pub async fn lock_and_check(
    db: &Transaction<'_, '_>,
    action: OwnerAction,
    actor: i64,
    person: i64,
) -> Result<Option<Person>, WriteError> {
    lock_with_owners(db, &[actor, person]).await?;
    let found = find(db, user::Column::Id.is_in([actor, person])).await?;
    let by_id = |id: i64| found.iter().find(|one| one.id == id);
    let (Some(actor), Some(person)) = (by_id(actor), by_id(person)) else { return Err(Refusal::because(NOT_POSSIBLE)) };
    match action.check(actor, person) {
        Ok(()) => Ok(Some(person.clone()).filter(|person| !action.is_done(person))),
        Err(OwnerActionRefusal::NotAllowed) => Err(Refusal::because(NOT_ALLOWED)),
        Err(OwnerActionRefusal::NotPossible) => Err(Refusal::because(NOT_POSSIBLE)),
    }
}

/// Locks all owners before a change that may remove one; returns whether this person is an owner now.
pub(super) async fn lock_and_check_owner(db: &Transaction<'_, '_>, id: i64) -> Result<bool, WriteError> {
    lock_with_owners(db, &[id]).await?;
    let found = find(db, user::Column::Id.eq(id)).await?;
    Ok(found.first().is_some_and(|person| person.may(OWNERS)))
}

/// Refuses a commit that would leave no owner.
pub(super) async fn require_an_owner(db: &Transaction<'_, '_>) -> Result<(), WriteError> {
    let verified = Condition::all().add(user::Column::Status.eq(Status::Verified.name())).add(are_owners());
    let owner = user::Entity::find().filter(verified).limit(1).one(db).await?;
    if owner.is_some() { Ok(()) } else { Err(Refusal::because(LAST_OWNER)) }
}

/// Locks in the order of ids, so that two commits cannot deadlock.
async fn lock_with_owners(db: &Transaction<'_, '_>, ids: &[i64]) -> Result<(), WriteError> {
    // SQLite has one writer, so there is nothing to lock.
    if db.get_database_backend() == DbBackend::Postgres {
        let all = Condition::any().add(user::Column::Id.is_in(ids.iter().copied())).add(are_owners());
        let rows = user::Entity::find().select_only().column(user::Column::Id).filter(all);
        let ordered = rows.order_by_asc(user::Column::Id).lock(LockType::NoKeyUpdate);
        ordered.into_tuple::<i64>().all(db).await?;
    }
    Ok(())
}

fn are_owners() -> sea_orm::sea_query::SimpleExpr {
    let holders = Query::select()
        .column(user_role::Column::UserId)
        .from(user_role::Entity)
        .and_where(user_role::Column::Role.is_in(OWNERS.iter().map(|role| role.name())))
        .take();
    user::Column::Id.in_subquery(holders)
}

#[cfg(test)]
mod tests {
    use opora::clock::Millis;

    use super::*;
    use crate::texts::Language;

    fn person(id: i64, roles: &[Role]) -> Person {
        Person {
            id,
            telegram_id: 1000 + id,
            full_name: format!("Person {id}"),
            phone: None,
            username: None,
            email: None,
            language: Language::En,
            status: Status::Verified,
            roles: roles.iter().copied().collect(),
            is_test: false,
            created_at: Millis(0),
            version: 1,
        }
    }

    #[test]
    fn only_superadmins_act_on_superadmins() {
        let (owner, root) = (person(1, &[Role::Owner]), person(2, &[Role::Superadmin]));
        let worker = person(3, &[Role::Employee]);
        for action in [
            OwnerAction::Block,
            OwnerAction::Forget,
            OwnerAction::Export,
            OwnerAction::Grant(Role::Owner),
            OwnerAction::Revoke(Role::Owner),
        ] {
            assert_eq!(action.check(&owner, &worker), Ok(()), "{action:?}");
            assert_eq!(action.check(&worker, &owner), Err(OwnerActionRefusal::NotAllowed), "{action:?}");
            assert_eq!(action.check(&owner, &root), Err(OwnerActionRefusal::NotAllowed), "{action:?}");
            assert_eq!(action.check(&root, &owner), Ok(()), "{action:?}");
        }
        assert_eq!(OwnerAction::Grant(Role::Superadmin).check(&owner, &worker), Err(OwnerActionRefusal::NotAllowed));
    }

    #[test]
    fn owners_cannot_remove_themselves_or_act_while_blocked() {
        let owner = person(1, &[Role::Owner]);
        for action in [OwnerAction::Block, OwnerAction::Unblock, OwnerAction::Forget, OwnerAction::Revoke(Role::Owner)]
        {
            assert_eq!(action.check(&owner, &owner), Err(OwnerActionRefusal::NotPossible), "{action:?}");
        }
        assert_eq!(OwnerAction::Revoke(Role::Employee).check(&owner, &owner), Ok(()));
        let blocked = Person { status: Status::Blocked, ..owner.clone() };
        assert_eq!(OwnerAction::Block.check(&blocked, &person(2, &[])), Err(OwnerActionRefusal::NotAllowed));
        let forgotten = Person { telegram_id: -2, ..person(2, &[]) };
        assert_eq!(OwnerAction::Unblock.check(&owner, &forgotten), Err(OwnerActionRefusal::NotPossible));
    }
}
