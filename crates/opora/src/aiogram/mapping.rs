//! From aiogram's state names and data to the states of a dialogue, and back.
//!
//! One closure for each state's name reads, one for all of them writes. A name that has no closure is an error that
//! says so: no state is dropped or guessed.

use std::collections::BTreeMap;
use std::fmt;

use super::python_json::{Data, Unfit};
use crate::dialogue::{States, WrittenState};

type Reads<S> = Box<dyn Fn(&Data) -> Result<S, Unfit> + Send + Sync>;
type Writes<S> = Box<dyn Fn(&S, &mut Data) -> Result<&'static str, Unfit> + Send + Sync>;
type Ends = Box<dyn Fn(&mut Data) + Send + Sync>;

/// What aiogram keeps for one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The state's name, such as `CreateOrderStates:client_phone`; empty if there is none.
    pub state: Box<str>,
    /// The data; empty if there is none.
    pub data: Data,
}

/// Turns what aiogram keeps into a state of a dialogue, and back.
pub trait Translate: Send + Sync {
    /// The state that a record means.
    fn translate(&self, record: &Record) -> Result<WrittenState, Untranslated>;

    /// The record that a state makes of the data that is there. Whatever only imports needs none.
    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, Untranslated> {
        let _ = there;
        Err(Untranslated::NotMapped(state.place.to_string().into()))
    }

    /// What stays of the data when nothing is open any more; none where nothing is said on that: then all of it goes,
    /// as by `state.clear()`.
    fn remains(&self, there: &Data) -> Option<Data> {
        let _ = there;
        None
    }
}

/// Why a record was not translated.
#[derive(Debug, thiserror::Error)]
pub enum Untranslated {
    /// Nobody said what this state's name means; empty for data without a state.
    #[error("the state `{0}` is not mapped")]
    NotMapped(Box<str>),
    /// Its data does not make the state.
    #[error("in the state `{state}`: {why}")]
    Unfit {
        /// The state's name.
        state: Box<str>,
        /// What is wrong with the data.
        #[source]
        why: Unfit,
    },
}

/// What aiogram's names mean in a dialogue over the states `S`.
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
pub struct Mapping<S> {
    reads: BTreeMap<Box<str>, Reads<S>>,
    write: Option<Writes<S>>,
    end: Option<Ends>,
}

impl<S: States> Mapping<S> {
    /// A mapping that knows no state yet.
    #[must_use]
    pub fn new() -> Self {
        Self { reads: BTreeMap::new(), write: None, end: None }
    }

    /// Says what a state's name and its data mean. The empty name is data without a state.
    #[must_use]
    pub fn state(mut self, name: &str, read: impl Fn(&Data) -> Result<S, Unfit> + Send + Sync + 'static) -> Self {
        self.reads.insert(name.into(), Box::new(read));
        self
    }

    /// Says how a state is written for aiogram: the closure puts what it carries into the data that is there, and gives
    /// the state's name.
    #[must_use]
    pub fn write(
        mut self,
        write: impl Fn(&S, &mut Data) -> Result<&'static str, Unfit> + Send + Sync + 'static,
    ) -> Self {
        self.write = Some(Box::new(write));
        self
    }

    /// Says what is taken out of the data when the dialogue is over. Without this all of it goes, as by
    /// `state.clear()`.
    #[must_use]
    pub fn end(mut self, end: impl Fn(&mut Data) + Send + Sync + 'static) -> Self {
        self.end = Some(Box::new(end));
        self
    }

    /// The state that a record means.
    pub fn read(&self, record: &Record) -> Result<S, Untranslated> {
        let Record { state, data } = record;
        let read = self.reads.get(state).ok_or_else(|| Untranslated::NotMapped(state.clone()))?;
        read(data).map_err(|why| Untranslated::Unfit { state: state.clone(), why })
    }

    /// The record that a state makes of the data that is there.
    pub fn write_back(&self, state: &S, there: &Data) -> Result<Record, Untranslated> {
        let unfit = |why| Untranslated::Unfit { state: state.name().into(), why };
        let write = self.write.as_ref().ok_or_else(|| Untranslated::NotMapped(state.name().into()))?;
        let mut data = there.clone();
        let name = write(state, &mut data).map_err(unfit)?;
        Ok(Record { state: name.into(), data })
    }
}

impl<S: States> Translate for Mapping<S> {
    fn translate(&self, record: &Record) -> Result<WrittenState, Untranslated> {
        let unfit = |error| Untranslated::Unfit { state: record.state.clone(), why: Unfit::Other(Box::new(error)) };
        WrittenState::of(&self.read(record)?).map_err(unfit)
    }

    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, Untranslated> {
        if *state.place.dialogue != *S::DIALOGUE {
            return Err(Untranslated::NotMapped(state.place.to_string().into()));
        }
        let unfit =
            |error| Untranslated::Unfit { state: state.place.state.clone(), why: Unfit::Other(Box::new(error)) };
        self.write_back(&serde_json::from_str(state.state.get()).map_err(unfit)?, there)
    }

    fn remains(&self, there: &Data) -> Option<Data> {
        let mut data = there.clone();
        self.end.as_ref()?(&mut data);
        Some(data)
    }
}

/// Of several dialogues, the first that knows the state's name.
impl Translate for Vec<Box<dyn Translate>> {
    fn translate(&self, record: &Record) -> Result<WrittenState, Untranslated> {
        let answers = self.iter().map(|one| one.translate(record));
        let known = answers.into_iter().find(|answer| !matches!(answer, Err(Untranslated::NotMapped(_))));
        known.unwrap_or_else(|| Err(Untranslated::NotMapped(record.state.clone())))
    }

    fn record(&self, state: &WrittenState, there: &Data) -> Result<Record, Untranslated> {
        let answers = self.iter().map(|one| one.record(state, there));
        let known = answers.into_iter().find(|answer| !matches!(answer, Err(Untranslated::NotMapped(_))));
        known.unwrap_or_else(|| Err(Untranslated::NotMapped(state.place.to_string().into())))
    }

    fn remains(&self, there: &Data) -> Option<Data> {
        self.iter().find_map(|one| one.remains(there))
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
    fn a_name_that_is_not_mapped_is_an_error_with_the_name() {
        for name in ["Order:city", ""] {
            let error = mapping().read(&record(name, "{}")).unwrap_err();
            assert!(matches!(error, Untranslated::NotMapped(said) if *said == *name));
        }
        assert!(matches!(mapping().write_back(&Order::Name, &Data::default()), Err(Untranslated::NotMapped(_))));
    }

    #[test]
    fn data_that_does_not_make_the_state_is_an_error_with_the_field() {
        let error = mapping().read(&record("Order:phone", "{}")).unwrap_err();
        assert_eq!(error.to_string(), "in the state `Order:phone`: there is no `name`");
    }

    #[test]
    fn a_translated_record_is_what_a_turn_would_have_stored() {
        let written = mapping().translate(&record("Order:phone", r#"{"name": "Anna"}"#)).unwrap();
        let stored = written.stored(crate::store::Version(3), None).unwrap();
        assert_eq!(
            &*stored.value,
            r#"{"slots":[{"stack":[{"dialogue":"order","schema":1,"at":"phone","state":{"Phone":{"name":"Anna"}},"entry":3}]}]}"#
        );
        assert_eq!(stored.places[0].to_string(), "order:phone");
    }
}
