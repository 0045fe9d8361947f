//! Polls for conditions that no event announces.

use std::time::Duration;

/// Each poll waits twice as long as the one before, up to the longest: asking costs more than a moment of delay.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(5);
const LONGEST_POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Polls until `ask` returns something. Panics with `what` after `within`.
pub async fn until_some<T>(what: &str, within: Duration, ask: impl AsyncFn() -> Option<T>) -> T {
    tokio::time::timeout(within, poll_until_some(ask)).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Polls until `ask` returns something. The caller sets the deadline.
pub async fn poll_until_some<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let mut interval = FIRST_POLL_INTERVAL;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        tokio::time::sleep(interval).await;
        interval = LONGEST_POLL_INTERVAL.min(interval * 2);
    }
}
