//! Long polling.
//!
//! The offset of a call comes from the batch that was just stored, never from a stored number: Telegram's ids may
//! restart lower.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Intake, OutageNotifier};
use crate::store::StoreError;
use crate::telegram::{Api, ApiError, RefusalKind};

/// Settings of long polling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollingSettings {
    /// How long Telegram waits for an update before it answers.
    pub timeout: Duration,
    /// The largest batch.
    pub limit: u32,
    /// Whether people who write in a private chat while the store is unavailable are told once to wait. Their updates
    /// stay with Telegram. Enable it only for a single instance, because reading takes updates from another poller.
    pub tell_people_to_wait: bool,
}

impl Default for PollingSettings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), limit: 100, tell_people_to_wait: false }
    }
}

/// The longest pause after errors.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Why polling ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It was stopped.
    Stopped,
    /// The lease is lost.
    Fenced,
    /// Telegram refuses the token.
    Unauthorized(String),
}

/// How storing a batch ended.
enum Stored {
    /// It is durable. The highest `update_id` in it, if there is one.
    Highest(Option<i64>),
    LeaseLost,
}

/// Receives updates by long polling.
pub(crate) struct Polling {
    pub(crate) api: Arc<dyn Api>,
    pub(crate) intake: Intake,
    pub(crate) settings: PollingSettings,
    pub(crate) allowed: Vec<&'static str>,
    /// A description of this instance, for the log message about a conflict.
    pub(crate) instance: String,
    /// Tells people to wait while the store is unavailable, if enabled.
    pub(crate) outage_notifier: Option<Arc<OutageNotifier>>,
}

impl Polling {
    /// Polls until `stop`.
    pub(crate) async fn run(self, stop: &CancellationToken) -> Ended {
        let ended = stop.run_until_cancelled(self.poll()).await;
        ended.unwrap_or(Ended::Stopped)
    }

    async fn poll(&self) -> Ended {
        let mut offset = None;
        let mut failures = 0_u32;
        loop {
            self.intake.mailboxes.wait_for_room().await;
            match self.ask(offset).await {
                Ok(batch) => match self.store(&batch).await {
                    // Without an `update_id` nothing is acknowledged, and Telegram would return the same batch at once.
                    Stored::Highest(None) if !batch.is_empty() => {
                        failures = failures.saturating_add(1);
                        tokio::time::sleep(backoff(failures)).await;
                    }
                    Stored::Highest(highest) => {
                        failures = 0;
                        offset = highest.map(|id| id + 1).or(offset);
                    }
                    Stored::LeaseLost => return Ended::Fenced,
                },
                Err(ApiError::Refused { kind: RefusalKind::Unauthorized, description, .. }) => {
                    return Ended::Unauthorized(description.into());
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.log_failure(&error, failures);
                    tokio::time::sleep(pause(&error, failures)).await;
                }
            }
        }
    }

    async fn ask(&self, offset: Option<i64>) -> Result<Vec<Box<RawValue>>, ApiError> {
        let mut body = json!({
            "timeout": self.settings.timeout.as_secs(),
            "limit": self.settings.limit,
            "allowed_updates": self.allowed,
        });
        if let Some(offset) = offset {
            body["offset"] = offset.into();
        }
        let answer = self.api.long_call("getUpdates", &body.to_string(), self.settings.timeout).await?;
        serde_json::from_str(answer.get()).map_err(|error| ApiError::Unsure(error.to_string().into()))
    }

    /// Stores a batch, however long that takes. Meanwhile people are told to wait, if enabled.
    async fn store(&self, batch: &[Box<RawValue>]) -> Stored {
        let Some(notifier) = &self.outage_notifier else { return self.store_with_retries(batch).await };
        tokio::select! {
            stored = self.store_with_retries(batch) => {
                if matches!(stored, Stored::Highest(_)) {
                    notifier.reset();
                }
                stored
            }
            never = notifier.run() => match never {},
        }
    }

    /// Repeats the write until the batch is durable; nothing is acknowledged before.
    async fn store_with_retries(&self, batch: &[Box<RawValue>]) -> Stored {
        let mut failures = 0_u32;
        loop {
            match self.intake.receive(batch.iter().map(|raw| raw.get())).await {
                Ok(highest) => return Stored::Highest(highest),
                Err(StoreError::Fenced { holder, .. }) => {
                    tracing::error!(%holder, "lost the lease while storing updates; they stay with Telegram");
                    return Stored::LeaseLost;
                }
                Err(StoreError::Lost { .. }) => return Stored::LeaseLost,
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

    fn log_failure(&self, error: &ApiError, failures: u32) {
        metrics::counter!("opora_polling_failures_total").increment(1);
        match error.refusal() {
            Some(RefusalKind::Conflict) if failures == 1 => tracing::error!(
                %error,
                lease_holder = %self.instance,
                "another program takes this bot's updates: it polls with the same token outside of this store, or a \
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

/// Exponential backoff from 250 ms, with jitter so that instances do not retry together.
fn backoff(failures: u32) -> Duration {
    let longest = Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(failures.min(16) - 1)).min(MAX_PAUSE);
    longest.mul_f64(fastrand::f64().mul_add(0.5, 0.5))
}

#[cfg(test)]
mod tests;
