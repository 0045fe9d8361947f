//! People who write while the store is away are told to wait.
//!
//! What they wrote is only looked at and stays with Telegram: nothing of it is acknowledged or kept, and it is answered
//! when the store is back. Whoever looks takes updates from under another instance that polls, so this is for a bot
//! whose operator has said that there is none.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;

use crate::dialogue::Script;
use crate::key::DialogueKey;
use crate::store::{Store, StoreError, Version};
use crate::telegram::{Api, ApiError, Destination, IntoOutgoing, Say, Tag};
use crate::turn::Context;
use crate::update::{Person, Route, Update};

/// For so long the store may be away before anybody is told, and so often it is looked who has written.
const EVERY: Duration = Duration::from_secs(2);
/// So much is looked at: as much as Telegram gives at once.
const LIMIT: u32 = 100;

/// Looks who waits.
pub(crate) struct Peeking {
    pub(crate) bot: i64,
    pub(crate) api: Arc<dyn Api>,
    pub(crate) script: Arc<Script>,
    pub(crate) context: Arc<Context>,
    /// Who was told since the store went away.
    pub(crate) told: Mutex<HashSet<i64>>,
}

impl Peeking {
    /// Tells whoever writes, for as long as this is waited for: the store does not take a batch.
    pub(crate) async fn tell(&self) -> Infallible {
        loop {
            tokio::time::sleep(EVERY).await;
            self.look().await;
        }
    }

    /// The same while nobody leads, whenever the store is away.
    pub(crate) async fn tell_while_away(&self, store: &dyn Store) -> Infallible {
        loop {
            tokio::time::sleep(EVERY).await;
            match tokio::time::timeout(EVERY, store.lease(self.bot)).await {
                Err(_) | Ok(Err(StoreError::Unavailable(_))) => self.look().await,
                Ok(_) => self.is_over(),
            }
        }
    }

    /// The store is back: when it goes away again, people are told again.
    pub(crate) fn is_over(&self) {
        self.told.lock().clear();
    }

    async fn look(&self) {
        // Without an offset nothing is acknowledged.
        let body = json!({"timeout": 0, "limit": LIMIT, "allowed_updates": self.script.allowed_updates()});
        let found = match self.api.call("getUpdates", &body.to_string(), &[]).await {
            Ok(found) => found,
            Err(error) => return tracing::debug!(%error, "cannot look who waits"),
        };
        let updates = serde_json::from_str::<Vec<Box<RawValue>>>(found.get()).unwrap_or_default();
        for (key, person) in updates.iter().filter_map(|raw| self.who_waits(raw.get())) {
            if self.told.lock().contains(&person.id) {
                continue;
            }
            match self.say(&key, &person).await {
                Err(ApiError::RetryAfter { .. }) => return,
                Err(error) => tracing::debug!(%key, %error, "somebody could not be told to wait"),
                Ok(()) => tracing::info!(%key, "somebody was told to wait until the store is back"),
            }
            // Whoever cannot be told now is not worth a try every two seconds.
            self.told.lock().insert(person.id);
        }
    }

    /// Who has written in a private chat; in a group nobody waits for an answer to everything.
    fn who_waits(&self, raw: &str) -> Option<(DialogueKey, Person)> {
        let key = Route::of(raw, self.bot).ok()?.key;
        let person = Update::read(raw).ok()?.person()?;
        (key.is_private() && key.user == person.id).then_some((key, person))
    }

    async fn say(&self, key: &DialogueKey, person: &Person) -> Result<(), ApiError> {
        let language = person.language.as_deref().unwrap_or("en");
        let text = self.script.one_moment(&self.context, person.id, language).await;
        let said = Say::text(text).into_outgoing(&Destination::from(key), &Tag::new(Version::default()));
        // A text of the library's always becomes a message.
        let Ok(outgoing) = said else { return Ok(()) };
        self.api.call(&outgoing.method, &outgoing.body, &[]).await.map(drop)
    }
}
