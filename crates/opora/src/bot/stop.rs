//! How a bot is told to stop: once kindly, twice at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Tells a bot to stop. Clones share one wish.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub(super) begin: CancellationToken,
    pub(super) cut: CancellationToken,
}

impl Stop {
    /// One that nobody has called yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that SIGINT or SIGTERM calls: the first to stop in order, a second to cut that short.
    pub fn on_signals() -> std::io::Result<Self> {
        let stop = Self::new();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let told = stop.clone();
        tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = interrupt.recv() => "SIGINT",
                    _ = terminate.recv() => "SIGTERM",
                };
                if told.begin.is_cancelled() {
                    tracing::warn!(signal = name, "told to stop a second time: cutting short");
                    told.cut_short();
                } else {
                    tracing::info!(signal = name, "told to stop");
                    told.stop();
                }
            }
        });
        Ok(stop)
    }

    /// Stop in order: finish the turns under way, send what is said, give the lease back.
    pub fn stop(&self) {
        self.begin.cancel();
    }

    /// Wait for nothing any more. What is not finished is done after the next start.
    pub fn cut_short(&self) {
        self.begin.cancel();
        self.cut.cancel();
    }
}
