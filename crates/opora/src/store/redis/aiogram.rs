//! A store on aiogram's own keys: a bot in Python and this one can share a Redis.
//!
//! The state of a conversation is in aiogram's keys, in aiogram's format; they are the source of truth. Inbox, outbox,
//! timers and versions are beside them in a [`super::RedisStore`]. A turn holds the lock of aiogram's
//! `RedisEventIsolation`, and its commit compares aiogram's keys, so it never overwrites a change that it has not seen.
//! A change by aiogram becomes a version of its own, made by the first turn that sees it.
//!
//! A [`Translate`] maps states; a store without one shows states as they are.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use self::locks::LockedTurn;
use self::operator::ListedKeys;
use super::{LoggedRedis, RedisBackend, RedisCode};
use crate::aiogram::{AiogramLayout, Translate};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::sent_log::SentLog;
use crate::store::{
    Answer, Commit, Committed, ConversationRow, Epoch, Filter, InboxRow, Mark, Opened, Seq, Statistics, Store,
    StoreError, StoreLayer, StoreResult, TransitionRow,
};

mod locks;
mod operator;
mod snapshot;
mod turns;

const NO_MAPPING: &str =
    "the store was opened without a mapping: what aiogram's states mean is not known (`AiogramStore::open` takes one)";
const NOT_FOR_BOTS: &str = "with `layout=aiogram` in its address a store needs a mapping, which says what aiogram's states mean: \
    open it by `AiogramStore::open` and give that to the bot, or leave `layout` out of the address";
const NO_LAYOUT: &str = "this address names no layout: `?layout=aiogram` was expected";

/// Keeps states as aiogram 3's `RedisStorage` does, and everything else as a [`RedisStore`](super::RedisStore).
///
/// ```no_run
/// # use std::sync::Arc;
/// use opora::aiogram::{AiogramStore, Mapping};
/// use opora::prelude::*;
///
/// #[derive(Clone, Debug, Serialize, Deserialize, States)]
/// enum Order {
///     Name,
///     Phone { name: String },
/// }
///
/// # async fn f(token: String) -> Result<(), BoxError> {
/// let mapping = Mapping::new()
///     .state("OrderStates:name", |_| Ok(Order::Name))
///     .state("OrderStates:phone", |data| Ok(Order::Phone { name: data.read("client_name")? }))
///     .write(|state, data| match state {
///         Order::Name => Ok("OrderStates:name"),
///         Order::Phone { name } => data.set("client_name", name).map(|()| "OrderStates:phone"),
///     });
/// let store = AiogramStore::open("redis://localhost/0?layout=aiogram&with_bot_id=1", mapping).await?;
/// Bot::new(token).store(Arc::new(store)).run().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AiogramStore(Arc<Shared>);

struct Shared {
    redis: LoggedRedis,
    layout: AiogramLayout,
    translate: Option<Box<dyn Translate>>,
    /// Identifies the locks of this process.
    instance: String,
    /// The running turns.
    locked_turns: Mutex<HashMap<ConversationKey, LockedTurn>>,
    is_extending: AtomicBool,
    /// The keys that were found last, for the next page of a list.
    listed: Mutex<Option<ListedKeys>>,
}

impl AiogramStore {
    /// Opens the store at an address of [`RedisStore::open`](super::RedisStore::open) with `layout=aiogram` and the
    /// options that the Python bot gave to `DefaultKeyBuilder`, `Dispatcher` and `RedisStorage`: `aiogram_prefix=fsm`,
    /// `separator=:`, `with_bot_id=1`, `with_business_connection_id=1`, `with_destiny=1`, `strategy=user_in_chat`,
    /// `state_ttl` and `data_ttl` in seconds.
    pub async fn open(address: &str, translate: impl Translate + 'static) -> StoreResult<Self> {
        let (address, layout) = settings(address)?;
        Self::open_with(&address, layout, translate).await
    }

    /// Opens the store with this layout. The address is that of a [`RedisStore`](super::RedisStore).
    pub async fn open_with(
        address: &str,
        layout: AiogramLayout,
        translate: impl Translate + 'static,
    ) -> StoreResult<Self> {
        let redis = RedisBackend::open_address(address, RedisCode::default()).await?;
        Ok(Self::new(redis, layout, Some(Box::new(translate))))
    }

    /// Opens an existing store, for tools beside a bot: states are shown as aiogram has them.
    pub async fn open_existing(address: &str) -> StoreResult<Self> {
        let (address, layout) = settings(address)?;
        Ok(Self::new(RedisBackend::open_existing_address(&address).await?, layout, None))
    }

