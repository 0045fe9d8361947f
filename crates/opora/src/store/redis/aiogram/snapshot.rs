//! aiogram's keys and our own row of a conversation, read in one call.

use super::super::connection::Call;
use super::super::keys::{KeyKind, partition_of};
use super::super::ordered::name_of;
use super::super::rows::{self, unreadable};
use super::super::turns::parse_opened;
use super::Shared;
use crate::aiogram::{Data, Record, conversion};
use crate::key::ConversationKey;
use crate::store::{BoxError, ConversationRow, Mark, Opened, StoreError, StoreResult, StoredState, Version};

/// A conversation in aiogram's keys and in our own.
pub(super) struct Snapshot {
    /// Our row. A conversation without a row has only a version.
    pub(super) row: ConversationRow,
    pub(super) raw: AiogramKeys,
    /// A hash of aiogram's keys.
    pub(super) note: String,
    /// Whether aiogram's keys are those with which our version was made.
    pub(super) is_unchanged: bool,
}

/// The contents of aiogram's keys. `None` if a key is missing.
#[derive(Clone, Default)]
pub(super) struct AiogramKeys {
    pub(super) state: Option<Vec<u8>>,
    pub(super) data: Option<Vec<u8>>,
}

impl AiogramKeys {
    /// State and data, decoded.
    pub(super) fn record(&self) -> Result<Record, BoxError> {
        let state = self.state.clone().unwrap_or_default();
        let state = String::from_utf8(state).map_err(|_| "the state's name is not UTF-8")?;
        Ok(Record { state: state.into(), data: self.data()? })
    }

    pub(super) fn data(&self) -> Result<Data, BoxError> {
        match &self.data {
            Some(data) => Data::parse(data).map_err(|error| format!("the data is not JSON: {error}").into()),
            None => Ok(Data::default()),
        }
    }
}

impl Snapshot {
    /// Reads an answer of the server's functions. `None` if the input was processed before.
    pub(super) fn read(key: &ConversationKey, answer: &[String]) -> StoreResult<Option<Self>> {
        if answer.first().is_some_and(|word| word == "no text") {
            let source = "a key of aiogram's is not a string".into();
            return Err(StoreError::Unreadable { key: key.clone(), source });
        }
        if answer.first().is_some_and(|word| word == "taken") {
            return Ok(None);
        }
        let [found, text, state, data, note, word] = answer else {
            return Err(unreadable("an unexpected answer about aiogram's keys"));
        };
        let Some(row) = parse_opened(key, found, text)? else { return Ok(None) };
        let raw = AiogramKeys { state: decode_text(state)?, data: decode_text(data)? };
        Ok(Some(Self { row, raw, note: note.clone(), is_unchanged: word == "same" }))
    }

    /// The present version. A change by aiogram counts as the next one.
    pub(super) fn version(&self) -> Version {
        Version(self.row.version.0 + i64::from(!self.is_unchanged))
    }
}

impl Shared {
    /// Reads a conversation without its lock.
    pub(super) async fn read_snapshot(
        &self,
        key: &ConversationKey,
        mark: Option<&Mark>,
    ) -> StoreResult<Option<Snapshot>> {
        let keys = self.keys(key, KeyKind::Marks)?;
        let args = vec![name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let answer = self.redis.connection.call(Call { function: "aiogram_look", keys: &keys, args }).await?;
        Snapshot::read(key, &answer)
    }

    pub(super) async fn open_unlocked(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let Some(snapshot) = self.read_snapshot(key, mark).await? else { return Ok(Opened::AlreadyProcessed) };
        let version = snapshot.version();
        let stored = if self.translate.is_some() { self.stored(&snapshot)? } else { shown(&snapshot) };
        Ok(Opened::At { version, stored })
    }

    /// The open state: ours if aiogram's keys are unchanged, else as aiogram has left it.
    pub(super) fn stored(&self, snapshot: &Snapshot) -> StoreResult<Option<StoredState>> {
        let before = snapshot.row.stored.as_ref();
        if snapshot.is_unchanged {
            return Ok(before.cloned());
        }
        let unreadable = |source| StoreError::Unreadable { key: snapshot.row.key.clone(), source };
        let record = snapshot.raw.record().map_err(unreadable)?;
        if record == Record::default() {
            return Ok(None);
        }
        conversion::to_stored_state(before, &record, self.translate()?, snapshot.version()).map_err(unreadable)
    }

    /// The keys of the partition up to `last`, then aiogram's keys and the notes.
    pub(super) fn keys(&self, key: &ConversationKey, last: KeyKind) -> StoreResult<Vec<String>> {
        let bot_keys = self.redis.keys.bot_keys(key.bot);
        let partition = partition_of(key);
        let names = self.names_of(key)?;
        let mut keys = bot_keys.up_to(partition, last).to_vec();
        keys.extend(names);
        keys.push(bot_keys.key(partition, KeyKind::AiogramNotes).to_owned());
        Ok(keys)
    }
}

/// The open state for display without a mapping.
pub(super) fn shown(snapshot: &Snapshot) -> Option<StoredState> {
    if snapshot.raw.state.is_none() {
        return snapshot.row.stored.clone().filter(|_| snapshot.is_unchanged);
    }
    let record = snapshot.raw.record().unwrap_or_else(|reason| {
        let name = String::from_utf8_lossy(snapshot.raw.state.as_deref().unwrap_or_default());
        let mut data = Data::default();
        // Setting a text cannot fail.
        let _ = data.set("unreadable", &reason.to_string());
        Record { state: name.into(), data }
    });
    conversion::unmapped_stored(&record).ok()
}

/// Decodes a text of the server's functions: `p` and the text, or `x` and hexadecimal bytes.
fn decode_text(text: &str) -> StoreResult<Option<Vec<u8>>> {
    let Some(rest) = text.get(1..) else { return Ok(None) };
    if text.starts_with('p') {
        return Ok(Some(rest.as_bytes().to_vec()));
    }
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes = rest.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    bytes.map(Some).ok_or_else(|| unreadable("invalid hexadecimal bytes of aiogram's keys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded() {
        assert_eq!(decode_text("").unwrap(), None);
        assert_eq!(decode_text("p").unwrap(), Some(Vec::new()));
        assert_eq!(decode_text("px{}").unwrap(), Some(b"x{}".to_vec()));
        assert_eq!(decode_text("x7bff").unwrap(), Some(vec![0x7b, 0xff]));
        assert!(decode_text("xzz").is_err());
    }
}
