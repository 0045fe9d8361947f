//! Conversations in Redis: the fastest store, for one instance or several.
//!
//! A turn is one call of a function that runs within the server, so it commits whole and costs one round trip. What
//! belongs to a chat lies in one of sixteen partitions, whose keys bear a common tag. How durable an answer is, the
//! server's `appendfsync` says; [`RedisStore::open`] asks and tells.
//!
//! It cannot carry out the application's SQL, for which a [`super::DecidedStore`] has a database beside it, and makes no
//! backups: the server's own do that.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use self::keys::{Keys, Thing};
use self::numbers::Numbers;
use self::rounds::Rounds;
use self::server::Server;
use self::witness::Witness;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow, Epoch,
    Filter, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, News, Opened, OperatorStore, OutboxId, OutboxRow,
    Outgoing, Parked, ParkedId, Receipt, Seq, SetAside, Settled, Statistics, Store, StoreError, StoreLayer,
    StoreResult, Taken, TimerRow,
};
use crate::clock::Millis;
use crate::key::DialogueKey;

pub(crate) use self::address::{AWAY_AFTER, Address, JournalPlace};
#[cfg(feature = "aiogram")]
pub use self::aiogram::AiogramStore;
pub(super) use self::decisions::CarriedOut;
pub use self::server::RedisServer;
pub(crate) use self::wire::{NotReached, Wire};
pub use self::witness::RedisLoss;

mod address;
#[cfg(feature = "aiogram")]
mod aiogram;
mod decisions;
mod deliver;
mod expiry;
mod forget;
mod gather;
mod inbox;
mod keeping;
mod keys;
mod leases;
mod library;
mod numbers;
mod opening;
mod operator;
mod ordered;
mod packed;
mod progress;
mod rounds;
mod rows;
mod sends;
mod server;
mod tidy;
mod tls;
mod turns;
mod wire;
mod witness;

/// Why application writes are refused here.
const NO_WRITES: &str = "Redis has no SQL: application writes need a database, as the store or beside it";

/// Keeps everything in a Redis, 7 or newer; 6.2 will do.
#[derive(Debug)]
pub struct RedisStore(pub(super) LoggedRedis);

/// The Redis, with the log of sent messages around it.
pub(super) type LoggedRedis = SentLog<RedisBackend>;

/// The store in Redis itself, without the log.
#[derive(Debug)]
pub(super) struct RedisBackend {
    wire: Arc<Wire>,
    keys: Arc<Keys>,
    numbers: Numbers,
    rounds: Rounds,
    server: Server,
    // How long keys outlive a bot that never comes back; none if for ever.
    keep_ms: Option<i64>,
    generation: String,
    witness: Arc<Witness>,
    // The tokens of claims whose answers were lost, by bot.
    lost_claims: Mutex<HashMap<i64, String>>,
    // How many ended conversations were cleaned away.
    ended_cleaned: AtomicU64,
}

/// How the server's side of the store is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisCode {
    /// As functions where the server has them, else as scripts.
    #[default]
    Functions,
    /// As scripts, for servers whose rules keep functions back.
    Scripts,
}

impl RedisStore {
    /// Opens the store at `redis://[user][:password@]host[:port][/database]`, or `rediss://` with TLS. Behind a `?` may
    /// stand settings, with `&` between them:
    /// - `prefix=name`: all keys begin with it, `opora` unless told; several bots can share one;
    /// - `keep_days=400`: how long everything of a bot is kept that never comes back; 0 is for ever;
    /// - `ca=file`: the certificate of the authority that vouches for the server, instead of those that the system
    ///   trusts; `cert=file` and `key=file`: our own certificate, for a server that asks for one. All are PEM.
    ///
    /// With `data=DIRECTORY` what is seen of this Redis is kept there, so that also a restarted bot notices when it has
    /// come back empty or older: it stops then, with [`StoreError::Lost`], unless no more is gone than a server with
    /// `appendfsync everysec` may lose; `after_loss=stop` or `after_loss=go_on` decide otherwise. What was sent is noted
    /// there as well, so that a killed process repeats few messages.
    ///
    /// Warns in the log if the server may throw keys away or keeps nothing over a restart.
    pub async fn open(address: &str) -> StoreResult<Self> {
        Self::open_with(address, RedisCode::default()).await
    }

    /// The same, with a say in how the server's side is kept.
    pub async fn open_with(address: &str, code: RedisCode) -> StoreResult<Self> {
        Ok(Self(SentLog::around(RedisBackend::make(address, code).await?)))
    }

