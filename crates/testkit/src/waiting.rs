//! Waits for what no event tells: asks again and again, up to a deadline.

use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Asks until there is something. Panics with `what` if there is nothing within the time.
pub async fn until_some<T>(what: &str, within: Duration, ask: impl AsyncFn() -> Option<T>) -> T {
    tokio::time::timeout(within, look_again(ask)).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Asks until there is something, for a caller that has a deadline of its own.
pub async fn look_again<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
