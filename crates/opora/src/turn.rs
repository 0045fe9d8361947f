//! A turn: one input, one handler, one commit.
//!
//! A handler reads the turn and asks for messages, timers, effects and SQL writes. They take effect with the commit,
//! and not at all if the turn fails. A handler cannot reach Telegram, and the turn is its only clock.
//!
//! A turn is bounded: it fails if it says more than a hundred messages.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::clock::Millis;
use crate::dialogue::{Child, Conversation, Frame, Next, States, Step, TRACKS_MAX};
use crate::key::ConversationKey;
use crate::store::{Outgoing, Refusal, Version};
use crate::telegram::{Action, Delete, Destination, Edit, IntoOutgoing, Raw, Say, SayError, Tag, Target};
use crate::update::{Content, Person, Update};

pub use self::context::Context;
pub use crate::clock::When;

pub(crate) use self::contract::{Handling, RunningHandler, TurnError, TurnInput, TurnResult, TurnStart};
pub(crate) use self::output::TurnOutput;

mod context;
mod contract;
mod output;
mod outside;

/// The turn of one input: what a handler can read, and what it can ask for.
pub struct Turn {
    pub(crate) key: ConversationKey,
    pub(crate) now: Millis,
    /// The version that the commit will make. It is the tag of every button.
    pub(crate) new_version: Version,
    pub(crate) update: Option<Arc<Update>>,
    pub(crate) conversation: Conversation,
    /// The track of the running handler.
    pub(crate) track: Box<str>,
    /// The handler that runs now.
    pub(crate) running_handler: RunningHandler,
    pub(crate) output: TurnOutput,
    destination: Destination,
    refusal: Option<Refusal>,
    context: Arc<Context>,
}

/// What a handler can read.
impl Turn {
    /// The time of this turn. It stays the same while the handler runs.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The key of the conversation.
    #[must_use]
    pub fn key(&self) -> &ConversationKey {
        &self.key
    }

    /// Whether the input came from a chat of a business account. A conversation may be wider than such a chat.
    pub(crate) fn is_of_business(&self) -> bool {
        !self.key.business.is_empty() || !self.destination.business.is_empty()
    }

    /// The person who sent the input. None for timers, alarms and outcomes.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        self.update.as_ref()?.person()
    }

    /// The person's language as a code such as `ru`; `en` if it is unknown.
    #[must_use]
    pub fn language(&self) -> &str {
        if self.conversation.language.is_empty() { "en" } else { &self.conversation.language }
    }

    /// Sets the conversation's language, as a code such as `ru`. It overrides the language of the person's Telegram
    /// while something is open. For people whom the application knows, use
    /// [`Script::languages`](crate::dialogue::Script::languages).
    pub fn set_language(&mut self, language: impl Into<Box<str>>) {
        self.conversation.language = language.into();
        self.conversation.is_language_chosen = true;
    }

    /// The update as Telegram sent it; of an album the first. None for timers, alarms and outcomes.
    #[must_use]
    pub fn update(&self) -> Option<&Update> {
        self.update.as_deref()
    }

    /// Why the [writes](Self::transact) of this turn's previous attempt were refused. The handler should tell the
    /// person.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// A value of the application's [`Context`].
    ///
    /// # Panics
    /// If there is none of this type. Only the turn fails then.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(&self) -> Arc<T> {
        let name = std::any::type_name::<T>();
        self.find_context().unwrap_or_else(|| panic!("the bot was given no `{name}`; give it one with `context`"))
    }

    /// A value of the application's [`Context`], if there is one of this type.
    #[must_use]
    pub fn find_context<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.context.get()
    }

    /// The state of a dialogue: the open one, or the draft of a failed turn. So `/start` can offer to continue. None if
    /// there is neither.
    #[must_use]
    pub fn draft<S: States>(&self) -> Option<S> {
        let tracks = || self.conversation.tracks.iter().rev();
        let open = tracks().flat_map(|track| track.stack.iter().rev());
        let drafts = tracks().flat_map(|track| track.kept.iter().rev());
        let frame = open.chain(drafts).find(|frame| *frame.dialogue == *S::DIALOGUE && frame.schema == S::VERSION)?;
        serde_json::from_str(frame.state.get()).ok()
    }
}

/// Messages.
impl Turn {
    /// Sends a message to this chat: a text, a [`Say`], or any other call. It is sent after the commit.
    pub fn say(&mut self, what: impl IntoOutgoing) {
        let outgoing = what.into_outgoing(&self.destination, &Tag::for_conversation(&self.key, self.new_version));
        self.put(outgoing);
    }

    /// Sends a message to another chat. Its buttons have no tag: any handler there that takes them gets them.
    pub fn say_to(&mut self, chat: i64, what: impl Into<Say>) {
        let outgoing = what.into().untagged().into_outgoing(&Destination::chat(chat), &Tag::new(self.new_version));
        self.put(outgoing);
    }

