//! Changes of people, within a commit. What staff did is recorded in the audit.

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::{Expr, ExprTrait, Func, IntoCondition, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, Set};
use serde_json::{Value, json};

use super::tables::{role as user_role, user};
use super::{Person, Role, Status, by_telegram, owners};
use crate::audit;
use crate::domain::{Transaction, user_text};
use crate::rooms::Rooms;
use crate::texts::Language;
use crate::web::sessions;

/// A role to give.
#[derive(Clone, Debug)]
pub struct Grant {
    pub telegram_id: i64,
    pub full_name: String,
    pub role: Role,
    pub language: Language,
    /// The person who gives it; none for the command line.
    pub by: Option<i64>,
}

/// A person who registers. The documents are stored already, and have no owner yet.
#[derive(Clone, Debug)]
pub struct Enrolment {
    pub telegram_id: i64,
    pub full_name: String,
    pub phone: String,
    pub username: Option<String>,
    pub email: Option<String>,
    pub language: Language,
    pub main_document_id: String,
    pub selfie_id: String,
}

/// Gives a role to a Telegram account. An unknown account becomes a verified person without documents.
pub async fn grant(db: &Transaction<'_, '_>, granted: Grant, at: Millis) -> Result<(), WriteError> {
    let verified = user::ActiveModel {
        status: Set(Status::Verified.name().to_owned()),
        enrolled_by: Set("grant".to_owned()),
        ..Default::default()
    };
    let id = match by_telegram(db, granted.telegram_id).await? {
        Some(person) => {
            change(db, person.id, verified, at).await?;
            person.id
        }
        None => {
            let new = user::ActiveModel {
                telegram_id: Set(granted.telegram_id),
                full_name: Set(granted.full_name),
                language: Set(granted.language.code().to_owned()),
                ..verified
            };
            insert(db, new, at).await?
        }
    };
    add_role(db, id, granted.role).await?;
    note(db, id, "role granted", json!({ "role": granted.role.name() }), granted.by, at).await
}

/// A person from an imported table.
#[derive(Clone, Debug)]
pub struct Imported {
    pub telegram_id: i64,
    pub full_name: String,
    pub phone: Option<String>,
    pub role: Role,
    pub language: Language,
    /// The person who imports.
    pub by: Option<i64>,
}

/// Adds an imported person as verified. A known account is left as it is. Returns the person, and whether it is new.
pub async fn import(db: &Transaction<'_, '_>, imported: Imported, at: Millis) -> Result<(Person, bool), WriteError> {
    let telegram_id = imported.telegram_id;
    if let Some(person) = by_telegram(db, telegram_id).await? {
        return Ok((person, false));
    }
    let new = user::ActiveModel {
        telegram_id: Set(telegram_id),
        full_name: Set(imported.full_name),
        phone: Set(imported.phone),
        language: Set(imported.language.code().to_owned()),
        status: Set(Status::Verified.name().to_owned()),
        enrolled_by: Set("grant".to_owned()),
        ..Default::default()
    };
    let id = insert(db, new, at).await?;
    add_role(db, id, imported.role).await?;
    note(db, id, "person imported", json!({ "role": imported.role.name() }), imported.by, at).await?;
    Ok((known(db, telegram_id).await?, true))
}

/// Takes a role away; refused if the account is unknown or lacks the role.
pub async fn revoke(db: &Transaction<'_, '_>, telegram_id: i64, role: Role, at: Millis) -> Result<(), WriteError> {
    let person = known(db, telegram_id).await?;
    if !person.roles.has(role) {
        return Err(Refusal::because(format!("{telegram_id} is not {role}")));
    }
    take_role(db, person.id, role, None, at).await
}

/// Gives a role to a known person.
pub async fn give_role(
    db: &Transaction<'_, '_>,
    id: i64,
    role: Role,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    change(db, id, Default::default(), at).await?;
    add_role(db, id, role).await?;
    note(db, id, "role granted", json!({ "role": role.name() }), by, at).await
}

/// Takes a role from a known person; refused if no owner would be left.
pub async fn take_role(
    db: &Transaction<'_, '_>,
    id: i64,
    role: Role,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    let was_owner = owners::lock_and_check_owner(db, id).await?;
    let deleted = user_role::Entity::delete_by_id((id, role.name().to_owned())).exec(db).await?;
    if deleted.rows_affected == 0 {
        return Err(Refusal::because(format!("this person is not {role}")));
    }
    change(db, id, Default::default(), at).await?;
    if was_owner {
        owners::require_an_owner(db).await?;
    }
    note(db, id, "role revoked", json!({ "role": role.name() }), by, at).await
}

