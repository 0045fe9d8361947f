//! What a dialogue has asked for comes back: timers, alarms and outcomes, each to the dialogue that it belongs to.

use super::flow::Which;
use super::play::Play;
use super::script::Way;
use super::shift::Via;
use crate::asking::{Asker, Finish, Wrapped, alarm_of};
use crate::input::{Alarm, Input, Outcome, Timer};
use crate::turn::{Hearing, TurnError};

/// What became of an input that one state waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Heard,
    /// The state is open and has no handler for it.
    Deaf,
    /// The state has ended, or there never was one.
    Gone,
}

impl Play<'_> {
    pub async fn timer(&mut self, name: &str, body: &str) -> Result<(), TurnError> {
        let Ok(Wrapped { by, body }) = serde_json::from_str::<Wrapped<_>>(body) else {
            return Err(TurnError::failed(format!("the body of timer `{name}` cannot be read")));
        };
        if let Some(name) = alarm_of(name) {
            return self.alarm(Alarm { name: name.into(), rest: name.to_owned(), body }).await;
        }
        let name = name
            .strip_prefix(&*by.slot)
            .and_then(|name| name.strip_prefix('/'))
            .filter(|_| !by.slot.is_empty())
            .unwrap_or(name);
        let input = Input::Timer(Timer { name: name.into(), body });
        let is_heard = match self.for_asker(&by, &input).await? {
            Found::Heard => true,
            Found::Gone if by.is_bound() => {
                self.hearing = Hearing::StateOver;
                return Ok(());
            }
            Found::Deaf => false,
            Found::Gone => self.enter(&by.dialogue, &input).await?,
        };
        if !is_heard {
            let who = if by.is_bound() { "the state that waits for it has no handler" } else { "no entry" };
            self.hearing = Hearing::Unheard(format!("{who} for the timer `{name}` of dialogue `{}`", by.dialogue));
        }
        Ok(())
    }

    /// An alarm is the conversation's: the foreground hears it if it handles it itself, else an entry.
    async fn alarm(&mut self, alarm: Alarm) -> Result<(), TurnError> {
        self.turn.slot = self.turn.talk.front.clone();
        let script = self.script;
        let name = alarm.name.clone();
        let input = Input::Alarm(alarm);
        match script.way(self.top(), &input) {
            Some(Way::Flow(flow, which)) => {
                let via = if matches!(which, Which::Entry(_)) { Via::Entry } else { Via::State };
                self.act(flow, which, via, &input).await?;
            }
            _ => self.hearing = Hearing::Unheard(format!("no entry hears the alarm `{name}`")),
        }
        Ok(())
    }

    /// Lets an entry hear this, whatever is open: one of the dialogue that asked, else any. False if there is none.
    async fn enter(&mut self, dialogue: &str, input: &Input) -> Result<bool, TurnError> {
        self.turn.slot = self.turn.talk.front.clone();
        let script = self.script;
        let own = script.flow(dialogue).and_then(|flow| Some((flow, flow.entry(input)?.0)));
        let any = || match script.way(None, input) {
            Some(Way::Flow(flow, which)) => Some((flow, which)),
            _ => None,
        };
        let Some((flow, which)) = own.or_else(any) else { return Ok(false) };
        self.act(flow, which, Via::Entry, input).await?;
        Ok(true)
    }

    pub async fn outcome(&mut self, finish: Finish) -> Result<(), TurnError> {
        let Finish { by, kind, unawaited, asked, result } = finish;
        if unawaited && result.is_ok() {
            return Ok(());
        }
        let input = Input::Outcome(Outcome { kind: kind.clone(), asked, result });
        if matches!(self.for_asker(&by, &input).await?, Found::Heard) {
            return Ok(());
        }
        let Some(flow) = self.script.flow(&by.dialogue) else {
            // Only what no dialogue asked for is for any entry.
            if !by.dialogue.is_empty() || !self.enter("", &input).await? {
                self.hearing = Hearing::Unheard(format!("no dialogue hears the outcome of `{kind}`"));
            }
            return Ok(());
        };
        if flow.entry(&input).is_some() {
            self.enter(flow.name, &input).await?;
        } else if flow.has(Which::Late, "") {
            self.acted = flow.name;
            // Whatever it returns: the state that it would lead on from is gone.
            flow.play(Which::Late, &mut self.turn, 0, &input)?.await?;
        } else {
            let name = flow.name;
            self.hearing = Hearing::Unheard(format!("no handler of dialogue `{name}` hears the outcome of `{kind}`"));
        }
        Ok(())
    }

    /// Gives an input to the very state that asked for it.
    async fn for_asker(&mut self, by: &Asker, input: &Input) -> Result<Found, TurnError> {
        let Some(slot) = self.turn.talk.slot_mut(&by.slot) else { return Ok(Found::Gone) };
        let found = slot.stack.iter().position(|frame| frame.dialogue == by.dialogue && frame.entry == by.entry);
        let Some(depth) = found else { return Ok(Found::Gone) };
        let is_top = depth + 1 == slot.stack.len();
        let flow = self.script.known(&by.dialogue)?;
        flow.refresh(&mut slot.stack[depth])?;
        let Some((which, _)) = flow.at(&slot.stack[depth].at, input).or_else(|| flow.anywhere(input)) else {
            return Ok(Found::Deaf);
        };
        self.turn.slot = by.slot.clone();
        self.acted = flow.name;
        let next = flow.play(which, &mut self.turn, depth, input)?.await?;
        if is_top {
            self.apply(flow, Via::State, next).await?;
        } else {
            self.apply_below(flow, depth, next)?;
        }
        Ok(Found::Heard)
    }
}
