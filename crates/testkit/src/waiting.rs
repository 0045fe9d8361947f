//! Waits for what no event tells: asks again and again, up to a deadline.

use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Asks until there is something. Panics with `what` if there is nothing within the time.
pub async fn until_some<T>(what: &str, within: Duration, ask: impl AsyncFn() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(within, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}