    /// Opens the store without a mapping of states.
    pub(crate) async fn open_raw(address: &str) -> StoreResult<Self> {
        let (address, layout) = settings(address)?;
        Ok(Self::new(RedisBackend::open_address(&address, RedisCode::default()).await?, layout, None))
    }

    /// Whether an address names this layout.
    pub(crate) fn is_at(address: &str) -> bool {
        !matches!(AiogramLayout::of_address(address), Ok(None))
    }

    fn new(redis: RedisBackend, layout: AiogramLayout, translate: Option<Box<dyn Translate>>) -> Self {
        Self(Arc::new(Shared {
            redis: SentLog::around(redis),
            layout,
            translate,
            instance: format!("{:016x}", fastrand::u64(..)),
            locked_turns: Mutex::default(),
            is_extending: AtomicBool::new(false),
            listed: Mutex::default(),
        }))
    }
}

/// Splits an address into the address of the Redis and the layout.
fn settings(address: &str) -> StoreResult<(String, AiogramLayout)> {
    AiogramLayout::of_address(address)?.ok_or(StoreError::Unsupported(NO_LAYOUT))
}

impl Shared {
    fn translate(&self) -> StoreResult<&dyn Translate> {
        self.translate.as_deref().ok_or(StoreError::Unsupported(NO_MAPPING))
    }

    fn conversation(&self, key: &ConversationKey) -> ConversationKey {
        self.layout.conversation_of(key.clone())
    }
}

impl StoreLayer for AiogramStore {
    fn inner(&self) -> &dyn Store {
        &self.0.redis
    }

    fn describe(&self) -> String {
        let AiogramLayout { keys, strategy, .. } = &self.0.layout;
        let meaning = if self.0.translate.is_some() { "" } else { " and without a mapping" };
        let prefix = &keys.prefix;
        format!("{}; states as aiogram keeps them under `{prefix}`, by {strategy}{meaning}", self.inner().describe())
    }

    answers! { self;
        waiting_for(key: &'a ConversationKey, after: Seq, limit: usize) -> Vec<InboxRow> =>
            async move { self.inner().waiting_for(&self.0.conversation(key), after, limit).await };
        open(key: &'a ConversationKey, mark: Option<&'a Mark>) -> Opened =>
            async move { self.0.open_unlocked(&self.0.conversation(key), mark).await };
        abandon_turn(epoch: Epoch, key: &'a ConversationKey) -> () =>
            async move { self.0.leave_turn(epoch, &self.0.conversation(key)).await };
        list(filter: &'a Filter, after: Option<&'a ConversationKey>, limit: usize) -> Vec<ConversationRow> =>
            self.0.list_rows(filter, after, limit);
        reset(key: &'a ConversationKey, now: Millis) -> bool =>
            async move { self.0.end_conversation(&self.0.conversation(key), now).await };
        forget(bot: i64, user: i64, now: Millis) -> u64 => self.0.forget_person(bot, user, now);
        import(row: &'a ConversationRow, replace: bool) -> bool => self.0.import_row(row, replace);
        statistics(bot: Option<i64>) -> Statistics => self.0.statistics_of(bot);
        transitions_of(key: &'a ConversationKey, after: i64, limit: usize) -> Vec<TransitionRow> =>
            async move { self.inner().operator().transitions_of(&self.0.conversation(key), after, limit).await };
    }

    fn conversation_of(&self, key: ConversationKey) -> ConversationKey {
        self.0.layout.conversation_of(key)
    }

    fn is_shared_with_other_programs(&self) -> bool {
        true
    }

    fn why_unusable_for_bots(&self) -> Option<&'static str> {
        self.0.translate.is_none().then_some(NOT_FOR_BOTS)
    }

    fn open_for_turn<'a>(
        &'a self,
        epoch: Epoch,
        key: &'a ConversationKey,
        mark: Option<&'a Mark>,
        now: Millis,
    ) -> Answer<'a, Opened> {
        self.extend_locks();
        Box::pin(async move { self.0.enter_turn(epoch, &self.0.conversation(key), mark, now).await })
    }

    fn commit<'a>(&'a self, epoch: Epoch, commit: Commit) -> Answer<'a, Committed> {
        let key = self.0.conversation(&commit.key);
        Box::pin(self.0.commit_turn(epoch, Commit { key, ..commit }))
    }
}

impl fmt::Debug for AiogramStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiogramStore")
            .field("redis", &self.0.redis)
            .field("layout", &self.0.layout)
            .finish_non_exhaustive()
    }
}
