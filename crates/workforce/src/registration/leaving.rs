//! Registration's part of what is known of a person, and of forgetting it.

use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::keeping::Discard;
use super::states::Paper;
use super::tables::{decision, document};
use crate::domain::{Domain, Writing};

/// The documents without their pictures, and what was decided.
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
        })
    });
    let decided = decisions
        .iter()
        .map(|one| json!({ "is_approved": one.is_approved, "reason": one.reason, "decided_at_ms": one.decided_at }));
    Ok(json!({ "documents": listed.collect::<Value>(), "decisions": decided.collect::<Value>() }))
}

/// Takes documents and decisions away; answers the names of the files.
pub async fn forget(db: &Writing<'_, '_>, user_id: i64) -> Result<Vec<String>, WriteError> {
    let own = document::Column::UserId.eq(user_id);
    let documents = document::Entity::find().filter(own.clone()).all(db).await?;
    document::Entity::delete_many().filter(own).exec(db).await?;
    decision::Entity::delete_many().filter(decision::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(documents.into_iter().map(|document| document.id).collect())
}

/// The files that states know, wherever a paper stands in them: downloads, and files that no document names yet.
pub fn drafts(states: &[Value]) -> Discard {
    let mut papers = Vec::new();
    states.iter().for_each(|state| find_papers(state, &mut papers));
    Discard::of(&papers)
}

fn find_papers(value: &Value, found: &mut Vec<Paper>) {
    match value {
        Value::Object(fields) => {
            found.extend(Paper::deserialize(value).ok());
            fields.values().for_each(|field| find_papers(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_papers(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_found_wherever_they_stand_in_a_state() {
        let paper = |id: &str| json!({ "id": id, "kind": "passport", "path": format!("/data/downloads/{id}") });
        let state =
            json!({ "slots": [{ "at": "saving", "state": { "draft": {}, "papers": [paper("a"), paper("b")] } }] });
        let found = drafts(&[json!({ "id": "no paper" }), state]);
        assert_eq!(found.ids, ["a", "b"]);
        assert_eq!(found.paths, ["/data/downloads/a", "/data/downloads/b"].map(std::path::PathBuf::from));
    }
}
