//! Conversations in a PostgreSQL database: the store for production and for several instances.
//!
//! What was answered is committed, and as durable as the server is set to be; the application's own tables can lie in the
//! same database and commit with its turns. A few connections write, each grouping what waits for it; what belongs to one
//! chat goes to one of them, in order. Reads wait for nobody.
//!
//! It makes no copies of the database: PostgreSQL's own tools do.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc, oneshot};

use self::reads::Finder;
use self::server::{Promise, Server};
use self::writer::Writer;
use super::sql::failure::closed;
use super::sql::numbers::Numbers;
use super::sql::opens::Opens;
use super::sql::operation::{Alone, Operation, Post, Reply, Request};
use super::sql::queue;
use super::sql::reads::Reads;
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, DomainWrites, EffectId, EffectRow, Epoch, Filter,
    Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, Opened, OutboxId, OutboxRow, Outgoing, Parked, ParkedId,
    Receipt, Seq, SetAside, Settled, Statistics, Store, StoreError, StoreResult, Taken, TimerRow, TransitionRow,
};
use crate::clock::Millis;
use crate::key::DialogueKey;

mod alone;
mod bulk;
mod facts;
mod moved;
mod reads;
mod schema;
mod server;
mod session;
mod texts;
mod writer;

/// How many connections write what turns write.
const WRITERS: usize = 2;

/// Keeps everything in tables named `opora_…` of one PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    server: Server,
    promise: Promise,
    /// What belongs to a chat.
    writers: Vec<mpsc::Sender<Request>>,
    /// What does not: leases, news of sends, the operator. Nothing of the application runs there.
    desk: mpsc::Sender<Request>,
    opens: Opens,
    reads: Reads<PgPool>,
}

impl PostgresStore {
    /// Opens a database by its address, `postgres://user:password@host:port/database`, and makes the tables if they are
    /// missing, in the first schema of the connection's search path.
    ///
    /// Tables of an older version are brought up to date; those of a newer one are refused. Of several instances that
    /// start at once one does it, and the others wait. `sslmode=verify-full` in the address asks for TLS.
    pub async fn open(address: &str) -> StoreResult<Self> {
        let server = Server::of(address)?;
        let promise = server.open().await?;
        Ok(Self::start(server, promise))
    }

