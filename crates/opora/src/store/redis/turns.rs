//! Opens, commits and parks turns, each in one call. Turns that are ready together share a call.

use super::held_leases::HeldLease;
use super::keys::{KeyKind, partition_of, partition_of_id};
use super::ordered::{id_of, name_of};
use super::rounds::EncodedTurn;
use super::rows::{self, unreadable};
use super::{NO_WRITES, RedisBackend};
use crate::clock::Millis;
use crate::failpoints;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, ConversationRow, Effect, EffectId, Epoch, InputRef, Mark, Opened, OutboxId, Outgoing,
    ParkResult, ParkedId, ParkedTurn, StateChange, StoreError, StoreResult, TimerChange, Version,
};

impl RedisBackend {
    pub(super) async fn open_turn(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        self.open_with_decided_version(key, mark).await.map(|(opened, _)| opened)
    }

    /// Opens a conversation, and returns the version up to which decisions are carried out (`None` if the input was
    /// processed).
    pub(crate) async fn open_with_decided_version(
        &self,
        key: &ConversationKey,
        mark: Option<&Mark>,
    ) -> StoreResult<(Opened, Option<Version>)> {
        let args = vec![name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let (word, text) = self.rounds.open(key.bot, partition_of(key), args).await?;
        let Some(row) = parse_opened(key, &word, &text)? else { return Ok((Opened::AlreadyProcessed, None)) };
        if word == "unknown" {
            return Ok((Opened::At { version: row.version, stored: None }, Some(row.version)));
        }
        self.last_seen.progress_of(key.bot).note_version(row.version.0);
        Ok((Opened::At { version: row.version, stored: row.stored }, Some(rows::decided_version(&text))))
    }

    pub(super) async fn commit_turn(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        let lease = self.held_leases.get(epoch, commit.key.bot)?;
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let target = CommitTarget::new(&commit);
        let (turn, committed) = TurnEncoder::new(IdSource::Next(&lease), &commit).encode(&commit)?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        let status = self.rounds.commit(&lease, target.partition, target.last, turn).await?;
        self.check_commit_word(epoch, &commit.key, &status).await?;
        lease.seen.note_version(committed.version.0);
        Ok(committed)
    }

    /// Turns the word for a commit into a result.
    pub(super) async fn check_commit_word(&self, epoch: Epoch, key: &ConversationKey, word: &str) -> StoreResult<()> {
        match word {
            "overtaken" => Err(StoreError::Overtaken(key.clone())),
            word => self.check_word(key.bot, epoch, word).await,
        }
    }

    pub(super) async fn park_turn(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<ParkResult> {
        let lease = self.held_leases.get(epoch, parked.key.bot)?;
        let partition = partition_of(&parked.key);
        let ids = IdSource::Next(&lease);
        let name = name_of(&parked.key);
        let mut encoder = TurnEncoder { ids, partition, name, at: parked.at, args: Vec::new() };
        encoder.args.push(parked.at.0.to_string());
        let begun = encoder.args.len();
        let marks = encoder.push_processed(&processed, &parked.key);
        let counts = [processed.len(), marks.len()].map(|number| number.to_string());
        encoder.args.splice(begun..begun, counts.into_iter().chain(marks));
        let id = ParkedId(lease.next_id(partition)?);
        encoder.args.push(rows::parked(&ParkedTurn { id, ..parked })?);
        let outbox = encoder.push_messages(&outgoing)?;
        let args = encoder.args;
        let target = (lease.bot, partition);
        let answer = self.writer.write("park", Some(&lease.fencing_token), target, KeyKind::Retry, args).await?;
        self.check_word(lease.bot, epoch, &answer.word).await?;
        Ok(ParkResult { id, outbox })
    }
}

/// Reads the answer to an opening. `None` if the input was processed before.
pub(super) fn parse_opened(key: &ConversationKey, word: &str, text: &str) -> StoreResult<Option<ConversationRow>> {
    match word {
        "taken" => Ok(None),
        "unknown" => {
            let version = Version(text.parse().map_err(unreadable)?);
            Ok(Some(ConversationRow { key: key.clone(), version, stored: None, updated_at: Millis::default() }))
        }
        _ => rows::read_conversation(key.clone(), text).map(Some),
    }
}

/// The partition that a commit writes to, and the last key that it needs.
#[derive(Clone, Copy)]
pub(super) struct CommitTarget {
    pub(super) bot: i64,
    pub(super) partition: usize,
    pub(super) last: KeyKind,
}

impl CommitTarget {
    pub(super) fn new(commit: &Commit) -> Self {
        Self { bot: commit.key.bot, partition: partition_of(&commit.key), last: last_key_needed(commit) }
    }
}

/// Most turns need few keys; the others are sent only if needed.
fn last_key_needed(commit: &Commit) -> KeyKind {
    let is_rare = |input: &InputRef| matches!(input, InputRef::Timer(_) | InputRef::Parked(_));
    if commit.timers.is_empty() && commit.effects.is_empty() && !commit.processed.iter().any(is_rare) {
        KeyKind::Transitions
    } else {
        KeyKind::Retry
    }
}

/// Where row ids come from.
pub(super) enum IdSource<'a> {
    /// New ids of this process.
    Next(&'a HeldLease),
    /// The ids of a decision, in the order of [`TurnEncoder::encode`].
    Given(std::slice::Iter<'a, i64>),
}

/// Builds the arguments of a commit.
pub(super) struct TurnEncoder<'a> {
    ids: IdSource<'a>,
    partition: usize,
    name: String,
    at: Millis,
    args: Vec<String>,
}

impl<'a> TurnEncoder<'a> {
    pub(super) fn new(ids: IdSource<'a>, commit: &Commit) -> Self {
        let partition = partition_of(&commit.key);
        let name = name_of(&commit.key);
        Self { ids, partition, name, at: commit.at, args: Vec::new() }
    }

    /// The arguments, and the result of the commit.
    pub(super) fn encode(mut self, commit: &Commit) -> StoreResult<(EncodedTurn, Committed)> {
        let version = commit.to();
        self.push_head(commit, version)?;
        let marks = self.push_processed(&commit.processed, &commit.key);
        let outbox = self.push_messages(&commit.outgoing)?;
        self.push_timers(&commit.timers)?;
        let effects = self.push_effects(&commit.effects)?;
        if let Some(transition) = &commit.transition {
            let row = rows::transition(self.next_id()?, &self.name, version, self.at, transition);
            self.args.push(row);
        }
        Ok((EncodedTurn { name: self.name, marks, args: self.args }, Committed { version, outbox, effects }))
    }

    /// Only the head and the inputs, for a check.
    pub(super) fn encode_head(mut self, commit: &Commit) -> StoreResult<EncodedTurn> {
        self.push_head(commit, commit.to())?;
        let marks = self.push_processed(&commit.processed, &commit.key);
        Ok(EncodedTurn { name: self.name, marks, args: self.args })
    }

    fn next_id(&mut self) -> StoreResult<i64> {
        match &mut self.ids {
            IdSource::Next(lease) => lease.next_id(self.partition),
            IdSource::Given(ids) => ids.next().copied().ok_or_else(|| unreadable("a decision has too few ids")),
        }
    }

    /// Adds the number of parts, the versions, and the new state.
    fn push_head(&mut self, commit: &Commit, to: Version) -> StoreResult<()> {
        let Commit { processed, outgoing, timers, effects, transition, .. } = commit;
        let input_count = processed.len();
        let message_count = outgoing.len();
        let timer_count = timers.len();
        let effect_count = effects.len();
        let transition_count = transition.iter().len();
        let from = commit.from.0;
        let at = self.at.0;
        let (change, [expires, place, state]) = match &commit.state {
            StateChange::Keep => ('k', Default::default()),
            StateChange::Set(stored) => ('s', rows::state(Some(stored))?),
            StateChange::Clear => ('s', rows::state(None)?),
        };
        let to = to.0;
        let counts = format!("{input_count} {message_count} {timer_count} {effect_count} {transition_count}");
        self.args.push(format!("{counts};{from} {to} {at} {change} {expires} {place}"));
        self.args.push(state);
        Ok(())
    }

    /// Adds the inputs. Returns their marks, which are a separate part of the arguments.
    fn push_processed(&mut self, processed: &[InputRef], key: &ConversationKey) -> Vec<String> {
        let mut marks = Vec::new();
        for input in processed {
            let (kind, id, mark) = match input {
                InputRef::Update { seq, mark } => ("u", Some(seq.0), Some(mark)),
                InputRef::DirectUpdate(mark) => ("f", None, Some(mark)),
                InputRef::Outcome(seq) => ("o", Some(seq.0), None),
                InputRef::Timer(id) => ("t", Some(id.0), None),
                InputRef::Parked(id) => ("p", Some(id.0), None),
            };
            debug_assert!(
                id.is_none_or(|id| id < 0 || partition_of_id(id) == self.partition),
                "an input of {key} is in another partition: {input:?}"
            );
            self.args.push(kind.to_owned() + &id.map(id_of).unwrap_or_default());
            marks.extend(mark.map(rows::mark));
        }
        marks
    }

    fn push_messages(&mut self, outgoing: &[Outgoing]) -> StoreResult<Vec<OutboxId>> {
        let mut ids = Vec::with_capacity(outgoing.len());
        for outgoing in outgoing {
            let id = self.next_id()?;
            self.args.push(rows::message(id, &self.name, self.at, outgoing)?);
            ids.push(OutboxId(id));
        }
        Ok(ids)
    }

    fn push_timers(&mut self, changes: &[TimerChange]) -> StoreResult<()> {
        for change in changes {
            match change {
                TimerChange::Set { name, due_at, body } => {
                    let row = rows::timer(&self.name, name, *due_at, body);
                    let id = id_of(self.next_id()?);
                    self.args.extend([name.to_string(), id, due_at.0.to_string(), row]);
                }
                TimerChange::Cancel(name) => {
                    self.args.extend([name.to_string(), String::new(), String::new(), String::new()]);
                }
            }
        }
        Ok(())
    }

    fn push_effects(&mut self, effects: &[Effect]) -> StoreResult<Vec<EffectId>> {
        let mut ids = Vec::with_capacity(effects.len());
        for effect in effects {
            let id = self.next_id()?;
            self.args.push(rows::effect(id, &self.name, self.at, effect));
            ids.push(EffectId(id));
        }
        Ok(ids)
    }
}
