//! The states of a dialogue, by their stable names.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The states of one dialogue: an enum whose variants carry what is known so far.
///
/// Derive it with [`#[derive(States)]`](crate::States).
pub trait States: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The dialogue's stable name.
    const DIALOGUE: &'static str;
    /// The version of the stored states. Raise it when a stored state would no longer load, and add an
    /// [upcast](super::Dialogue::upcast).
    const VERSION: u32;
    /// The stable names of all states.
    const NAMES: &'static [&'static str];

    /// The stable name of this state.
    fn name(&self) -> &'static str;
}

/// One state of a dialogue, and how to get its fields. The derive makes one for each variant.
pub struct At<S, F> {
    pub(crate) name: &'static str,
    pub(crate) take: fn(S) -> Option<F>,
}

impl<S, F> At<S, F> {
    /// The state of this name; `take` gives its fields.
    #[must_use]
    pub const fn new(name: &'static str, take: fn(S) -> Option<F>) -> Self {
        Self { name, take }
    }

    /// The state's stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<S, F> Clone for At<S, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, F> Copy for At<S, F> {}

impl<S, F> fmt::Debug for At<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("At").field(&self.name).finish()
    }
}
