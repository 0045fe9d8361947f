//! What an operator sees of a store, and can change there.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Answer, OutboxId, Outgoing, Place, Stored, Version};
use crate::clock::Millis;
use crate::key::DialogueKey;

/// What an operator's tools need of a store beyond [`Store`](super::Store). [`Store::operator`](super::Store::operator)
/// gives it; none of it needs a lease.
pub trait OperatorStore: Send + Sync + std::fmt::Debug + 'static {
    /// The bots that have anything here.
    fn bots(&self) -> Answer<'_, Vec<i64>>;
    /// Ends a lease whose holder cannot; the holder is fenced.
    fn clear_lease(&self, bot: i64) -> Answer<'_, ()>;
    /// Ends a conversation whatever its state; the running instance notices by the version.
    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool>;
    /// Writes a conversation as it was exported; refused if there is one with a state, unless `replace`.
    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool>;
    /// Messages that could not be sent, in the order in which they were said, after the [place](FailedRow::place) of one.
    /// They go with their age, see [`Bounds::records_before`].
    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>>;
    /// One parked turn.
    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>>;
    /// Asks the running instance to run a parked turn again.
    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool>;
    /// Transition records, oldest first, after an id.
    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>>;
    /// The same of one conversation, without reading those of others.
    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>>;
    /// Copies everything consistently into a new file while the bot runs.
    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()>;

    /// Removes what other versions of this library have left on the server, unless `is_dry_run`; answers the names. A
    /// version that still needs it makes it again. Optional: most stores leave nothing behind.
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
    /// Also those that have ended.
    pub ended: bool,
}

impl Filter {
    /// Whether it asks for this conversation.
    pub(super) fn shows(&self, key: &DialogueKey, stored: Option<&Stored>) -> bool {
        if self.bot.is_some_and(|bot| bot != key.bot) || self.user.is_some_and(|user| user != key.user) {
            return false;
        }
        let is_anywhere = self.dialogue.is_none() && self.state.is_none();
        match stored {
            Some(stored) => is_anywhere || stored.places.iter().any(|place| self.stands_at(place)),
            None => self.ended && is_anywhere,
        }
    }

    fn stands_at(&self, place: &Place) -> bool {
        self.dialogue.as_deref().is_none_or(|dialogue| dialogue == &*place.dialogue)
            && self.state.as_deref().is_none_or(|state| state == &*place.state)
    }
}

/// Whether a conversation is a person's: the person's own in any chat, or any in the person's private chat.
pub(super) fn is_of_person(key: &DialogueKey, user: i64) -> bool {
    user > 0 && (key.user == user || key.chat == user)
}

/// A conversation as it is listed, exported and imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationRow {
    /// Whose it is.
    pub key: DialogueKey,
    /// How many turns it has had.
    pub version: Version,
    /// Its state; none if it has ended.
    pub stored: Option<Stored>,
    /// When its last turn was.
    pub updated_at: Millis,
}

/// A parked turn's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParkedId(pub i64);

/// A turn that failed for good, or an update that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// Its number; the store gives it.
    pub id: ParkedId,
    /// Whose turn it was.
    pub key: DialogueKey,
    /// What kind of input: `update`, `album`, `outcome`, `timer`, `expired`, `again`, a question to be asked again; or `state`, a
    /// state that was ended or did not fit. Of an input that no handler hears, with [`Parked::UNHEARD`] before it.
    pub kind: String,
    /// The input, as JSON where it is; of a `state` the [`ConversationRow`], as [`OperatorStore::import`] takes it.
    pub body: String,
    /// Why it was parked.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was parked.
    pub at: Millis,
    /// The operator wants it to run again.
    pub retry: bool,
}

impl Parked {
    /// What the kind of an input begins with that no handler hears: an outcome, or a timer. Such rows go with their age, and
    /// the oldest of many do: see [`Parked::is_unheard`].
    pub const UNHEARD: &str = "unheard_";

