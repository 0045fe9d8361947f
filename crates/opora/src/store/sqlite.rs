//! Conversations in an SQLite file: the store for one machine.
//!
//! What was answered is on the disk (write-ahead log, `synchronous=FULL`), and the application's own tables can lie in
//! the same file and commit with its turns. One connection writes and groups what waits; reads wait for nobody.
//!
//! It does not serve several machines: a file on a network drive is not safe.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use self::checkpoint::Checkpoints;
use self::file::DatabaseFile;
use self::opens::Finder;
use self::sent::{LeftNotes, SentNotes};
use self::writer::Writer;
use super::sql::failure::{closed, unavailable};
use super::sql::opens::Opens;
use super::sql::operation::{Alone, Operation, Post, Reply, Request};
use super::sql::queue;
use super::sql::reads::Reads;
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, DomainWrites, EffectId, EffectRow, Epoch, Filter,
    Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, Opened, OutboxId, OutboxRow, Outgoing, Parked, ParkedId,
    Receipt, Seq, SetAside, Settled, Settlement, Statistics, Store, StoreResult, Taken, TimerRow, TransitionRow,
};
use crate::clock::Millis;
use crate::key::DialogueKey;

mod alone;
mod bulk;
mod checkpoint;
mod facts;
mod file;
mod opens;
mod reads;
mod schema;
mod sent;
#[cfg(test)]
mod tests;
mod writer;

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    file: DatabaseFile,
    writer: mpsc::Sender<Request>,
    opens: Opens,
    reads: Reads<sqlx::SqlitePool>,
    sent: Arc<SentNotes>,
}

impl SqliteStore {
    /// Opens a database, and makes it if it is missing: readable by its owner alone, with its folder.
    ///
    /// Tables of an older version are brought up to date; those of a newer one are refused.
    pub async fn open(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open().await?;
        Ok(Self::start(file, connection))
    }

    /// Opens a database as it is, for tools beside a bot: nothing is made, and no tables are changed.
    ///
    /// One that is missing, or whose tables are of another version, is refused: the bot's own start brings them up to
    /// date, and a tool must not do it beneath an older bot that still runs.
    pub async fn open_existing(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open_existing().await?;
        Ok(Self::start(file, connection))
    }

    fn start(file: DatabaseFile, connection: sqlx::SqliteConnection) -> Self {
        let reads = reads::of(&file);
        let checkpoints = Checkpoints::start(reads.0.clone());
        Self {
            writer: queue::start(Writer::new(file.clone(), connection, checkpoints)),
            opens: Opens::start(Finder::of(file.clone())),
            reads,
            sent: Arc::new(SentNotes::beside(&file.path)),
            file,
        }
    }

    /// Asks the writer and waits until the answer is durable.
    async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        self.writer.send(request(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Settles what earlier holders have sent and had no time to settle.
    async fn settle_left(&self, epoch: Epoch) -> StoreResult<()> {
        let (held, notes) = (self.reads.held_epochs().await?, Arc::clone(&self.sent));
        let left = move || {
            notes.begin(epoch)?;
            notes.left(&held)
        };
        let LeftNotes { ids, files } = blocking(left).await?;
        if !ids.is_empty() {
            tracing::info!(sends = ids.len(), "an earlier instance ended before it could settle what it had sent");
            let outcome = Settlement::Sent { labelled: None };
            let settled = ids.into_iter().map(|id| Settled { id: OutboxId(id), outcome: outcome.clone() }).collect();
            let operation = |reply| Operation::Settle { epoch, settled, at: Millis::default(), is_noted: false, reply };
            self.ask(|reply| Request::Grouped(operation(reply))).await?;
        }
        blocking(move || files.iter().try_for_each(std::fs::remove_file)).await
    }

    fn grouped<'a, T: Send + 'a>(&'a self, operation: impl FnOnce(Reply<T>) -> Operation + Send + 'a) -> Answer<'a, T> {
        Box::pin(self.ask(|reply| Request::Grouped(operation(reply))))
    }

    fn alone<'a, T: Send + 'a>(&'a self, alone: impl FnOnce(Reply<T>) -> Alone + Send + 'a) -> Answer<'a, T> {
        Box::pin(self.ask(|reply| Request::Alone(alone(reply))))
    }
}

