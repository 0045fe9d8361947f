//! Tries of one wish, until it works or fails for good.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{Asked, EffectError, Runner, Shared};
use crate::asking;
use crate::failpoints;
use crate::progress::Progress;
use crate::store::EffectRow;

/// How a try has ended.
enum Tried {
    Done(Value),
    FailedForGood(String),
    /// It may be tried again. The kind is for the log; the words may quote what a person wrote.
    Failed {
        kind: &'static str,
        words: String,
    },
}

impl Shared {
    /// The idempotency key of a wish, the same for every try. A wish that no turn has made has only its number.
    fn key_of(&self, row: &EffectRow) -> String {
        let key = asking::effect_key(&row.effect.body).unwrap_or_else(|| row.id.0.to_string());
        format!("{}-{key}", self.bot)
    }

    /// One try, in a task of its own, so that a panic is a failure of this try alone; given up, it ends.
    async fn try_once(&self, runner: Runner, asked: Asked, progress: &Progress) -> Tried {
        let work = progress.clone().of(async move { runner(asked).await });
        let run = AbortOnDropHandle::new(tokio::spawn(work));
        let deadline = self.settings.deadline;
        let Ok(ended) = progress.until_stalled(deadline, run).await else {
            return Tried::Failed { kind: "it took too long", words: format!("it took longer than {deadline:?}") };
        };
        match ended {
            Ok(Ok(value)) => Tried::Done(value),
            Ok(Err(EffectError::Final(reason))) => Tried::FailedForGood(reason),
            Ok(Err(EffectError::Retry(error))) => {
                Tried::Failed { kind: "it answered with an error", words: error.to_string() }
            }
            Err(error) => Tried::Failed { kind: "it panicked", words: error.to_string() },
        }
    }

    /// Tries until it works, or for good does not.
    pub(super) async fn outcome(&self, row: &EffectRow) -> Result<Value, String> {
        let kind = &row.effect.kind;
        let (Some(runner), Some(places)) = (self.register.runners.get(kind), self.places.get(kind)) else {
            tracing::error!(effect = row.id.0, kind = %row.effect.kind, "nobody carries out this kind of effect");
            return Err(format!("nobody carries out `{}`", row.effect.kind));
        };
        let attempts = self.register.attempts.get(&row.effect.kind).copied().unwrap_or(self.settings.attempts);
        let mut attempt = 1;
        loop {
            // A place is held for a try, not for the waits between them.
            let place = places.acquire().await;
            failpoints::hit(failpoints::EFFECT_BEFORE_RUN).await;
            let asked = Asked {
                key: self.key_of(row),
                dialogue: row.key.clone(),
                body: asking::wish(&row.effect.body).into(),
                attempt,
                is_last: attempt >= attempts,
            };
            let progress = Progress::default();
            let tried = self.try_once(Arc::clone(runner), asked, &progress).await;
            drop(place);
            let (kind, words) = match tried {
                Tried::Done(value) => {
                    metrics::counter!("opora_effects_total", "outcome" => "done").increment(1);
                    return Ok(value);
                }
                Tried::FailedForGood(reason) => {
                    metrics::counter!("opora_effects_total", "outcome" => "failed").increment(1);
                    return Err(reason);
                }
                Tried::Failed { kind, words } => (kind, words),
            };
            let effect = row.id.0;
            let work = &row.effect.kind;
            // The words may quote what a person wrote; the dialogue gets them.
            tracing::debug!(effect, %work, attempt, %words, "why an effect failed");
            if progress.has_advanced() {
                // The next try goes on where this one ended, so this one is not counted.
                attempt = 0;
            }
            if attempt >= attempts {
                tracing::error!(effect, %work, key = %row.key, attempt, kind, "an effect failed for good");
                metrics::counter!("opora_effects_total", "outcome" => "failed").increment(1);
                return Err(words);
            }
            tracing::warn!(effect, %work, key = %row.key, attempt, kind, "an effect failed; trying again");
            let pause = self.settings.backoff.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
            tokio::time::sleep(pause.min(self.settings.longest_backoff)).await;
            attempt += 1;
        }
    }
}
