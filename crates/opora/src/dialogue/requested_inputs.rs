//! Inputs that a dialogue requested: timers, alarms and outcomes. Each goes to the dialogue that asked for it.

use super::definition::HandlerRef;
use super::run::ScriptRun;
use super::script::HandledBy;
use super::transition::Via;
use crate::input::{Alarm, Input, Outcome, Timer};
use crate::store::requester::{EffectOutcome, Requester, WithRequester, alarm_of};
use crate::turn::{Handling, TurnError};

/// Result of delivering an input to the state that requested it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Handled,
    /// The state is open and has no handler for the input.
    NoHandler,
    /// The state has ended, or the requester had none.
    StateGone,
}

impl ScriptRun<'_> {
    pub async fn timer(&mut self, name: &str, body: &str) -> Result<(), TurnError> {
        let Ok(WithRequester { by, body }) = serde_json::from_str::<WithRequester<_>>(body) else {
            return Err(TurnError::failed(format!("the body of timer `{name}` cannot be read")));
        };
        if let Some(name) = alarm_of(name) {
            return self.alarm(Alarm { name: name.into(), rest: name.to_owned(), body }).await;
        }
        let name = name
            .strip_prefix(&*by.track)
            .and_then(|name| name.strip_prefix('/'))
            .filter(|_| !by.track.is_empty())
            .unwrap_or(name);
        let input = Input::Timer(Timer { name: name.into(), body });
        let is_handled = match self.deliver_to_requester(&by, &input).await? {
            Delivery::Handled => true,
            Delivery::StateGone if by.is_bound() => {
                self.handling = Handling::StateEnded;
                return Ok(());
            }
            Delivery::NoHandler => false,
            Delivery::StateGone => self.deliver_to_entry(&by.dialogue, &input).await?,
        };
        if !is_handled {
            let missing = if by.is_bound() { "the state that waits for it has no handler" } else { "no entry" };
            self.handling =
                Handling::Unhandled(format!("{missing} for the timer `{name}` of dialogue `{}`", by.dialogue));
        }
        Ok(())
    }

    /// Delivers an alarm to the foreground if its state handles it, otherwise to an entry.
    async fn alarm(&mut self, alarm: Alarm) -> Result<(), TurnError> {
        self.select_foreground();
        let script = self.script;
        let name = alarm.name.clone();
        let input = Input::Alarm(alarm);
        match script.find_handler(self.top(), &input) {
            Some(HandledBy::Handler(definition, handler)) => self.run_handler(definition, handler, &input).await?,
            _ => self.handling = Handling::Unhandled(format!("no entry handles the alarm `{name}`")),
        }
        Ok(())
    }

    /// Delivers an input to an entry of the dialogue that asked, otherwise to any entry. False if there is none.
    async fn deliver_to_entry(&mut self, dialogue: &str, input: &Input) -> Result<bool, TurnError> {
        self.select_foreground();
        let script = self.script;
        let own = script.definition(dialogue).and_then(|definition| Some((definition, definition.entry(input)?.0)));
        let any = || match script.find_handler(None, input) {
            Some(HandledBy::Handler(definition, handler)) => Some((definition, handler)),
            _ => None,
        };
        let Some((definition, handler)) = own.or_else(any) else { return Ok(false) };
        self.run_handler(definition, handler, input).await?;
        Ok(true)
    }

    pub async fn outcome(&mut self, outcome: EffectOutcome) -> Result<(), TurnError> {
        let EffectOutcome { by, kind, unawaited, request, result } = outcome;
        if unawaited && result.is_ok() {
            return Ok(());
        }
        let input = Input::Outcome(Outcome { kind: kind.clone(), request, result });
        if matches!(self.deliver_to_requester(&by, &input).await?, Delivery::Handled) {
            return Ok(());
        }
        let Some(definition) = self.script.definition(&by.dialogue) else {
            // Entries of other dialogues get only outcomes that no dialogue asked for.
            if !by.dialogue.is_empty() || !self.deliver_to_entry("", &input).await? {
                self.handling = Handling::Unhandled(format!("no dialogue handles the outcome of `{kind}`"));
            }
            return Ok(());
        };
        if definition.entry(&input).is_some() {
            self.deliver_to_entry(definition.name, &input).await?;
        } else if definition.has(HandlerRef::LateOutcome, "") {
            self.handled_by = definition.name;
            // Its result is not applied, because its state is gone.
            definition.run(HandlerRef::LateOutcome, &mut self.turn, 0, &input)?.await?;
        } else {
            let name = definition.name;
            self.handling =
                Handling::Unhandled(format!("no handler of dialogue `{name}` handles the outcome of `{kind}`"));
        }
        Ok(())
    }

    /// Delivers an input to the state that asked for it.
    async fn deliver_to_requester(&mut self, by: &Requester, input: &Input) -> Result<Delivery, TurnError> {
        let Some(track) = self.turn.conversation.track_mut(&by.track) else { return Ok(Delivery::StateGone) };
        let found = track.stack.iter().position(|frame| frame.dialogue == by.dialogue && frame.entry == by.entry);
        let Some(depth) = found else { return Ok(Delivery::StateGone) };
        let is_top = depth + 1 == track.stack.len();
        let definition = self.script.stored_definition(&by.dialogue)?;
        definition.upgrade(&mut track.stack[depth])?;
        let Some((handler, _)) = definition.at(&track.stack[depth].at, input).or_else(|| definition.any_state(input))
        else {
            return Ok(Delivery::NoHandler);
        };
        self.turn.track = by.track.clone();
        self.handled_by = definition.name;
        let next = definition.run(handler, &mut self.turn, depth, input)?.await?;
        if is_top {
            self.apply(definition, Via::State, next).await?;
        } else {
            self.apply_to_waiting(definition, depth, next)?;
        }
        Ok(Delivery::Handled)
    }
}
