//! What an operator sees and changes in a store.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Answer, JobFilter, JobId, JobRequest, JobRow, OutboxId, Outgoing, StateName, StoredState, Version};
use crate::clock::Millis;
use crate::key::ConversationKey;

/// What an operator's tools need of a store beyond [`Store`](super::Store). [`Store::operator`](super::Store::operator)
/// returns it. No method needs a lease.
pub trait OperatorStore: Send + Sync + std::fmt::Debug + 'static {
    /// The bots that have data here.
    fn bots(&self) -> Answer<'_, Vec<i64>>;
    /// Ends a lease whose holder cannot end it. The holder is fenced.
    fn clear_lease(&self, bot: i64) -> Answer<'_, ()>;
    /// Ends a conversation in any state; false if none was open. A running turn is overtaken.
    fn reset<'a>(&'a self, key: &'a ConversationKey, now: Millis) -> Answer<'a, bool>;
    /// Imports an exported conversation. Returns false if a conversation is open there, unless `replace`.
    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool>;
    /// Failed messages after a [cursor](FailedRow::cursor), in the order in which they were said. They are removed with
    /// age, see [`CleaningLimits::records_before`].
    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>>;
    /// The parked turn with this id.
    fn parked_by_id(&self, id: ParkedId) -> Answer<'_, Option<ParkedTurn>>;
    /// Asks the running instance to run a parked turn again.
    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool>;
    /// Transition records after an id, oldest first.
    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>>;
    /// Transition records of one conversation after an id, without reading those of others.
    fn transitions_of<'a>(
        &'a self,
        key: &'a ConversationKey,
        after: i64,
        limit: usize,
    ) -> Answer<'a, Vec<TransitionRow>>;
    /// Jobs that pass a filter, before an id, the newest first.
    fn jobs<'a>(&'a self, filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Answer<'a, Vec<JobRow>>;
    /// Stores a request about jobs; the leader follows it. Returns how many jobs or queues it changes.
    fn request_jobs(&self, bot: i64, request: JobRequest, now: Millis) -> Answer<'_, u64>;
    /// The queues that are paused.
    fn paused_queues(&self, bot: i64) -> Answer<'_, Vec<Box<str>>>;
    /// Copies all data consistently into a new file while the bot runs.
    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()>;

    /// Removes what other versions of this library have left on the server, unless `is_dry_run`. Returns the names. A
    /// version that still needs something creates it again. Optional: most stores leave nothing behind.
    fn tidy(&self, is_dry_run: bool) -> Answer<'_, Vec<String>> {
        let _ = is_dry_run;
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Which conversations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this bot only.
    pub bot: Option<i64>,
    /// Of this person only.
    pub user: Option<i64>,
    /// With this dialogue open.
    pub dialogue: Option<String>,
    /// In this state.
    pub state: Option<String>,
    /// Also ended conversations.
    pub ended: bool,
}

impl Filter {
    /// Whether a conversation passes the filter.
    pub(super) fn matches(&self, key: &ConversationKey, stored: Option<&StoredState>) -> bool {
        if self.bot.is_some_and(|bot| bot != key.bot) || self.user.is_some_and(|user| user != key.user) {
            return false;
        }
        let is_anywhere = self.dialogue.is_none() && self.state.is_none();
        match stored {
            Some(stored) => is_anywhere || stored.states.iter().any(|name| self.matches_state(name)),
            None => self.ended && is_anywhere,
        }
    }

    fn matches_state(&self, name: &StateName) -> bool {
        self.dialogue.as_deref().is_none_or(|dialogue| dialogue == &*name.dialogue)
            && self.state.as_deref().is_none_or(|state| state == &*name.state)
    }
}

/// Whether a conversation belongs to a person: the person's own in any chat, or any in the person's private chat.
pub(super) fn is_of_person(key: &ConversationKey, user: i64) -> bool {
    user > 0 && (key.user == user || key.chat == user)
}

/// A conversation as it is listed, exported and imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationRow {
    /// Its key.
    pub key: ConversationKey,
    /// Its version.
    pub version: Version,
    /// Its state; none if it has ended.
    pub stored: Option<StoredState>,
    /// When its last turn was.
    pub updated_at: Millis,
}

/// The id of a parked turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParkedId(pub i64);

/// A parked turn: a turn that failed for good, an input without a handler, or an update that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedTurn {
    /// Its id; the store assigns it.
    pub id: ParkedId,
    /// The conversation.
    pub key: ConversationKey,
    /// The kind of input: `update`, `album`, `outcome`, `timer`, `expired`, `again` (a question to ask again), or
    /// `state` (a state that was ended or did not fit). With [`ParkedTurn::UNHANDLED`] before it if no handler handled
    /// the input.
    pub kind: String,
    /// The input, as JSON where possible. For a `state`, the [`ConversationRow`] as [`OperatorStore::import`] takes it.
    pub body: String,
    /// Why it was parked.
    pub reason: String,
    /// The number of attempts.
    pub attempts: u32,
    /// When it was parked.
    pub at: Millis,
    /// The operator has asked to run it again.
    pub retry: bool,
}

