//! `#[derive(States)]` for `opora`: stable names for the states of a dialogue, and a way to take each apart.
//!
//! For every variant it makes a constant that handlers are registered by, and it refuses at compile time what could not
//! be told apart later: two states of one name, or a constant that its own variant would hide. It does not look at how
//! the states are serialized.
#![warn(missing_docs)]

use proc_macro::TokenStream;

mod attributes;
mod expand;
mod names;

/// Makes an enum the states of a dialogue.
///
/// Each variant becomes a constant in capitals: `Greeting::Age(Age)` becomes `Greeting::AGE: At<Greeting, (Age,)>`.
/// Handlers of that state get what it carries: `async fn age(turn: &mut Turn, state: Age, input: String)`.
///
/// A state that carries more than one value wraps a struct, as `Age` here: its fields have names wherever they are
/// used. It is stored as a variant with the same fields would be. A variant may also have up to three fields of
/// different types; handlers get them one by one, in their order. Two fields of one type could be swapped unnoticed,
/// and are refused; so is, when the bot starts, a handler whose input has the type of a field.
///
/// - `#[states(dialogue = "greeting")]` on the enum names the dialogue; by default it is the enum's name in snake case.
/// - `#[states(version = 2)]` on the enum is the version of its stored shape; by default 1.
/// - `#[states(name = "age")]` on a variant names the state; by default it is the variant's name in snake case.
///
/// These names are stored, logged and counted: a state that is renamed in code keeps its stored name by `name`.
#[proc_macro_derive(States, attributes(states))]
pub fn derive_states(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::states(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
