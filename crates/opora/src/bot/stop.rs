//! Tells a bot to stop: in order, or at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Tells a bot to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub(super) requested: CancellationToken,
    pub(super) now: CancellationToken,
}

impl Stop {
    /// A new `Stop`, not called yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A `Stop` that SIGINT and SIGTERM call. The first signal stops in order, a second one stops at once.
    pub fn on_signals() -> std::io::Result<Self> {
        let stop = Self::new();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let called = stop.clone();
        tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = interrupt.recv() => "SIGINT",
                    _ = terminate.recv() => "SIGTERM",
                };
                if called.requested.is_cancelled() {
                    tracing::warn!(signal = name, "second stop signal: stopping now");
                    called.stop_now();
                } else {
                    tracing::info!(signal = name, "told to stop");
                    called.stop();
                }
            }
        });
        Ok(stop)
    }

    /// Stops in order: finishes running turns, sends the outbox, releases the lease.
    pub fn stop(&self) {
        self.requested.cancel();
    }

    /// Stops without waiting. Unfinished work continues after the next start.
    pub fn stop_now(&self) {
        self.requested.cancel();
        self.now.cancel();
    }
}