    /// Opens a database as it is, for tools beside a bot: nothing is made, and no tables are changed.
    ///
    /// One without tables, or whose tables are of another version, is refused: the bot's own start brings them up to
    /// date, and a tool must not do it beneath an older bot that still runs.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        let server = Server::of(address)?;
        let promise = server.open_existing().await?;
        Ok(Self::start(server, promise))
    }

    fn start(server: Server, promise: Promise) -> Self {
        let numbers = Arc::new(Mutex::new(Numbers::default()));
        let writer = |slot| queue::start(Writer::new(server.clone(), slot, Arc::clone(&numbers)));
        Self {
            promise,
            writers: (1..).take(WRITERS).map(writer).collect(),
            desk: writer(0),
            opens: Opens::start(Finder::of(server.clone())),
            reads: reads::of(&server),
            server,
        }
    }

    /// Asks a writer and waits until the answer is durable.
    async fn ask<T>(writer: &mpsc::Sender<Request>, request: impl FnOnce(Reply<T>) -> Request) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        writer.send(request(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Whose it is to write what belongs to a chat.
    fn writer_of(&self, key: &DialogueKey) -> usize {
        let mut hasher = DefaultHasher::new();
        (key.bot, key.chat).hash(&mut hasher);
        // There are few writers, so the remainder fits.
        usize::try_from(hasher.finish() % WRITERS as u64).unwrap_or_default()
    }

    fn of_chat<'a, T: Send + 'a>(
        &'a self,
        key: &DialogueKey,
        operation: impl FnOnce(Reply<T>) -> Operation + Send + 'a,
    ) -> Answer<'a, T> {
        let writer = &self.writers[self.writer_of(key)];
        Box::pin(Self::ask(writer, |reply| Request::Grouped(operation(reply))))
    }

    fn at_desk<'a, T: Send + 'a>(&'a self, operation: impl FnOnce(Reply<T>) -> Operation + Send + 'a) -> Answer<'a, T> {
        Box::pin(Self::ask(&self.desk, |reply| Request::Grouped(operation(reply))))
    }

    fn alone<'a, T: Send + 'a>(&'a self, alone: impl FnOnce(Reply<T>) -> Alone + Send + 'a) -> Answer<'a, T> {
        Box::pin(Self::ask(&self.desk, |reply| Request::Alone(alone(reply))))
    }

    /// Each writer receives what belongs to its chats. If one of them fails, the batch fails: what others have received
    /// is known when it comes again.
    async fn receive_all(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let mut receipts = vec![Receipt::Known; batch.len()];
        let mut parts: Vec<(Vec<usize>, Vec<Incoming>)> = vec![Default::default(); WRITERS];
        for (place, incoming) in batch.into_iter().enumerate() {
            let (places, part) = &mut parts[self.writer_of(&incoming.key)];
            places.push(place);
            part.push(incoming);
        }
        // Of an empty batch the lease is checked all the same.
        let is_empty = receipts.is_empty();
        let asked = self
            .writers
            .iter()
            .zip(parts)
            .enumerate()
            .filter(|(number, (_, (places, _)))| !places.is_empty() || (is_empty && *number == 0));
        let received = asked.map(|(_, (writer, (places, batch)))| async move {
            let receive = |reply| Request::Grouped(Operation::Receive { epoch, batch, reply });
            Self::ask(writer, receive).await.map(|receipts| (places, receipts))
        });
        for (places, part) in try_join_all(received).await? {
            places.into_iter().zip(part).for_each(|(place, receipt)| receipts[place] = receipt);
        }
        Ok(receipts)
    }
}

impl Store for PostgresStore {
    fn describe(&self) -> String {
        format!("in the PostgreSQL database {}: {}", self.server, self.promise)
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        let (holder, seen) = (Box::new(holder.clone()), seen.cloned().map(Box::new));
        self.alone(move |reply| Alone::Claim { bot, holder, seen, reply })
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        self.at_desk(move |reply| Operation::Renew { bot, epoch, reply })
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
        Box::pin(self.receive_all(epoch, batch))
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
        let (chat, key, commit) = (commit.key.clone(), commit.key.to_string(), Box::new(commit));
        self.of_chat(&chat, move |reply| Operation::Commit { epoch, key, commit, reply })
    }

    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside> {
        let (chat, parked) = (parked.key.clone(), Box::new(parked));
        self.of_chat(&chat, move |reply| Operation::Park { epoch, taken, parked, outgoing, reply })
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        // Not at the desk: the renewal of a lease must not wait for the application.
        Box::pin(Self::ask(&self.writers[0], |reply| Request::Grouped(Operation::Write { writes, reply })))
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(self.reads.unsent(bot, after, limit))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        self.at_desk(move |reply| Operation::Sending { epoch, ids, reply })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        self.at_desk(move |reply| Operation::Settle { epoch, settled, at, is_noted: false, reply })
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        let post = Post { once: once.to_owned(), outgoing, at };
        self.at_desk(move |reply| Operation::Post { epoch, post, reply })
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        Box::pin(self.reads.labelled(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(self.reads.effects(bot, after, limit))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        let (chat, outcome) = (outcome.key.clone(), Box::new(outcome));
        self.of_chat(&chat, move |reply| Operation::FinishEffect { epoch, effect, outcome, reply })
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

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_BACKUP)) })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.opens.close().await;
            self.reads.0.close().await;
            let writers = self.writers.iter().chain([&self.desk]).filter(|writer| !writer.is_closed());
            join_all(writers.map(|writer| Self::ask(writer, Request::Close))).await.into_iter().collect()
        })
    }
}

const NO_BACKUP: &str =
    "a PostgreSQL database is copied by its own tools: pg_dump copies it consistently while the bot runs";
