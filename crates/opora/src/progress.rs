//! Progress reports of long work inside an effect.
//!
//! The deadline of an effect ends work that hangs. A broadcast to a million people takes longer than any deadline, so
//! it reports progress here. Outside of an effect a report does nothing.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

tokio::task_local! {
    static CURRENT: Arc<Reports>;
}

/// The progress of one attempt. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Reports>);

#[derive(Debug, Default)]
struct Reports {
    is_alive: Notify,
    has_advanced: AtomicBool,
}

/// The work reported nothing until its deadline.
#[derive(Debug)]
pub(crate) struct Stalled;

/// Reports that the work is still running, without new results.
pub(crate) fn report_alive() {
    // An error means that this is not inside an effect, so there is no deadline.
    let _ = CURRENT.try_with(|reports| reports.is_alive.notify_one());
}

/// Reports a durable result that no later attempt repeats.
pub(crate) fn report_advance() {
    let _ = CURRENT.try_with(|reports| {
        reports.has_advanced.store(true, Ordering::Relaxed);
        reports.is_alive.notify_one();
    });
}

/// Waits for a future that may take long, and reports every second that the work is running.
pub(crate) async fn alive_while<T>(wait: impl Future<Output = T>) -> T {
    let mut wait = pin!(wait);
    loop {
        tokio::select! {
            biased;
            ended = &mut wait => return ended,
            () = tokio::time::sleep(Duration::from_secs(1)) => report_alive(),
        }
    }
}

impl Progress {
    /// Runs work that reports its progress here.
    pub(crate) async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self.0, work).await
    }

    /// Waits for work until it has reported nothing for `deadline`.
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

    /// Whether the work reported a durable result.
    pub(crate) fn has_advanced(&self) -> bool {
        self.0.has_advanced.load(Ordering::Relaxed)
    }
}
