//! A conversation that went on in the journal and was changed in Redis as well.
//!
//! What is in Redis stands. What the journal has is parked, whole, so that an operator can look at it and import it; and
//! the person is asked again where the dialogue stands now. What its turns have said and asked for happens all the same,
//! as it does when a conversation is reset after them.

use super::replay::Replay;
use crate::asking::without_asking_state;
use crate::key::DialogueKey;
use crate::store::sql::failure::unavailable;
use crate::store::{
    Commit, ConversationRow, Effect, Mark, Opened, Parked, ParkedId, Store, StoreError, StoreResult, Taken, Version,
};

impl Replay<'_> {
    /// Sets aside what the journal has of a conversation, from an entry on.
    pub(super) async fn conflict(&self, key: &DialogueKey, from: i64) -> StoreResult<()> {
        let (here, there) =
            (self.standing(key, self.shared.book.store()).await?, self.standing(key, self.redis).await?);
        let reason = format!(
            "a conflict: while Redis was away, this conversation went on in the journal up to version {}, and it was changed in \
             Redis as well, where it is at version {}. What is in Redis stands",
            here.version.0, there.version.0
        );
        let mut takes = vec![Taken::Fresh(self.mark(key.bot, from, ":conflict"))];
        let entries = self.shared.book.entries_of(key.to_string(), from).await?;
        let asked: Vec<_> = entries.iter().filter_map(|(id, _)| self.effects.get(id)).flatten().cloned().collect();
        for mark in entries.into_iter().flat_map(|(_, entry)| entry.marks()) {
            if !self.is_taken(key, &mark).await? {
                takes.push(Taken::Fresh(mark));
            }
        }
        // Names and numbers can always be written.
        let body = serde_json::to_string(&here).unwrap_or_default();
        if self.set_aside(key, "state", body, &reason, takes).await?.is_some() {
            let here = here.version.0;
            let there = there.version.0;
            tracing::error!(%key, here, there, "a conversation is in conflict: what the journal has is parked");
            metrics::counter!("opora_journal_conflicts_total").increment(1);
        }
        self.ask_all_the_same(key, from, asked).await?;
        let again = vec![Taken::Fresh(self.mark(key.bot, from, ":again"))];
        if let Some(id) = self.set_aside(key, "again", String::new(), "the person is asked again", again).await? {
            self.redis.operator().retry_parked(id).await?;
        }
        self.shared.book.give_up(key, self.here, from).await?;
        self.shared.imported.lock().remove(key);
        Ok(())
    }

    /// Asks for the work of turns that do not stand. The states that wanted it are gone: its outcomes come as late ones.
    async fn ask_all_the_same(&self, key: &DialogueKey, from: i64, asked: Vec<Effect>) -> StoreResult<()> {
        let late = |Effect { kind, body }: Effect| {
            let body = without_asking_state(&body).map_err(unavailable)?;
            Ok(Effect { kind, body: body.into() })
        };
        let effects = asked.into_iter().map(late).collect::<StoreResult<Vec<_>>>()?;
        while !effects.is_empty() {
            let there = self.standing(key, self.redis).await?;
            let mut commit = Commit::new(key.clone(), there.version, self.shared.clock.now());
            commit.takes = vec![Taken::Fresh(self.mark(key.bot, from, ":effects"))];
            commit.effects.clone_from(&effects);
            match self.redis.commit(self.epoch, commit).await {
                Ok(_) | Err(StoreError::AlreadyTaken) => break,
                // An operator has changed it this very moment.
                Err(StoreError::Overtaken(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Parks something; none if that was done before.
    async fn set_aside(
        &self,
        key: &DialogueKey,
        kind: &str,
        body: String,
        reason: &str,
        takes: Vec<Taken>,
    ) -> StoreResult<Option<ParkedId>> {
        let parked = Parked {
            id: ParkedId::default(),
            key: key.clone(),
            kind: kind.to_owned(),
            body,
            reason: reason.to_owned(),
            attempts: 1,
            at: self.shared.clock.now(),
            retry: false,
        };
        match self.redis.park(self.epoch, takes, parked, Vec::new()).await {
            Ok(set_aside) => Ok(Some(set_aside.id)),
            Err(StoreError::AlreadyTaken) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn is_taken(&self, key: &DialogueKey, mark: &Mark) -> StoreResult<bool> {
        Ok(self.redis.open(key, Some(mark)).await? == Opened::AlreadyTaken)
    }

    async fn standing(&self, key: &DialogueKey, store: &dyn Store) -> StoreResult<ConversationRow> {
        let (version, stored) = match store.open(key, None).await? {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyTaken => (Version::default(), None),
        };
        Ok(ConversationRow { key: key.clone(), version, stored, updated_at: self.shared.clock.now() })
    }
}
