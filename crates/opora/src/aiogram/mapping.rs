//! Translates aiogram's states and data into states of a dialogue, and back.
//!
//! One closure per state's name reads, one for all states writes. A name without a closure is an error: no state is
//! dropped or guessed.

use std::collections::BTreeMap;
use std::fmt;

use super::python_json::{Data, DataError};
use crate::dialogue::{States, WrittenState};

type ReadState<S> = Box<dyn Fn(&Data) -> Result<S, DataError> + Send + Sync>;
type WriteState<S> = Box<dyn Fn(&S, &mut Data) -> Result<&'static str, DataError> + Send + Sync>;
type EndState = Box<dyn Fn(&mut Data) + Send + Sync>;

/// State and data of one key of aiogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The state's name, such as `CreateOrderStates:client_phone`; empty if there is none.
    pub state: Box<str>,
    /// The data; empty if there is none.
    pub data: Data,
}

/// Translates records of aiogram into states of a dialogue, and back.
pub trait Translate: Send + Sync {
    /// The state for a record.
    fn translate(&self, record: &Record) -> Result<WrittenState, TranslateError>;

    /// The record for a state, based on the existing data. Not needed for imports.
    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, TranslateError> {
        let _ = there;
        Err(TranslateError::NotMapped(state.name.to_string().into()))
    }

    /// The data that is kept when nothing is open any more. None deletes all of it, as `state.clear()` does.
    fn data_after_end(&self, there: &Data) -> Option<Data> {
        let _ = there;
        None
    }
}

/// Why a record cannot be translated.
#[derive(Debug, thiserror::Error)]
pub enum TranslateError {
    /// The state's name is not mapped. Empty for data without a state.
    #[error("the state `{0}` is not mapped")]
    NotMapped(Box<str>),
    /// The data does not fit the state.
    #[error("in the state `{state}`: {error}")]
    InvalidData {
        /// The state's name.
        state: Box<str>,
        /// The error in the data.
        #[source]
        error: DataError,
    },
}

/// Maps aiogram's states to the states `S` of a dialogue.
///
/// ```
/// use opora::aiogram::{Data, Mapping, Record};
/// use opora::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
/// enum CreateOrder {
///     ClientName,
///     ClientPhone { name: String },
/// }
///
/// let mapping = Mapping::new()
///     .state("CreateOrderStates:client_name", |_| Ok(CreateOrder::ClientName))
///     .state("CreateOrderStates:client_phone", |data| Ok(CreateOrder::ClientPhone { name: data.read("client_name")? }))
///     .write(|state, data| match state {
///         CreateOrder::ClientName => Ok("CreateOrderStates:client_name"),
///         CreateOrder::ClientPhone { name } => {
///             data.set("client_name", name)?;
///             Ok("CreateOrderStates:client_phone")
///         }
///     });
///
/// let data = Data::parse(br#"{"client_name": "\u0410\u043d\u043d\u0430", "score": NaN}"#)?;
/// let there = Record { state: "CreateOrderStates:client_phone".into(), data };
/// let state = mapping.read(&there)?;
/// assert_eq!(state, CreateOrder::ClientPhone { name: "Анна".into() });
///
/// // What the mapping does not touch stays as it is.
/// let back = mapping.write_back(&CreateOrder::ClientPhone { name: "Olga".into() }, &there.data)?;
/// assert_eq!(back.data.to_string(), r#"{"client_name": "Olga", "score": NaN}"#);
/// # Ok::<(), opora::store::BoxError>(())
/// ```
#[must_use]
pub struct Mapping<S> {
    reads: BTreeMap<Box<str>, ReadState<S>>,
    write: Option<WriteState<S>>,
    end: Option<EndState>,
}

impl<S: States> Mapping<S> {
    /// An empty mapping.
    pub fn new() -> Self {
        Self { reads: BTreeMap::new(), write: None, end: None }
    }

    /// Sets how a state is read from its data. The empty name is data without a state.
    pub fn state(mut self, name: &str, read: impl Fn(&Data) -> Result<S, DataError> + Send + Sync + 'static) -> Self {
        self.reads.insert(name.into(), Box::new(read));
        self
    }

    /// Sets how states are written: the closure puts the values of the state into the existing data and returns the
    /// state's name.
    pub fn write(
        mut self,
        write: impl Fn(&S, &mut Data) -> Result<&'static str, DataError> + Send + Sync + 'static,
    ) -> Self {
        self.write = Some(Box::new(write));
        self
    }

