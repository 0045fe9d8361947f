//! Encodes rows for Redis and decodes them.
//!
//! The server's functions depend on the order of the first fields: they read the name of an input, the time and the
//! flag of a message, the name and the time of a transition (and append the id of the one before), and the name of a
//! timer.

use serde::Serialize;

use super::ordered::{id_of, key_of};
use super::packed::{self, Fields, split_row};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    BoxError, ConversationRow, Effect, EffectId, EffectRow, FailedRow, IfUnsure, InboxRow, Incoming, Mark, Origin,
    OutboxId, OutboxRow, Outgoing, OutgoingExtras, ParkedId, ParkedTurn, Seq, StateName, StoreError, StoreResult,
    StoredState, TimerId, TimerRow, Transition, TransitionRow, Version,
};

/// The flag of a message that must not be sent twice.
const ONCE: &str = "once";

const NOT_A_CONVERSATION: &str = "a conversation in Redis has an unknown format";

type ReadResult<T> = Result<T, BoxError>;

/// The error for data that cannot be read.
pub(super) fn unreadable(error: impl Into<BoxError>) -> StoreError {
    StoreError::Unavailable(format!("cannot read data in Redis: {}", error.into()).into())
}

/// The mark of an update as text, unique within its bot.
pub(super) fn mark(mark: &Mark) -> String {
    format!("{}:{}", mark.update_id, mark.identity)
}

/// The field of a label, unique within its bot.
pub(super) fn label(chat: i64, label: &str) -> String {
    format!("{chat}:{label}")
}

/// The fields of an input. The server adds its id.
pub(super) fn input(name: &str, incoming: &Incoming) -> String {
    let at = incoming.at.0.to_string();
    let (number, identity) = match &incoming.origin {
        Origin::Update(mark) => (mark.update_id, Some(&*mark.identity)),
        Origin::Outcome(effect) => (effect.0, None),
    };
    let kind = if identity.is_some() { "update" } else { "outcome" };
    let fields = [name, &at, kind, &number.to_string(), identity.unwrap_or_default(), &incoming.body];
    packed::pack(&fields)
}

pub(super) fn read_input(bot: i64, row: &str) -> ReadResult<InboxRow> {
    let (seq, mut fields) = split_row(row)?;
    let key = read_key(bot, &mut fields)?;
    let at = Millis(fields.number()?);
    let kind = fields.next()?;
    let number = fields.number()?;
    let identity = fields.next()?;
    let origin = match kind {
        "update" => Origin::Update(Mark { bot, update_id: number, identity: identity.into() }),
        _ => Origin::Outcome(EffectId(number)),
    };
    Ok(InboxRow { seq: Seq(seq), incoming: Incoming { key, origin, body: fields.next()?.into(), at } })
}

/// The time at which an input arrived.
pub(super) fn input_time(row: &str) -> ReadResult<Millis> {
    time_after_name(row)
}

pub(super) fn message(id: i64, name: &str, at: Millis, outgoing: &Outgoing) -> StoreResult<String> {
    let flag = if outgoing.extras.if_unsure == IfUnsure::Drop { ONCE } else { "" };
    let chat = outgoing.chat.map(|chat| chat.to_string()).unwrap_or_default();
    let rare = outgoing.extras.json().map_err(unreadable)?.unwrap_or_default();
    let fields: [&str; 7] = [&at.0.to_string(), flag, name, &chat, &outgoing.method, &outgoing.body, &rare];
    Ok(packed::row(&id_of(id), &fields))
}

pub(super) fn read_message(bot: i64, row: &str, was_sending: bool) -> ReadResult<OutboxRow> {
    let (id, mut fields) = split_row(row)?;
    read_message_fields(bot, OutboxId(id), &mut fields, was_sending)
}

/// A failed message: the server appends the reason.
pub(super) fn read_failed(bot: i64, row: &str) -> ReadResult<FailedRow> {
    let (id, mut fields) = split_row(row)?;
    let OutboxRow { id, key, outgoing, at, .. } = read_message_fields(bot, OutboxId(id), &mut fields, false)?;
    Ok(FailedRow { id, key, outgoing, reason: fields.next()?.into(), at })
}

fn read_message_fields(bot: i64, id: OutboxId, fields: &mut Fields<'_>, was_sending: bool) -> ReadResult<OutboxRow> {
    let at = Millis(fields.number()?);
    // The flag is for the server's functions.
    fields.next()?;
    let key = read_key(bot, fields)?;
    let chat = fields.next()?;
    let method = fields.next()?.into();
    let body = fields.next()?.into();
    let chat = if chat.is_empty() { None } else { Some(chat.parse()?) };
    let rare = fields.next()?;
    let extras = if rare.is_empty() { OutgoingExtras::default() } else { serde_json::from_str(rare)? };
    let outgoing = Outgoing { chat, method, body, extras };
    Ok(OutboxRow { id, key, outgoing, was_sending, at })
}

/// The time of a message's turn.
pub(super) fn message_time(row: &str) -> ReadResult<Millis> {
    Ok(Millis(split_row(row)?.1.number()?))
}

pub(super) fn effect(id: i64, name: &str, at: Millis, effect: &Effect) -> String {
    packed::row(&id_of(id), &[name, &at.0.to_string(), &effect.kind, &effect.body])
}

pub(super) fn read_effect(bot: i64, row: &str) -> ReadResult<EffectRow> {
    let (id, mut fields) = split_row(row)?;
    let key = read_key(bot, &mut fields)?;
    let at = Millis(fields.number()?);
    let effect = Effect { kind: fields.next()?.into(), body: fields.next()?.into() };
    Ok(EffectRow { id: EffectId(id), key, effect, at })
}

/// The time of an effect's turn.
pub(super) fn effect_time(row: &str) -> ReadResult<Millis> {
    time_after_name(row)
}