    /// Opens the store as it is, for tools beside a bot: one that was never made, or that has another form, is refused.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        Ok(Self(SentLog::around(RedisBackend::find(address).await?)))
    }

    /// Tells this content from another: it is made with the first opening, and a Redis that was emptied gets a new one.
    /// Where some partitions were emptied and others not, there are several, with `+` between them.
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
    /// Where it is: host, port, database, and the prefix if it is not the usual one.
    pub(super) fn place(&self) -> String {
        self.wire.address.to_string()
    }

    /// Asks for nothing but an answer, and for writes to be taken where one was refused.
    pub(super) async fn ping(&self) -> StoreResult<()> {
        self.wire.ping().await
    }

    /// How often this opening of the store has gone on after a loss.
    pub(super) fn losses_accepted(&self) -> u64 {
        self.witness.accepted.load(std::sync::atomic::Ordering::Acquire)
    }
}

impl Logged for RedisBackend {
    fn log_files(&self) -> Option<LogFiles> {
        let address = &self.wire.address;
        Some(LogFiles::in_folder(address.folder()?, &address.file_name(), &self.witness.generation()))
    }
}

impl Store for RedisBackend {
    fn describe(&self) -> String {
        let code = if self.wire.uses_scripts() { ", by scripts" } else { "" };
        format!("in the Redis at {}{code}: {}", self.wire.address, self.server.losses())
    }

    fn operator(&self) -> &dyn OperatorStore {
        self
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(self.claim_above(Epoch(0), bot, holder, seen))
    }

    fn renew(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(self.renew_lease(bot, epoch))
    }

    fn release(&self, bot: i64, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            // Both are on their way at once: whoever stops does not wait twice for a server that is away.
            let (put_off, let_go) = tokio::join!(self.put_off_expiry(epoch), self.let_go(bot, Some(epoch)));
            if let Err(error) = put_off {
                tracing::debug!(bot, %error, "the expiry of a bot's keys was not put off");
            }
            let_go
        })
    }

    fn lease(&self, bot: i64) -> Answer<'_, Option<Lease>> {
        Box::pin(self.lease_of(bot))
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        Box::pin(self.receive_batch(epoch, batch))
    }

    fn supports_multiple_instances(&self) -> bool {
        true
    }

    fn why_only_leader_delivers(&self) -> Option<&'static str> {
        None
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        Box::pin(self.deliver_batch(batch))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { Ok(self.count(bot, Thing::Inbox).await?.min(limit)) })
    }

    fn announce(&self, bot: i64, keys: Vec<DialogueKey>) -> Answer<'_, ()> {
        Box::pin(self.publish(bot, keys))
    }

    fn listen(&self, bot: i64) -> Answer<'_, News> {
        Box::pin(self.subscribe(bot))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.rows_after(bot, Thing::Inbox, after.0, limit, move |row| rows::read_input(bot, row)))
    }

    fn waiting_for<'a>(&'a self, key: &'a DialogueKey, after: Seq, limit: usize) -> Answer<'a, Vec<InboxRow>> {
        Box::pin(self.inputs_of(key, after, limit))
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(self.open_turn(key, mark))
    }

    fn commit(&self, epoch: Epoch, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(self.commit_turn(epoch, commit))
    }

    fn park(&self, epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> Answer<'_, SetAside> {
        Box::pin(self.park_turn(epoch, taken, parked, outgoing))
    }

    fn write(&self, _writes: DomainWrites) -> Answer<'_, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_WRITES)) })
    }

    fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> Answer<'_, Vec<OutboxRow>> {
        Box::pin(self.unsent_rows(bot, after, limit))
    }

    fn sending(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.say_of_ids("sending", epoch, ids))
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.say_of_ids("not_sent", epoch, ids))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.settle_all(epoch, settled, at))
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> Answer<'a, Vec<OutboxId>> {
        Box::pin(self.post_rows(epoch, once, outgoing, at))
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        Box::pin(self.labelled_message(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(self.rows_after(bot, Thing::Effects, after.0, limit, move |row| rows::read_effect(bot, row)))
    }

    fn finish_effect<'a>(&'a self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> Answer<'a, Receipt> {
        Box::pin(self.finish(epoch, effect, outcome))
    }

    fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<TimerRow>> {
        Box::pin(self.timers_due(bot, now, limit))
    }

    fn expired(&self, bot: i64, now: Millis, limit: usize) -> Answer<'_, Vec<DialogueKey>> {
        Box::pin(self.lives_over(bot, now, limit))
    }

    fn next_due(&self, bot: i64) -> Answer<'_, Option<Millis>> {
        Box::pin(self.earliest_due(bot))
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        Box::pin(async move {
            let cleaned = self.clean_all(epoch, bounds).await?;
            if cleaned.nothing() {
                self.put_off_expiry(epoch).await?;
            }
            Ok(cleaned)
        })
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(self.list_rows(filter, after, limit))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(self.forget_person(bot, user, now))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.numbers_of(bot))
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.parked_rows(bot, limit))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.parked_wanted(bot, limit))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(self.forget_parked(id))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.witness.keep().await;
            self.wire.close();
            Ok(())
        })
    }
}
