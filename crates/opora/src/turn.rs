//! A turn: one input, one handler, one commit.
//!
//! A handler looks at what is known and says what it wants: messages, timers, work outside, writes. Nothing of it
//! happens before the commit, and nothing of it if the turn fails. A handler cannot reach Telegram and needs no clock
//! but the turn's.
//!
//! A turn is bounded: whoever says more than a hundred messages in one has made a mistake, and the turn fails.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::asking::Speaker;
use crate::clock::Millis;
use crate::dialogue::{Child, Conversation, Frame, Next, SLOTS_MAX, States, Step};
use crate::key::DialogueKey;
use crate::store::{Outgoing, Refusal, Version};
use crate::telegram::{Action, Delete, Destination, Edit, IntoOutgoing, Raw, Say, SayError, Tag, Target};
use crate::update::{Content, Person, Update};

pub use self::context::Context;

pub(crate) use self::event::{Event, Hearing, Moment, Outcome, TurnError};
pub(crate) use self::wishes::Wishes;

mod context;
mod event;
mod outside;
mod wishes;

/// One input's turn: what a handler sees, and what it wants.
pub struct Turn {
    pub(crate) key: DialogueKey,
    pub(crate) now: Millis,
    /// The version that the commit will make; the tag of every button that is said.
    pub(crate) made: Version,
    pub(crate) update: Option<Arc<Update>>,
    pub(crate) talk: Conversation,
    /// Where the dialogue runs that is being asked.
    pub(crate) slot: Box<str>,
    /// Whose handler runs.
    pub(crate) speaker: Speaker,
    pub(crate) wishes: Wishes,
    place: Destination,
    refusal: Option<Refusal>,
    context: Arc<Context>,
}

/// When a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after this turn.
    After(Duration),
    /// At this time.
    At(Millis),
}

impl When {
    pub(crate) fn by(self, now: Millis) -> Millis {
        match self {
            Self::After(after) => now.plus(after),
            Self::At(at) => at,
        }
    }
}

impl From<Duration> for When {
    fn from(after: Duration) -> Self {
        Self::After(after)
    }
}

impl From<Millis> for When {
    fn from(at: Millis) -> Self {
        Self::At(at)
    }
}

/// What is known.
impl Turn {
    /// The time of this turn; the same however long the handler takes.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Whose conversation it is.
    #[must_use]
    pub fn key(&self) -> &DialogueKey {
        &self.key
    }

    /// Whether the input came from a chat of a business account. A conversation may be wider than such a chat.
    pub(crate) fn is_of_business(&self) -> bool {
        !self.key.business.is_empty() || !self.place.business.is_empty()
    }

    /// Who sent the input; none when time or an effect speaks.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        self.update.as_ref()?.person()
    }

    /// The person's language as a code such as `ru`; `en` if nobody knows.
    #[must_use]
    pub fn language(&self) -> &str {
        if self.talk.language.is_empty() { "en" } else { &self.talk.language }
    }

    /// Speaks this language from now on, as a code such as `ru`, whatever the person's Telegram says: for as long as
    /// something is open here. For people whom the application knows there is
    /// [`Script::languages`](crate::dialogue::Script::languages).
    pub fn speak(&mut self, language: impl Into<Box<str>>) {
        self.talk.language = language.into();
        self.talk.is_language_chosen = true;
    }

    /// The update as Telegram sent it; of an album the first. None when time or an effect speaks.
    #[must_use]
    pub fn update(&self) -> Option<&Update> {
        self.update.as_deref()
    }

    /// Why the [writes](Self::transact) of this very turn were refused the last time. Then say so, and ask for
    /// something else.
    #[must_use]
    pub fn refused(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// A value of the application's that was given to the bot.
    ///
    /// # Panics
    /// If there is none of this type. The turn fails then, and nothing else does.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(&self) -> Arc<T> {
        let name = std::any::type_name::<T>();
        self.find_context().unwrap_or_else(|| panic!("the bot was given no `{name}`; give it one with `context`"))
    }

    /// A value of the application's, if one of this type was given to the bot.
    #[must_use]
    pub fn find_context<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.context.get()
    }

    /// Where a dialogue stands: the state that is open, or what was kept of it when a turn failed. So `/start` can
    /// offer to go on. None if there is nothing of that dialogue.
    #[must_use]
    pub fn draft<S: States>(&self) -> Option<S> {
        let slots = || self.talk.slots.iter().rev();
        let open = slots().flat_map(|slot| slot.stack.iter().rev());
        let kept = slots().flat_map(|slot| slot.kept.iter().rev());
        let frame = open.chain(kept).find(|frame| *frame.dialogue == *S::DIALOGUE && frame.schema == S::VERSION)?;
        serde_json::from_str(frame.state.get()).ok()
    }
}

/// What is said.
impl Turn {
    /// Says something here: a text, a [`Say`], or anything else that can be sent.
    pub fn say(&mut self, what: impl IntoOutgoing) {
        let said = what.into_outgoing(&self.place, &Tag::of(&self.key, self.made));
        self.put(said);
    }

    /// Says something in another chat. Its buttons belong to no dialogue and are judged by the state there alone.
    pub fn say_to(&mut self, chat: i64, what: impl Into<Say>) {
        let said = what.into().untagged().into_outgoing(&Destination::chat(chat), &Tag::new(self.made));
        self.put(said);
    }

