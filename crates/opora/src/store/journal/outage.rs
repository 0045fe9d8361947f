//! Calls that the journal answers while Redis is away.

use super::Shared;
use super::database::{JournalDatabase, is_journal_epoch};
use super::entry::{Entry, marks_of};
use super::store_layer::may_have_been_applied;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::database::unwrap_store_error;
use crate::store::decisions::unless_decided;
use crate::store::{
    Commit, Committed, ConversationRow, Epoch, Incoming, InputRef, Mark, Opened, Origin, OutboxId, Outgoing,
    ParkResult, ParkedTurn, Receipt, Settled, StoreError, StoreResult,
};

/// Prefix of the names of notices to people whose conversation waits.
const WAIT_NOTICE: &str = "one moment:";
/// The journal does not know which posts Redis already has.
const NO_POSTS: &str = "Redis is away: what is posted outside of turns waits until it is back";
const NO_WRITES: &str = "Redis has no SQL, and neither has its journal in a file: application writes need a database";

impl Shared {
    /// Stores updates. Updates that Redis processed shortly before are known by their marks.
    pub(super) async fn receive_on_journal(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let is_known =
            |incoming: &Incoming| matches!(&incoming.origin, Origin::Update(mark) if self.copies.has_processed(mark));
        let is_duplicate: Vec<bool> = batch.iter().map(is_known).collect();
        let new =
            batch.into_iter().zip(&is_duplicate).filter(|(_, known)| !**known).map(|(incoming, _)| incoming).collect();
        let received = self.journal.store().receive(epoch, new).await;
        let mut received = received.map_err(|error| self.journal.explain_failure(error))?.into_iter();
        let receipt = |is_duplicate: &bool| {
            if *is_duplicate { Receipt::Known } else { received.next().unwrap_or(Receipt::Known) }
        };
        Ok(is_duplicate.iter().map(receipt).collect())
    }

    /// Opens a conversation from the journal. One that is not there yet is imported from its local copy.
    pub(super) async fn open_on_journal(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        if mark.is_some_and(|mark| self.copies.has_processed(mark)) {
            return Ok(Opened::AlreadyProcessed);
        }
        if !self.imported.lock().contains(key) {
            let Some((version, stored)) = self.copies.take(key) else {
                let notice = format!("{WAIT_NOTICE}{}:{key}", self.journal.outage_token(key.bot).await?);
                return Err(StoreError::NoCopy { key: key.clone(), notice });
            };
            // The replay compares versions, so the journal has to start at exactly the copy's version. A plain import
            // could raise it.
            let row =
                ConversationRow { key: key.clone(), version, stored: stored.clone(), updated_at: self.clock.now() };
            if let Err(error) = self.journal.database().import_exactly(Box::new(row)).await {
                self.copies.put(key, version, stored);
                return Err(self.journal.explain_failure(error));
            }
            self.imported.lock().insert(key.clone());
        }
        self.journal.store().open(key, mark).await
    }

    /// Commits a turn and records its entry, in one transaction.
    pub(super) async fn commit_on_journal(&self, epoch: Epoch, mut commit: Commit) -> StoreResult<Committed> {
        let writes = commit.writes.take().map(|writes| unless_decided(&commit, writes)).transpose()?;
        if writes.is_some() && self.journal.application_database().is_none() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        if marks_of(&commit.processed).any(|mark| self.copies.has_processed(mark)) {
            return Err(StoreError::AlreadyProcessed);
        }
        commit.writes = Some(JournalDatabase::entry_write(&Entry::of_turn(&commit, writes.is_some()), writes)?);
        self.journal
            .store()
            .commit(epoch, commit)
            .await
            .map_err(|error| self.journal.explain_failure(unwrap_store_error(error)))
    }

    /// Parks an input and records its entry, in one transaction.
    pub(super) async fn park_on_journal(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<ParkResult> {
        let writes = JournalDatabase::entry_write(&Entry::of_parked(&parked, &processed), None)?;
        let result = self.journal.database().park_with(epoch, processed, parked, outgoing, writes).await;
        result.map_err(|error| self.journal.explain_failure(error))
    }

    /// Settles messages. Results of messages that are in Redis' outbox are kept until Redis is back.
    pub(super) async fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> StoreResult<()> {
        if is_journal_epoch(epoch) {
            return self.journal.store().settle(epoch, settled, at).await;
        }
        if self.is_away() {
            self.journal.keep_settled(self.bot_of(epoch)?, &settled).await?;
        } else {
            self.primary()?.store().settle(epoch, settled.clone(), at).await?;
        }
        self.copies.settled(&settled);
        Ok(())
    }

    /// Posts messages. While Redis is away only the journal's own notices are accepted.
    pub(super) async fn post(
        &self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        if is_journal_epoch(epoch) {
            if !once.starts_with(WAIT_NOTICE) {
                return Err(StoreError::Unavailable(NO_POSTS.into()));
            }
            return self.journal.store().post(epoch, once, outgoing, at).await;
        }
        let (keys, chats): (Vec<_>, Vec<_>) =
            outgoing.iter().map(|(key, outgoing)| (key.clone(), outgoing.chat)).unzip();
        let primary = self.primary()?;
        let pending_call = self.copies.begin_call(keys.clone());
        let ids = primary.store().post(epoch, once, outgoing, at).await;
        match &ids {
            Ok(ids) => self.copies.messages_stored(ids.iter().copied().zip(chats)),
            Err(error) if may_have_been_applied(error) => keys.iter().for_each(|key| self.copies.forget(key)),
            Err(_) => {}
        }
        pending_call.finish();
        ids
    }

    /// The bot that an epoch was granted for here.
    fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        let bot = self.epochs.lock().get(&epoch).copied();
        bot.ok_or_else(|| StoreError::fenced(epoch, "it was not granted here"))
    }
}
