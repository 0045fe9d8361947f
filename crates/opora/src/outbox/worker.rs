//! Sends one row after another.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::SendEvent;
use super::courier::Shared;
use super::lanes::{Item, Next};
use super::rewrite::with_message_id;
use super::verdict::{Verdict, backoff};
use crate::clock::timer_now;
use crate::failpoints;
use crate::store::{IfUnsure, OutboxRow, Settled, Settlement, StoreResult};
use crate::telegram::{ApiError, RefusalKind};

/// How often a worker looks whether the lease was renewed.
const LEASE_LOOK: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Sends what is in order.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let most = shared.pace.limit(shared.settings.concurrent);
        let next = shared.lanes.lock().next(timer_now(), most);
        shared.serve(next, &shared.ready).await;
    }
}

/// Sends what stands outside of order.
pub(super) async fn run_urgent(shared: Arc<Shared>) {
    loop {
        let next = shared.lanes.lock().next_urgent();
        shared.serve(next, &shared.urgent).await;
    }
}

/// Wakes workers when the time of a row has come.
pub(super) async fn run_timer(shared: Arc<Shared>) {
    loop {
        let wake = shared.lanes.lock().next_wake();
        match wake {
            None => shared.timer.notified().await,
            Some(at) => tokio::select! {
                () = shared.timer.notified() => {}
                () = tokio::time::sleep_until(at) => {}
            },
        }
        let is_urgent = shared.lanes.lock().release_due(timer_now());
        // One is enough: a worker that finds more wakes the next.
        shared.ready.notify_one();
        if is_urgent {
            shared.urgent.notify_one();
        }
    }
}

/// What a try came to, short of Telegram's answer.
enum Try {
    Answered(Result<Box<RawValue>, ApiError>),
    NothingUnderLabel,
}

impl Shared {
    async fn serve(&self, next: Next, more: &Notify) {
        if next.arm {
            self.timer.notify_one();
        }
        let Some(item) = next.item else {
            return more.notified().await;
        };
        if next.more {
            more.notify_one();
        }
        match self.attempt(&item.row).await {
            Try::Answered(Ok(result)) => self.sent(item, Some(&result)),
            Try::Answered(Err(error)) => self.stumbled(item, &error).await,
            Try::NothingUnderLabel => self.failed(item, "nothing was sent under this label".into(), false),
        }
        self.progress.notify_waiters();
    }

    async fn attempt(&self, row: &OutboxRow) -> Try {
        let call = &row.outgoing;
        let body = match (&call.edits_label, call.chat) {
            (Some(label), Some(chat)) => match self.labelled(chat, label).await {
                Some(message_id) => Cow::Owned(with_message_id(&call.body, message_id)),
                None => return Try::NothingUnderLabel,
            },
            _ => Cow::Borrowed(&*call.body),
        };
        if call.if_unsure == IfUnsure::Drop {
            self.persist("mark a row", || self.store.sending(self.epoch, vec![row.id])).await;
        }
        failpoints::hit(failpoints::OUTBOX_BEFORE_SEND).await;
        // Telegram cannot be fenced, so this is looked at last.
        while (self.lease)() < self.settings.lease_margin {
            tokio::time::sleep(LEASE_LOOK).await;
        }
        let began = timer_now();
        let answer = self.api.call(&call.method, &body, &call.uploads).await;
        self.pace.answered(timer_now() - began);
        if answer.is_ok() {
            failpoints::hit(failpoints::OUTBOX_AFTER_SEND).await;
        }
        Try::Answered(answer)
    }

    async fn labelled(&self, chat: i64, label: &str) -> Option<i64> {
        let held = self.labels.lock().get(chat, label);
        match held {
            Some(message_id) => Some(message_id),
            None => self.persist("find a label", || self.store.labelled(self.bot, chat, label)).await,
        }
    }

