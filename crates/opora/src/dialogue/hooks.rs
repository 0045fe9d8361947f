//! Hooks of the application for every turn: the guard, people's languages, and transient errors.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::input::Input;
use crate::store::BoxError;
use crate::turn::{Context, Turn};

/// Called before the handler of a person's input. If it returns false, no handler runs. It may say something, and
/// should do little else: it runs in every turn that a person starts.
pub type Guard = for<'t> fn(&'t mut Turn, &'t Input) -> BoxFuture<'t, Result<bool, BoxError>>;

type Languages = dyn Fn(Arc<Context>, Vec<i64>) -> BoxFuture<'static, HashMap<i64, String>> + Send + Sync;
type IsTransient = dyn Fn(&BoxError) -> bool + Send + Sync;

/// How long the languages hook may take. After that, the language of the person's Telegram is used.
const LANGUAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// The hooks that the application has set.
#[derive(Default)]
pub(super) struct Hooks {
    pub guard: Option<Guard>,
    pub languages: Option<Box<Languages>>,
    pub is_transient: Option<Box<IsTransient>>,
}

impl Hooks {
    /// The languages that these people have chosen, as far as the application knows.
    pub async fn languages_of(&self, context: &Arc<Context>, people: Vec<i64>) -> HashMap<i64, String> {
        let Some(languages) = &self.languages else { return HashMap::new() };
        // The call itself is inside of the caught future: it may panic before the first await.
        let answer = AssertUnwindSafe(async { languages(Arc::clone(context), people).await }).catch_unwind();
        match tokio::time::timeout(LANGUAGE_TIMEOUT, answer).await {
            Ok(Ok(languages)) => languages,
            Ok(Err(_)) => {
                tracing::error!("the languages hook panicked");
                HashMap::new()
            }
            Err(_) => {
                tracing::warn!("the languages hook took too long");
                HashMap::new()
            }
        }
    }
}
