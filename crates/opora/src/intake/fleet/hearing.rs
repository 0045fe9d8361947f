//! What the leader hears of the updates that other instances have stored.
//!
//! It listens, and it looks through the inbox each second for what fell between: an announcement that was lost, an
//! instance that ended before it could make one, a row that became visible late. Where so much waits that all is busy
//! anyway, it looks less often.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use crate::mailbox::Mailboxes;
use crate::store::{News, Seq, Store};

/// How often the inbox is looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// The same while more waits than is read at once: then the sweep would read over and over what has not come to its
/// turn.
const SWEEP_AT_LEAST_EVERY: u32 = 30;
/// How many rows are read at once.
const PAGE: usize = 1000;
/// How often it listens anew, because a connection can be dead without anybody's noticing.
const LISTEN_ANEW_EVERY: Duration = Duration::from_secs(300);

/// Hears of updates and feeds the mailboxes.
pub(crate) struct Hearing {
    inbox: Inbox,
    news: Option<News>,
    is_deaf: bool,
}

/// What all instances fill.
struct Inbox {
    bot: i64,
    store: Arc<dyn Store>,
    mailboxes: Mailboxes,
}

impl Hearing {
    /// Listens from now on; what is stored by then has to be taken up.
    pub(crate) async fn begin(bot: i64, store: &Arc<dyn Store>, mailboxes: &Mailboxes) -> Self {
        let inbox = Inbox { bot, store: Arc::clone(store), mailboxes: mailboxes.clone() };
        let mut hearing = Self { inbox, news: None, is_deaf: false };
        hearing.listen().await;
        hearing
    }

    /// Hears until it is let go.
    pub(crate) async fn run(mut self) {
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut anew = tokio::time::interval(LISTEN_ANEW_EVERY);
        anew.tick().await;
        let mut quiet_sweeps = 0;
        loop {
            tokio::select! {
                heard = next(&mut self.news) => match heard {
                    Some(keys) => keys.iter().for_each(|key| self.inbox.mailboxes.look(key)),
                    None => self.news = None,
                },
                _ = anew.tick() => self.listen().await,
                _ = sweep.tick() => {
                    if self.news.is_none() {
                        self.listen().await;
                    }
                    quiet_sweeps += 1;
                    if self.inbox.mailboxes.waiting() < PAGE || quiet_sweeps >= SWEEP_AT_LEAST_EVERY {
                        quiet_sweeps = 0;
                        self.inbox.sweep().await;
                    }
                }
            }
        }
    }

    async fn listen(&mut self) {
        let Inbox { bot, store, .. } = &self.inbox;
        match store.listen(*bot).await {
            Ok(news) => {
                self.news = Some(news);
                if std::mem::take(&mut self.is_deaf) {
                    tracing::info!(bot, "hears again what other instances store");
                }
            }
            Err(error) => {
                self.news = None;
                if !std::mem::replace(&mut self.is_deaf, true) {
                    tracing::warn!(bot, %error, "cannot hear what other instances store; looks each second");
                }
            }
        }
    }
}

impl Inbox {
    /// Looks through the whole inbox.
    async fn sweep(&self) {
        let mut after = Seq(i64::MIN);
        loop {
            let rows = match self.store.waiting(self.bot, after, PAGE).await {
                Ok(rows) => rows,
                // The next sweep is soon; that the store is away is told by others.
                Err(error) => return tracing::debug!(%error, "cannot look through the inbox"),
            };
            rows.iter().for_each(|row| self.mailboxes.look(&row.incoming.key));
            let Some(last) = rows.last().filter(|_| rows.len() == PAGE) else { return };
            after = last.seq;
            self.mailboxes.room().await;
        }
    }
}

/// What is heard next; nothing while nobody listens.
async fn next(news: &mut Option<News>) -> Option<Vec<crate::key::DialogueKey>> {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}
