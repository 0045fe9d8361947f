//! Checkpoints the write-ahead log in the background.
//!
//! A growing log costs the file system work with every flush; a log that is overwritten is cheaper. So it is
//! checkpointed every few seconds. If turns come too fast for that, SQLite checkpoints in the writer when the log is
//! long.

use std::time::Duration;

use sqlx::sqlite::SqlitePool;
use tokio::sync::mpsc;

const GROUPS_BETWEEN: u32 = 64;
/// The pause between checkpoints, which compete with turns for the disk.
const PAUSE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct Checkpoints {
    groups: u32,
    due: mpsc::Sender<()>,
}

impl Checkpoints {
    /// Starts the task; it ends with the writer.
    pub(super) fn start(readers: SqlitePool) -> Self {
        let (due, requests) = mpsc::channel(1);
        tokio::spawn(run(readers, requests));
        Self { groups: 0, due }
    }

    pub(super) fn committed(&mut self) {
        self.groups += 1;
        // If a checkpoint is running, the next group asks again.
        if self.groups >= GROUPS_BETWEEN && self.due.try_send(()).is_ok() {
            self.groups = 0;
        }
    }
}

async fn run(readers: SqlitePool, mut requests: mpsc::Receiver<()>) {
    while requests.recv().await.is_some() {
        // A passive checkpoint waits for no other connection; the rest is done the next time.
        if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&readers).await {
            tracing::debug!(%error, "cannot checkpoint the write-ahead log now");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
