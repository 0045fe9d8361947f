//! A turn: its opening, its commit and its parking, each one call.

use super::keys::{Thing, partition_of, partition_of_id};
use super::numbers::Own;
use super::ordered::{id_of, name_of};
use super::rows::{self, unreadable};
use super::wire::Call;
use super::{NO_WRITES, RedisStore};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, EffectId, Epoch, Mark, Opened, OutboxId, Outgoing, Parked, ParkedId, SetAside, StateChange,
    StoreError, StoreResult, Taken, TimerChange, Transition, TransitionRow, Version,
};

/// Stands in a commit for what a later version may want to say there.
const NOTHING_ELSE: &str = "";

impl RedisStore {
    pub(super) async fn open_turn(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let rooms = self.keys.rooms(key.bot);
        let args = vec![name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let keys = rooms.up_to(partition_of(key), Thing::Marks);
        let answer = self.wire.call(Call { function: "open", keys, args }).await?;
        match &answer[..] {
            [word] if word == "taken" => Ok(Opened::AlreadyTaken),
            [word, floor] if word == "unknown" => {
                Ok(Opened::At { version: Version(floor.parse().map_err(unreadable)?), stored: None })
            }
            [_, row] => {
                let row = rows::read_conversation(key.clone(), row)?;
                Ok(Opened::At { version: row.version, stored: row.stored })
            }
            _ => Err(unreadable("an opening was answered with something else")),
        }
    }

    pub(super) async fn commit_turn(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let own = self.numbers.own_of(epoch, commit.key.bot)?;
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let partition = partition_of(&commit.key);
        let mut draft = Draft { own: &own, partition, name: name_of(&commit.key), at: commit.at, args: Vec::new() };
        let last = keys_needed(&commit);
        let to = Version(commit.from.0 + 1);
        draft.args.extend([own.text(), commit.at.0.to_string(), NOTHING_ELSE.to_owned(), draft.name.clone()]);
        draft.args.extend([commit.from.0.to_string(), to.0.to_string()]);
        draft.take(&commit.takes, &commit.key);
        draft.change(&commit.state)?;
        let outbox = draft.say(&commit.outgoing)?;
        draft.set_timers(&commit.timers)?;
        let effects = draft.ask(&commit)?;
        draft.record(&commit.key, to, commit.transition)?;
        let Draft { args, .. } = draft;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        let rooms = self.keys.rooms(own.bot);
        let answer = self.wire.call(Call { function: "commit", keys: rooms.up_to(partition, last), args }).await?;
        if answer.first().is_some_and(|word| word == "overtaken") {
            return Err(StoreError::Overtaken(commit.key));
        }
        self.done(own.bot, epoch, &answer).await?;
        Ok(Committed { version: to, outbox, effects })
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
        let mut draft = Draft { own: &own, partition, name: name_of(&parked.key), at: parked.at, args: Vec::new() };
        draft.args.extend([own.text(), parked.at.0.to_string()]);
        draft.take(&taken, &parked.key);
        let id = ParkedId(own.next(partition)?);
        draft.args.push(rows::parked(&Parked { id, ..parked })?);
        let outbox = draft.say(&outgoing)?;
        let (rooms, args) = (self.keys.rooms(own.bot), draft.args);
        let answer =
            self.wire.call(Call { function: "park", keys: rooms.up_to(partition, Thing::Retry), args }).await?;
        self.done(own.bot, epoch, &answer).await?;
        Ok(SetAside { id, outbox })
    }
}

/// What most turns do needs few keys; the rest is sent along only if it is needed.
fn keys_needed(commit: &Commit) -> Thing {
    let is_rare = |taken: &Taken| matches!(taken, Taken::Timer(_) | Taken::Parked(_));
    if commit.timers.is_empty() && commit.effects.is_empty() && !commit.takes.iter().any(is_rare) {
        Thing::Ways
    } else {
        Thing::Retry
    }
}

/// The arguments of a commit, as they come to be.
struct Draft<'a> {
    own: &'a Own,
    partition: usize,
    name: String,
    at: Millis,
    args: Vec<String>,
}

impl Draft<'_> {
    fn count(&mut self, number: usize) {
        self.args.push(number.to_string());
    }

    fn next(&self) -> StoreResult<i64> {
        self.own.next(self.partition)
    }

    fn take(&mut self, takes: &[Taken], key: &DialogueKey) {
        self.count(takes.len());
        for taken in takes {
            let (kind, id, mark) = match taken {
                Taken::Update { seq, mark } => ("update", Some(seq.0), Some(mark)),
                Taken::Fresh(mark) => ("fresh", None, Some(mark)),
                Taken::Outcome(seq) => ("outcome", Some(seq.0), None),
                Taken::Timer(id) => ("timer", Some(id.0), None),
                Taken::Parked(id) => ("parked", Some(id.0), None),
            };
            debug_assert!(
                id.is_none_or(|id| id < 0 || partition_of_id(id) == self.partition),
                "a turn of {key} takes what lies elsewhere: {taken:?}"
            );
            self.args.extend([kind.to_owned(), id.map(id_of).unwrap_or_default()]);
            self.args.push(mark.map(rows::mark).unwrap_or_default());
        }
    }

    fn change(&mut self, change: &StateChange) -> StoreResult<()> {
        let (word, stored) = match change {
            StateChange::Keep => ("keep", None),
            StateChange::Set(stored) => ("set", Some(stored)),
            StateChange::Clear => ("clear", None),
        };
        self.args.push(word.to_owned());
        self.args.extend(rows::state(stored)?);
        Ok(())
    }

    fn say(&mut self, outgoing: &[Outgoing]) -> StoreResult<Vec<OutboxId>> {
        self.count(outgoing.len());
        let mut ids = Vec::with_capacity(outgoing.len());
        for outgoing in outgoing {
            let id = self.next()?;
            self.args.push(rows::message(id, &self.name, self.at, outgoing)?);
            ids.push(OutboxId(id));
        }
        Ok(ids)
    }

    fn set_timers(&mut self, changes: &[TimerChange]) -> StoreResult<()> {
        self.count(changes.len());
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

    fn ask(&mut self, commit: &Commit) -> StoreResult<Vec<EffectId>> {
        self.count(commit.effects.len());
        let mut ids = Vec::with_capacity(commit.effects.len());
        for effect in &commit.effects {
            let id = self.next()?;
            self.args.push(rows::effect(id, &self.name, self.at, effect));
            ids.push(EffectId(id));
        }
        Ok(ids)
    }

    fn record(&mut self, key: &DialogueKey, version: Version, transition: Option<Transition>) -> StoreResult<()> {
        self.count(transition.iter().len());
        if let Some(Transition { from, to, by, took_us }) = transition {
            let id = self.next()?;
            let row = TransitionRow { id, key: key.clone(), version, at: self.at, from, to, by: by.into(), took_us };
            self.args.extend([id_of(id), rows::transition(&row)?]);
        }
        Ok(())
    }
}
