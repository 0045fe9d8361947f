//! Rows as they lie in Redis, and back.
//!
//! Which fields stand first is the server's functions' business too: they read the name of an input, the time and the
//! flag of a message, the name and the time of a transition, and the name of a timer.

use super::ordered::{id_of, key_of, name_of};
use super::packed::{self, Fields, split_row};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    BoxError, ConversationRow, Effect, EffectId, EffectRow, IfUnsure, InboxRow, Incoming, Mark, Origin, OutboxId,
    OutboxRow, Outgoing, Parked, ParkedId, Seq, StoreError, StoreResult, Stored, TimerId, TimerRow, TransitionRow,
    Version,
};

/// The flag of a message that must not be sent twice.
const ONCE: &str = "once";

type Read<T> = Result<T, BoxError>;

/// Everything that a reader stumbles on is told in the same way.
pub(super) fn unreadable(error: impl Into<BoxError>) -> StoreError {
    StoreError::Unavailable(format!("what Redis keeps cannot be read: {}", error.into()).into())
}

/// What an update is recognised by, among those of its bot.
pub(super) fn mark(mark: &Mark) -> String {
    format!("{}:{}", mark.update_id, mark.identity)
}

/// A label, among those of its bot.
pub(super) fn label(chat: i64, label: &str) -> String {
    format!("{chat}:{label}")
}

pub(super) fn input(seq: i64, name: &str, incoming: &Incoming) -> String {
    let at = incoming.at.0.to_string();
    let (number, identity) = match &incoming.origin {
        Origin::Update(mark) => (mark.update_id, Some(&*mark.identity)),
        Origin::Outcome(effect) => (effect.0, None),
    };
    let kind = if identity.is_some() { "update" } else { "outcome" };
    let fields = [name, &at, kind, &number.to_string(), identity.unwrap_or_default(), &incoming.body];
    packed::row(&id_of(seq), &fields)
}

pub(super) fn read_input(bot: i64, row: &str) -> Read<InboxRow> {
    let (seq, mut fields) = split_row(row)?;
    let (key, at) = (read_key(bot, &mut fields)?, Millis(fields.number()?));
    let (kind, number, identity) = (fields.next()?, fields.number()?, fields.next()?);
    let origin = match kind {
        "update" => Origin::Update(Mark { bot, update_id: number, identity: identity.into() }),
        _ => Origin::Outcome(EffectId(number)),
    };
    Ok(InboxRow { seq: Seq(seq), incoming: Incoming { key, origin, body: fields.next()?.into(), at } })
}

pub(super) fn message(id: i64, name: &str, at: Millis, outgoing: &Outgoing) -> StoreResult<String> {
    let flag = if outgoing.if_unsure == IfUnsure::Drop { ONCE } else { "" };
    let json = serde_json::to_string(outgoing).map_err(unreadable)?;
    Ok(packed::row(&id_of(id), &[&at.0.to_string(), flag, name, &json]))
}

pub(super) fn read_message(bot: i64, row: &str, was_sending: bool) -> Read<OutboxRow> {
    let (id, mut fields) = split_row(row)?;
    let (at, _flag) = (Millis(fields.number()?), fields.next()?);
    let key = read_key(bot, &mut fields)?;
    Ok(OutboxRow { id: OutboxId(id), key, outgoing: serde_json::from_str(fields.next()?)?, was_sending, at })
}

/// When a message was said.
pub(super) fn said_at(row: &str) -> Read<Millis> {
    Ok(Millis(split_row(row)?.1.number()?))
}

pub(super) fn effect(id: i64, name: &str, at: Millis, effect: &Effect) -> String {
    packed::row(&id_of(id), &[name, &at.0.to_string(), &effect.kind, &effect.body])
}

pub(super) fn read_effect(bot: i64, row: &str) -> Read<EffectRow> {
    let (id, mut fields) = split_row(row)?;
    let (key, at) = (read_key(bot, &mut fields)?, Millis(fields.number()?));
    let effect = Effect { kind: fields.next()?.into(), body: fields.next()?.into() };
    Ok(EffectRow { id: EffectId(id), key, effect, at })
}

pub(super) fn timer(name_of_key: &str, name: &str, due_at: Millis, body: &str) -> String {
    packed::pack(&[name_of_key, name, &due_at.0.to_string(), body])
}

pub(super) fn read_timer(bot: i64, id: &str, row: &str) -> Read<TimerRow> {
    let mut fields = Fields(row);
    let (key, name) = (read_key(bot, &mut fields)?, fields.next()?.into());
    let due_at = Millis(fields.number()?);
    Ok(TimerRow { id: TimerId(id.parse()?), key, name, due_at, body: fields.next()?.into() })
}

pub(super) fn transition(row: &TransitionRow) -> StoreResult<String> {
    let json = serde_json::to_string(row).map_err(unreadable)?;
    Ok(packed::row(&id_of(row.id), &[&name_of(&row.key), &row.at.0.to_string(), &json]))
}

pub(super) fn read_transition(row: &str) -> Read<TransitionRow> {
    let (_, mut fields) = split_row(row)?;
    let (_name, _at) = (fields.next()?, fields.next()?);
    Ok(serde_json::from_str(fields.next()?)?)
}

pub(super) fn parked(parked: &Parked) -> StoreResult<String> {
    Ok(packed::row(&id_of(parked.id.0), &[&serde_json::to_string(parked).map_err(unreadable)?]))
}

pub(super) fn read_parked(row: &str, retry: bool) -> Read<Parked> {
    let (id, mut fields) = split_row(row)?;
    Ok(Parked { id: ParkedId(id), retry, ..serde_json::from_str(fields.next()?)? })
}

/// A state as the server's functions take it: end of life, place in the foreground, and all of it.
pub(super) fn state(stored: Option<&Stored>) -> StoreResult<[String; 3]> {
    let Some(stored) = stored else { return Ok(Default::default()) };
    let place = stored.places.first().map(serde_json::to_string).transpose().map_err(unreadable)?;
    let expires_at = stored.expires_at.map(|at| at.0.to_string());
    let json = serde_json::to_string(stored).map_err(unreadable)?;
    Ok([expires_at.unwrap_or_default(), place.unwrap_or_default(), json])
}

pub(super) fn read_conversation(key: DialogueKey, row: &str) -> StoreResult<ConversationRow> {
    let read = || -> Read<_> {
        let mut fields = Fields(row);
        let (version, updated_at) = (Version(fields.number()?), Millis(fields.number()?));
        let (_expires, _place, json) = (fields.next()?, fields.next()?, fields.next()?);
        let stored = if json.is_empty() { None } else { Some(serde_json::from_str(json)?) };
        Ok((version, stored, updated_at))
    };
    match read() {
        Ok((version, stored, updated_at)) => Ok(ConversationRow { key, version, stored, updated_at }),
        Err(source) => Err(StoreError::Unreadable { key, source }),
    }
}

fn read_key(bot: i64, fields: &mut Fields<'_>) -> Read<DialogueKey> {
    let name = fields.next()?;
    key_of(bot, name).ok_or_else(|| format!("{name:?} names no conversation").into())
}
