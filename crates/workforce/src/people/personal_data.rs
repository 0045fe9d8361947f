//! Exports and forgets personal data.
//!
//! Every room contributes its part. A forgotten person remains as a number, which work and pay refer to, and nothing
//! tells whose it was. The account may register again as a new person.

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Set};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::changes::{change, note};
use super::owners::{self, OwnerAction};
use super::tables::{role as user_role, user};
use super::{Person, Role, Status, forget_queue};
use crate::application::App;
use crate::audit;
use crate::domain::{Domain, NotWritten, Transaction};
use crate::files::Files;
use crate::jobs;
use crate::rooms::Rooms;

/// The refusal if a person has changed since it was decided to forget something.
const CHANGED: &str = "this person has changed meanwhile";

/// Everything that is known about a person, in the words of the tables; documents are listed. The export is audited.
pub async fn export(
    domain: &Domain,
    rooms: &Rooms,
    person: &Person,
    by: Option<i64>,
    at: Millis,
) -> anyhow::Result<Value> {
    let mut parts = Map::new();
    parts.insert("person".to_owned(), facts(person));
    for room in rooms.iter() {
        let part = room.export(domain, person).await?;
        if !part.is_null() {
            parts.insert(room.name().to_owned(), part);
        }
    }
    let lines = audit::about(domain, ("user", person.id)).await?;
    let line = |line: &audit::Line| json!({ "at_ms": line.at.0, "action": line.action, "detail": line.detail });
    parts.insert("what_staff_did".to_owned(), lines.iter().map(line).collect());
    let id = person.id;
    let noted = domain.write(move |db| {
        Box::pin(async move {
            if let Some(by) = by {
                owners::lock_and_check(db, OwnerAction::Export, by, id).await?;
            }
            note(db, id, "data exported", json!({}), by, at).await
        })
    });
    noted.await?;
    Ok(Value::Object(parts))
}

/// Forgets a person in one commit, and then removes the files; the cleanup finds files that remain.
/// [`super::forgetting`] removes the conversations.
pub async fn forget(
    domain: &Domain,
    rooms: &Rooms,
    files: &Files,
    person: &Person,
    by: Option<i64>,
    at: Millis,
) -> anyhow::Result<()> {
    let (rooms, person_id) = (rooms.clone(), person.id);
    let (forgotten, (send_names, names)) = (person.clone(), oneshot::channel());
    domain
        .write(move |db| {
            Box::pin(async move {
                let names = forget_within(db, &rooms, &forgotten, by, at).await?;
                // The caller may be gone; the cleanup finds the files then.
                let _ = send_names.send(names);
                Ok(())
            })
        })
        .await?;
    let names: Vec<String> = names.await.unwrap_or_default();
    if let Err(error) = files.remove(names).await {
        tracing::warn!(user = person_id, %error, "files of a forgotten person remain; the cleanup removes them");
    }
    tracing::info!(user = person_id, "a person is forgotten");
    Ok(())
}

/// Forgets a person as [`forget`] does, unless the person has changed since `person` was read. Returns whether it did.
pub async fn forget_unchanged(app: &App, person: &Person, at: Millis) -> anyhow::Result<bool> {
    let (rooms, forgotten) = (app.rooms.clone(), person.clone());
    let names = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            require_version(db, &forgotten).await?;
            forget_within(db, &rooms, &forgotten, None, at).await
        })
    });
    remove_files(app, person.id, names.await).await
}

/// Forgets only a person's documents, unless the person has changed since. `delete` removes the rows of the documents
/// and returns the names of their files. Name, work and pay stay. Returns whether it did.
pub async fn forget_documents<F>(app: &App, person: &Person, at: Millis, delete: F) -> anyhow::Result<bool>
where
    F: for<'w> FnOnce(&'w Transaction<'_, '_>, i64) -> BoxFuture<'w, Result<Vec<String>, WriteError>> + Send + 'static,
{
    let forgotten = person.clone();
    let names = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            require_version(db, &forgotten).await?;
            let without = user::ActiveModel { main_document_id: Set(None), selfie_id: Set(None), ..Default::default() };
            change(db, forgotten.id, without, at).await?;
            let names = delete(db, forgotten.id).await?;
            note(db, forgotten.id, "documents forgotten", json!({}), None, at).await?;
            Ok(names)
        })
    });
    remove_files(app, person.id, names.await).await
}

/// Locks a person, and refuses unless the row is the one that was read.
async fn require_version(db: &Transaction<'_, '_>, person: &Person) -> Result<(), WriteError> {
    let row = user::Entity::find_by_id(person.id).lock_exclusive().one(db).await?;
    let is_same = row.is_some_and(|row| row.version == person.version);
    if is_same { Ok(()) } else { Err(Refusal::because(CHANGED)) }
}

/// Removes files after the commit that forgot their owner; the cleanup finds files that remain.
async fn remove_files(app: &App, user: i64, names: Result<Vec<String>, NotWritten>) -> anyhow::Result<bool> {
    let Some(names) = jobs::written_or_skipped(names, "retention", user)? else { return Ok(false) };
    if let Err(error) = app.files.remove(names).await {
        tracing::warn!(user, %error, "files of a forgotten person remain; the cleanup removes them");
    }
    Ok(true)
}

/// Returns the names of files that have no owner any more.
async fn forget_within(
    db: &Transaction<'_, '_>,
    rooms: &Rooms,
    person: &Person,
    by: Option<i64>,
    at: Millis,
) -> Result<Vec<String>, WriteError> {
    let id = person.id;
    if let Some(by) = by {
        owners::lock_and_check(db, OwnerAction::Forget, by, id).await?;
    }
    let was_owner = owners::lock_and_check_owner(db, id).await?;
    let anonymous = user::ActiveModel {
        // No account has a negative id.
        telegram_id: Set(-id),
        full_name: Set(format!("#{id}")),
        phone: Set(None),
        username: Set(None),
        email: Set(None),
        status: Set(Status::Blocked.name().to_owned()),
        is_test: Set(false),
        main_document_id: Set(None),
        selfie_id: Set(None),
        ..Default::default()
    };
    change(db, id, anonymous, at).await?;
    user_role::Entity::delete_many().filter(user_role::Column::UserId.eq(id)).exec(db).await?;
    if was_owner {
        owners::require_an_owner(db).await?;
    }
    let mut files = Vec::new();
    for room in rooms.iter() {
        files.extend(room.forget(db, person, at).await?);
    }
    forget_queue::add(db, person.telegram_id, at).await?;
    note(db, id, "person forgotten", json!({}), by, at).await?;
    Ok(files)
}

fn facts(person: &Person) -> Value {
    json!({
        "id": person.id,
        "telegram_id": person.telegram_id,
        "full_name": person.full_name,
        "phone": person.phone,
        "username": person.username,
        "email": person.email,
        "language": person.language.code(),
        "status": person.status.name(),
        "roles": person.roles.iter().map(Role::name).collect::<Vec<_>>(),
        "known_since_ms": person.created_at.0,
    })
}
