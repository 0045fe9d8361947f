//! What owners do to people, checked within the commit that does it.
//!
//! A page checks the actor and the target first, and both may change before its commit. So the commit locks both rows and
//! those of all owners, always in one order, and applies the same rules to what it finds. Of two owners who remove each
//! other, the first succeeds and the second is refused. The last owner cannot be removed, by the command line either.

use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::{LockType, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::tables::{role as user_role, user};
use super::{Person, Role, Status, find};
use crate::domain::{NOT_ALLOWED, Writing};
use crate::person::OWNERS;

const NOT_POSSIBLE: &str = "this cannot be done to this person";
const LAST_OWNER: &str =
    "this is the last owner, and somebody must be left to decide; make another person an owner first";

/// Something that an owner does to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Block,
    Unblock,
    Export,
    Forget,
    Grant(Role),
    Revoke(Role),
}

/// Why a deed is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The actor lacks the right.
    NotAllowed,
    /// The actor has the right, but not about this person.
    NotPossible,
}

impl Deed {
    /// Whether the actor may do this to the person.
    ///
    /// Only a superadmin makes or touches superadmins. Owners cannot block or forget themselves, nor take their own power
    /// away. A forgotten person cannot be changed.
    pub fn check(self, actor: &Person, person: &Person) -> Result<(), Hindrance> {
        if !actor.may(OWNERS) {
            return Err(Hindrance::NotAllowed);
        }
        if person.is_forgotten() {
            return Err(Hindrance::NotPossible);
        }
        let touches_superadmin = person.roles.has(Role::Superadmin) || self.role() == Some(Role::Superadmin);
        if touches_superadmin && !actor.roles.has(Role::Superadmin) {
            return Err(Hindrance::NotAllowed);
        }
        let is_for_others_only = match self {
            Self::Block | Self::Unblock | Self::Forget => true,
            Self::Revoke(role) => OWNERS.contains(&role),
            Self::Export | Self::Grant(_) => false,
        };
        if is_for_others_only && actor.id == person.id { Err(Hindrance::NotPossible) } else { Ok(()) }
    }

    /// Whether the person is like this already.
    fn is_done(self, person: &Person) -> bool {
        match self {
            Self::Block => person.status == Status::Blocked,
            Self::Unblock => person.status != Status::Blocked,
            Self::Grant(role) => person.roles.has(role),
            Self::Revoke(role) => !person.roles.has(role),
            Self::Export | Self::Forget => false,
        }
    }

    const fn role(self) -> Option<Role> {
        match self {
            Self::Grant(role) | Self::Revoke(role) => Some(role),
            Self::Block | Self::Unblock | Self::Export | Self::Forget => None,
        }
    }
}

/// Locks the actor, the person and all owners, and checks the deed once more. Answers the person, or nothing where the
/// deed is done already.
pub async fn hold(db: &Writing<'_, '_>, deed: Deed, actor: i64, person: i64) -> Result<Option<Person>, WriteError> {
    lock_with_owners(db, &[actor, person]).await?;
    let found = find(db, user::Column::Id.is_in([actor, person])).await?;
    let of = |id: i64| found.iter().find(|one| one.id == id);
    let (Some(actor), Some(person)) = (of(actor), of(person)) else { return Err(Refusal::because(NOT_POSSIBLE)) };
    match deed.check(actor, person) {
        Ok(()) => Ok(Some(person.clone()).filter(|person| !deed.is_done(person))),
        Err(Hindrance::NotAllowed) => Err(Refusal::because(NOT_ALLOWED)),
        Err(Hindrance::NotPossible) => Err(Refusal::because(NOT_POSSIBLE)),
    }
}

/// Locks all owners before a change that may remove one of them; answers whether this person is an owner now.
pub(super) async fn is_owner(db: &Writing<'_, '_>, id: i64) -> Result<bool, WriteError> {
    lock_with_owners(db, &[id]).await?;
    let found = find(db, user::Column::Id.eq(id)).await?;
    Ok(found.first().is_some_and(|person| person.may(OWNERS)))
}

/// Refuses a commit after which nobody would be an owner.
pub(super) async fn one_is_left(db: &Writing<'_, '_>) -> Result<(), WriteError> {
    let verified = Condition::all().add(user::Column::Status.eq(Status::Verified.name())).add(are_owners());
    let left = user::Entity::find().filter(verified).limit(1).one(db).await?;
    if left.is_some() { Ok(()) } else { Err(Refusal::because(LAST_OWNER)) }
}

/// In the order of their numbers, so that two commits never wait for each other in a circle.
async fn lock_with_owners(db: &Writing<'_, '_>, ids: &[i64]) -> Result<(), WriteError> {
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
    fn owners_act_on_others_and_only_superadmins_on_superadmins() {
        let (owner, root) = (person(1, &[Role::Owner]), person(2, &[Role::Superadmin]));
        let worker = person(3, &[Role::Employee]);
        for deed in [Deed::Block, Deed::Forget, Deed::Export, Deed::Grant(Role::Owner), Deed::Revoke(Role::Owner)] {
            assert_eq!(deed.check(&owner, &worker), Ok(()), "{deed:?}");
            assert_eq!(deed.check(&worker, &owner), Err(Hindrance::NotAllowed), "{deed:?}");
            assert_eq!(deed.check(&owner, &root), Err(Hindrance::NotAllowed), "{deed:?}");
            assert_eq!(deed.check(&root, &owner), Ok(()), "{deed:?}");
        }
        assert_eq!(Deed::Grant(Role::Superadmin).check(&owner, &worker), Err(Hindrance::NotAllowed));
    }

    #[test]
    fn nobody_removes_themselves_or_acts_while_blocked() {
        let owner = person(1, &[Role::Owner]);
        for deed in [Deed::Block, Deed::Unblock, Deed::Forget, Deed::Revoke(Role::Owner)] {
            assert_eq!(deed.check(&owner, &owner), Err(Hindrance::NotPossible), "{deed:?}");
        }
        assert_eq!(Deed::Revoke(Role::Employee).check(&owner, &owner), Ok(()));
        let blocked = Person { status: Status::Blocked, ..owner.clone() };
        assert_eq!(Deed::Block.check(&blocked, &person(2, &[])), Err(Hindrance::NotAllowed));
        let forgotten = Person { telegram_id: -2, ..person(2, &[]) };
        assert_eq!(Deed::Unblock.check(&owner, &forgotten), Err(Hindrance::NotPossible));
    }
}
