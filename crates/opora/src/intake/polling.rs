//! Long polling.
//!
//! The offset of a call comes from the batch just stored, never from a number kept elsewhere: Telegram's ids may
//! restart lower.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Intake, Peeking};
use crate::store::StoreError;
use crate::telegram::{Api, ApiError, RefusalKind};

/// How Telegram is asked for updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollingSettings {
    /// How long Telegram may hold a call when there is nothing new.
    pub timeout: Duration,
    /// The largest batch.
    pub limit: u32,
    /// While the store is away, tells whoever writes in a private chat that it takes a moment, once; what they write
    /// stays with Telegram. This says that no other instance polls: looking at updates takes them from under it.
    pub tells_to_wait: bool,
}

impl Default for PollingSettings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), limit: 100, tells_to_wait: false }
    }
}

/// The longest wait after errors.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Why polling ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It was told to stop.
    Stopped,
    /// The lease is over.
    Fenced,
    /// Telegram does not know this bot.
    Unauthorized(String),
}

/// Asks Telegram for updates.
pub(crate) struct Polling {
    pub(crate) api: Arc<dyn Api>,
    pub(crate) intake: Intake,
    pub(crate) settings: PollingSettings,
    pub(crate) allowed: Vec<&'static str>,
    /// This instance as others would name it, for the explanation of a conflict.
    pub(crate) myself: String,
    /// Tells people to wait while the store is away, if that is wanted.
    pub(crate) peeking: Option<Arc<Peeking>>,
}

impl Polling {
    /// Polls until told to stop.
    pub(crate) async fn run(self, stop: &CancellationToken) -> Ended {
        let ended = stop.run_until_cancelled(self.poll()).await;
        ended.unwrap_or(Ended::Stopped)
    }

    async fn poll(&self) -> Ended {
        let mut offset = None;
        let mut failures = 0_u32;
        loop {
            self.intake.mailboxes.room().await;
            match self.ask(offset).await {
                Ok(batch) => match self.store(&batch).await {
                    // Without a single id nothing can be acknowledged: the same would come again at once.
                    Some(None) if !batch.is_empty() => {
                        failures = failures.saturating_add(1);
                        tokio::time::sleep(backoff(failures)).await;
                    }
                    Some(highest) => {
                        failures = 0;
                        offset = highest.map(|id| id + 1).or(offset);
                    }
                    None => return Ended::Fenced,
                },
                Err(ApiError::Refused { kind: RefusalKind::Unauthorized, description, .. }) => {
                    return Ended::Unauthorized(description.into());
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.explain(&error, failures);
                    tokio::time::sleep(pause(&error, failures)).await;
                }
            }
        }
    }

    async fn ask(&self, offset: Option<i64>) -> Result<Vec<Box<RawValue>>, ApiError> {
        let body = json!({
            "offset": offset,
            "timeout": self.settings.timeout.as_secs(),
            "limit": self.settings.limit,
            "allowed_updates": self.allowed,
        });
        let mut body = body;
        if offset.is_none()
            && let Some(body) = body.as_object_mut()
        {
            body.remove("offset");
        }
        let answer = self.api.long_call("getUpdates", &body.to_string(), self.settings.timeout).await?;
        serde_json::from_str(answer.get()).map_err(|error| ApiError::Unsure(error.to_string().into()))
    }

    /// Stores a batch, however long that takes; meanwhile people are told to wait, if that is wanted.
    async fn store(&self, batch: &[Box<RawValue>]) -> Option<Option<i64>> {
        let Some(peeking) = &self.peeking else { return self.keep_storing(batch).await };
        tokio::select! {
            stored = self.keep_storing(batch) => {
                if stored.is_some() {
                    peeking.is_over();
                }
                stored
            }
            never = peeking.tell() => match never {},
        }
    }

    /// Until it is durable nothing is acknowledged. None: the lease is over.
    async fn keep_storing(&self, batch: &[Box<RawValue>]) -> Option<Option<i64>> {
        let mut failures = 0_u32;
        loop {
            match self.intake.receive(batch.iter().map(|raw| raw.get())).await {
                Ok(highest) => return Some(highest),
                Err(StoreError::Fenced { holder, .. }) => {
                    tracing::error!(%holder, "lost the lease while storing updates; they stay with Telegram");
                    return None;
                }
                Err(StoreError::Lost { .. }) => return None,
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures == 1 {
                        tracing::error!(%error, updates = batch.len(), "cannot store updates; they stay with Telegram");
                    }
                    metrics::counter!("opora_intake_failures_total").increment(1);
                    tokio::time::sleep(backoff(failures)).await;
                }
            }
        }
    }

    fn explain(&self, error: &ApiError, failures: u32) {
        metrics::counter!("opora_polling_failures_total").increment(1);
        match error.refusal() {
            Some(RefusalKind::Conflict) if failures == 1 => tracing::error!(
                %error,
                lease_holder = %self.myself,
                "somebody else takes this bot's updates: a program outside of this store polls with the same token, or a \
                 webhook is set; this instance holds the lease and keeps trying"
            ),
            _ if failures == 1 => tracing::warn!(%error, "cannot poll; trying again"),
            _ => tracing::debug!(%error, failures, "still cannot poll"),
        }
    }
}

fn pause(error: &ApiError, failures: u32) -> Duration {
    match error {
        ApiError::RetryAfter { seconds } => Duration::from_secs(u64::from(*seconds)),
        _ => backoff(failures),
    }
}

/// Doubles from a quarter of a second, with some chance in it so that instances do not come at once.
fn backoff(failures: u32) -> Duration {
    let longest =
        Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(failures.min(16) - 1)).min(LONGEST_PAUSE);
    longest.mul_f64(fastrand::f64().mul_add(0.5, 0.5))
}

#[cfg(test)]
mod tests;
