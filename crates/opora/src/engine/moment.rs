//! A person whose conversation has to wait for the store is told so, once.

use super::{Engine, Work};
use crate::outbox::posted_rows;
use crate::store::Version;
use crate::telegram::{Destination, IntoOutgoing, Say, Tag};

impl Engine {
    /// Tells whoever wrote in a private chat; in a group nobody waits for an answer to everything.
    pub(super) async fn one_moment(&self, work: &Work<'_>, notice: &str) {
        tracing::info!(key = %work.key, "an input waits until the store is back");
        let person = work.event.update().and_then(|update| update.person());
        let Some(person) = person.filter(|_| work.key.is_private()) else { return };
        let text = self.script.one_moment(&self.context, person.id, person.language.as_deref().unwrap_or("en")).await;
        let key = work.key.clone();
        let at = self.clock.now();
        let Ok(outgoing) = Say::text(text).into_outgoing(&Destination::from(&key), &Tag::new(Version::default()))
        else {
            return;
        };
        let post = vec![(key.clone(), outgoing)];
        match self.store.post(self.epoch, notice, post.clone(), at).await {
            Ok(ids) => self.courier.enqueue(posted_rows(ids, post, at)),
            Err(error) => tracing::debug!(%key, %error, "somebody could not be told to wait"),
        }
    }
}