    /// No handler heard it; no turn of it has failed.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        self.kind.starts_with(Self::UNHEARD)
    }

    /// The kind of the input, whether it failed or was not heard.
    pub(crate) fn input(&self) -> &str {
        self.kind.strip_prefix(Self::UNHEARD).unwrap_or(&self.kind)
    }

    /// One that is to be parked; its number and its time are given later.
    pub(crate) fn new(key: DialogueKey, kind: &str, body: String, reason: String, attempts: u32) -> Self {
        let id = ParkedId::default();
        let at = Millis::default();
        Self { id, key, kind: kind.to_owned(), body, reason, attempts, at, retry: false }
    }

    /// A state that is not kept where it was: whole, so that it can be imported once that is right.
    pub(crate) fn state(row: &ConversationRow, reason: String) -> Self {
        // Names and numbers can always be written; if not, the state proper is better than nothing.
        let bare = |_| row.stored.as_ref().map_or_else(String::new, |stored| stored.value.to_string());
        let body = serde_json::to_string(row).unwrap_or_else(bare);
        Self::new(row.key.clone(), "state", body, reason, 1)
    }
}

/// What parking answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetAside {
    /// The parked turn's number.
    pub id: ParkedId,
    /// The outbox rows of what was said with it, in its order.
    pub outbox: Vec<OutboxId>,
}

/// A message that could not be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRow {
    /// The place that it had in the outbox.
    pub id: OutboxId,
    /// The conversation that said it.
    pub key: DialogueKey,
    /// The call.
    pub outgoing: Outgoing,
    /// Why it could not be sent.
    pub reason: Box<str>,
    /// When it was said.
    pub at: Millis,
}

impl FailedRow {
    /// Its place among those that failed, behind which [`OperatorStore::failed`] goes on.
    #[must_use]
    pub fn place(&self) -> (Millis, OutboxId) {
        (self.at, self.id)
    }
}

/// How long, and how much of it, a store keeps what would grow for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Older marks, and older `once` of [`super::Store::post`], go.
    pub marks_before: Millis,
    /// Older transitions, failed sends, ended conversations and labels go.
    pub records_before: Millis,
    /// Of a bot's parked turns so many stay, whatever their age; of more the oldest go.
    pub parked_most: usize,
    /// How long marks are kept after the last one, in a store that lets them go by itself when nobody cleans; none if
    /// that is the store's to say.
    pub marks_live: Option<Duration>,
}

/// How many rows went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Rows that were too old.
    pub aged: u64,
    /// Parked turns that were too many: somebody should hear of them.
    pub parked: u64,
}

impl Cleaned {
    /// Nothing went: it is clean.
    #[must_use]
    pub fn nothing(self) -> bool {
        self == Self::default()
    }
}

impl std::ops::AddAssign for Cleaned {
    fn add_assign(&mut self, more: Self) {
        self.aged += more.aged;
        self.parked += more.parked;
    }
}

/// How many conversations stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCount {
    /// The dialogue and its state.
    pub place: Place,
    /// How many.
    pub conversations: i64,
}

/// Numbers for a page and for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Conversations with a state.
    pub active: i64,
    /// The same by the place in the foreground.
    pub by_place: Vec<PlaceCount>,
    /// Inputs that wait.
    pub inbox: i64,
    /// Messages not yet sent.
    pub outbox: i64,
    /// When the oldest of them was said.
    pub outbox_oldest: Option<Millis>,
    /// Messages that could not be sent.
    pub failed: i64,
    /// Timers that are set.
    pub timers: i64,
    /// Effects not yet carried out.
    pub effects: i64,
    /// Parked turns.
    pub parked: i64,
}

/// A transition record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionRow {
    /// Its number, in order.
    pub id: i64,
    /// Whose it was.
    pub key: DialogueKey,
    /// The version that the turn made.
    pub version: Version,
    /// When it was.
    pub at: Millis,
    /// Where the dialogue stood.
    pub from: Option<Place>,
    /// Where it stood then.
    pub to: Option<Place>,
    /// The kind of input.
    pub by: String,
    /// How long the handler took.
    pub took_us: i64,
}
