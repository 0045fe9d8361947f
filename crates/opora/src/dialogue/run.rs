//! One turn of a script: finds the handler of an input, runs it and applies its result.

use std::sync::Arc;

use super::Texts;
use super::conversation::{Conversation, Frame};
use super::definition::{DialogueDefinition, HandlerRef};
use super::script::{HandledBy, Script};
use super::texts::Text;
use super::transition::Via;
use crate::input::Input;
use crate::store::StateName;
use crate::telegram::Say;
use crate::turn::{Handling, Turn, TurnError, TurnInput, TurnStart};
use crate::update::Content;

/// Reason of an ignored input for which no handler is registered.
pub(super) const NO_HANDLER: &str = "no_handler";

/// A turn in progress.
pub(super) struct ScriptRun<'s> {
    pub script: &'s Script,
    pub turn: Turn,
    /// The state of the foreground before the turn.
    pub before: Option<StateName>,
    /// The kind of input, for the transition record.
    pub trigger: &'static str,
    /// Whether a person did something. That restarts the expiry.
    pub is_by_person: bool,
    /// Whether the turn ends an expired dialogue.
    pub is_expiry: bool,
    /// Whether this turn must answer a pressed button.
    pub answers: bool,
    /// The dialogue whose handler ran last.
    pub handled_by: &'static str,
    /// Whether the input was handled.
    pub handling: Handling,
    /// The child whose return value the parent's state does not handle.
    pub lost_result: Option<Box<str>>,
    /// The language of the library's own texts. Looked up when the first is said.
    text_language: Option<String>,
}

impl<'s> ScriptRun<'s> {
    pub fn new(script: &'s Script, start: &TurnStart, conversation: Conversation) -> Self {
        let stored_front = || start.stored.as_ref().and_then(|stored| stored.states.first().cloned());
        let before = if matches!(start.input, TurnInput::Unreadable { .. }) {
            stored_front()
        } else {
            conversation.front_state()
        };
        let turn = Turn::new(start, conversation);
        let answers = matches!(start.input, TurnInput::Update(_)) && turn.callback().is_some();
        Self {
            script,
            turn,
            before,
            trigger: "",
            is_by_person: false,
            is_expiry: false,
            answers,
            handled_by: "",
            handling: Handling::Handled,
            lost_result: None,
            text_language: None,
        }
    }

    pub async fn process(&mut self, input: TurnInput) -> Result<(), TurnError> {
        self.upgrade_frames();
        match input {
            TurnInput::Update(update) => {
                let input = Input::from_update(&update);
                self.trigger = input.name();
                match &update.content {
                    Content::Callback(query) => self.press(query.data.as_deref().unwrap_or_default(), &input).await,
                    _ => self.person(&input).await,
                }
            }
            TurnInput::Album(updates) => {
                self.trigger = "album";
                let group = updates.first().and_then(|update| update.media_group());
                let late = group.is_some_and(|group| !self.turn.conversation.remember_album(group));
                self.person(&Input::from_album(&updates, late)).await
            }
            TurnInput::Timer { name, body } => {
                self.trigger = "timer";
                self.timer(&name, &body).await
            }
            TurnInput::Outcome(outcome) => {
                self.trigger = "outcome";
                self.outcome(outcome).await
            }
            TurnInput::Expired => {
                self.trigger = "timeout";
                self.is_expiry = true;
                self.expired().await
            }
            TurnInput::Failed { reason, update, by } => {
                self.trigger = "failed";
                if self.find_failed_track(update.as_deref(), by.as_ref())? {
                    self.failed(reason).await?;
                }
                Ok(())
            }
            TurnInput::AskAgain => {
                self.trigger = "again";
                self.ask_again().await
            }
            TurnInput::Unreadable { .. } => {
                self.trigger = "unreadable";
                let dialogue = self.before.as_ref().map(|state| state.dialogue.clone());
                let command = self.script.start_command(dialogue.as_deref());
                self.say_last_text(|texts, language| texts.unreadable(language, command.as_deref())).await;
                Ok(())
            }
        }
    }

    /// Handles what a person does, other than pressing a button: it goes to the foreground.
    async fn person(&mut self, input: &Input) -> Result<(), TurnError> {
        if self.is_for_another_bot(input) {
            self.handling = Handling::Ignored("another_bot");
            return Ok(());
        }
        if input.is_by_person() && !self.passes_guard(input).await? {
            return Ok(());
        }
        self.is_by_person = input.is_by_person();
        if self.is_by_person {
            self.turn.conversation.pressed = None;
        }
        self.select_foreground();
        if self.handle(input).await? {
            return Ok(());
        }
        if !self.is_by_person {
            self.handling = Handling::Ignored(NO_HANDLER);
            return Ok(());
        }
        if self.top().is_some() {
            return self.fallback(input).await;
        }
        if self.turn.conversation.track(&self.turn.track).is_some_and(|track| !track.kept.is_empty()) {
            self.offer_draft().await;
            return Ok(());
        }
        self.restore(input).await
    }

    /// Whether the bot handles this chat and the application's guard lets the input pass.
    pub async fn passes_guard(&mut self, input: &Input) -> Result<bool, TurnError> {
        if self.turn.is_of_business() && !self.script.handles_business() {
            // Not asked for; but Telegram may still deliver older updates, and presses always come.
            self.handling = Handling::Ignored("business_chat");
            return Ok(false);
        }
        let Some(guard) = self.script.hooks.guard else { return Ok(true) };
        let passes = guard(&mut self.turn, input).await?;
        if !passes {
            self.handling = Handling::Ignored("guard");
        }
        Ok(passes)
    }

