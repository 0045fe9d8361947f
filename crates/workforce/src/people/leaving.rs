//! What is known of a person, for the person; and forgetting it.
//!
//! Every room gives its part of either. Who is forgotten remains as a number: what was worked and paid refers to it, and
//! nothing tells whose it was. The account may register again, as somebody new.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::changes::{change, note};
use super::owners::{self, Deed};
use super::tables::{role as user_role, user};
use super::{Person, Role, Status, to_forget};
use crate::audit;
use crate::domain::{Domain, Writing};
use crate::files::Files;
use crate::rooms::Rooms;

/// Everything that is known of a person, in the words of the tables; documents are listed. That it was given out is noted.
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
                owners::hold(db, Deed::Export, by, id).await?;
            }
            note(db, id, "data exported", json!({}), by, at).await
        })
    });
    noted.await?;
    Ok(Value::Object(parts))
}

/// Forgets a person in one commit, and then removes their files; what of these remains the cleanup finds. What the bot keeps
/// of their conversations, [`super::forgetting`] removes.
pub async fn forget(
    domain: &Domain,
    rooms: &Rooms,
    files: &Files,
    person: &Person,
    by: Option<i64>,
    at: Millis,
) -> anyhow::Result<()> {
    let (rooms, person_id) = (rooms.clone(), person.id);
    let (forgotten, (tell, told)) = (person.clone(), oneshot::channel());
    domain
        .write(move |db| {
            Box::pin(async move {
                let names = forget_within(db, &rooms, &forgotten, by, at).await?;
                // Whoever asked may have gone; the files are found later then.
                let _ = tell.send(names);
                Ok(())
            })
        })
        .await?;
    let names: Vec<String> = told.await.unwrap_or_default();
    if let Err(error) = files.remove(names).await {
        tracing::warn!(user = person_id, %error, "files of somebody who is forgotten remain; the cleanup removes them");
    }
    tracing::info!(user = person_id, "a person is forgotten");
    Ok(())
}

/// Answers the names of the files that nobody owns any more.
async fn forget_within(
    db: &Writing<'_, '_>,
    rooms: &Rooms,
    person: &Person,
    by: Option<i64>,
    at: Millis,
) -> Result<Vec<String>, WriteError> {
    let id = person.id;
    if let Some(by) = by {
        owners::hold(db, Deed::Forget, by, id).await?;
    }
    let was_owner = owners::is_owner(db, id).await?;
    let nobody = user::ActiveModel {
        // No account has such a number.
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
    change(db, id, nobody, at).await?;
    user_role::Entity::delete_many().filter(user_role::Column::UserId.eq(id)).exec(db).await?;
    if was_owner {
        owners::one_is_left(db).await?;
    }
    let mut files = Vec::new();
    for room in rooms.iter() {
        files.extend(room.forget(db, person, at).await?);
    }
    to_forget::leave(db, person.telegram_id, at).await?;
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