impl ParkedTurn {
    /// The prefix of the kind of an unhandled outcome or timer. Such rows are removed with age, and above a limit the
    /// oldest go first.
    pub const UNHANDLED: &str = "unhandled_";

    /// Whether no handler handled the input. No turn of it has failed.
    #[must_use]
    pub fn is_unhandled(&self) -> bool {
        self.kind.starts_with(Self::UNHANDLED)
    }

    /// The kind of the input, without the prefix.
    pub(crate) fn input(&self) -> &str {
        self.kind.strip_prefix(Self::UNHANDLED).unwrap_or(&self.kind)
    }

    /// A turn to be parked. Its id and time are set later.
    pub(crate) fn new(key: ConversationKey, kind: &str, body: String, reason: String, attempts: u32) -> Self {
        let id = ParkedId::default();
        let at = Millis::default();
        Self { id, key, kind: kind.to_owned(), body, reason, attempts, at, retry: false }
    }

    /// A parked state, whole, so that it can be imported again.
    pub(crate) fn state(row: &ConversationRow, reason: String) -> Self {
        // Serialization cannot fail here; if it does, the bare state is better than nothing.
        let bare = |_| row.stored.as_ref().map_or_else(String::new, |stored| stored.value.to_string());
        let body = serde_json::to_string(row).unwrap_or_else(bare);
        Self::new(row.key.clone(), "state", body, reason, 1)
    }
}

/// The result of parking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParkResult {
    /// The id of the parked turn.
    pub id: ParkedId,
    /// The outbox rows of its messages, in order.
    pub outbox: Vec<OutboxId>,
}

/// A failed message.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRow {
    /// The id that it had in the outbox.
    pub id: OutboxId,
    /// The conversation that said it.
    pub key: ConversationKey,
    /// The call.
    pub outgoing: Outgoing,
    /// Why it could not be sent.
    pub reason: Box<str>,
    /// When it was said.
    pub at: Millis,
}

impl FailedRow {
    /// Its position among failed messages; [`OperatorStore::failed`] continues after it.
    #[must_use]
    pub fn cursor(&self) -> (Millis, OutboxId) {
        (self.at, self.id)
    }
}

/// How long and how many rows a store keeps of what would grow for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleaningLimits {
    /// Older marks, and older `once` keys of [`super::Store::post`], are removed.
    pub marks_before: Millis,
    /// Older transitions, failed messages, ended conversations and labels are removed.
    pub records_before: Millis,
    /// A bot keeps at most this many parked turns, whatever their age. The oldest are removed first.
    pub max_parked: usize,
    /// How long a store that expires marks by itself keeps them after the last one; none for the store's default.
    pub mark_ttl: Option<Duration>,
}

/// How many rows were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Rows that were too old.
    pub aged: u64,
    /// Parked turns above the limit. The caller logs them.
    pub parked: u64,
}

impl Cleaned {
    /// Whether nothing was removed.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl std::ops::AddAssign for Cleaned {
    fn add_assign(&mut self, more: Self) {
        self.aged += more.aged;
        self.parked += more.parked;
    }
}

/// How many conversations are in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateCount {
    /// The dialogue and its state.
    pub state: StateName,
    /// How many.
    pub conversations: i64,
}

/// Numbers for a page and for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Conversations with a state.
    pub active: i64,
    /// Conversations with a state, by the state in the foreground.
    pub by_state: Vec<StateCount>,
    /// Inputs that wait.
    pub inbox: i64,
    /// The time of the oldest of them.
    pub inbox_oldest: Option<Millis>,
    /// Messages not yet sent.
    pub outbox: i64,
    /// The time of the oldest unsent message.
    pub outbox_oldest: Option<Millis>,
    /// Messages that could not be sent.
    pub failed: i64,
    /// Timers that are set.
    pub timers: i64,
    /// Unfinished effects.
    pub effects: i64,
    /// The time of the oldest unfinished effect.
    pub effects_oldest: Option<Millis>,
    /// Parked turns.
    pub parked: i64,
}

/// A transition record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionRow {
    /// Its id. Ids rise.
    pub id: i64,
    /// The conversation.
    pub key: ConversationKey,
    /// The version after the turn.
    pub version: Version,
    /// When it was.
    pub at: Millis,
    /// The state before.
    pub from: Option<StateName>,
    /// The state after.
    pub to: Option<StateName>,
    /// The kind of input.
    pub by: String,
    /// How long the handler took.
    pub took_us: i64,
}
