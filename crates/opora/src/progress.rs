//! Signs of life from long work inside an effect.
//!
//! An effect's deadline is for work that hangs. A broadcast to a million people is longer than any deadline and does
//! not hang: it reports progress here. Outside of an effect a report has no effect.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

tokio::task_local! {
    static CURRENT: Arc<Signs>;
}

/// What the work of one try has told of itself. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Signs>);

#[derive(Debug, Default)]
struct Signs {
    is_alive: Notify,
    has_advanced: AtomicBool,
}

/// The work gave no sign of life for as long as it may.
#[derive(Debug)]
pub(crate) struct Stalled;

/// The work goes on, though nothing new is done.
pub(crate) fn alive() {
    // Outside of an effect there is no deadline to hold off.
    let _ = CURRENT.try_with(|signs| signs.is_alive.notify_one());
}

/// The work has durably done a part that no try does again.
pub(crate) fn advanced() {
    let _ = CURRENT.try_with(|signs| {
        signs.has_advanced.store(true, Ordering::Relaxed);
        signs.is_alive.notify_one();
    });
}

/// Waits for something that may take long by its nature, and gives signs of life meanwhile.
pub(crate) async fn alive_while<T>(wait: impl Future<Output = T>) -> T {
    let mut wait = pin!(wait);
    loop {
        tokio::select! {
            biased;
            ended = &mut wait => return ended,
            () = tokio::time::sleep(Duration::from_secs(1)) => alive(),
        }
    }
}

impl Progress {
    /// Runs work that gives its signs here.
    pub(crate) async fn of<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self.0, work).await
    }

    /// Waits for work until it has given no sign of life for `deadline`.
    pub(crate) async fn until_stalled<T>(
        &self,
        deadline: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Stalled> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                ended = &mut work => return Ok(ended),
                () = self.0.is_alive.notified() => {}
                () = tokio::time::sleep(deadline) => return Err(Stalled),
            }
        }
    }

    /// Whether a part was done that no try does again.
    pub(crate) fn has_advanced(&self) -> bool {
        self.0.has_advanced.load(Ordering::Relaxed)
    }
}
