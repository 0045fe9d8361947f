//! `#[derive(States)]` for `opora`: stable names for the states of a dialogue, and access to their fields.
//!
//! For every variant it makes a constant by which handlers are registered. It rejects ambiguous states at compile time:
//! two states of one name, or a constant that its own variant would hide. It does not affect how states are serialized.
#![warn(missing_docs)]

use proc_macro::TokenStream;

mod attributes;
mod expand;
mod names;

/// Makes the variants of an enum the states of a dialogue.
///
/// Each variant becomes a constant in capitals: `Greeting::Age(Age)` becomes `Greeting::AGE: At<Greeting, (Age,)>`.
/// Handlers of that state get its fields: `async fn age(turn: &mut Turn, state: Age, input: String)`.
///
/// A state with more than one value should wrap a struct, like `Age` here, so that its fields always have names. It is
/// stored like a variant with the same fields. A variant may also have up to three fields of different types; handlers
/// get them in their order. Two fields of one type could be swapped unnoticed, so they are rejected. For the same
/// reason a bot rejects a handler whose input has the type of a field.
///
/// - `#[states(dialogue = "greeting")]` on the enum names the dialogue; by default it is the enum's name in snake case.
/// - `#[states(version = 2)]` on the enum is the version of its stored shape; by default 1.
/// - `#[states(name = "age")]` on a variant names the state; by default it is the variant's name in snake case.
///
/// An enum without variants is a dialogue that never waits: it has entries only.
///
/// These names are stored, logged and used in metrics. If you rename a variant, keep its stored name with `name`.
#[proc_macro_derive(States, attributes(states))]
pub fn derive_states(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::states(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
