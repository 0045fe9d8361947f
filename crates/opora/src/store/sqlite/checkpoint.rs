//! Brings the write-ahead log back into the database beside the writer.
//!
//! A log that grows costs the file system some bookkeeping with every flush; one that begins anew is written over, which
//! is cheaper and steadier. So it is emptied every few seconds while nobody waits for that. Where turns come so fast
//! that the log is never all in the database, the writer itself does it when the log is long.

use std::time::Duration;

use sqlx::sqlite::SqlitePool;
use tokio::sync::mpsc;

/// After so many groups it is worth the effort.
const GROUPS: u32 = 64;
/// How long it rests in between: a turn that flushes meanwhile waits for the same disk.
const PAUSE: Duration = Duration::from_secs(4);

/// Counts what the writer commits.
#[derive(Debug)]
pub(super) struct Checkpoints {
    groups: u32,
    due: mpsc::Sender<()>,
}

impl Checkpoints {
    /// Starts the task; it ends with the writer.
    pub(super) fn start(readers: SqlitePool) -> Self {
        let (due, told) = mpsc::channel(1);
        tokio::spawn(run(readers, told));
        Self { groups: 0, due }
    }

    /// The writer has committed a group.
    pub(super) fn committed(&mut self) {
        self.groups += 1;
        // It may be at it already: then it is told at the next one.
        if self.groups >= GROUPS && self.due.try_send(()).is_ok() {
            self.groups = 0;
        }
    }
}

async fn run(readers: SqlitePool, mut told: mpsc::Receiver<()>) {
    while told.recv().await.is_some() {
        // Passive: it waits for nobody. What it cannot do now, it does the next time.
        if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&readers).await {
            tracing::debug!(%error, "the log could not be brought into the database now");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
