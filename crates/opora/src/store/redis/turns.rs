//! A turn: its opening, its commit and its parking, each one call; those that are ready together share it.

use super::keys::{Thing, partition_of, partition_of_id};
use super::numbers::Own;
use super::ordered::{id_of, name_of};
use super::rounds::Commits;
use super::rows::{self, unreadable};
use super::{NO_WRITES, RedisBackend};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, ConversationRow, Effect, EffectId, Epoch, Mark, Opened, OutboxId, Outgoing, Parked, ParkedId,
    SetAside, StateChange, StoreError, StoreResult, Taken, TimerChange, Version,
};

impl RedisBackend {
    pub(super) async fn open_turn(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        self.open_decided(key, mark).await.map(|(opened, _)| opened)
    }

    /// The same, and up to which version decisions are carried out; of what was taken already nobody asks that.
    pub(in crate::store) async fn open_decided(
        &self,
        key: &DialogueKey,
        mark: Option<&Mark>,
    ) -> StoreResult<(Opened, Option<Version>)> {
        let args = vec![name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let (word, text) = self.rounds.open(key.bot, partition_of(key), args).await?;
        let Some(row) = opened(key, &word, &text)? else { return Ok((Opened::AlreadyTaken, None)) };
        if word == "unknown" {
            return Ok((Opened::At { version: row.version, stored: None }, Some(row.version)));
        }
        self.witness.of(key.bot).note_version(row.version.0);
        Ok((Opened::At { version: row.version, stored: row.stored }, Some(rows::decided(&text))))
    }

    pub(super) async fn commit_turn(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let own = self.numbers.own_of(epoch, commit.key.bot)?;
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let room = Room::of(&commit);
        let (turn, committed) = Draft::of(Supply::Own(&own), &commit).whole(&commit)?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        let word = self.rounds.commit(&own, room.partition, room.last, turn).await?;
        self.judge(epoch, &commit.key, &word).await?;
        own.seen.note_version(committed.version.0);
        Ok(committed)
    }

    /// Turns the word for a commit into an answer.
    pub(super) async fn judge(&self, epoch: Epoch, key: &DialogueKey, word: &str) -> StoreResult<()> {
        match word {
            "overtaken" => Err(StoreError::Overtaken(key.clone())),
            word => self.done(key.bot, epoch, word).await,
        }
    }

    pub(super) async fn park_turn(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<SetAside> {
        let own = self.numbers.own_of(epoch, parked.key.bot)?;
        let partition = partition_of(&parked.key);
        let numbers = Supply::Own(&own);
        let name = name_of(&parked.key);
        let mut draft = Draft { numbers, partition, name, at: parked.at, args: Vec::new() };
        draft.args.extend([own.text(), parked.at.0.to_string()]);
        let begun = draft.args.len();
        let marks = draft.take(&taken, &parked.key);
        let counts = [taken.len(), marks.len()].map(|number| number.to_string());
        draft.args.splice(begun..begun, counts.into_iter().chain(marks));
        let id = ParkedId(own.next(partition)?);
        draft.args.push(rows::parked(&Parked { id, ..parked })?);
        let outbox = draft.say(&outgoing)?;
        let args = draft.args;
        let answer = self.write_room("park", (own.bot, partition), Thing::Retry, args).await?;
        self.done(own.bot, epoch, &answer.word).await?;
        Ok(SetAside { id, outbox })
    }
}

/// What an opening has found; none if the input was taken before.
pub(super) fn opened(key: &DialogueKey, word: &str, text: &str) -> StoreResult<Option<ConversationRow>> {
    match word {
        "taken" => Ok(None),
        "unknown" => {
            let version = Version(text.parse().map_err(unreadable)?);
            Ok(Some(ConversationRow { key: key.clone(), version, stored: None, updated_at: Millis::default() }))
        }
        _ => rows::read_conversation(key.clone(), text).map(Some),
    }
}

/// Where a commit writes.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) bot: i64,
    pub(super) partition: usize,
    pub(super) last: Thing,
}

impl Room {
    pub(super) fn of(commit: &Commit) -> Self {
        Self { bot: commit.key.bot, partition: partition_of(&commit.key), last: keys_needed(commit) }
    }
}

/// What most turns do needs few keys; the rest is sent along only if it is needed.
fn keys_needed(commit: &Commit) -> Thing {
    let is_rare = |taken: &Taken| matches!(taken, Taken::Timer(_) | Taken::Parked(_));
    if commit.timers.is_empty() && commit.effects.is_empty() && !commit.takes.iter().any(is_rare) {
        Thing::Moves
    } else {
        Thing::Retry
    }
}

/// Where the numbers of rows come from.
pub(super) enum Supply<'a> {
    /// The next ones of this instance.
    Own(&'a Own),
    /// Those that were given before, in the order of [`Draft::whole`].
    Given(std::slice::Iter<'a, i64>),
}

/// The arguments of a commit, as they come to be.
pub(super) struct Draft<'a> {
    numbers: Supply<'a>,
    partition: usize,
    name: String,
    at: Millis,
    args: Vec<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(numbers: Supply<'a>, commit: &Commit) -> Self {
        let partition = partition_of(&commit.key);
        let name = name_of(&commit.key);
        Self { numbers, partition, name, at: commit.at, args: Vec::new() }
    }

    /// All of it, and what the commit answers.
    pub(super) fn whole(mut self, commit: &Commit) -> StoreResult<(Commits, Committed)> {
        let version = commit.to();
        self.begin(commit, version)?;
        let marks = self.take(&commit.takes, &commit.key);
        let outbox = self.say(&commit.outgoing)?;
        self.set_timers(&commit.timers)?;
        let effects = self.ask(&commit.effects)?;
        if let Some(transition) = &commit.transition {
            let row = rows::transition(self.next()?, &self.name, version, self.at, transition);
            self.args.push(row);
        }
        Ok((Commits { name: self.name, marks, args: self.args }, Committed { version, outbox, effects }))
    }

    /// What it goes from and takes, without what it leaves.
    pub(super) fn beginning(mut self, commit: &Commit) -> StoreResult<Commits> {
        self.begin(commit, commit.to())?;
        let marks = self.take(&commit.takes, &commit.key);
        Ok(Commits { name: self.name, marks, args: self.args })
    }

    fn next(&mut self) -> StoreResult<i64> {
        match &mut self.numbers {
            Supply::Own(own) => own.next(self.partition),
            Supply::Given(numbers) => {
                numbers.next().copied().ok_or_else(|| unreadable("a decision has too few numbers"))
            }
        }
    }

    /// How a turn begins: what it is made of, what it goes from, and the new state.
    fn begin(&mut self, commit: &Commit, to: Version) -> StoreResult<()> {
        let Commit { takes, outgoing, timers, effects, transition, .. } = commit;
        let [takes, said, timers] = [takes.len(), outgoing.len(), timers.len()];
        let asked = effects.len();
        let moves = transition.iter().len();
        let from = commit.from.0;
        let at = self.at.0;
        let (change, [expires, place, state]) = match &commit.state {
            StateChange::Keep => ('k', Default::default()),
            StateChange::Set(stored) => ('s', rows::state(Some(stored))?),
            StateChange::Clear => ('s', rows::state(None)?),
        };
        let to = to.0;
        self.args.push(format!("{takes} {said} {timers} {asked} {moves};{from} {to} {at} {change} {expires} {place}"));
        self.args.push(state);
        Ok(())
    }

    /// What is taken; the marks, which go apart, are the answer.
    fn take(&mut self, takes: &[Taken], key: &DialogueKey) -> Vec<String> {
        let mut marks = Vec::new();
        for taken in takes {
            let (kind, id, mark) = match taken {
                Taken::Update { seq, mark } => ("u", Some(seq.0), Some(mark)),
                Taken::Fresh(mark) => ("f", None, Some(mark)),
                Taken::Outcome(seq) => ("o", Some(seq.0), None),
                Taken::Timer(id) => ("t", Some(id.0), None),
                Taken::Parked(id) => ("p", Some(id.0), None),
            };
            debug_assert!(
                id.is_none_or(|id| id < 0 || partition_of_id(id) == self.partition),
                "a turn of {key} takes what lies elsewhere: {taken:?}"
            );
            self.args.push(kind.to_owned() + &id.map(id_of).unwrap_or_default());
            marks.extend(mark.map(rows::mark));
        }
        marks
    }

    fn say(&mut self, outgoing: &[Outgoing]) -> StoreResult<Vec<OutboxId>> {
        let mut ids = Vec::with_capacity(outgoing.len());
        for outgoing in outgoing {
            let id = self.next()?;
            self.args.push(rows::message(id, &self.name, self.at, outgoing)?);
            ids.push(OutboxId(id));
        }
        Ok(ids)
    }

    fn set_timers(&mut self, changes: &[TimerChange]) -> StoreResult<()> {
        for change in changes {
            match change {
                TimerChange::Set { name, due_at, body } => {
                    let row = rows::timer(&self.name, name, *due_at, body);
                    let id = id_of(self.next()?);
                    self.args.extend([name.to_string(), id, due_at.0.to_string(), row]);
                }
                TimerChange::Cancel(name) => {
                    self.args.extend([name.to_string(), String::new(), String::new(), String::new()]);
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, effects: &[Effect]) -> StoreResult<Vec<EffectId>> {
        let mut ids = Vec::with_capacity(effects.len());
        for effect in effects {
            let id = self.next()?;
            self.args.push(rows::effect(id, &self.name, self.at, effect));
            ids.push(EffectId(id));
        }
        Ok(ids)
    }
}
