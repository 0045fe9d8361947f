//! Exports and forgets the registration's personal data.

use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::consent;
use super::file_effects::Discard;
use super::states::DocumentFile;
use super::tables::{decision, document};
use crate::domain::{Domain, Transaction};

/// The documents without their pictures, the decisions, and the consents with their texts.
pub async fn export(domain: &Domain, user_id: i64) -> anyhow::Result<Value> {
    let documents = document::Entity::find().filter(document::Column::UserId.eq(user_id));
    let documents = documents.order_by_asc(document::Column::CreatedAt).order_by_asc(document::Column::Kind);
    let documents = documents.all(domain.read()).await?;
    let decisions = decision::Entity::find().filter(decision::Column::UserId.eq(user_id));
    let decisions = decisions.order_by_asc(decision::Column::Id).all(domain.read()).await?;
    let listed = documents.iter().map(|one| {
        json!({
            "id": one.id, "kind": one.kind, "media_type": one.media_type, "size_bytes": one.size_bytes,
            "sha256": one.sha256, "status": one.status, "reason": one.reason, "created_at_ms": one.created_at,
            "valid_until": one.valid_until,
        })
    });
    let decided = decisions
        .iter()
        .map(|one| json!({ "is_approved": one.is_approved, "reason": one.reason, "decided_at_ms": one.decided_at }));
    let consents = consent::of_person(domain.read(), user_id).await?;
    let agreed =
        consents.iter().map(|one| json!({ "version": one.version, "given_at_ms": one.at.0, "text": one.text }));
    Ok(json!({
        "documents": listed.collect::<Value>(),
        "decisions": decided.collect::<Value>(),
        "consents": agreed.collect::<Value>(),
    }))
}

/// Deletes documents, decisions and consents; returns the names of the files.
pub async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<Vec<String>, WriteError> {
    let names = forget_documents(db, user_id).await?;
    decision::Entity::delete_many().filter(decision::Column::UserId.eq(user_id)).exec(db).await?;
    consent::forget(db, user_id).await?;
    Ok(names)
}

/// Deletes the documents of a person who does not name them any more; returns the names of the files.
pub async fn forget_documents(db: &Transaction<'_, '_>, user_id: i64) -> Result<Vec<String>, WriteError> {
    let own = document::Column::UserId.eq(user_id);
    let documents = document::Entity::find().filter(own.clone()).all(db).await?;
    document::Entity::delete_many().filter(own).exec(db).await?;
    Ok(documents.into_iter().map(|document| document.id).collect())
}

/// The files in stored states, wherever they appear: downloads, and files without a document yet.
pub fn drafts(states: &[Value]) -> Discard {
    let mut files = Vec::new();
    states.iter().for_each(|state| find_files(state, &mut files));
    Discard::new(&files)
}

fn find_files(value: &Value, found: &mut Vec<DocumentFile>) {
    match value {
        Value::Object(fields) => {
            found.extend(DocumentFile::deserialize(value).ok());
            fields.values().for_each(|field| find_files(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_files(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_anywhere_in_a_state() {
        let file = |id: &str| json!({ "id": id, "kind": "passport", "path": format!("/data/downloads/{id}") });
        let state =
            json!({ "tracks": [{ "at": "saving", "state": { "draft": {}, "files": [file("a"), file("b")] } }] });
        let found = drafts(&[json!({ "id": "no file" }), state]);
        assert_eq!(found.ids, ["a", "b"]);
        assert_eq!(found.paths, ["/data/downloads/a", "/data/downloads/b"].map(std::path::PathBuf::from));
    }
}
