//! All dialogues of a bot.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::check;
use super::conversation::Frame;
use super::definition::{DialogueDefinition, HandlerRef};
use super::hooks::{Guard, Hooks};
use super::route::Route;
use super::run::ScriptRun;
use super::{BuiltInTexts, Conversation, Dialogue, States, Text, Texts};
use crate::input::{Input, InputPattern};
use crate::store::{self, BoxError, StoredState};
use crate::turn::{Context, TurnError, TurnInput, TurnResult, TurnStart};

/// All dialogues of a bot.
#[must_use]
pub struct Script {
    pub(super) definitions: Vec<DialogueDefinition>,
    by_name: HashMap<&'static str, usize>,
    pub(super) texts: Arc<dyn Texts>,
    cancel: Option<InputPattern>,
    help: Option<Help>,
    handles_business: bool,
    pub(super) hooks: Hooks,
    /// The bot's own username, to ignore commands for other bots.
    username: OnceLock<Box<str>>,
}

type Help = Box<dyn Fn(&str) -> String + Send + Sync>;

/// What handles an input.
pub(super) enum HandledBy<'s> {
    Handler(&'s DialogueDefinition, HandlerRef),
    Cancel,
    Help,
}

/// The command that shows what the bot can do.
const HELP: InputPattern = InputPattern::Command(Cow::Borrowed("help"));

impl Script {
    /// A script without dialogues. It handles `/cancel`.
    pub fn new() -> Self {
        Self {
            definitions: Vec::new(),
            by_name: HashMap::new(),
            texts: Arc::new(BuiltInTexts),
            cancel: Some(InputPattern::Command(Cow::Borrowed("cancel"))),
            help: None,
            handles_business: false,
            hooks: Hooks::default(),
            username: OnceLock::new(),
        }
    }

    /// Adds a dialogue.
    pub fn dialogue<S: States>(mut self, dialogue: Dialogue<S>) -> Self {
        self.add(dialogue);
        self
    }

    /// Adds a dialogue.
    pub fn add<S: States>(&mut self, dialogue: Dialogue<S>) {
        // Of two dialogues with the same name the first is used. `check` reports it.
        self.by_name.entry(S::DIALOGUE).or_insert(self.definitions.len());
        self.definitions.push(dialogue.definition);
    }

    /// Replaces the library's own texts.
    pub fn texts(mut self, texts: impl Texts) -> Self {
        self.texts = Arc::new(texts);
        self
    }

    /// Sets the command that ends what is open in the foreground, `cancel` by default. An entry of the application for
    /// the same command takes precedence.
    pub fn cancel(mut self, command: impl Into<Cow<'static, str>>) -> Self {
        self.cancel = Some(InputPattern::Command(command.into()));
        self
    }

    /// Turns the built-in cancel command off.
    pub fn without_cancel(mut self) -> Self {
        self.cancel = None;
        self
    }

    /// Sets what `/help` says, by the person's language. An entry of the application for `/help` takes precedence.
    pub fn help(mut self, text: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.help = Some(Box::new(text));
        self
    }

    /// Also handles messages in chats of business accounts that have connected the bot, and answers there on behalf of
    /// the account. Each person in such a chat has a conversation, the owner of the account too. Without this, messages
    /// and presses in such chats are ignored. [`other`](crate::input::other) handles edits, deletions and connections,
    /// by their names.
    pub fn business_chats(mut self) -> Self {
        self.handles_business = true;
        self
    }

    pub(super) fn handles_business(&self) -> bool {
        self.handles_business
    }

    /// Sets the hook that returns the languages that people have chosen, as codes such as `ru`. For people it leaves
    /// out, the language of their Telegram is used. It is called only before the library says one of its own texts, and
    /// for several people at once before a planned restart.
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
    pub fn languages<F, R>(mut self, languages: F) -> Self
    where
        F: Fn(Arc<Context>, Vec<i64>) -> R + Send + Sync + 'static,
        R: Future<Output = HashMap<i64, String>> + Send + 'static,
    {
        self.hooks.languages = Some(Box::new(move |context, people| Box::pin(languages(context, people))));
        self
    }

