//! Conversations in Redis: the fastest store, for one instance or several.
//!
//! A turn is one call of a function that runs in the server, so it commits as a whole and costs one round trip.
//! Everything of a chat is in one of sixteen partitions, whose keys share a hash tag. The server's `appendfsync` says
//! how durable an answer is; [`RedisStore::open`] reads that setting and logs it.
//!
//! It cannot run the application's SQL, which needs a [`super::DecisionStore`], and it makes no backups: use the
//! server's.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use self::held_leases::HeldLeases;
use self::keys::{KeyKind, Keys};
use self::last_seen::LastSeen;
use self::rounds::Rounds;
use self::server::Server;
use self::writes::PartitionWriter;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::{
    AnnouncedConversations, Answer, Cleaned, CleaningLimits, Commit, Committed, ConversationRow, Delivered,
    DomainWrites, EffectId, EffectRow, Enqueued, Epoch, Filter, Holder, InboxRow, Incoming, InputRef, JobCount, JobId,
    JobLimits, JobPoll, JobRow, JobStart, JobUpdate, Lease, LeaseAnswer, Mark, NewJob, Opened, OperatorStore, OutboxId,
    OutboxRow, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt, Seq, Settled, Statistics, Store, StoreError,
    StoreLayer, StoreResult, Tick, TimerRow,
};
use crate::clock::Millis;
use crate::key::ConversationKey;

pub(crate) use self::address::{Address, JournalLocation};
#[cfg(feature = "aiogram")]
pub use self::aiogram::AiogramStore;
pub(crate) use self::connection::{Connection, NotReached};
pub(super) use self::decisions::CarryOutResult;
pub use self::last_seen::RedisLoss;
pub use self::server::RedisServerInfo;

mod address;
#[cfg(feature = "aiogram")]
mod aiogram;
mod connection;
mod decisions;
mod deliver;
mod expiry;
mod forget;
mod gather;
mod held_leases;
mod inbox;
mod jobs;
mod keys;
mod last_seen;
mod leases;
mod library;
mod maintenance;
mod opening;
mod operator;
mod ordered;
mod packed;
mod rounds;
mod rows;
mod sends;
mod server;
mod tidy;
mod tls;
mod turns;
mod writes;

/// Why application writes are refused here.
const NO_WRITES: &str = "Redis has no SQL: application writes need a database, as the store or beside it";

/// Keeps everything in Redis, version 7 or newer. Version 6.2 works too.
#[derive(Debug)]
pub struct RedisStore(pub(super) LoggedRedis);

/// The store in Redis, with the sent log around it.
pub(super) type LoggedRedis = SentLog<RedisBackend>;

/// The store in Redis, without the sent log.
#[derive(Debug)]
pub(super) struct RedisBackend {
    connection: Arc<Connection>,
    keys: Arc<Keys>,
    held_leases: HeldLeases,
    rounds: Rounds,
    writer: PartitionWriter,
    server: Server,
    // How long keys outlive a bot that never comes back; `None` is for ever.
    keep_ms: Option<i64>,
    generation: String,
    last_seen: Arc<LastSeen>,
    // Tokens of claims whose answers were lost, by bot.
    lost_claims: Mutex<HashMap<i64, String>>,
    // How many ended conversations were cleaned.
    ended_cleaned: AtomicU64,
}

/// How the store's code is loaded into the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisCode {
    /// As functions if the server supports them, else as scripts.
    #[default]
    Functions,
    /// As scripts, for servers that do not permit functions.
    Scripts,
}