impl Store for SqliteStore {
    fn describe(&self) -> String {
        format!("in the SQLite file {}: a restart loses nothing", self.file.path.display())
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        let (holder, seen) = (Box::new(holder.clone()), seen.cloned().map(Box::new));
        Box::pin(async move {
            let answer = self.alone(move |reply| Alone::Claim { bot, holder, seen, reply }).await?;
            if let LeaseAnswer::Granted(epoch) = answer
                && let Err(error) = self.settle_left(epoch).await
            {
                tracing::warn!(%error, "cannot read what was sent before; some messages may be sent again");
            }
            Ok(answer)
        })
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.grouped(move |reply| Operation::Renew { bot, epoch, reply })
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.alone(move |reply| Alone::Release { bot, epoch, reply })
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        Box::pin(self.reads.lease(bot))
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        self.alone(move |reply| Alone::ClearLease { bot, reply })
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        self.grouped(move |reply| Operation::Receive { epoch, batch, reply })
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.reads.waiting(bot, after, limit))
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(self.reads.waiting_for(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.opens.open(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        let (key, commit) = (commit.key.to_string(), Box::new(commit));
        self.grouped(move |reply| Operation::Commit { epoch, key, commit, reply })
    }

    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside> {
        let parked = Box::new(parked);
        self.grouped(move |reply| Operation::Park { epoch, taken, parked, outgoing, reply })
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        self.grouped(move |reply| Operation::Write { writes, reply })
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(self.reads.unsent(bot, after, limit))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.grouped(move |reply| Operation::Sending { epoch, ids, reply })
    }

    fn note_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        let notes = Arc::clone(&self.sent);
        let ids: Vec<_> = ids.into_iter().map(|id| id.0).collect();
        Box::pin(blocking(move || notes.note(epoch, &ids)))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        let ids: Vec<_> = settled.iter().map(|settled| settled.id.0).collect();
        Box::pin(async move {
            let is_noted = self.sent.has(epoch, ids.iter().copied());
            self.grouped(move |reply| Operation::Settle { epoch, settled, at, is_noted, reply }).await?;
            self.sent.settled(epoch, &ids);
            Ok(())
        })
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        let post = Post { once: once.to_owned(), outgoing, at };
        self.grouped(move |reply| Operation::Post { epoch, post, reply })
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        Box::pin(self.reads.labelled(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(self.reads.effects(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        let outcome = Box::new(outcome);
        self.grouped(move |reply| Operation::FinishEffect { epoch, effect, outcome, reply })
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        Box::pin(self.reads.due_timers(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        Box::pin(self.reads.expired(bot, now, limit))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        Box::pin(self.reads.next_due(bot))
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        self.alone(move |reply| Alone::Clean { epoch, bounds, reply })
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(self.reads.list(filter, after, limit))
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        let key = key.clone();
        self.alone(move |reply| Alone::Reset { key, now, reply })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        let row = Box::new(row.clone());
        self.alone(move |reply| Alone::Import { row, replace, reply })
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.reads.statistics(bot))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(self.reads.bots())
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.reads.parked(bot, limit))
    }

    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>> {
        Box::pin(self.reads.parked_one(id))
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.alone(move |reply| Alone::RetryParked { id, reply })
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.reads.parked_to_retry(bot, limit))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        self.alone(move |reply| Alone::DropParked { id, reply })
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        Box::pin(self.reads.transitions(bot, after, limit))
    }

    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(self.reads.transitions_of(key, after, limit))
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        Box::pin(self.file.copy_to(to))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            if self.writer.is_closed() {
                return Ok(());
            }
            // Readers first: the last connection to go leaves one file.
            self.opens.close().await;
            self.reads.0.close().await;
            self.ask(Request::Close).await?;
            let notes = Arc::clone(&self.sent);
            blocking(move || {
                notes.tidy();
                Ok(())
            })
            .await
        })
    }
}

/// Works with files where that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> StoreResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unavailable),
        Err(error) => Err(unavailable(error)),
    }
}
