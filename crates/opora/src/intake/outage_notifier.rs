//! Tells people to wait while the store is unavailable.
//!
//! It reads updates without acknowledging or storing them, so they are handled when the store is back. Reading takes
//! updates from another polling instance, so this is only for a bot with a single instance.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;

use crate::dialogue::Script;
use crate::key::ConversationKey;
use crate::store::{Store, StoreError, Version};
use crate::telegram::{Api, ApiError, Destination, IntoOutgoing, Say, Tag};
use crate::turn::Context;
use crate::update::{Person, Route, Update};

/// How often updates are read; also how long the store may be unavailable before people are told.
const INTERVAL: Duration = Duration::from_secs(2);
/// How many updates are read: the most that Telegram returns at once.
const LIMIT: u32 = 100;

/// Notifies people who write during an outage of the store.
pub(crate) struct OutageNotifier {
    pub(crate) bot: i64,
    pub(crate) api: Arc<dyn Api>,
    pub(crate) script: Arc<Script>,
    pub(crate) context: Arc<Context>,
    /// People who were notified during this outage.
    pub(crate) notified: Mutex<HashSet<i64>>,
}

impl OutageNotifier {
    /// Notifies people until it is dropped. For use while a batch cannot be stored.
    pub(crate) async fn run(&self) -> Infallible {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.notify_people().await;
        }
    }

    /// Checks the store and notifies people while it is unavailable. For use while the instance waits for the lease.
    pub(crate) async fn run_while_unavailable(&self, store: &dyn Store) -> Infallible {
        loop {
            tokio::time::sleep(INTERVAL).await;
            match tokio::time::timeout(INTERVAL, store.lease(self.bot)).await {
                Err(_) | Ok(Err(StoreError::Unavailable(_))) => self.notify_people().await,
                Ok(_) => self.reset(),
            }
        }
    }

    /// Ends an outage. In the next one, people are notified again.
    pub(crate) fn reset(&self) {
        self.notified.lock().clear();
    }

    async fn notify_people(&self) {
        // Without an offset nothing is acknowledged.
        let body = json!({"timeout": 0, "limit": LIMIT, "allowed_updates": self.script.allowed_updates()});
        let answer = match self.api.call("getUpdates", &body.to_string(), &[]).await {
            Ok(answer) => answer,
            Err(error) => return tracing::debug!(%error, "cannot read which people wait"),
        };
        let updates = serde_json::from_str::<Vec<Box<RawValue>>>(answer.get()).unwrap_or_default();
        for (key, person) in updates.iter().filter_map(|raw| self.sender(raw.get())) {
            if self.notified.lock().contains(&person.id) {
                continue;
            }
            match self.send_notice(&key, &person).await {
                Err(ApiError::RetryAfter { .. }) => return,
                Err(error) => tracing::debug!(%key, %error, "could not tell a person to wait"),
                Ok(()) => tracing::info!(%key, "told a person to wait until the store is back"),
            }
            // Also after an error, so that it is not repeated every two seconds.
            self.notified.lock().insert(person.id);
        }
    }

    /// The sender of an update in a private chat. In groups no answer is expected.
    fn sender(&self, raw: &str) -> Option<(ConversationKey, Person)> {
        let key = Route::parse(raw, self.bot).ok()?.key;
        let person = Update::read(raw).ok()?.person()?;
        (key.is_private() && key.user == person.id).then_some((key, person))
    }

    async fn send_notice(&self, key: &ConversationKey, person: &Person) -> Result<(), ApiError> {
        let language = person.language.as_deref().unwrap_or("en");
        let text = self.script.wait_notice(&self.context, person.id, language).await;
        let outgoing = Say::text(text).into_outgoing(&Destination::from(key), &Tag::new(Version::default()));
        // A text of the library is always a valid message.
        let Ok(outgoing) = outgoing else { return Ok(()) };
        self.api.call(&outgoing.method, &outgoing.body, &[]).await.map(drop)
    }
}
