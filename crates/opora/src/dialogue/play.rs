//! One turn of a script: an event goes to who hears it, and what that handler wants is applied.

use std::sync::Arc;

use super::Texts;
use super::conversation::{Conversation, Frame};
use super::flow::{Flow, Which};
use super::script::{Script, Way};
use super::shift::Via;
use super::texts::Text;
use crate::input::Input;
use crate::store::Place;
use crate::telegram::Say;
use crate::turn::{Event, Hearing, Moment, Turn, TurnError};
use crate::update::Content;

/// Why a person's input is not heard, where nothing keeps it from a handler.
pub(super) const NO_HANDLER: &str = "no_handler";

/// A turn under way.
pub(super) struct Play<'s> {
    pub script: &'s Script,
    pub turn: Turn,
    /// Where the foreground stood before.
    pub before: Option<Place>,
    /// What the turn is about, for the records.
    pub by: &'static str,
    /// A person did something: the dialogue's life starts anew.
    pub is_by_person: bool,
    /// The life of something is over: nobody did anything.
    pub is_timeout: bool,
    /// The pressed button must be answered by this turn.
    pub answers: bool,
    /// The dialogue whose handler ran last.
    pub acted: &'static str,
    /// Whether what the turn is about was heard.
    pub hearing: Hearing,
    /// The child whose result the parent's state does not hear.
    pub lost_result: Option<Box<str>>,
    /// The language of the library's own sentences, once one was said.
    spoken: Option<String>,
}

impl<'s> Play<'s> {
    pub fn new(script: &'s Script, moment: &Moment, talk: Conversation) -> Self {
        let stored_front = || moment.stored.as_ref().and_then(|stored| stored.places.first().cloned());
        let before = if matches!(moment.event, Event::Unreadable { .. }) { stored_front() } else { talk.front_place() };
        let turn = Turn::new(moment, talk);
        let answers = matches!(moment.event, Event::Update(_)) && turn.callback().is_some();
        Self {
            script,
            turn,
            before,
            by: "",
            is_by_person: false,
            is_timeout: false,
            answers,
            acted: "",
            hearing: Hearing::Heard,
            lost_result: None,
            spoken: None,
        }
    }

    pub async fn event(&mut self, event: Event) -> Result<(), TurnError> {
        self.bring_up();
        match event {
            Event::Update(update) => {
                let input = Input::of(&update);
                self.by = input.name();
                match &update.content {
                    Content::Callback(query) => self.press(query.data.as_deref().unwrap_or_default(), &input).await,
                    _ => self.person(&input).await,
                }
            }
            Event::Album(updates) => {
                self.by = "album";
                let group = updates.first().and_then(|update| update.media_group());
                let late = group.is_some_and(|group| !self.turn.talk.hear_album(group));
                self.person(&Input::of_album(&updates, late)).await
            }
            Event::Timer { name, body } => {
                self.by = "timer";
                self.timer(&name, &body).await
            }
            Event::Outcome(finish) => {
                self.by = "outcome";
                self.outcome(finish).await
            }
            Event::Expired => {
                self.by = "timeout";
                self.is_timeout = true;
                self.expired().await
            }
            Event::Failed { reason, update, by } => {
                self.by = "failed";
                if self.find_failed(update.as_deref(), by.as_ref())? {
                    self.failed(reason).await?;
                }
                Ok(())
            }
            Event::Again => {
                self.by = "again";
                self.again().await
            }
            Event::Unreadable { .. } => {
                self.by = "unreadable";
                let dialogue = self.before.as_ref().map(|place| place.dialogue.clone());
                let command = self.script.beginning(dialogue.as_deref());
                self.tell_last(|texts, language| texts.unreadable(language, command.as_deref())).await;
                Ok(())
            }
        }
    }

    /// What a person does, other than pressing a button, is for the foreground.
    async fn person(&mut self, input: &Input) -> Result<(), TurnError> {
        if self.is_for_another_bot(input) {
            self.hearing = Hearing::Ignored("another_bot");
            return Ok(());
        }
        if input.is_by_person() && !self.is_let_in(input).await? {
            return Ok(());
        }
        self.is_by_person = input.is_by_person();
        if self.is_by_person {
            self.turn.talk.pressed = None;
        }
        self.turn.slot = self.turn.talk.front.clone();
        if self.hear(input).await? {
            return Ok(());
        }
        if !self.is_by_person {
            self.hearing = Hearing::Ignored(NO_HANDLER);
            return Ok(());
        }
        if self.top().is_some() {
            return self.otherwise(input).await;
        }
        if self.turn.talk.slot(&self.turn.slot).is_some_and(|slot| !slot.kept.is_empty()) {
            self.offer_again().await;
            return Ok(());
        }
        self.restore(input).await
    }

    /// Whether the application lets somebody hear what a person did.
    pub async fn is_let_in(&mut self, input: &Input) -> Result<bool, TurnError> {
        if self.turn.is_of_business() && !self.script.hears_business() {
            // Telegram was not asked for it, but what it kept from before may still come, and presses always do.
            self.hearing = Hearing::Ignored("business chat");
            return Ok(false);
        }
        let Some(guard) = self.script.hooks.guard else { return Ok(true) };
        let is_let_in = guard(&mut self.turn, input).await?;
        if !is_let_in {
            self.hearing = Hearing::Ignored("guard");
        }
        Ok(is_let_in)
    }

