//! What happens on the journal while Redis is away.

use super::Shared;
use super::book::{Book, is_ours};
use super::entry::{Entry, marks_of};
use super::face::may_have_happened;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::database::as_it_was;
use crate::store::decided::unless_decided;
use crate::store::{
    Commit, Committed, ConversationRow, Epoch, Incoming, Mark, Opened, Origin, OutboxId, Outgoing, Parked, Receipt,
    SetAside, Settled, StoreError, StoreResult, Taken,
};

/// Begins the names of notices to people whose conversation waits.
const ONE_MOMENT: &str = "one moment:";
/// Nobody can tell here whether it was posted before.
const NO_POSTS: &str = "Redis is away: what is posted outside of turns waits until it is back";
/// The same as in Redis.
const NO_WRITES: &str = "Redis has no SQL, and neither has its journal in a file: application writes need a database";

impl Shared {
    /// Stores updates; those that Redis has taken just before are known.
    pub(super) async fn receive_away(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let is_known =
            |incoming: &Incoming| matches!(&incoming.origin, Origin::Update(mark) if self.copies.has_taken(mark));
        let known: Vec<bool> = batch.iter().map(is_known).collect();
        let news = batch.into_iter().zip(&known).filter(|(_, known)| !**known).map(|(incoming, _)| incoming).collect();
        let received = self.book.store().receive(epoch, news).await;
        let mut received = received.map_err(|error| self.book.away(error))?.into_iter();
        let receipt = |known: &bool| if *known { Receipt::Known } else { received.next().unwrap_or(Receipt::Known) };
        Ok(known.iter().map(receipt).collect())
    }

    /// Opens a conversation: from the journal, or from its copy, which then becomes the journal's.
    pub(super) async fn open_away(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        if mark.is_some_and(|mark| self.copies.has_taken(mark)) {
            return Ok(Opened::AlreadyTaken);
        }
        if !self.imported.lock().contains(key) {
            let Some((version, stored)) = self.copies.take(key) else {
                let notice = format!("{ONE_MOMENT}{}:{key}", self.book.token(key.bot).await?);
                return Err(StoreError::NoCopy { key: key.clone(), notice });
            };
            // A replay goes by versions, so it is the copy's, also of one that has had no turn yet: where others began
            // before, the database would begin it above theirs.
            let row =
                ConversationRow { key: key.clone(), version, stored: stored.clone(), updated_at: self.clock.now() };
            if let Err(error) = self.book.database().import_exactly(Box::new(row)).await {
                self.copies.put(key, version, stored);
                return Err(self.book.away(error));
            }
            self.imported.lock().insert(key.clone());
        }
        self.book.store().open(key, mark).await
    }

    /// Commits a turn and writes it down, in one step.
    pub(super) async fn commit_away(&self, epoch: Epoch, mut commit: Commit) -> StoreResult<Committed> {
        let writes = commit.writes.take().map(|writes| unless_decided(&commit, writes)).transpose()?;
        if writes.is_some() && self.book.tables().is_none() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        if marks_of(&commit.takes).any(|mark| self.copies.has_taken(mark)) {
            return Err(StoreError::AlreadyTaken);
        }
        commit.writes = Some(Book::writing(&Entry::of_turn(&commit, writes.is_some()), writes)?);
        self.book.store().commit(epoch, commit).await.map_err(|error| self.book.away(as_it_was(error)))
    }

    /// Sets an input aside and writes that down, in one step.
    pub(super) async fn park_away(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<SetAside> {
        let writes = Book::writing(&Entry::of_parked(&parked, &taken), None)?;
        let set_aside = self.book.database().park_with(epoch, taken, parked, outgoing, writes).await;
        set_aside.map_err(|error| self.book.away(error))
    }

    /// Says what became of sends. News of messages that are in Redis are kept until it is back.
    pub(super) async fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> StoreResult<()> {
        if is_ours(epoch) {
            return self.book.store().settle(epoch, settled, at).await;
        }
        if self.is_away() {
            self.book.keep_settled(self.bot_of(epoch)?, &settled).await?;
        } else {
            self.there()?.store().settle(epoch, settled.clone(), at).await?;
        }
        self.copies.settled(&settled);
        Ok(())
    }

    /// Posts messages. While Redis is away only what this journal itself tells people.
    pub(super) async fn post(
        &self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        if is_ours(epoch) {
            if !once.starts_with(ONE_MOMENT) {
                return Err(StoreError::Unavailable(NO_POSTS.into()));
            }
            return self.book.store().post(epoch, once, outgoing, at).await;
        }
        let (keys, posted): (Vec<_>, Vec<_>) = outgoing.iter().cloned().unzip();
        let there = self.there()?;
        let under_way = self.copies.sets_out(keys.clone());
        let ids = there.store().post(epoch, once, outgoing, at).await;
        match &ids {
            Ok(ids) => self.copies.posted(ids, &posted),
            Err(error) if may_have_happened(error) => keys.iter().for_each(|key| self.copies.forget(key)),
            Err(_) => {}
        }
        under_way.answered();
        ids
    }

    /// The bot that an epoch was given to here.
    fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        let bot = self.epochs.lock().get(&epoch).copied();
        bot.ok_or_else(|| StoreError::Fenced { mine: epoch, holder: "it was not given here".to_owned() })
    }
}
