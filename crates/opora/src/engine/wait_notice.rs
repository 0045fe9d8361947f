//! Tells a person once that the conversation has to wait for the store.

use super::{Engine, TurnRun};
use crate::outbox::posted_rows;
use crate::store::Version;
use crate::telegram::{Destination, IntoOutgoing, Say, Tag};

impl Engine {
    /// Tells a person in a private chat to wait. In groups no answer is expected. `notice` is the name of the post.
    pub(super) async fn send_wait_notice(&self, run: &TurnRun<'_>, notice: &str) {
        tracing::info!(key = %run.key, "input waits until the store is back");
        let person = run.turn_input.update().and_then(|update| update.person());
        let Some(person) = person.filter(|_| run.key.is_private()) else { return };
        let text = self.script.wait_notice(&self.context, person.id, person.language.as_deref().unwrap_or("en")).await;
        let key = run.key.clone();
        let at = self.clock.now();
        let Ok(outgoing) = Say::text(text).into_outgoing(&Destination::from(&key), &Tag::new(Version::default()))
        else {
            return;
        };
        let post = vec![(key.clone(), outgoing)];
        match self.store.post(self.epoch, notice, post.clone(), at).await {
            Ok(ids) => self.courier.enqueue(posted_rows(ids, post, at)),
            Err(error) => tracing::debug!(%key, %error, "could not tell a person to wait"),
        }
    }
}