/// Adds a registered person with the status pending; a rejected person may register again. Returns the id.
pub async fn enrol(db: &Transaction<'_, '_>, enrolment: Enrolment, at: Millis) -> Result<i64, WriteError> {
    let telegram_id = enrolment.telegram_id;
    let user = user::ActiveModel {
        telegram_id: Set(telegram_id),
        full_name: Set(enrolment.full_name),
        phone: Set(Some(enrolment.phone)),
        username: Set(enrolment.username),
        email: Set(enrolment.email),
        language: Set(enrolment.language.code().to_owned()),
        status: Set(Status::Pending.name().to_owned()),
        enrolled_by: Set("registration".to_owned()),
        main_document_id: Set(Some(enrolment.main_document_id)),
        selfie_id: Set(Some(enrolment.selfie_id)),
        ..Default::default()
    };
    let id = match by_telegram(db, telegram_id).await? {
        None => insert(db, user, at).await?,
        Some(person) if person.status == Status::Rejected => {
            change(db, person.id, user, at).await?;
            person.id
        }
        Some(_) => return Err(Refusal::because(format!("{telegram_id} is registered already"))),
    };
    add_role(db, id, Role::Applicant).await?;
    Ok(id)
}

/// Sets a person's status. `by` is the person who decides. A person who is not verified any more is signed out
/// everywhere, and pending work is cancelled. Refused if no owner would be left.
pub async fn set_status(
    db: &Transaction<'_, '_>,
    id: i64,
    status: Status,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    change_status(db, id, status, by, at).await.map(drop)
}

/// Like [`set_status`]; returns how many pieces of pending work were given back.
pub(super) async fn change_status(
    db: &Transaction<'_, '_>,
    id: i64,
    status: Status,
    by: Option<i64>,
    at: Millis,
) -> Result<u64, WriteError> {
    let was_owner = status != Status::Verified && owners::lock_and_check_owner(db, id).await?;
    let changed = user::ActiveModel { status: Set(status.name().to_owned()), ..Default::default() };
    change(db, id, changed, at).await?;
    if was_owner {
        owners::require_an_owner(db).await?;
    }
    let mut given_back = 0;
    if status != Status::Verified {
        sessions::end_all(db, id).await?;
        // All rooms take part, whether a page, a turn or the command line commits.
        for room in Rooms::all().iter() {
            given_back += room.cancel_pending_work(db, id, by, at).await?;
        }
    }
    note(db, id, "status changed", json!({ "status": status.name() }), by, at).await?;
    Ok(given_back)
}

/// Sets the documents of a person who has none yet.
pub async fn set_documents(
    db: &Transaction<'_, '_>,
    id: i64,
    main_document_id: String,
    selfie_id: String,
    at: Millis,
) -> Result<(), WriteError> {
    let named = user::ActiveModel {
        main_document_id: Set(Some(main_document_id)),
        selfie_id: Set(Some(selfie_id)),
        ..Default::default()
    };
    change(db, id, named, at).await
}

/// Deletes a pending person with everything that belongs to the person; refused for other statuses.
pub async fn delete_pending(db: &Transaction<'_, '_>, id: i64, at: Millis) -> Result<(), WriteError> {
    let waits = user::Column::Id.eq(id).and(user::Column::Status.eq(Status::Pending.name()));
    let deleted = user::Entity::delete_many().filter(waits).exec(db).await?;
    if deleted.rows_affected == 0 {
        return Err(Refusal::because(format!("person {id} is not pending any more")));
    }
    note(db, id, "registration deleted", json!({}), None, at).await
}

