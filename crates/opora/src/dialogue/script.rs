//! All dialogues of a bot.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::check;
use super::conversation::Frame;
use super::flow::{Flow, Which};
use super::hooks::{Guard, Hooks};
use super::play::Play;
use super::route::Route;
use super::{BuiltInTexts, Conversation, Dialogue, States, Text, Texts};
use crate::input::{Input, What};
use crate::store::{self, BoxError, Stored};
use crate::turn::{Context, Event, Moment, Outcome, TurnError};

/// The set of dialogues of a bot: who hears what.
pub struct Script {
    pub(super) flows: Vec<Flow>,
    by_name: HashMap<&'static str, usize>,
    pub(super) texts: Arc<dyn Texts>,
    cancel: Option<What>,
    help: Option<Help>,
    hears_business: bool,
    pub(super) hooks: Hooks,
    /// The bot's own name behind the @: a command for another bot is not for this one.
    username: OnceLock<Box<str>>,
}

type Help = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Who hears an input.
pub(super) enum Way<'s> {
    Flow(&'s Flow, Which),
    Cancel,
    Help,
}

/// The command that shows what the bot can do.
const HELP: What = What::Command(Cow::Borrowed("help"));

impl Script {
    /// No dialogue yet. `/cancel` is there.
    #[must_use]
    pub fn new() -> Self {
        Self {
            flows: Vec::new(),
            by_name: HashMap::new(),
            texts: Arc::new(BuiltInTexts),
            cancel: Some(What::Command(Cow::Borrowed("cancel"))),
            help: None,
            hears_business: false,
            hooks: Hooks::default(),
            username: OnceLock::new(),
        }
    }

    /// Adds a dialogue.
    #[must_use]
    pub fn dialogue<S: States>(mut self, dialogue: Dialogue<S>) -> Self {
        self.add(dialogue);
        self
    }

    /// Adds a dialogue.
    pub fn add<S: States>(&mut self, dialogue: Dialogue<S>) {
        // Of two with one name the first is kept; the check reports it.
        self.by_name.entry(S::DIALOGUE).or_insert(self.flows.len());
        self.flows.push(dialogue.flow);
    }

    /// Replaces the library's own sentences.
    #[must_use]
    pub fn texts(mut self, texts: impl Texts) -> Self {
        self.texts = Arc::new(texts);
        self
    }

    /// The command that ends what is open in the foreground, by default `cancel`. An entry of the application's for the
    /// same command goes first.
    #[must_use]
    pub fn cancel(mut self, command: impl Into<Cow<'static, str>>) -> Self {
        self.cancel = Some(What::Command(command.into()));
        self
    }

    /// No command ends a dialogue by itself.
    #[must_use]
    pub fn without_cancel(mut self) -> Self {
        self.cancel = None;
        self
    }

    /// What `/help` says, by the person's language. An entry of the application's for `/help` goes first.
    #[must_use]
    pub fn help(mut self, text: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.help = Some(Box::new(text));
        self
    }

    /// Hears also what is written in chats of business accounts that have connected the bot, as it hears its own chats,
    /// and answers there on behalf of the account. Each person in each such chat is a conversation of its own, the
    /// account's owner too. Without this, nothing that a person writes or presses in such a chat is heard. Edits,
    /// deletions and connections are heard by [`other`](crate::input::other), by their names.
    #[must_use]
    pub fn business(mut self) -> Self {
        self.hears_business = true;
        self
    }

    pub(super) fn hears_business(&self) -> bool {
        self.hears_business
    }

    /// Says in which languages people have chosen to be spoken to, as codes such as `ru`; of those who are left out it
    /// is the language of their Telegram. The library asks only where it is about to say something itself, never in a
    /// turn whose handlers say everything; for several people at once before a planned restart.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use opora::prelude::*;
    /// # struct People;
    /// # impl People { async fn languages(&self, _: &[i64]) -> HashMap<i64, String> { HashMap::new() } }
    /// let script = Script::new().languages(|context, people| async move {
    ///     match context.get::<People>() {
    ///         Some(known) => known.languages(&people).await,
    ///         None => HashMap::new(),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn languages<F, R>(mut self, languages: F) -> Self
    where
        F: Fn(Arc<Context>, Vec<i64>) -> R + Send + Sync + 'static,
        R: Future<Output = HashMap<i64, String>> + Send + 'static,
    {
        self.hooks.languages = Some(Box::new(move |context, people| Box::pin(languages(context, people))));
        self
    }