    /// Calls this before the handler of a person's message or press. If it returns false, no handler runs, and only
    /// what the guard said is sent. An application can limit people who write too often with it.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.hooks.guard = Some(guard);
        self
    }

    /// Sets which errors of handlers are transient, such as those of a database that is away. A turn with such an error
    /// is retried and not parked, as if the store were away at the commit. Transient errors of `sqlx` and of stores
    /// ([`StoreError::is_transient`](crate::store::StoreError::is_transient)) need not be named here.
    pub fn transient_errors(mut self, is_transient: impl Fn(&BoxError) -> bool + Send + Sync + 'static) -> Self {
        self.hooks.is_transient = Some(Box::new(is_transient));
        self
    }

    /// Checks the script before the first update, and returns all mistakes:
    ///
    /// - two dialogues with the same name; a dialogue that [calls](Dialogue::calls) one that is not registered;
    /// - a state without a handler: neither its own nor one for any state of the dialogue;
    /// - a state without a way out: it handles only timers, alarms and outcomes, there is no entry or `/cancel` that a
    ///   person can use, and the dialogue never expires. What a handler returns is not known here: any handler that a
    ///   person can reach counts as a way out;
    /// - a handler that is never reached, because an earlier one takes all its inputs; two entries for one command;
    /// - a handler for a state that the enum does not have; a handler that takes two values of one type, which could be
    ///   swapped by mistake; a gap in the upcasts.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mistakes = check::mistakes(self);
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }

    /// The kinds of updates that the script handles, for Telegram's `allowed_updates`. Messages and presses are always
    /// among them, because the library itself offers buttons.
    #[must_use]
    pub fn allowed_updates(&self) -> Vec<&'static str> {
        let mut kinds = BTreeSet::from(["message", "callback_query"]);
        if self.handles_business {
            kinds.insert("business_message");
        }
        for definition in &self.definitions {
            for route in definition.entries.iter().chain(&definition.any_state).chain(definition.at.iter().flatten()) {
                if let InputPattern::Other(kind) = &route.pattern {
                    kinds.extend(UPDATE_KINDS.iter().find(|known| **known == kind.as_ref()));
                }
            }
        }
        kinds.into_iter().collect()
    }

    /// The names of the dialogues and of their states.
    pub fn dialogue_states(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> + '_ {
        self.definitions.iter().map(|definition| (definition.name, definition.states))
    }

    /// Every button with a handler: its dialogue, its state, and the prefix of its data. The state is none for entries
    /// and for handlers of any state. A test can use it to find buttons that it does not cover.
    #[must_use]
    pub fn buttons(&self) -> Vec<(&'static str, Option<&'static str>, String)> {
        let mut buttons = Vec::new();
        for definition in &self.definitions {
            let mut add = |state, routes: &[Route]| {
                for route in routes {
                    if let InputPattern::Button(data) = &route.pattern {
                        buttons.push((definition.name, state, data.to_string()));
                    }
                }
            };
            add(None, &definition.entries);
            add(None, &definition.any_state);
            for (state, routes) in definition.states.iter().zip(&definition.at) {
                add(Some(*state), routes);
            }
        }
        buttons
    }

    /// Sets the bot's username in Telegram.
    pub(crate) fn set_username(&self, username: Option<String>) {
        if let Some(username) = username {
            // Set again after every takeover, to the same value.
            let _ = self.username.set(username.into());
        }
    }

    pub(super) fn username(&self) -> Option<&str> {
        self.username.get().map(|name| &**name)
    }

    /// The text for a person before a planned restart. None if nothing is open in the conversation.
    pub(crate) fn restart_notice(&self, stored: &StoredState, chosen: Option<&str>) -> Option<String> {
        let conversation = serde_json::from_str::<Conversation>(&stored.value).ok();
        let is_open = conversation.as_ref().is_none_or(|conversation| !conversation.tracks.is_empty());
        let language = conversation.map(|conversation| conversation.language).unwrap_or_default();
        is_open.then(|| self.text_outside_turn(|texts| texts.planned_restart(chosen.unwrap_or(&language))))
    }

    /// The text for a person whose conversation has to wait.
    pub(crate) async fn wait_notice(&self, context: &Arc<Context>, person: i64, language: &str) -> String {
        let chosen = self.languages_of(context, vec![person]).await.remove(&person);
        self.text_outside_turn(|texts| texts.please_wait(chosen.as_deref().unwrap_or(language)))
    }

    /// The text for a person to whom a message could not be sent.
    pub(crate) async fn refused_message_notice(
        &self,
        context: &Arc<Context>,
        person: i64,
        stored: Option<StoredState>,
    ) -> String {
        let chosen = self.languages_of(context, vec![person]).await.remove(&person);
        let conversation = stored.and_then(|stored| serde_json::from_str::<Conversation>(&stored.value).ok());
        let language = conversation.map(|conversation| conversation.language).unwrap_or_default();
        self.text_outside_turn(|texts| texts.message_refused(chosen.as_deref().unwrap_or(&language)))
    }

    /// One of the texts, outside of a turn. If the application's texts panic, the built-in text is used.
    fn text_outside_turn(&self, text: impl Fn(&dyn Texts) -> Text) -> String {
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| text(&*self.texts)));
        let chosen = made.unwrap_or_else(|_| {
            tracing::error!("the application's texts panicked; using the built-in texts");
            text(&BuiltInTexts)
        });
        chosen.into_owned()
    }

    /// The languages that these people have chosen, as far as the application knows.
    pub(crate) async fn languages_of(&self, context: &Arc<Context>, people: Vec<i64>) -> HashMap<i64, String> {
        self.hooks.languages_of(context, people).await
    }

    /// Whether an error of a handler is transient.
    pub(crate) fn is_transient(&self, error: &BoxError) -> bool {
        store::is_transient(&**error)
            || self.hooks.is_transient.as_ref().is_some_and(|is_transient| is_transient(error))
    }

    /// Runs a turn. It has no side effects: the result says what to commit.
    pub(crate) async fn run(&self, start: TurnStart) -> Result<TurnResult, TurnError> {
        let conversation = match (&start.stored, &start.input) {
            (None, _) | (_, TurnInput::Unreadable { .. }) => Conversation::default(),
            (Some(stored), _) => serde_json::from_str::<Conversation>(&stored.value)
                .map_err(|error| TurnError::Unreadable(format!("the conversation cannot be read: {error}")))?,
        };
        let mut run = ScriptRun::new(self, &start, conversation);
        run.process(start.input).await?;
        run.finish(start.stored)
    }

    pub(super) fn definition(&self, name: &str) -> Option<&DialogueDefinition> {
        self.by_name.get(name).map(|index| &self.definitions[*index])
    }

    /// The definition of a stored dialogue.
    pub(super) fn stored_definition(&self, name: &str) -> Result<&DialogueDefinition, TurnError> {
        let missing = || TurnError::Unreadable(format!("there is no dialogue `{name}` in this program"));
        self.definition(name).ok_or_else(missing)
    }

    /// An error if a handler begins a dialogue that is not registered.
    pub(super) fn check_registered(&self, name: &str) -> Result<(), TurnError> {
        let missing = || TurnError::failed(format!("there is no dialogue `{name}` in this bot: add it"));
        self.definition(name).map(|_| ()).ok_or_else(missing)
    }

    /// What handles an input while `top` is open. The narrowest pattern wins; of equal ones the first of: the state,
    /// its dialogue, an entry.
    pub(super) fn find_handler<'s>(&'s self, top: Option<&Frame>, input: &Input) -> Option<HandledBy<'s>> {
        let mut best: Option<(HandledBy<'s>, &'s InputPattern)> = None;
        let mut consider = |candidate: HandledBy<'s>, pattern: &'s InputPattern| {
            if best.as_ref().is_none_or(|(_, before)| before.covers(pattern) && !pattern.covers(before)) {
                best = Some((candidate, pattern));
            }
        };
        if let Some((definition, frame)) = top.and_then(|top| Some((self.definition(&top.dialogue)?, top))) {
            for (handler, pattern) in definition.at(&frame.at, input).into_iter().chain(definition.any_state(input)) {
                consider(HandledBy::Handler(definition, handler), pattern);
            }
        }
        for definition in &self.definitions {
            if let Some((handler, pattern)) = definition.entry(input) {
                consider(HandledBy::Handler(definition, handler), pattern);
            }
        }
        if let Some(cancel) = self.cancel.as_ref().filter(|cancel| cancel.matches(input)) {
            consider(HandledBy::Cancel, cancel);
        }
        if self.help.is_some() && HELP.matches(input) {
            consider(HandledBy::Help, &HELP);
        }
        best.map(|(handled_by, _)| handled_by)
    }

    pub(super) fn help_text(&self, language: &str) -> Option<String> {
        self.help.as_ref().map(|help| help(language))
    }

    pub(super) fn can_cancel(&self) -> bool {
        self.cancel.is_some()
    }

    /// A command that starts a dialogue: its own, otherwise that of any dialogue.
    pub(super) fn start_command(&self, dialogue: Option<&str>) -> Option<String> {
        let command = |definition: &DialogueDefinition| {
            definition.entries.iter().find_map(|route| match &route.pattern {
                InputPattern::Command(name) => Some(name.to_string()),
                _ => None,
            })
        };
        let own = dialogue.and_then(|name| self.definition(name)).and_then(command);
        own.or_else(|| self.definitions.iter().find_map(command))
    }
}

/// The kinds of updates that can be named in `allowed_updates`, besides those that always are.
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
        f.debug_list().entries(self.definitions.iter().map(|definition| definition.name)).finish()
    }
}
