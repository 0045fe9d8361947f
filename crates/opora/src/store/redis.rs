//! Conversations in Redis: the fastest store, for one instance or several.
//!
//! A turn is one call of a function that runs within the server, so it commits whole and costs one round trip. What
//! belongs to a chat lies in one of sixteen partitions, whose keys bear a common tag. How durable an answer is, the
//! server's `appendfsync` says; [`RedisStore::open`] asks and tells.
//!
//! It cannot carry out the application's SQL, for which a [`super::DecidedStore`] has a database beside it, and makes no
//! backups: the server's own do that.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use self::keys::Keys;
use self::numbers::Numbers;
use self::rounds::Rounds;
use self::server::Server;
use self::witness::Witness;
use super::sent::{SentNotes, or_release};
use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow, Epoch,
    FailedRow, Filter, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, News, Opened, OutboxId, OutboxRow,
    Outgoing, Parked, ParkedId, Receipt, Seq, SetAside, Settled, Statistics, Store, StoreError, StoreResult, Taken,
    TimerRow, TransitionRow, WitnessKeeper,
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
/// Why there is no backup.
const NO_BACKUP: &str = "a Redis is copied by its own means: BGSAVE, or its append-only file";

/// Keeps everything in a Redis, 7 or newer; 6.2 will do.
#[derive(Debug)]
pub struct RedisStore {
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
    sent: SentNotes,
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
        Self::make(address, code, Vec::new()).await
    }

    /// The same, and what is seen of this Redis is kept here as well: beside the file in `?data=`, a table for instance.
    pub async fn open_witnessed(address: &str, keepers: Vec<Arc<dyn WitnessKeeper>>) -> StoreResult<Self> {
        Self::make(address, RedisCode::default(), keepers).await
    }

    /// Opens the store as it is, for tools beside a bot: one that was never made, or that has another form, is refused.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        Self::find(address).await
    }

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

    /// Tells this content from another: it is made with the first opening, and a Redis that was emptied gets a new one.
    /// Where some partitions were emptied and others not, there are several, with `+` between them.
    #[must_use]
    pub fn generation(&self) -> &str {
        &self.generation
    }
}

impl Store for RedisStore {
    fn describe(&self) -> String {
        let code = if self.wire.uses_scripts() { ", by scripts" } else { "" };
        format!("in the Redis at {}{code}: {}", self.wire.address, self.server.losses())
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            let answer = self.claim_above(Epoch(0), bot, holder, seen).await?;
            if let LeaseAnswer::Granted(epoch) = answer {
                or_release(self, bot, epoch, self.settle_left(bot, epoch).await).await?;
            }
            Ok(answer)
        })
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

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(self.let_go(bot, None))
    }

    fn receive(&self, epoch: Epoch, batch: Vec<Incoming>) -> Answer<'_, Vec<Receipt>> {
        Box::pin(self.receive_batch(epoch, batch))
    }

    fn serves_several(&self) -> bool {
        true
    }

    fn why_alone(&self) -> Option<&'static str> {
        None
    }

    fn deliver(&self, batch: Vec<Incoming>) -> Answer<'_, Vec<Delivered>> {
        Box::pin(self.deliver_batch(batch))
    }

    fn backlog(&self, bot: i64, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.backlog_of(bot, limit))
    }

    fn announce(&self, bot: i64, keys: Vec<DialogueKey>) -> Answer<'_, ()> {
        Box::pin(self.publish(bot, keys))
    }

    fn listen(&self, bot: i64) -> Answer<'_, News> {
        Box::pin(self.subscribe(bot))
    }

    fn waiting(&self, bot: i64, after: Seq, limit: usize) -> Answer<'_, Vec<InboxRow>> {
        Box::pin(self.inputs(bot, after, limit))
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
        Box::pin(self.note_sending(epoch, ids))
    }

    fn not_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.note_not_sent(epoch, ids))
    }

    fn note_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        Box::pin(self.sent.note(epoch, ids))
    }

    fn note_labelled(&self, epoch: Epoch, sent: Vec<(OutboxId, i64)>) -> Answer<'_, ()> {
        Box::pin(self.sent.note_labelled(epoch, sent))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(async move {
            let ids: Vec<_> = settled.iter().map(|settled| settled.id).collect();
            self.settle_all(epoch, settled, at).await?;
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
        Box::pin(self.post_rows(epoch, once, outgoing, at))
    }

    fn labelled<'a>(&'a self, bot: i64, chat: i64, label: &'a str) -> Answer<'a, Option<i64>> {
        Box::pin(self.labelled_message(bot, chat, label))
    }

    fn effects(&self, bot: i64, after: EffectId, limit: usize) -> Answer<'_, Vec<EffectRow>> {
        Box::pin(self.asked_effects(bot, after, limit))
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

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        Box::pin(self.end_conversation(key, now))
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(self.forget_person(bot, user, now))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(self.import_row(row, replace))
    }

    fn statistics(&self, bot: Option<i64>) -> Answer<'_, Statistics> {
        Box::pin(self.numbers_of(bot))
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(self.bots_here())
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        Box::pin(self.failed_rows(bot, after, limit))
    }

    fn parked(&self, bot: Option<i64>, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.parked_rows(bot, limit))
    }

    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>> {
        Box::pin(self.one_parked(id))
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(self.retry(id))
    }

    fn parked_to_retry(&self, bot: i64, limit: usize) -> Answer<'_, Vec<Parked>> {
        Box::pin(self.parked_wanted(bot, limit))
    }

    fn drop_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(self.forget_parked(id))
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        Box::pin(self.moves(bot, after, limit))
    }

    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(self.moves_of(key, after, limit))
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_BACKUP)) })
    }

    fn tidy(&self, is_dry_run: bool) -> Answer<'_, Vec<String>> {
        Box::pin(self.drop_old_libraries(is_dry_run))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.witness.keep().await;
            self.wire.close();
            self.sent.tidy().await
        })
    }
}