    /// Sets what is removed from the data when the dialogue ends. Without this, all of it is deleted, as by
    /// `state.clear()`.
    pub fn on_end(mut self, end: impl Fn(&mut Data) + Send + Sync + 'static) -> Self {
        self.end = Some(Box::new(end));
        self
    }

    /// The state for a record.
    pub fn read(&self, record: &Record) -> Result<S, TranslateError> {
        let Record { state, data } = record;
        let read = self.reads.get(state).ok_or_else(|| TranslateError::NotMapped(state.clone()))?;
        read(data).map_err(|error| TranslateError::InvalidData { state: state.clone(), error })
    }

    /// The record for a state, based on the existing data.
    pub fn write_back(&self, state: &S, there: &Data) -> Result<Record, TranslateError> {
        let unfit = |error| TranslateError::InvalidData { state: state.name().into(), error };
        let write = self.write.as_ref().ok_or_else(|| TranslateError::NotMapped(state.name().into()))?;
        let mut data = there.clone();
        let name = write(state, &mut data).map_err(unfit)?;
        Ok(Record { state: name.into(), data })
    }
}

impl<S: States> Translate for Mapping<S> {
    fn translate(&self, record: &Record) -> Result<WrittenState, TranslateError> {
        let unfit = |error| TranslateError::InvalidData {
            state: record.state.clone(),
            error: DataError::Other(Box::new(error)),
        };
        WrittenState::from_state(&self.read(record)?).map_err(unfit)
    }

    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, TranslateError> {
        if *state.name.dialogue != *S::DIALOGUE {
            return Err(TranslateError::NotMapped(state.name.to_string().into()));
        }
        let unfit = |error| TranslateError::InvalidData {
            state: state.name.state.clone(),
            error: DataError::Other(Box::new(error)),
        };
        self.write_back(&serde_json::from_str(state.state.get()).map_err(unfit)?, there)
    }

    fn data_after_end(&self, there: &Data) -> Option<Data> {
        let mut data = there.clone();
        self.end.as_ref()?(&mut data);
        Some(data)
    }
}

/// Uses the first of several mappings that knows the state's name.
impl Translate for Vec<Box<dyn Translate>> {
    fn translate(&self, record: &Record) -> Result<WrittenState, TranslateError> {
        let answers = self.iter().map(|one| one.translate(record));
        let known = answers.into_iter().find(|answer| !matches!(answer, Err(TranslateError::NotMapped(_))));
        known.unwrap_or_else(|| Err(TranslateError::NotMapped(record.state.clone())))
    }

    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, TranslateError> {
        let answers = self.iter().map(|one| one.record(state, there));
        let known = answers.into_iter().find(|answer| !matches!(answer, Err(TranslateError::NotMapped(_))));
        known.unwrap_or_else(|| Err(TranslateError::NotMapped(state.name.to_string().into())))
    }

    fn data_after_end(&self, there: &Data) -> Option<Data> {
        self.iter().find_map(|one| one.data_after_end(there))
    }
}

impl<S: States> Default for Mapping<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for Mapping<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping").field("states", &self.reads.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
    enum Order {
        Name,
        Phone { name: String },
    }

    fn mapping() -> Mapping<Order> {
        Mapping::new()
            .state("Order:name", |_| Ok(Order::Name))
            .state("Order:phone", |data| Ok(Order::Phone { name: data.read("name")? }))
    }

    fn record(state: &str, data: &str) -> Record {
        Record { state: state.into(), data: Data::parse(data.as_bytes()).unwrap() }
    }

    #[test]
    fn an_unmapped_name_is_an_error() {
        for name in ["Order:city", ""] {
            let error = mapping().read(&record(name, "{}")).unwrap_err();
            assert!(matches!(error, TranslateError::NotMapped(state) if *state == *name));
        }
        assert!(matches!(mapping().write_back(&Order::Name, &Data::default()), Err(TranslateError::NotMapped(_))));
    }

    #[test]
    fn data_that_does_not_fit_is_an_error_with_the_field() {
        let error = mapping().read(&record("Order:phone", "{}")).unwrap_err();
        assert_eq!(error.to_string(), "in the state `Order:phone`: there is no `name`");
    }

    #[test]
    fn a_translated_record_is_stored_like_a_turns_state() {
        let written = mapping().translate(&record("Order:phone", r#"{"name": "Anna"}"#)).unwrap();
        let stored = written.stored(crate::store::Version(3), None).unwrap();
        assert_eq!(
            &*stored.value,
            r#"{"tracks":[{"stack":[{"dialogue":"order","schema":1,"at":"phone","state":{"Phone":{"name":"Anna"}},"entry":3}]}]}"#
        );
        assert_eq!(stored.states[0].to_string(), "order:phone");
    }
}