impl RedisStore {
    /// Opens the store at `redis://[user][:password@]host[:port][/database]`, or `rediss://` with TLS. Settings follow
    /// a `?`, separated by `&`:
    /// - `prefix=name`: the prefix of all keys, `opora` by default; several bots can share one;
    /// - `keep_days=400`: how long the data of a bot that never comes back is kept; 0 is for ever;
    /// - `ca=file`: the certificate of the authority that issued the server's certificate, instead of the system's
    ///   authorities; `cert=file` and `key=file`: a client certificate, for a server that asks for one. All are PEM.
    ///
    /// With `data=DIRECTORY` a last-seen record is kept there, so that a restarted bot notices a Redis that came back
    /// empty or older. The bot then stops with [`StoreError::Lost`], unless no more is lost than a server with
    /// `appendfsync everysec` may lose; `after_loss=stop` and `after_loss=go_on` change that. The sent log is kept
    /// there too, so that a killed process repeats few messages.
    ///
    /// Logs a warning if the server may evict keys or keeps nothing over a restart.
    pub async fn open(address: &str) -> StoreResult<Self> {
        Self::open_with(address, RedisCode::default()).await
    }

    /// Opens the store with a choice of how its code is loaded into the server.
    pub async fn open_with(address: &str, code: RedisCode) -> StoreResult<Self> {
        Ok(Self(SentLog::around(RedisBackend::open_address(address, code).await?)))
    }

    /// Opens an existing store, for tools beside a bot. Refused if there is none or if it has another layout.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        Ok(Self(SentLog::around(RedisBackend::open_existing_address(address).await?)))
    }

    /// A random number that identifies the data. It is made when a store is first opened, and again after Redis was
    /// emptied. If only some partitions were emptied, there are several, joined by `+`.
    #[must_use]
    pub fn generation(&self) -> &str {
        &self.0.generation
    }
}

impl StoreLayer for RedisStore {
    fn inner(&self) -> &dyn Store {
        &self.0
    }
}

impl RedisBackend {
    /// Checks that the server answers and, after a refused write, that it is not a replica.
    pub(super) async fn ping(&self) -> StoreResult<()> {
        self.connection.ping().await
    }

    /// How often this process has accepted a loss and gone on.
    pub(super) fn losses_accepted(&self) -> u64 {
        self.last_seen.losses_accepted.load(std::sync::atomic::Ordering::Acquire)
    }
}

impl Logged for RedisBackend {
    fn log_files(&self) -> Option<LogFiles> {
        let address = &self.connection.address;
        Some(LogFiles::in_folder(address.folder()?, &address.file_name(), &self.last_seen.generation()))
    }
}

impl Store for RedisBackend {
    fn describe(&self) -> String {
        let code = if self.connection.uses_scripts() { ", by scripts" } else { "" };
        format!("in the Redis at {}{code}: {}", self.connection.address, self.server.restart_loss())
    }

    fn operator(&self) -> &dyn OperatorStore {
        self
    }