    /// Changes a message.
    pub fn edit(&mut self, edit: Edit) {
        self.say(edit);
    }

    /// Takes a message back, by its id or by the label that it was said under.
    pub fn delete(&mut self, message: impl Into<Target>) {
        self.say(Delete::message(message));
    }

    /// Shows that something is under way, such as "typing…".
    pub fn action(&mut self, action: Action) {
        self.say(action);
    }

    /// Calls any method of the Bot API.
    pub fn raw(&mut self, call: Raw) {
        self.say(call);
    }

    /// Shows a short text when the pressed button is answered; nothing where no button was pressed.
    pub fn toast(&mut self, text: impl Into<String>) {
        self.wishes.answer = Some((text.into(), false));
    }

    /// Shows a text in a window when the pressed button is answered; nothing where no button was pressed.
    pub fn alert(&mut self, text: impl Into<String>) {
        self.wishes.answer = Some((text.into(), true));
    }

    /// Refuses the input and says why: the dialogue stays, and a pressed button is not used up.
    ///
    /// ```
    /// # use opora::prelude::*;
    /// # #[derive(Clone, Debug, Serialize, Deserialize, States)]
    /// # enum Form { Age, Done { age: u8 } }
    /// async fn age(turn: &mut Turn, text: String) -> Step<Form> {
    ///     let Ok(age) = text.parse() else { return turn.refuse("A number, please.") };
    ///     Ok(Next::Go(Form::Done { age }))
    /// }
    /// ```
    pub fn refuse<S>(&mut self, text: impl Into<String>) -> Step<S> {
        self.wishes.refused = true;
        if self.callback().is_some() {
            self.toast(text);
        } else {
            self.say(text.into());
        }
        Ok(Next::Stay)
    }

    fn put(&mut self, said: Result<Outgoing, SayError>) {
        match said {
            Ok(outgoing) => self.wishes.put(outgoing),
            Err(error) => self.wishes.fail(format!("this cannot be said: {error}")),
        }
    }
}

/// What is wanted of other dialogues.
impl Turn {
    /// What a child dialogue returns to its parent when it ends.
    pub fn give_back(&mut self, value: &impl Serialize) {
        match serde_json::value::to_raw_value(value) {
            Ok(value) => self.wishes.given = Some(value),
            Err(error) => self.wishes.fail(format!("what is given back cannot be written: {error}")),
        }
    }

    /// Opens a dialogue beside this one, under a name, in place of what was open there. It hears its own buttons,
    /// timers and outcomes; texts it hears once it is in the [foreground](Self::foreground).
    pub fn open<S: States>(&mut self, slot: impl Into<Box<str>>, state: &S) {
        let slot = slot.into();
        if slot == self.slot {
            return self.wishes.fail(format!("`{slot}` is where this dialogue runs: go there with `Next`"));
        }
        if self.talk.slot(&slot).is_none() && self.talk.slots.len() >= SLOTS_MAX {
            return self.wishes.fail(format!("more than {SLOTS_MAX} dialogues would be open side by side"));
        }
        match Frame::begin(Child::at(state), self.made) {
            Ok(frame) => {
                let opened = self.talk.slot_or_new(&slot);
                opened.kept.clear();
                opened.stack = vec![frame];
                opened.entered(self.made);
                self.wishes.opened.push(slot);
            }
            Err(error) => self.wishes.fail(error),
        }
    }

    /// Brings the dialogue of this name to the foreground, where it hears texts; the empty name is the one that
    /// commands begin. False if nothing is open there.
    pub fn foreground(&mut self, slot: &str) -> bool {
        self.talk.bring_to_front(slot)
    }
}

/// For the script.
impl Turn {
    pub(crate) fn new(moment: &Moment, talk: Conversation) -> Self {
        let mut turn = Self {
            place: moment.place.clone().unwrap_or_else(|| Destination::from(&moment.key)),
            key: moment.key.clone(),
            now: moment.now,
            made: Version(moment.version.0 + 1),
            update: moment.event.update().cloned(),
            slot: talk.front.clone(),
            speaker: Speaker::default(),
            talk,
            wishes: Wishes::default(),
            refusal: moment.refusal.clone(),
            context: Arc::clone(&moment.context),
        };
        turn.note_language();
        turn
    }

    /// The id of the callback query that this turn is about.
    pub(crate) fn callback(&self) -> Option<&str> {
        match &self.update.as_ref()?.content {
            Content::Callback(query) => Some(&query.id),
            _ => None,
        }
    }

    fn note_language(&mut self) {
        if self.talk.is_language_chosen {
            return;
        }
        let user = match self.update.as_ref().map(|update| &update.content) {
            Some(Content::Message(message)) => message.from.as_deref(),
            Some(Content::Callback(query)) => Some(&query.from),
            _ => None,
        };
        let code = user.and_then(|user| user.language_code.as_deref());
        if let Some(code) = code.filter(|code| **code != *self.talk.language) {
            self.talk.language = code.into();
        }
    }

    /// The application's own values, as they are shared.
    pub(crate) fn shared(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn take_given(&mut self) -> Option<Box<RawValue>> {
        self.wishes.given.take()
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("key", &self.key).field("made", &self.made).finish_non_exhaustive()
    }
}