    /// Asks the store until it answers; if another instance has taken over, all tasks end here.
    pub(super) async fn persist<T, F>(&self, doing: &'static str, ask: impl Fn() -> F) -> T
    where
        F: Future<Output = StoreResult<T>>,
    {
        let mut failures = 0;
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(error) if error.ends_the_lease() => {
                    self.fenced();
                    std::future::pending::<()>().await;
                }
                Err(error) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::warn!(bot = self.bot, doing, %error, "the store does not answer; trying again");
                    }
                    tokio::time::sleep(backoff(failures, LONGEST_WAIT)).await;
                }
            }
        }
    }

    fn sent(&self, mut item: Item, result: Option<&RawValue>) {
        self.meters.sent.increment(1);
        if let Some(tally) = &item.tally {
            tally.sent();
        }
        let label = item.row.outgoing.label.take();
        let chat = item.row.outgoing.chat;
        let labelled = match (label, chat, result) {
            (Some(label), Some(chat), Some(result)) => message_id(result).map(|id| (chat, label, id)),
            _ => None,
        };
        if let Some((chat, label, id)) = &labelled {
            self.labels.lock().put(*chat, label.clone(), *id);
        }
        self.finish(&item.row, Settlement::Sent { labelled });
    }

    fn failed(&self, item: Item, reason: Box<str>, chat_is_dead: bool) {
        self.meters.failed.increment(1);
        if let Some(tally) = &item.tally {
            tally.failed();
        }
        self.tell_failed(&item.row, reason.clone(), chat_is_dead);
        self.finish(&item.row, Settlement::Failed(reason));
    }

    fn finish(&self, row: &OutboxRow, outcome: Settlement) {
        self.settler.push(Settled { id: row.id, outcome });
        // This worker looks for the next row itself.
        self.lanes.lock().done(row.outgoing.chat);
    }

    async fn stumbled(&self, mut item: Item, error: &ApiError) {
        if error.refusal() == Some(RefusalKind::Unauthorized) {
            self.token_refused();
        }
        match item.attempts.judge(error, &item.row.outgoing, &self.settings) {
            Verdict::Sent => self.sent(item, None),
            Verdict::Again(after) => self.again(item, after, error).await,
            Verdict::Later(after) => {
                if self.lanes.lock().refused(timer_now()) {
                    tracing::warn!(bot = self.bot, "too many requests over all: everything pauses for a moment");
                }
                self.again(item, after, error).await;
            }
            Verdict::Moved(to) => self.moved(item, to),
            Verdict::Failed { why, chat_is_dead } => {
                if let (true, Some(chat)) = (chat_is_dead, item.row.outgoing.chat) {
                    self.tell(SendEvent::ChatDead { chat, why: why.clone() });
                }
                if !chat_is_dead {
                    self.apologise(&item, error).await;
                }
                self.failed(item, why, chat_is_dead);
            }
        }
    }

    async fn again(&self, item: Item, after: Duration, error: &ApiError) {
        if item.row.outgoing.if_unsure == IfUnsure::Drop {
            // Only what surely was not sent is tried again. Whoever starts next must not take it for one that may have
            // been.
            self.persist("unmark a row", || self.store.not_sent(self.epoch, vec![item.row.id])).await;
        }
        self.meters.retries.increment(1);
        let id = item.row.id.0;
        let chat = item.row.outgoing.chat;
        tracing::debug!(bot = self.bot, id, chat, after_ms = after.as_millis(), %error, "a send is to be tried again");
        if self.lanes.lock().again(item, timer_now() + after) {
            self.timer.notify_one();
        }
    }

    fn moved(&self, item: Item, to: i64) {
        // Only rows of a chat are judged so.
        let from = item.row.outgoing.chat.unwrap_or(to);
        tracing::info!(bot = self.bot, from, to, "a group became a supergroup; its messages follow");
        self.settler.push(Settled { id: item.row.id, outcome: Settlement::Moved { from, to } });
        self.tell(SendEvent::Moved { from, to });
        self.lanes.lock().moved(item, from, to);
    }
}

/// The id of the message in an answer; of the first one, if it is an album.
fn message_id(result: &RawValue) -> Option<i64> {
    #[derive(Deserialize)]
    struct Message {
        message_id: i64,
    }
    let one = serde_json::from_str::<Message>(result.get()).ok();
    let first = || serde_json::from_str::<Vec<Message>>(result.get()).ok()?.into_iter().next();
    one.or_else(first).map(|message| message.message_id)
}
