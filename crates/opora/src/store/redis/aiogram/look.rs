//! What stands in aiogram's keys and in our own, read in one call.

use super::super::keys::{Thing, partition_of};
use super::super::ordered::name_of;
use super::super::rows::{self, unreadable};
use super::super::turns::opened;
use super::super::wire::Call;
use super::Shared;
use crate::aiogram::{Data, Record, shape};
use crate::key::DialogueKey;
use crate::store::{BoxError, ConversationRow, Mark, Opened, StoreError, StoreResult, Stored, Version};

/// A conversation as it stands on both sides.
pub(super) struct Seen {
    /// Ours; never written if its version is all that is known.
    pub(super) row: ConversationRow,
    pub(super) raw: Raw,
    /// aiogram's keys in short.
    pub(super) note: String,
    /// They are what our version was made with.
    pub(super) is_noted: bool,
}

/// The texts of aiogram's keys; none where there is no key.
#[derive(Clone, Default)]
pub(super) struct Raw {
    pub(super) state: Option<Vec<u8>>,
    pub(super) data: Option<Vec<u8>>,
}

impl Raw {
    /// What they say.
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

impl Seen {
    /// An answer of the server's functions; none if the input was taken before.
    pub(super) fn read(key: &DialogueKey, answer: &[String]) -> StoreResult<Option<Self>> {
        if answer.first().is_some_and(|word| word == "no text") {
            let source = "a key of aiogram's holds something else than a text".into();
            return Err(StoreError::Unreadable { key: key.clone(), source });
        }
        if answer.first().is_some_and(|word| word == "taken") {
            return Ok(None);
        }
        let [found, text, state, data, note, word] = answer else {
            return Err(unreadable("a look at aiogram's keys was answered with something else"));
        };
        let Some(row) = opened(key, found, text)? else { return Ok(None) };
        let raw = Raw { state: spelled(state)?, data: spelled(data)? };
        Ok(Some(Self { row, raw, note: note.clone(), is_noted: word == "same" }))
    }

    /// The version that stands there: what aiogram has changed is the next one.
    pub(super) fn version(&self) -> Version {
        Version(self.row.version.0 + i64::from(!self.is_noted))
    }
}

impl Shared {
    /// Looks without holding anything.
    pub(super) async fn look(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Option<Seen>> {
        let keys = self.keys(key, Thing::Marks)?;
        let args = vec![name_of(key), mark.map(rows::mark).unwrap_or_default()];
        let answer = self.redis.wire.call(Call { function: "aiogram_look", keys: &keys, args }).await?;
        Seen::read(key, &answer)
    }

    pub(super) async fn look_at(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let Some(seen) = self.look(key, mark).await? else { return Ok(Opened::AlreadyTaken) };
        let version = seen.version();
        let stored = if self.translate.is_some() { self.stored(&seen)? } else { shown(&seen) };
        Ok(Opened::At { version, stored })
    }

    /// What is open: as the version has it, or as aiogram has left it.
    pub(super) fn stored(&self, seen: &Seen) -> StoreResult<Option<Stored>> {
        let before = seen.row.stored.as_ref();
        if seen.is_noted {
            return Ok(before.cloned());
        }
        let unreadable = |source| StoreError::Unreadable { key: seen.row.key.clone(), source };
        let record = seen.raw.record().map_err(unreadable)?;
        if record == Record::default() {
            return Ok(None);
        }
        shape::adopted(before, &record, self.translate()?, seen.version()).map_err(unreadable)
    }

    /// The keys of a room up to one, and then aiogram's and the notes.
    pub(super) fn keys(&self, key: &DialogueKey, last: Thing) -> StoreResult<Vec<String>> {
        let rooms = self.redis.keys.rooms(key.bot);
        let partition = partition_of(key);
        let names = self.layout.names(key).map_err(|error| StoreError::Unavailable(error.into()))?;
        let mut keys = rooms.up_to(partition, last).to_vec();
        keys.extend(names);
        keys.push(rooms.one(partition, Thing::Notes).to_owned());
        Ok(keys)
    }
}

/// What is open, as somebody sees it who does not know what states mean.
pub(super) fn shown(seen: &Seen) -> Option<Stored> {
    if seen.raw.state.is_none() {
        return seen.row.stored.clone().filter(|_| seen.is_noted);
    }
    let record = seen.raw.record().unwrap_or_else(|reason| {
        let name = String::from_utf8_lossy(seen.raw.state.as_deref().unwrap_or_default());
        let mut data = Data::default();
        // A text can be set.
        let _ = data.set("unreadable", &reason.to_string());
        Record { state: name.into(), data }
    });
    shape::shown(&record).ok()
}

/// A text as the server's functions spell it.
fn spelled(text: &str) -> StoreResult<Option<Vec<u8>>> {
    let Some(rest) = text.get(1..) else { return Ok(None) };
    if text.starts_with('p') {
        return Ok(Some(rest.as_bytes().to_vec()));
    }
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes = rest.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    bytes.map(Some).ok_or_else(|| unreadable("bytes of aiogram's keys are not spelled right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_from_their_spelling() {
        assert_eq!(spelled("").unwrap(), None);
        assert_eq!(spelled("p").unwrap(), Some(Vec::new()));
        assert_eq!(spelled("px{}").unwrap(), Some(b"x{}".to_vec()));
        assert_eq!(spelled("x7bff").unwrap(), Some(vec![0x7b, 0xff]));
        assert!(spelled("xzz").is_err());
    }
}
