//! PINs that wait for the instance that leads: only it sends, and a page may be asked of any. Those that the store did not
//! take wait here too, until it does.
//!
//! A row lies here for a moment, until it is handed to the outbox; it is handed over once, by its own word, and is gone
//! then. What nobody sends goes with the end of its PIN. None of it is in a log.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::message;
use crate::application::App;
use crate::domain::{NotWritten, Writing};
use crate::person::{Person, Status};

/// How often the instance that leads looks: somebody waits at a page.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many are sent in one run.
const AT_ONCE: u64 = 100;

/// Leaves a PIN for the instance that leads.
pub async fn leave(app: &App, once: String, person: &Person, pin: String, until: Millis) -> Result<(), NotWritten> {
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

/// Sends what others have left, while the bot leads here; until it is dropped.
pub async fn run(app: &App) {
    let mut is_told = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if !app.bot.is_running() {
            continue;
        }
        match send(app).await {
            Ok(()) => is_told = false,
            // The first failure says it all.
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(error = format!("{error:#}"), "PINs that wait cannot be sent; trying again");
            }
            Err(_) => {}
        }
    }
}

async fn send(app: &App) -> anyhow::Result<()> {
    let waiting = table::Entity::find().order_by_asc(table::Column::ExpiresAt).limit(AT_ONCE);
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
    let gone: Vec<String> = rows.into_iter().map(|row| row.once).collect();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                table::Entity::delete_many().filter(table::Column::Once.is_in(gone)).exec(db).await?;
                Ok(())
            })
        })
        .await?;
    Ok(())
}

/// Removes what is a person's.
pub async fn forget(db: &Writing<'_, '_>, person: &Person) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(person.id)).exec(db).await?;
    Ok(())
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
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

    /// PINs are in no log.
    impl std::fmt::Debug for Model {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Model").field("user_id", &self.user_id).finish_non_exhaustive()
        }
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