/// The second field of a row, after the name of the conversation.
fn time_after_name(row: &str) -> ReadResult<Millis> {
    let (_, mut fields) = split_row(row)?;
    fields.next()?;
    Ok(Millis(fields.number()?))
}

pub(super) fn timer(name_of_key: &str, name: &str, due_at: Millis, body: &str) -> String {
    packed::pack(&[name_of_key, name, &due_at.0.to_string(), body])
}

pub(super) fn read_timer(bot: i64, id: &str, row: &str) -> ReadResult<TimerRow> {
    let mut fields = Fields(row);
    let key = read_key(bot, &mut fields)?;
    let name = fields.next()?.into();
    let due_at = Millis(fields.number()?);
    Ok(TimerRow { id: TimerId(id.parse()?), key, name, due_at, body: fields.next()?.into() })
}

pub(super) fn transition(id: i64, name: &str, version: Version, at: Millis, made: &Transition) -> String {
    let mut states = String::new();
    for state in [&made.from, &made.to] {
        let parts = state.as_ref().map(|state| [&*state.dialogue, &*state.state]);
        packed::push(&mut states, &parts.map(|parts| packed::pack(&parts)).unwrap_or_default());
    }
    let [at, version, took_us] = [at.0, version.0, made.took_us].map(|number| number.to_string());
    packed::row(&id_of(id), &[name, &at, &version, &made.by, &took_us]) + &states
}

/// A transition, and the id of the one before it in its conversation.
pub(super) fn read_transition(bot: i64, row: &str) -> ReadResult<(TransitionRow, Option<i64>)> {
    let (id, mut fields) = split_row(row)?;
    let key = read_key(bot, &mut fields)?;
    let at = Millis(fields.number()?);
    let version = Version(fields.number()?);
    let by = fields.next()?.to_owned();
    let took_us = fields.number()?;
    let mut state = || -> ReadResult<_> {
        let mut parts = Fields(fields.next()?);
        if parts.0.is_empty() {
            return Ok(None);
        }
        Ok(Some(StateName { dialogue: parts.next()?.into(), state: parts.next()?.into() }))
    };
    let from = state()?;
    let to = state()?;
    let before = fields.next()?;
    let before = if before.is_empty() { None } else { Some(before.parse()?) };
    Ok((TransitionRow { id, key, version, at, from, to, by, took_us }, before))
}

pub(super) fn parked(parked: &ParkedTurn) -> StoreResult<String> {
    Ok(packed::row(&id_of(parked.id.0), &[&json(parked)?]))
}

pub(super) fn read_parked(row: &str, retry: bool) -> ReadResult<ParkedTurn> {
    let (id, mut fields) = split_row(row)?;
    Ok(ParkedTurn { id: ParkedId(id), retry, ..serde_json::from_str(fields.next()?)? })
}

/// A state as arguments of the server's functions: expiry, foreground state, and the rest. Empty texts if nothing is
/// open.
pub(super) fn state(stored: Option<&StoredState>) -> StoreResult<[String; 3]> {
    let Some(stored) = stored else { return Ok(Default::default()) };
    let expires_at = stored.expires_at.map(|at| at.0.to_string()).unwrap_or_default();
    // JSON has no line break inside a text.
    let name = stored.states.first().map(json).transpose()?.unwrap_or_default();
    let behind = stored.states.get(1..).unwrap_or_default();
    let mut state = String::with_capacity(stored.value.len() + 8);
    packed::push(&mut state, &if behind.is_empty() { String::new() } else { json(behind)? });
    state.push_str(&stored.value);
    Ok([expires_at, name, state])
}

fn json(of: &(impl Serialize + ?Sized)) -> StoreResult<String> {
    serde_json::to_string(of).map_err(unreadable)
}

fn read_state(expires: &str, name: &str, state: &str) -> ReadResult<Option<StoredState>> {
    if state.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields(state);
    let behind = fields.next()?;
    let value = fields.0.into();
    let mut states: Vec<StateName> = if name.is_empty() { Vec::new() } else { vec![serde_json::from_str(name)?] };
    if !behind.is_empty() {
        states.extend(serde_json::from_str::<Vec<_>>(behind)?);
    }
    let expires_at = if expires.is_empty() { None } else { Some(Millis(expires.parse()?)) };
    Ok(Some(StoredState { value, states, expires_at }))
}

pub(super) fn read_conversation(key: ConversationKey, row: &str) -> StoreResult<ConversationRow> {
    let read = || -> ReadResult<_> {
        let (head, state) = row.split_once('\n').ok_or(NOT_A_CONVERSATION)?;
        let mut parts = head.splitn(5, ' ');
        let mut part = || parts.next().ok_or(NOT_A_CONVERSATION);
        let version = Version(part()?.parse()?);
        let updated_at = Millis(part()?.parse()?);
        let expires = part()?;
        let _last_transition = part()?;
        let name = part()?;
        Ok((version, read_state(expires, name, state)?, updated_at))
    };
    match read() {
        Ok((version, stored, updated_at)) => Ok(ConversationRow { key, version, stored, updated_at }),
        Err(source) => Err(StoreError::Unreadable { key, source }),
    }
}

/// The version up to which decisions of a conversation are carried out; 0 if there were none.
pub(super) fn decided_version(row: &str) -> Version {
    let last_transition = row.split(' ').nth(3).unwrap_or_default();
    let decided = last_transition.split_once(':').and_then(|(_, decided)| decided.parse().ok());
    Version(decided.unwrap_or_default())
}

fn read_key(bot: i64, fields: &mut Fields<'_>) -> ReadResult<ConversationKey> {
    let name = fields.next()?;
    key_of(bot, name).ok_or_else(|| format!("{name:?} names no conversation").into())
}