/// Adds a role; does nothing if the person has it.
pub async fn add_role(db: &impl ConnectionTrait, user_id: i64, role: Role) -> Result<(), WriteError> {
    let row = user_role::ActiveModel { user_id: Set(user_id), role: Set(role.name().to_owned()) };
    let on_conflict = OnConflict::columns([user_role::Column::UserId, user_role::Column::Role]).do_nothing().to_owned();
    user_role::Entity::insert(row).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

/// Turns an applicant into an employee.
pub async fn make_employee(db: &impl ConnectionTrait, user_id: i64) -> Result<(), WriteError> {
    user_role::Entity::delete_by_id((user_id, Role::Applicant.name().to_owned())).exec(db).await?;
    add_role(db, user_id, Role::Employee).await
}

/// Changes the language in which the bot speaks to a person.
pub async fn set_language(db: &Transaction<'_, '_>, id: i64, language: Language, at: Millis) -> Result<(), WriteError> {
    let changed = user::ActiveModel { language: Set(language.code().to_owned()), ..Default::default() };
    change(db, id, changed, at).await
}

/// Stores a person's Telegram username. A username belongs to one person: the previous holder loses it.
pub async fn set_username(
    db: &Transaction<'_, '_>,
    id: i64,
    username: Option<String>,
    at: Millis,
) -> Result<(), WriteError> {
    if let Some(username) = &username {
        let same = Expr::expr(Func::lower(Expr::col(user::Column::Username))).eq(username.to_lowercase());
        let others = Condition::all().add(same).add(user::Column::Id.ne(id));
        update_usernames(db, others, None, at).await?;
    }
    update_usernames(db, user::Column::Id.eq(id).into_condition(), username, at).await
}

async fn update_usernames(
    db: &Transaction<'_, '_>,
    who: Condition,
    username: Option<String>,
    at: Millis,
) -> Result<(), WriteError> {
    user::Entity::update_many()
        .set(user::ActiveModel { username: Set(username), updated_at: Set(at.0), ..Default::default() })
        .col_expr(user::Column::Version, Expr::col(user::Column::Version).add(1))
        .filter(who)
        .exec(db)
        .await?;
    Ok(())
}

/// Makes a person a test user: for demos, and for trying an installation.
pub async fn mark_as_test(db: &Transaction<'_, '_>, telegram_id: i64, at: Millis) -> Result<(), WriteError> {
    set_test(db, telegram_id, true, at).await
}

/// Makes a person a test user or an ordinary one.
pub async fn set_test(db: &Transaction<'_, '_>, telegram_id: i64, is_test: bool, at: Millis) -> Result<(), WriteError> {
    let person = known(db, telegram_id).await?;
    if person.is_test == is_test {
        return Ok(());
    }
    change(db, person.id, user::ActiveModel { is_test: Set(is_test), ..Default::default() }, at).await?;
    let action = if is_test { "test user marked" } else { "test user unmarked" };
    note(db, person.id, action, json!({}), None, at).await
}

async fn known(db: &Transaction<'_, '_>, telegram_id: i64) -> Result<Person, WriteError> {
    let found = by_telegram(db, telegram_id).await?;
    found.ok_or_else(|| Refusal::because(format!("no person has the Telegram id {telegram_id}")))
}

async fn insert(db: &Transaction<'_, '_>, user: user::ActiveModel, at: Millis) -> Result<i64, WriteError> {
    let user = user::ActiveModel { created_at: Set(at.0), updated_at: Set(at.0), ..user };
    Ok(with_search_name(user).insert(db).await?.id)
}

/// Changes a row and raises its version.
pub(super) async fn change(
    db: &Transaction<'_, '_>,
    id: i64,
    user: user::ActiveModel,
    at: Millis,
) -> Result<(), WriteError> {
    let changed = user::Entity::update_many()
        .set(with_search_name(user::ActiveModel { updated_at: Set(at.0), ..user }))
        .col_expr(user::Column::Version, Expr::col(user::Column::Version).add(1))
        .filter(user::Column::Id.eq(id))
        .exec(db)
        .await?;
    if changed.rows_affected == 0 {
        return Err(Refusal::because(format!("there is no person {id} any more")));
    }
    Ok(())
}

/// Records in the audit what was done to a person, and by whom.
pub(super) async fn note(
    db: &Transaction<'_, '_>,
    id: i64,
    action: &'static str,
    detail: Value,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    audit::record(db, audit::Entry { at, actor: by, action, subject: ("user", id), detail }).await
}

/// Cleans a new name, and sets the lower-case name that searches use.
fn with_search_name(mut user: user::ActiveModel) -> user::ActiveModel {
    if let Set(name) = &user.full_name {
        let name = user_text::line(name);
        user.search_name = Set(name.to_lowercase());
        user.full_name = Set(name);
    }
    user
}
