//! PINs that wait to be sent. Only the leader sends, but any instance may serve the page. PINs that the store did not
//! take wait here, too.
//!
//! A row is handed to the outbox once, under its own name, and then deleted. A row that is not sent is deleted when its
//! PIN expires. PINs are never logged.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::message;
use crate::application::App;
use crate::domain::{NotWritten, Transaction};
use crate::person::{Person, Status};

/// Poll interval of the leader: a person waits at the page.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Rows per run.
const BATCH: u64 = 100;

/// Stores a PIN for the leader.
pub async fn store(app: &App, once: String, person: &Person, pin: String, until: Millis) -> Result<(), NotWritten> {
    let user_id = person.id;
    app.domain
        .write(move |db| {
            Box::pin(async move {
                let row = table::ActiveModel {
                    once: Set(once),
                    user_id: Set(user_id),
                    pin: Set(pin),
                    expires_at: Set(until.0),
                };
                table::Entity::insert(row).exec_without_returning(db).await?;
                Ok(())
            })
        })
        .await
}

/// Sends stored PINs while this instance leads; runs until dropped.
pub async fn run(app: &App) {
    let mut is_logged = false;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if !app.bot.is_running() {
            continue;
        }
        match send(app).await {
            Ok(()) => is_logged = false,
            // Only the first failure in a row is logged.
            Err(error) if !is_logged => {
                is_logged = true;
                tracing::warn!(error = format!("{error:#}"), "waiting PINs cannot be sent; trying again");
            }
            Err(_) => {}
        }
    }
}

async fn send(app: &App) -> anyhow::Result<()> {
    let waiting = table::Entity::find().order_by_asc(table::Column::ExpiresAt).limit(BATCH);
    let rows = waiting.all(app.domain.read()).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let people = app.people.with_ids(&rows.iter().map(|row| row.user_id).collect::<Vec<_>>()).await?;
    let now = app.clock.now();
    for row in rows.iter().filter(|row| row.expires_at > now.0) {
        let person = people.iter().find(|person| person.id == row.user_id && person.status == Status::Verified);
        if let Some(person) = person {
            app.bot.post(&format!("pin:{}", row.once), person.telegram_id, message(app, person, &row.pin)).await?;
        }
    }
    let keys: Vec<String> = rows.into_iter().map(|row| row.once).collect();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                table::Entity::delete_many().filter(table::Column::Once.is_in(keys)).exec(db).await?;
                Ok(())
            })
        })
        .await?;
    Ok(())
}

/// Deletes the PINs of a person.
pub async fn forget(db: &Transaction<'_, '_>, person: &Person) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(person.id)).exec(db).await?;
    Ok(())
}

/// Deletes expired PINs.
pub async fn delete_expired(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::ExpiresAt.lte(now.0)).exec(db).await?;
    Ok(())
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "pins_to_send")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub once: String,
        pub user_id: i64,
        pub pin: String,
        pub expires_at: i64,
    }

    /// Hides the PIN.
    impl std::fmt::Debug for Model {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Model").field("user_id", &self.user_id).finish_non_exhaustive()
        }
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
