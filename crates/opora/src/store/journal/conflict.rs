//! Conflicts: a conversation went on in the journal and was changed in Redis as well.
//!
//! The state in Redis stands. The journal's state is parked, so that an operator can look at it and import it, and the
//! person is asked again. Messages and effects of the journal's turns are kept, as after a reset of the conversation.

use super::replay::Replay;
use crate::key::ConversationKey;
use crate::store::requester::detach_from_state;
use crate::store::sql::failure::unavailable;
use crate::store::{
    Commit, ConversationRow, Effect, InputRef, Mark, Opened, ParkedId, ParkedTurn, Store, StoreError, StoreResult,
    Version,
};

impl Replay<'_> {
    /// Parks the journal's state of a conversation, and drops its entries from `from` on.
    pub(super) async fn conflict(&self, key: &ConversationKey, from: i64) -> StoreResult<()> {
        let in_journal = self.conversation_row(key, self.shared.journal.store()).await?;
        let in_redis = self.conversation_row(key, self.redis).await?;
        let reason = format!(
            "a conflict: while Redis was away, this conversation went on in the journal up to version {}, and it was changed in \
             Redis as well, where it is at version {}. What is in Redis stands",
            in_journal.version.0, in_redis.version.0
        );
        let mut processed = vec![InputRef::DirectUpdate(self.mark(key.bot, from, ":conflict"))];
        let entries = self.shared.journal.entries_of(key.to_string(), from).await?;
        let effects: Vec<_> = entries.iter().filter_map(|(id, _)| self.effects.get(id)).flatten().cloned().collect();
        for mark in entries.into_iter().flat_map(|(_, entry)| entry.marks()) {
            if !self.is_processed(key, &mark).await? {
                processed.push(InputRef::DirectUpdate(mark));
            }
        }
        // The serialization of a row cannot fail.
        let body = serde_json::to_string(&in_journal).unwrap_or_default();
        if self.park(key, "state", body, &reason, processed).await?.is_some() {
            let journal_version = in_journal.version.0;
            let redis_version = in_redis.version.0;
            tracing::error!(%key, journal_version, redis_version, "conversation in conflict: the journal's state is parked");
            metrics::counter!("opora_journal_conflicts_total").increment(1);
        }
        self.request_effects_late(key, from, effects).await?;
        let processed = vec![InputRef::DirectUpdate(self.mark(key.bot, from, ":again"))];
        if let Some(id) = self.park(key, "again", String::new(), "the person is asked again", processed).await? {
            self.redis.operator().retry_parked(id).await?;
        }
        self.shared.journal.remove_conflict(key, self.journal_epoch, from).await?;
        self.shared.imported.lock().remove(key);
        Ok(())
    }

    /// Requests the effects of turns that were not replayed. The states that requested them are gone, so their outcomes
    /// come late.
    async fn request_effects_late(&self, key: &ConversationKey, from: i64, requested: Vec<Effect>) -> StoreResult<()> {
        let late = |Effect { kind, body }: Effect| {
            let body = detach_from_state(&body).map_err(unavailable)?;
            Ok(Effect { kind, body: body.into() })
        };
        let effects = requested.into_iter().map(late).collect::<StoreResult<Vec<_>>>()?;
        while !effects.is_empty() {
            let current = self.conversation_row(key, self.redis).await?;
            let mut commit = Commit::new(key.clone(), current.version, self.shared.clock.now());
            commit.processed = vec![InputRef::DirectUpdate(self.mark(key.bot, from, ":effects"))];
            commit.effects.clone_from(&effects);
            match self.redis.commit(self.epoch, commit).await {
                Ok(_) | Err(StoreError::AlreadyProcessed) => break,
                // An operator changed the conversation just now: try again.
                Err(StoreError::Overtaken(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Parks a turn. `None` if an earlier replay has done so.
    async fn park(
        &self,
        key: &ConversationKey,
        kind: &str,
        body: String,
        reason: &str,
        processed: Vec<InputRef>,
    ) -> StoreResult<Option<ParkedId>> {
        let at = self.shared.clock.now();
        let parked = ParkedTurn { at, ..ParkedTurn::new(key.clone(), kind, body, reason.to_owned(), 1) };
        match self.redis.park(self.epoch, processed, parked, Vec::new()).await {
            Ok(result) => Ok(Some(result.id)),
            Err(StoreError::AlreadyProcessed) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn is_processed(&self, key: &ConversationKey, mark: &Mark) -> StoreResult<bool> {
        Ok(self.redis.open(key, Some(mark)).await? == Opened::AlreadyProcessed)
    }

    async fn conversation_row(&self, key: &ConversationKey, store: &dyn Store) -> StoreResult<ConversationRow> {
        let (version, stored) = match store.open(key, None).await? {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyProcessed => (Version::default(), None),
        };
        Ok(ConversationRow { key: key.clone(), version, stored, updated_at: self.shared.clock.now() })
    }
}
