//! Plain async functions as handlers.
//!
//! A handler takes the turn, then the values of its state, then the input. The fields of a variant are passed one by
//! one in their order. Their types must differ, because two values of one type could be swapped by mistake: put such
//! fields into a struct. The traits here are implemented for such functions and need not be named.

use std::any::{TypeId, type_name};
use std::future::Future;

use super::Step;
use crate::store::BoxError;
use crate::turn::Turn;

/// The values of a state: a tuple of the fields of its variant.
pub trait Fields: 'static {
    /// The type of each field, and its name.
    fn types() -> Vec<(TypeId, &'static str)>;
}

/// The name of a type that occurs twice in a list.
pub(super) fn repeated_type(types: &[(TypeId, &'static str)]) -> Option<&'static str> {
    types
        .iter()
        .enumerate()
        .find(|(index, (id, _))| types[..*index].iter().any(|(earlier, _)| earlier == id))
        .map(|(_, (_, name))| *name)
}

/// `async fn(&mut Turn, fields…, input) -> Step<S>`.
#[diagnostic::on_unimplemented(
    message = "this function does not fit the state and the kind of input that it is registered for",
    note = "a handler is `async fn(&mut Turn, <what the state carries>, <the input>) -> Step<States>`, and its future must be `Send`"
)]
pub trait Handler<'t, Fields, I, S>: Send + Sync {
    /// The handler's future.
    type Run: Future<Output = Step<S>> + Send + 't;

    /// Runs the handler.
    fn call(&self, turn: &'t mut Turn, fields: Fields, input: I) -> Self::Run;
}

/// `async fn(&mut Turn, fields…) -> Result<(), BoxError>`: what a state asks when it is entered.
#[diagnostic::on_unimplemented(
    message = "this function does not fit the state that it asks for",
    note = "a question is `async fn(&mut Turn, <what the state carries>) -> Result<(), BoxError>`, and its future must be `Send`"
)]
pub trait Question<'t, Fields>: Send + Sync {
    /// The question's future.
    type Run: Future<Output = Result<(), BoxError>> + Send + 't;

    /// Asks the question.
    fn call(&self, turn: &'t mut Turn, fields: Fields) -> Self::Run;
}

macro_rules! plain_functions {
    ($($field:ident)*) => {
        impl<$($field: 'static,)*> Fields for ($($field,)*) {
            fn types() -> Vec<(TypeId, &'static str)> {
                vec![$((TypeId::of::<$field>(), type_name::<$field>())),*]
            }
        }

        impl<'t, F, Run, S, I, $($field,)*> Handler<'t, ($($field,)*), I, S> for F
        where
            F: Fn(&'t mut Turn, $($field,)* I) -> Run + Send + Sync,
            Run: Future<Output = Step<S>> + Send + 't,
        {
            type Run = Run;

            #[allow(non_snake_case)]
            fn call(&self, turn: &'t mut Turn, ($($field,)*): ($($field,)*), input: I) -> Run {
                self(turn, $($field,)* input)
            }
        }

        impl<'t, F, Run, $($field,)*> Question<'t, ($($field,)*)> for F
        where
            F: Fn(&'t mut Turn, $($field,)*) -> Run + Send + Sync,
            Run: Future<Output = Result<(), BoxError>> + Send + 't,
        {
            type Run = Run;

            #[allow(non_snake_case)]
            fn call(&self, turn: &'t mut Turn, ($($field,)*): ($($field,)*)) -> Run {
                self(turn, $($field,)*)
            }
        }
    };
}

plain_functions!();
plain_functions!(A);
plain_functions!(A B);
plain_functions!(A B C);
