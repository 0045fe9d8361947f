//! The attempts of one effect, until it succeeds or fails for good.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{EffectError, EffectRequest, Runner, Shared};
use crate::failpoints;
use crate::progress::Progress;
use crate::store::EffectRow;
use crate::store::requester;

/// The result of one attempt.
enum AttemptResult {
    Done(Value),
    FailedForGood(String),
    /// It may be tried again. Only the kind is logged, because the words may quote a person.
    Failed {
        kind: &'static str,
        words: String,
    },
}

impl Shared {
    /// The idempotency key of an effect. If its body has no key, the row id is used.
    fn key_of(&self, row: &EffectRow) -> String {
        let key = requester::effect_key(&row.effect.body).unwrap_or_else(|| row.id.0.to_string());
        format!("{}-{key}", self.bot)
    }

    /// Makes one attempt in its own task, so that a panic fails only this attempt. The task ends when this is dropped.
    async fn attempt(&self, runner: Runner, request: EffectRequest, progress: &Progress) -> AttemptResult {
        let work = progress.clone().scope(async move { runner(request).await });
        let run = AbortOnDropHandle::new(tokio::spawn(work));
        let deadline = self.settings.deadline;
        let Ok(ended) = progress.until_stalled(deadline, run).await else {
            return AttemptResult::Failed {
                kind: "it took too long",
                words: format!("it took longer than {deadline:?}"),
            };
        };
        match ended {
            Ok(Ok(value)) => AttemptResult::Done(value),
            Ok(Err(EffectError::Final(reason))) => AttemptResult::FailedForGood(reason),
            Ok(Err(EffectError::Retry(error))) => {
                AttemptResult::Failed { kind: "it answered with an error", words: error.to_string() }
            }
            Err(error) => AttemptResult::Failed { kind: "it panicked", words: error.to_string() },
        }
    }

    /// Makes attempts until the effect succeeds or fails for good.
    pub(super) async fn outcome(&self, row: &EffectRow) -> Result<Value, String> {
        let kind = &row.effect.kind;
        let (Some(runner), Some(permits)) = (self.registry.runners.get(kind), self.permits.get(kind)) else {
            tracing::error!(effect = row.id.0, %kind, "no runner is registered for this kind of effect");
            return Err(format!("no runner is registered for `{}`", row.effect.kind));
        };
        let attempts = self.registry.attempts.get(&row.effect.kind).copied().unwrap_or(self.settings.attempts);
        let mut attempt = 1;
        loop {
            // A permit is held during an attempt, not during the pauses.
            let permit = permits.acquire().await;
            failpoints::hit(failpoints::EFFECT_BEFORE_RUN).await;
            let request = EffectRequest {
                key: self.key_of(row),
                conversation: row.key.clone(),
                body: requester::effect_request(&row.effect.body).into(),
                attempt,
                is_last: attempt >= attempts,
            };
            let progress = Progress::default();
            let result = self.attempt(Arc::clone(runner), request, &progress).await;
            drop(permit);
            let (kind, words) = match result {
                AttemptResult::Done(value) => {
                    metrics::counter!("opora_effects_total", "outcome" => "done").increment(1);
                    return Ok(value);
                }
                AttemptResult::FailedForGood(reason) => {
                    metrics::counter!("opora_effects_total", "outcome" => "failed").increment(1);
                    return Err(reason);
                }
                AttemptResult::Failed { kind, words } => (kind, words),
            };
            let effect = row.id.0;
            let work = &row.effect.kind;
            // Only debug, because the words may quote a person. The dialogue gets them in the outcome.
            tracing::debug!(effect, %work, attempt, %words, "reason of a failed effect");
            if progress.has_advanced() {
                // The next attempt continues where this one ended, so this one is not counted.
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