    fn is_for_another_bot(&self, input: &Input) -> bool {
        let Input::Command(command) = input else { return false };
        let (Some(meant), Some(own)) = (&command.mention, self.script.username()) else { return false };
        !meant.eq_ignore_ascii_case(own)
    }

    /// Lets whoever hears an input in the turn's slot handle it; false if nobody does.
    pub async fn hear(&mut self, input: &Input) -> Result<bool, TurnError> {
        self.refresh_top()?;
        let script = self.script;
        match script.way(self.top(), input) {
            Some(Way::Flow(flow, which)) => {
                let via = if matches!(which, Which::Entry(_)) { Via::Entry } else { Via::State };
                self.act(flow, which, via, input).await?;
            }
            Some(Way::Cancel) => self.cancel().await,
            Some(Way::Help) => {
                let language = self.language().await.to_owned();
                if let Some(text) = script.help_text(&language) {
                    self.turn.say(text);
                }
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Runs a handler of the speaking dialogue, or an entry, and goes where it says.
    pub async fn act(&mut self, flow: &'s Flow, which: Which, via: Via, input: &Input) -> Result<(), TurnError> {
        self.acted = flow.name;
        let depth = self.depth();
        let next = flow.play(which, &mut self.turn, depth, input)?.await?;
        self.apply(flow, via, next).await
    }

    /// Nobody hears this in the state that is open.
    async fn otherwise(&mut self, input: &Input) -> Result<(), TurnError> {
        let Some(flow) = self.speaking() else { return Ok(()) };
        if flow.has(Which::Otherwise, "") {
            return self.act(flow, Which::Otherwise, Via::State, input).await;
        }
        self.tell(|texts, language| texts.not_understood(language)).await;
        self.ask().await.map(|_| ())
    }

    /// Nothing is open, and nobody hears this: perhaps the application knows where the two were.
    async fn restore(&mut self, input: &Input) -> Result<(), TurnError> {
        let script = self.script;
        for flow in script.flows.iter().filter(|flow| flow.has(Which::Restore, "")) {
            let next = flow.play(Which::Restore, &mut self.turn, 0, input)?.await?;
            if self.begin_restored(flow, next)? {
                if !self.hear(input).await? {
                    self.otherwise(input).await?;
                }
                return Ok(());
            }
        }
        self.hearing = Hearing::Ignored(NO_HANDLER);
        Ok(())
    }

    /// Asks the question of the state that is open, if it has one.
    pub async fn ask(&mut self) -> Result<bool, TurnError> {
        let Some(flow) = self.speaking() else { return Ok(false) };
        let asks = self.top().is_some_and(|top| flow.has(Which::Ask, &top.at));
        if asks {
            let depth = self.depth();
            flow.play(Which::Ask, &mut self.turn, depth, &Input::Timeout)?.await?;
        }
        Ok(asks)
    }

    /// Says one of the library's own sentences.
    pub async fn tell(&mut self, sentence: impl FnOnce(&dyn Texts, &str) -> Text) {
        let text = self.sentence(sentence).await;
        self.turn.say(text.into_owned());
    }

    /// Says one after which nothing is open, with the application's way on.
    pub async fn tell_last(&mut self, sentence: impl FnOnce(&dyn Texts, &str) -> Text) {
        let text = self.sentence(sentence).await;
        let texts = Arc::clone(&self.script.texts);
        let way_on = texts.way_on(self.language().await);
        let last = Say::text(text);
        self.turn.say(match way_on {
            Some(button) => last.buttons([[button]]),
            None => last,
        });
    }

    pub async fn sentence(&mut self, sentence: impl FnOnce(&dyn Texts, &str) -> Text) -> Text {
        let texts = Arc::clone(&self.script.texts);
        sentence(&*texts, self.language().await)
    }

    /// The language that the person has chosen, else that of their Telegram.
    async fn language(&mut self) -> &str {
        if self.spoken.is_none() {
            let person = self.turn.key.user;
            let chosen = self.script.languages_of(self.turn.shared(), vec![person]).await.remove(&person);
            self.spoken = Some(chosen.unwrap_or_else(|| self.turn.language().to_owned()));
        }
        self.spoken.as_deref().unwrap_or_default()
    }

    pub fn top(&self) -> Option<&Frame> {
        self.turn.talk.top(&self.turn.slot)
    }

    /// The dialogue that speaks in the turn's slot.
    pub fn speaking(&self) -> Option<&'s Flow> {
        self.script.flow(&self.top()?.dialogue)
    }

    /// The place of the speaking dialogue in its slot.
    fn depth(&self) -> usize {
        self.turn.talk.slot(&self.turn.slot).map_or(0, |slot| slot.stack.len().saturating_sub(1))
    }

    /// Brings every frame to the shape that this program knows, whoever asks for it: an entry looks at drafts too. What
    /// cannot be brought up stays as it is until it is to speak.
    fn bring_up(&mut self) {
        for slot in &mut self.turn.talk.slots {
            for frame in slot.stack.iter_mut().chain(&mut slot.kept) {
                if let Some(flow) = self.script.flow(&frame.dialogue)
                    && let Err(error) = flow.refresh(frame)
                {
                    tracing::debug!(dialogue = &*frame.dialogue, %error, "a state cannot be brought up");
                }
            }
        }
    }

    pub fn refresh_top(&mut self) -> Result<(), TurnError> {
        let script = self.script;
        match self.turn.talk.top_mut(&self.turn.slot) {
            Some(top) => script.known(&top.dialogue)?.refresh(top),
            None => Ok(()),
        }
    }
}