    answers! { self;
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer =>
            self.claim_above(Epoch(0), bot, holder, seen);
        renew(bot: i64, epoch: Epoch) -> () => self.renew_lease(bot, epoch);
        lease(bot: i64) -> Option<Lease> => self.lease_of(bot);
        receive(epoch: Epoch, batch: Vec<Incoming>) -> Vec<Receipt> => self.receive_batch(epoch, batch);
        deliver(batch: Vec<Incoming>) -> Vec<Delivered> => self.deliver_batch(batch);
        backlog(bot: i64, limit: usize) -> usize =>
            async move { Ok(self.count(bot, KeyKind::Inbox).await?.min(limit)) };
        announce(bot: i64, keys: Vec<ConversationKey>) -> () => self.publish(bot, keys);
        listen(bot: i64) -> AnnouncedConversations => self.subscribe(bot);
        waiting(bot: i64, after: Seq, limit: usize) -> Vec<InboxRow> =>
            self.rows_after(bot, KeyKind::Inbox, after.0, limit, move |row| rows::read_input(bot, row));
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> =>
            self.inputs_of(key, after, limit);
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened => self.open_turn(key, mark);
        commit(epoch: Epoch, commit: Commit) -> Committed => self.commit_turn(epoch, commit);
        park(epoch: Epoch, processed: Vec<InputRef>, parked: ParkedTurn, outgoing: Vec<Outgoing>) -> ParkResult =>
            self.park_turn(epoch, processed, parked, outgoing);
        write(_writes: DomainWrites) -> () => async { Err(StoreError::Unsupported(NO_WRITES)) };
        unsent(bot: i64, after: OutboxId, limit: usize) -> Vec<OutboxRow> => self.unsent_rows(bot, after, limit);
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> () => self.update_messages("sending", epoch, ids);
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> () => self.update_messages("not_sent", epoch, ids);
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> () => self.settle_all(epoch, settled, at);
        post(epoch: Epoch, once: &'a str, outgoing: Vec<(ConversationKey, Outgoing)>, at: Millis) -> Vec<OutboxId> =>
            self.post_rows(epoch, once, outgoing, at);
        labelled(bot: i64, chat: i64, label: &'a str) -> Option<i64> => self.labelled_message(bot, chat, label);
        effects(bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow> =>
            self.rows_after(bot, KeyKind::Effects, after.0, limit, move |row| rows::read_effect(bot, row));
        finish_effect(epoch: Epoch, effect: EffectId, outcome: Incoming) -> Receipt =>
            self.finish(epoch, effect, outcome);
        due_timers(bot: i64, now: Millis, limit: usize) -> Vec<TimerRow> => self.timers_due(bot, now, limit);
        expired(bot: i64, now: Millis, limit: usize) -> Vec<ConversationKey> =>
            self.expired_conversations(bot, now, limit);
        next_due(bot: i64) -> Option<Millis> => self.earliest_due(bot);
        enqueue_jobs(bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> => self.add_jobs(bot, jobs, now);
        start_jobs(bot: i64, epoch: Epoch, start: JobStart) -> Vec<JobRow> =>
            self.start_due_jobs((bot, epoch), start);
        update_jobs(bot: i64, epoch: Epoch, updates: Vec<JobUpdate>, writes: Option<DomainWrites>) -> Vec<bool> =>
            self.end_attempts((bot, epoch), updates, writes.is_some());
        running_jobs(bot: i64, after: JobId, limit: usize) -> Vec<JobRow> => self.jobs_running(bot, after, limit);
        poll_jobs(bot: i64) -> JobPoll => self.jobs_due(bot);
        prune_jobs(bot: i64, epoch: Epoch, limits: JobLimits) -> u64 => self.drop_old_jobs((bot, epoch), limits);
        job_ticks(bot: i64) -> Vec<(Box<str>, Millis)> => self.ticks_noted(bot);
        tick_jobs(bot: i64, epoch: Epoch, tick: Tick, jobs: Vec<NewJob>) -> bool =>
            self.note_tick((bot, epoch), tick, jobs);
        job_counts(bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> => self.count_of_jobs(bot, finished_since);
        list(filter: &'a Filter, after: Option<&'a ConversationKey>, limit: usize) -> Vec<ConversationRow> =>
            self.list_rows(filter, after, limit);
        forget(bot: i64, user: i64, now: Millis) -> u64 => self.forget_person(bot, user, now);
        statistics(bot: Option<i64>) -> Statistics => self.statistics_of(bot);
        parked(bot: Option<i64>, limit: usize) -> Vec<ParkedTurn> => self.parked_rows(bot, limit);
        parked_to_retry(bot: i64, limit: usize) -> Vec<ParkedTurn> => self.parked_for_retry(bot, limit);
        drop_parked(id: ParkedId) -> bool => self.forget_parked(id);
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            // Both at once: a stopping process must not wait twice for a server that is away.
            let (put_off, end_lease) = tokio::join!(self.put_off_expiry(epoch), self.end_lease(bot, Some(epoch)));
            if let Err(error) = put_off {
                tracing::debug!(bot, %error, "cannot put off the expiry of the bot's keys");
            }
            end_lease
        })
    }

    fn supports_multiple_instances(&self) -> bool {
        true
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn clean(&self, epoch: Epoch, bounds: CleaningLimits) -> Answer<'_, Cleaned> {
        Box::pin(async move {
            let cleaned = self.clean_all(epoch, bounds).await?;
            if cleaned.is_empty() {
                self.put_off_expiry(epoch).await?;
            }
            Ok(cleaned)
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.last_seen.save().await;
            self.connection.close();
            Ok(())
        })
    }
}