    /// Edits a message.
    pub fn edit(&mut self, edit: Edit) {
        self.say(edit);
    }

    /// Deletes a message, by its id or its label.
    pub fn delete(&mut self, message: impl Into<Target>) {
        self.say(Delete::message(message));
    }

    /// Shows an activity, such as "typing…".
    pub fn action(&mut self, action: Action) {
        self.say(action);
    }

    /// Calls any method of the Bot API.
    pub fn raw(&mut self, call: Raw) {
        self.say(call);
    }

    /// Shows a short text as the answer to the pressed button. Does nothing if no button was pressed.
    pub fn toast(&mut self, text: impl Into<String>) {
        self.output.answer = Some((text.into(), false));
    }

    /// Shows a text in a window as the answer to the pressed button. Does nothing if no button was pressed.
    pub fn alert(&mut self, text: impl Into<String>) {
        self.output.answer = Some((text.into(), true));
    }

    /// Refuses the input and says why. The dialogue stays in its state, and a pressed button stays usable.
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
        self.output.refused = true;
        if self.callback().is_some() {
            self.toast(text);
        } else {
            self.say(text.into());
        }
        Ok(Next::Stay)
    }

    fn put(&mut self, outgoing: Result<Outgoing, SayError>) {
        match outgoing {
            Ok(outgoing) => self.output.add_message(outgoing),
            Err(error) => self.output.fail(format!("a message cannot be sent: {error}")),
        }
    }
}

/// Other dialogues.
impl Turn {
    /// Sets the value that a child dialogue returns to its parent when it ends.
    pub fn set_return_value(&mut self, value: &impl Serialize) {
        match serde_json::value::to_raw_value(value) {
            Ok(value) => self.output.return_value = Some(value),
            Err(error) => self.output.fail(format!("a return value cannot be serialized: {error}")),
        }
    }

    /// Opens a dialogue beside this one, in the track of this name, and replaces what was open there. It gets its own
    /// buttons, timers and outcomes, and texts once it is in the [foreground](Self::bring_to_front).
    pub fn open_track<S: States>(&mut self, track: impl Into<Box<str>>, state: &S) {
        let track = track.into();
        if track == self.track {
            return self.output.fail(format!("this dialogue runs in the track `{track}` itself: use `Next`"));
        }
        if self.conversation.track(&track).is_none() && self.conversation.tracks.len() >= TRACKS_MAX {
            return self.output.fail(format!("more than {TRACKS_MAX} dialogues would be open side by side"));
        }
        match Frame::begin(Child::at(state), self.new_version) {
            Ok(frame) => {
                let opened = self.conversation.track_or_new(&track);
                opened.kept.clear();
                opened.stack = vec![frame];
                opened.entered(self.new_version);
                self.output.opened.push(track);
            }
            Err(error) => self.output.fail(error),
        }
    }

    /// Makes a track the foreground, which gets texts. The empty name is the main track, where entries begin. False if
    /// nothing is open in it.
    pub fn bring_to_front(&mut self, track: &str) -> bool {
        self.conversation.bring_to_front(track)
    }
}

/// Internals, for the script.
impl Turn {
    pub(crate) fn new(start: &TurnStart, conversation: Conversation) -> Self {
        let mut turn = Self {
            destination: start.destination.clone().unwrap_or_else(|| Destination::from(&start.key)),
            key: start.key.clone(),
            now: start.now,
            new_version: Version(start.version.0 + 1),
            update: start.input.update().cloned(),
            track: conversation.front.clone(),
            running_handler: RunningHandler::default(),
            conversation,
            output: TurnOutput::default(),
            refusal: start.refusal.clone(),
            context: Arc::clone(&start.context),
        };
        turn.update_language();
        turn
    }

    /// The id of the callback query that this turn is about.
    pub(crate) fn callback(&self) -> Option<&str> {
        match &self.update.as_ref()?.content {
            Content::Callback(query) => Some(&query.id),
            _ => None,
        }
    }

    fn update_language(&mut self) {
        if self.conversation.is_language_chosen {
            return;
        }
        let user = match self.update.as_ref().map(|update| &update.content) {
            Some(Content::Message(message)) => message.from.as_deref(),
            Some(Content::Callback(query)) => Some(&query.from),
            _ => None,
        };
        let code = user.and_then(|user| user.language_code.as_deref());
        if let Some(code) = code.filter(|code| **code != *self.conversation.language) {
            self.conversation.language = code.into();
        }
    }

    /// The application's context, shared.
    pub(crate) fn shared(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn take_return_value(&mut self) -> Option<Box<RawValue>> {
        self.output.return_value.take()
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("key", &self.key).field("made", &self.new_version).finish_non_exhaustive()
    }
}
