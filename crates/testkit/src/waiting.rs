//! Polls for conditions that no event announces.

use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls until `ask` returns something. Panics with `what` after `within`.
pub async fn until_some<T>(what: &str, within: Duration, ask: impl AsyncFn() -> Option<T>) -> T {
    tokio::time::timeout(within, poll_until_some(ask)).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Polls until `ask` returns something. The caller sets the deadline.
pub async fn poll_until_some<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
