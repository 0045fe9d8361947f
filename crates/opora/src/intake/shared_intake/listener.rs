//! Notices updates that other instances have stored.
//!
//! The leader listens for announcements. It also sweeps the inbox every second, for announcements that were lost or
//! never made, and for rows that became visible late. While very many inputs wait, it sweeps less often.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use crate::mailbox::Mailboxes;
use crate::store::{AnnouncedConversations, Seq, Store};

/// How often the inbox is swept.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How many sweeps may be skipped in a row while more than a page waits. Each sweep would read the same rows again.
const MAX_SKIPPED_SWEEPS: u32 = 30;
/// How many rows are read at once.
const PAGE: usize = 1000;
/// How often the listening connection is replaced, because a half-open connection goes unnoticed.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(300);

/// Listens for stored updates and makes mailboxes read them.
pub(crate) struct InboxListener {
    inbox: Inbox,
    news: Option<AnnouncedConversations>,
    is_disconnected: bool,
}

/// The shared inbox and the mailboxes that read it.
struct Inbox {
    bot: i64,
    store: Arc<dyn Store>,
    mailboxes: Mailboxes,
}

impl InboxListener {
    /// Starts to listen. The caller delivers the inputs that are stored already.
    pub(crate) async fn start(bot: i64, store: &Arc<dyn Store>, mailboxes: &Mailboxes) -> Self {
        let inbox = Inbox { bot, store: Arc::clone(store), mailboxes: mailboxes.clone() };
        let mut listener = Self { inbox, news: None, is_disconnected: false };
        listener.listen().await;
        listener
    }

    /// Listens until it is dropped.
    pub(crate) async fn run(mut self) {
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut reconnect = tokio::time::interval(RECONNECT_INTERVAL);
        reconnect.tick().await;
        let mut skipped_sweeps = 0;
        loop {
            tokio::select! {
                keys = next(&mut self.news) => match keys {
                    Some(keys) => keys.iter().for_each(|key| self.inbox.mailboxes.check_inbox(key)),
                    None => self.news = None,
                },
                _ = reconnect.tick() => self.listen().await,
                _ = sweep.tick() => {
                    if self.news.is_none() {
                        self.listen().await;
                    }
                    skipped_sweeps += 1;
                    if self.inbox.mailboxes.waiting() < PAGE || skipped_sweeps >= MAX_SKIPPED_SWEEPS {
                        skipped_sweeps = 0;
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
                if std::mem::take(&mut self.is_disconnected) {
                    tracing::info!(bot, "listening again for updates of other instances");
                }
            }
            Err(error) => {
                self.news = None;
                if !std::mem::replace(&mut self.is_disconnected, true) {
                    tracing::warn!(
                        bot,
                        %error,
                        "cannot listen for updates of other instances; polling the inbox every second"
                    );
                }
            }
        }
    }
}

impl Inbox {
    /// Reads the whole inbox and makes the mailboxes check their conversations.
    async fn sweep(&self) {
        let mut after = Seq(i64::MIN);
        loop {
            let rows = match self.store.waiting(self.bot, after, PAGE).await {
                Ok(rows) => rows,
                // Only debug: the next sweep is soon, and other tasks log that the store is unavailable.
                Err(error) => return tracing::debug!(%error, "cannot sweep the inbox"),
            };
            rows.iter().for_each(|row| self.mailboxes.check_inbox(&row.incoming.key));
            let Some(last) = rows.last().filter(|_| rows.len() == PAGE) else { return };
            after = last.seq;
            self.mailboxes.wait_for_room().await;
        }
    }
}

/// The next announcement. Never resolves without a connection.
async fn next(news: &mut Option<AnnouncedConversations>) -> Option<Vec<crate::key::ConversationKey>> {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}
