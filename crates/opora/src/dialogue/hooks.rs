//! What an application may say about every turn: who is let in, in which language the library speaks, and which errors
//! pass by themselves.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::input::Input;
use crate::store::BoxError;
use crate::turn::{Context, Turn};

/// Asked before whoever hears what a person did: false if nobody shall hear it. It may say something, and should do
/// little else: it runs in every turn that a person begins.
pub type Guard = for<'t> fn(&'t mut Turn, &'t Input) -> BoxFuture<'t, Result<bool, BoxError>>;

type Ask = dyn Fn(Arc<Context>, Vec<i64>) -> BoxFuture<'static, HashMap<i64, String>> + Send + Sync;
type Judge = dyn Fn(&BoxError) -> bool + Send + Sync;

/// A sentence is not held up for its language: after this long it is Telegram's.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the application has said.
#[derive(Default)]
pub(super) struct Hooks {
    pub guard: Option<Guard>,
    pub languages: Option<Box<Ask>>,
    pub passes: Option<Box<Judge>>,
}

impl Hooks {
    /// The languages that these people have chosen, as far as the application knows.
    pub async fn languages_of(&self, context: &Arc<Context>, people: Vec<i64>) -> HashMap<i64, String> {
        let Some(languages) = &self.languages else { return HashMap::new() };
        // Within what is caught, so that it does not matter how much of it is done before the first wait.
        let asked = AssertUnwindSafe(async { languages(Arc::clone(context), people).await }).catch_unwind();
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(told)) => told,
            Ok(Err(_)) => {
                tracing::error!("the application panicked when it was asked for languages");
                HashMap::new()
            }
            Err(_) => {
                tracing::warn!("the application did not tell languages in time");
                HashMap::new()
            }
        }
    }
}