    fn is_for_another_bot(&self, input: &Input) -> bool {
        let Input::Command(command) = input else { return false };
        let (Some(mention), Some(own)) = (&command.mention, self.script.username()) else { return false };
        !mention.eq_ignore_ascii_case(own)
    }

    /// Runs the handler for an input in the turn's track. False if there is none.
    pub async fn handle(&mut self, input: &Input) -> Result<bool, TurnError> {
        self.upgrade_top()?;
        let script = self.script;
        match script.find_handler(self.top(), input) {
            Some(HandledBy::Handler(definition, handler)) => self.run_handler(definition, handler, input).await?,
            Some(HandledBy::Cancel) => self.cancel().await?,
            Some(HandledBy::Help) => {
                let language = self.language().await.to_owned();
                if let Some(text) = script.help_text(&language) {
                    self.turn.say(text);
                }
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Runs an entry or a handler of the top dialogue, and applies its result.
    pub async fn run_handler(
        &mut self,
        definition: &'s DialogueDefinition,
        handler: HandlerRef,
        input: &Input,
    ) -> Result<(), TurnError> {
        self.handled_by = definition.name;
        let depth = self.depth();
        let next = definition.run(handler, &mut self.turn, depth, input)?.await?;
        let via = if matches!(handler, HandlerRef::Entry(_)) { Via::Entry } else { Via::State };
        self.apply(definition, via, next).await
    }

    /// Handles an input for which the open state has no handler.
    async fn fallback(&mut self, input: &Input) -> Result<(), TurnError> {
        let Some(definition) = self.top_definition() else { return Ok(()) };
        if definition.has(HandlerRef::Fallback, "") {
            return self.run_handler(definition, HandlerRef::Fallback, input).await;
        }
        self.say_text(|texts, language| texts.not_understood(language)).await;
        self.ask().await.map(|_| ())
    }

    /// Asks the restore hooks for a state, when nothing is open and no entry handles the input.
    async fn restore(&mut self, input: &Input) -> Result<(), TurnError> {
        let script = self.script;
        for definition in script.definitions.iter().filter(|definition| definition.has(HandlerRef::Restore, "")) {
            let next = definition.run(HandlerRef::Restore, &mut self.turn, 0, input)?.await?;
            if self.begin_restored(definition, next)? {
                if !self.handle(input).await? {
                    self.fallback(input).await?;
                }
                return Ok(());
            }
        }
        self.handling = Handling::Ignored(NO_HANDLER);
        Ok(())
    }

    /// Asks the question of the open state. False if it has none.
    pub async fn ask(&mut self) -> Result<bool, TurnError> {
        let Some(definition) = self.top_definition() else { return Ok(false) };
        let asks = self.top().is_some_and(|top| definition.has(HandlerRef::Ask, &top.at));
        if asks {
            let depth = self.depth();
            definition.run(HandlerRef::Ask, &mut self.turn, depth, &Input::Expired)?.await?;
        }
        Ok(asks)
    }

    /// Says one of the library's own texts.
    pub async fn say_text(&mut self, text: impl FnOnce(&dyn Texts, &str) -> Text) {
        let text = self.own_text(text).await;
        self.turn.say(text.into_owned());
    }

    /// Says one of the library's own texts after which nothing is open, with the application's button.
    pub async fn say_last_text(&mut self, text: impl FnOnce(&dyn Texts, &str) -> Text) {
        let text = self.own_text(text).await;
        let texts = Arc::clone(&self.script.texts);
        let button = texts.next_step_button(self.language().await);
        let message = Say::text(text);
        self.turn.say(match button {
            Some(button) => message.buttons([[button]]),
            None => message,
        });
    }

    pub async fn own_text(&mut self, text: impl FnOnce(&dyn Texts, &str) -> Text) -> Text {
        let texts = Arc::clone(&self.script.texts);
        text(&*texts, self.language().await)
    }

    /// The language that the person has chosen, otherwise that of the person's Telegram.
    async fn language(&mut self) -> &str {
        if self.text_language.is_none() {
            let person = self.turn.key.user;
            let chosen = self.script.languages_of(self.turn.shared(), vec![person]).await.remove(&person);
            self.text_language = Some(chosen.unwrap_or_else(|| self.turn.language().to_owned()));
        }
        self.text_language.as_deref().unwrap_or_default()
    }

    /// Makes the foreground the track of this turn.
    pub fn select_foreground(&mut self) {
        self.turn.track = self.turn.conversation.front.clone();
    }

    pub fn top(&self) -> Option<&Frame> {
        self.turn.conversation.top(&self.turn.track)
    }

    /// The dialogue on top of the turn's track.
    pub fn top_definition(&self) -> Option<&'s DialogueDefinition> {
        self.script.definition(&self.top()?.dialogue)
    }

    /// The index of the top frame in the turn's track.
    pub fn depth(&self) -> usize {
        self.turn.conversation.track(&self.turn.track).map_or(0, |track| track.stack.len().saturating_sub(1))
    }

    /// Upgrades every frame to the current version of its states, because entries read drafts too. A frame that cannot
    /// be upgraded stays as it is until an input reaches it.
    fn upgrade_frames(&mut self) {
        for track in &mut self.turn.conversation.tracks {
            for frame in track.stack.iter_mut().chain(&mut track.kept) {
                if let Some(definition) = self.script.definition(&frame.dialogue)
                    && let Err(error) = definition.upgrade(frame)
                {
                    tracing::debug!(dialogue = &*frame.dialogue, %error, "a stored state cannot be upgraded");
                }
            }
        }
    }

    pub fn upgrade_top(&mut self) -> Result<(), TurnError> {
        let script = self.script;
        match self.turn.conversation.top_mut(&self.turn.track) {
            Some(top) => script.stored_definition(&top.dialogue)?.upgrade(top),
            None => Ok(()),
        }
    }
}