    /// Asks this before whoever hears what a person does: a message, a press. Where it answers false nobody hears it,
    /// and what it said is all that is said. So an application holds those back who ask too often.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.hooks.guard = Some(guard);
        self
    }

    /// Says which errors of handlers pass by themselves, such as those of a database that is away. A turn that fails so
    /// waits and runs again, as one does whose commit finds the store away; it is not parked. Errors of `sqlx` that say
    /// so, and those of stores ([`StoreError::is_passing`](crate::store::StoreError::is_passing)), are known already.
    #[must_use]
    pub fn passing(mut self, passes: impl Fn(&BoxError) -> bool + Send + Sync + 'static) -> Self {
        self.hooks.passes = Some(Box::new(passes));
        self
    }

    /// Looks for mistakes before the first update, and finds all of them at once:
    ///
    /// - two dialogues of one name; a dialogue that [calls](Dialogue::calls) one that is not there;
    /// - a state that no handler hears: neither one of its own nor one for anywhere in the dialogue;
    /// - a state without a way out: everything that it hears comes from time or effects, no entry or `/cancel` that a
    ///   person can use is there, and the dialogue waits for ever. What a handler returns cannot be known here: one
    ///   that a person can reach counts as a way out;
    /// - a handler that is never asked, because one before it takes all that it would; and two entries for one command;
    /// - a handler for a state that the enum does not have; a handler that takes two values of one type, which could be
    ///   swapped unnoticed; a gap in the upcasts.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mistakes = check::mistakes(self);
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }

    /// The kinds of updates that anybody here listens to, for Telegram's `allowed_updates`. Messages and presses are
    /// always among them: the library itself offers buttons.
    #[must_use]
    pub fn allowed_updates(&self) -> Vec<&'static str> {
        let mut kinds = BTreeSet::from(["message", "callback_query"]);
        if self.hears_business {
            kinds.insert("business_message");
        }
        for flow in &self.flows {
            for route in flow.entries.iter().chain(&flow.anywhere).chain(flow.at.iter().flatten()) {
                if let What::Other(kind) = &route.what {
                    kinds.extend(UPDATE_KINDS.iter().find(|known| **known == kind.as_ref()));
                }
            }
        }
        kinds.into_iter().collect()
    }

    /// The names of the dialogues and of their states.
    pub fn places(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> + '_ {
        self.flows.iter().map(|flow| (flow.name, flow.states))
    }

    /// Every button that a handler is registered for: its dialogue, its state, and how its data begins. The state is
    /// none for an entry, and for what is heard in all states. With this a test can find buttons that it does not
    /// cover.
    #[must_use]
    pub fn buttons(&self) -> Vec<(&'static str, Option<&'static str>, String)> {
        let mut buttons = Vec::new();
        for flow in &self.flows {
            let mut note = |state, routes: &[Route]| {
                for route in routes {
                    if let What::Button(data) = &route.what {
                        buttons.push((flow.name, state, data.to_string()));
                    }
                }
            };
            note(None, &flow.entries);
            note(None, &flow.anywhere);
            for (state, routes) in flow.states.iter().zip(&flow.at) {
                note(Some(*state), routes);
            }
        }
        buttons
    }

    /// Says what the bot is called in Telegram, once that is known.
    pub(crate) fn set_username(&self, username: Option<String>) {
        if let Some(username) = username {
            // It is asked for again after every takeover, and stays the same.
            let _ = self.username.set(username.into());
        }
    }

    pub(super) fn username(&self) -> Option<&str> {
        self.username.get().map(|name| &**name)
    }

    /// What a person in the middle of this conversation is told before a planned restart; none if nothing is open.
    pub(crate) fn restart_notice(&self, stored: &Stored, chosen: Option<&str>) -> Option<String> {
        let talk = serde_json::from_str::<Conversation>(&stored.value).ok();
        let is_open = talk.as_ref().is_none_or(|talk| !talk.slots.is_empty());
        let language = talk.map(|talk| talk.language).unwrap_or_default();
        is_open.then(|| self.said_outside(|texts| texts.restart(chosen.unwrap_or(&language))))
    }

    /// What a person is told whose conversation has to wait.
    pub(crate) async fn one_moment(&self, context: &Arc<Context>, person: i64, language: &str) -> String {
        let chosen = self.languages_of(context, vec![person]).await.remove(&person);
        self.said_outside(|texts| texts.one_moment(chosen.as_deref().unwrap_or(language)))
    }

    /// What the person of a conversation is told of whose messages one cannot be shown.
    pub(crate) async fn not_shown(&self, context: &Arc<Context>, person: i64, stored: Option<Stored>) -> String {
        let chosen = self.languages_of(context, vec![person]).await.remove(&person);
        let talk = stored.and_then(|stored| serde_json::from_str::<Conversation>(&stored.value).ok());
        let language = talk.map(|talk| talk.language).unwrap_or_default();
        self.said_outside(|texts| texts.not_shown(chosen.as_deref().unwrap_or(&language)))
    }

    /// A sentence that no turn says, so that no turn fails if it panics: then it is the library's own.
    fn said_outside(&self, sentence: impl Fn(&dyn Texts) -> Text) -> String {
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sentence(&*self.texts)));
        let said = said.unwrap_or_else(|_| {
            tracing::error!("the application's texts panicked; the library's own are said instead");
            sentence(&BuiltInTexts)
        });
        said.into_owned()
    }

    /// The languages that these people have chosen, as far as the application knows.
    pub(crate) async fn languages_of(&self, context: &Arc<Context>, people: Vec<i64>) -> HashMap<i64, String> {
        self.hooks.languages_of(context, people).await
    }

    /// Whether an error of a handler's passes by itself.
    pub(crate) fn passes(&self, error: &BoxError) -> bool {
        store::is_passing(&**error) || self.hooks.passes.as_ref().is_some_and(|passes| passes(error))
    }

    /// Takes an event through its turn. Nothing happens: what should happen is in the outcome.
    pub(crate) async fn run(&self, moment: Moment) -> Result<Outcome, TurnError> {
        let talk = match (&moment.stored, &moment.event) {
            (None, _) | (_, Event::Unreadable { .. }) => Conversation::default(),
            (Some(stored), _) => serde_json::from_str::<Conversation>(&stored.value)
                .map_err(|error| TurnError::Unreadable(format!("the conversation cannot be read: {error}")))?,
        };
        let mut play = Play::new(self, &moment, talk);
        play.event(moment.event).await?;
        play.finish(moment.stored)
    }

    pub(super) fn flow(&self, name: &str) -> Option<&Flow> {
        self.by_name.get(name).map(|index| &self.flows[*index])
    }

    pub(super) fn known(&self, name: &str) -> Result<&Flow, TurnError> {
        self.flow(name).ok_or_else(|| TurnError::Unreadable(format!("there is no dialogue `{name}` in this program")))
    }

    /// An error if a handler wants to begin a dialogue that is not there.
    pub(super) fn registered(&self, name: &str) -> Result<(), TurnError> {
        let missing = || TurnError::failed(format!("there is no dialogue `{name}` in this bot: add it"));
        self.flow(name).map(|_| ()).ok_or_else(missing)
    }

    /// Who hears an input while `top` is open. The narrowest wins; of equally narrow ones the innermost.
    pub(super) fn way<'s>(&'s self, top: Option<&Frame>, input: &Input) -> Option<Way<'s>> {
        let mut best: Option<(Way<'s>, &'s What)> = None;
        let mut offer = |way: Way<'s>, what: &'s What| {
            if best.as_ref().is_none_or(|(_, before)| before.covers(what) && !what.covers(before)) {
                best = Some((way, what));
            }
        };
        if let Some((flow, frame)) = top.and_then(|top| Some((self.flow(&top.dialogue)?, top))) {
            for (which, what) in flow.at(&frame.at, input).into_iter().chain(flow.anywhere(input)) {
                offer(Way::Flow(flow, which), what);
            }
        }
        for flow in &self.flows {
            if let Some((which, what)) = flow.entry(input) {
                offer(Way::Flow(flow, which), what);
            }
        }
        if let Some(cancel) = self.cancel.as_ref().filter(|cancel| cancel.takes(input)) {
            offer(Way::Cancel, cancel);
        }
        if self.help.is_some() && HELP.takes(input) {
            offer(Way::Help, &HELP);
        }
        best.map(|(way, _)| way)
    }

    pub(super) fn help_text(&self, language: &str) -> Option<String> {
        self.help.as_ref().map(|help| help(language))
    }

    pub(super) fn can_cancel(&self) -> bool {
        self.cancel.is_some()
    }

    /// A command that begins a dialogue anew: its own, else anybody's.
    pub(super) fn beginning(&self, dialogue: Option<&str>) -> Option<String> {
        let command = |flow: &Flow| {
            flow.entries.iter().find_map(|route| match &route.what {
                What::Command(name) => Some(name.to_string()),
                _ => None,
            })
        };
        let own = dialogue.and_then(|name| self.flow(name)).and_then(command);
        own.or_else(|| self.flows.iter().find_map(command))
    }
}

/// Every kind of update that Telegram can be asked for.
const UPDATE_KINDS: &[&str] = &[
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_connection",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "message_reaction",
    "message_reaction_count",
    "inline_query",
    "chosen_inline_result",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
    "poll",
    "poll_answer",
    "my_chat_member",
    "chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
];

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: States> From<Dialogue<S>> for Script {
    fn from(dialogue: Dialogue<S>) -> Self {
        Self::new().dialogue(dialogue)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.flows.iter().map(|flow| flow.name)).finish()
    }
}
