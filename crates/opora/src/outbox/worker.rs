//! The workers: each sends one row after another.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::SendEvent;
use super::courier::Shared;
use super::lanes::{NextRow, QueuedRow};
use super::rewrite::with_message_id;
use super::verdict::{Verdict, backoff};
use crate::clock::timer_now;
use crate::failpoints;
use crate::store::{IfUnsure, OutboxRow, Settled, Settlement, StoreResult};
use crate::telegram::{ApiError, RefusalKind};

/// How often a worker checks whether the lease was renewed.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(50);
const STORE_BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Sends rows of lanes.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let max = shared.concurrency.limit(shared.settings.concurrent);
        let next = shared.lanes.lock().next(timer_now(), max);
        shared.serve(next, &shared.ready).await;
    }
}

/// Sends calls outside of order.
pub(super) async fn run_urgent(shared: Arc<Shared>) {
    loop {
        let next = shared.lanes.lock().next_urgent();
        shared.serve(next, &shared.urgent).await;
    }
}

/// Wakes workers when a lane's time has come.
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
        // One is enough: a worker that finds more rows wakes the next.
        shared.ready.notify_one();
        if is_urgent {
            shared.urgent.notify_one();
        }
    }
}

/// Result of an attempt to send.
enum SendAttempt {
    Answered(Result<Box<RawValue>, ApiError>),
    NoMessageWithLabel,
}

impl Shared {
    async fn serve(&self, next: NextRow, more: &Notify) {
        if next.rearm_timer {
            self.timer.notify_one();
        }
        let Some(item) = next.item else {
            return more.notified().await;
        };
        if next.more {
            more.notify_one();
        }
        match self.attempt(&item.row).await {
            SendAttempt::Answered(Ok(result)) => self.sent(item, Some(&result)),
            SendAttempt::Answered(Err(error)) => self.handle_error(item, &error).await,
            SendAttempt::NoMessageWithLabel => self.failed(item, "no message was sent with this label".into(), false),
        }
        self.progress.notify_waiters();
    }

    async fn attempt(&self, row: &OutboxRow) -> SendAttempt {
        let call = &row.outgoing;
        let body = match (&call.extras.edits_label, call.chat) {
            (Some(label), Some(chat)) => match self.labelled(chat, label).await {
                Some(message_id) => Cow::Owned(with_message_id(&call.body, message_id)),
                None => return SendAttempt::NoMessageWithLabel,
            },
            _ => Cow::Borrowed(&*call.body),
        };
        if call.extras.if_unsure == IfUnsure::Drop {
            self.retry_store("mark a row", || self.store.sending(self.epoch, vec![row.id])).await;
        }
        failpoints::hit(failpoints::OUTBOX_BEFORE_SEND).await;
        // Telegram cannot check the epoch, so the lease is checked last.
        while (self.lease)() < self.settings.lease_margin {
            tokio::time::sleep(LEASE_POLL_INTERVAL).await;
        }
        let began = timer_now();
        let answer = self.api.call(&call.method, &body, &call.extras.uploads).await;
        self.concurrency.record_latency(timer_now() - began);
        if answer.is_ok() {
            failpoints::hit(failpoints::OUTBOX_AFTER_SEND).await;
        }
        SendAttempt::Answered(answer)
    }

    async fn labelled(&self, chat: i64, label: &str) -> Option<i64> {
        let recent = self.labels.lock().get(&(chat, label.into())).copied();
        match recent {
            Some(message_id) => Some(message_id),
            None => self.retry_store("find a label", || self.store.labelled(self.bot, chat, label)).await,
        }
    }

    /// Retries a call to the store until it succeeds. If another instance has taken over, the courier stops and this
    /// never returns.
    pub(super) async fn retry_store<T, F>(&self, operation: &'static str, call: impl Fn() -> F) -> T
    where
        F: Future<Output = StoreResult<T>>,
    {
        let mut failures = 0;
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) if error.ends_lease() => {
                    self.fenced();
                    std::future::pending::<()>().await;
                }
                Err(error) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::warn!(bot = self.bot, operation, %error, "the store failed; retrying");
                    }
                    tokio::time::sleep(backoff(failures, STORE_BACKOFF_MAX)).await;
                }
            }
        }
    }

    fn sent(&self, mut item: QueuedRow, result: Option<&RawValue>) {
        self.meters.sent.increment(1);
        if let Some(tally) = &item.tally {
            tally.sent();
        }
        let label = item.row.outgoing.extras.label.take();
        let chat = item.row.outgoing.chat;
        let labelled = match (label, chat, result) {
            (Some(label), Some(chat), Some(result)) => message_id(result).map(|id| (chat, label, id)),
            _ => None,
        };
        if let Some((chat, label, id)) = &labelled {
            self.labels.lock().put((*chat, label.clone()), *id);
        }
        self.finish(&item.row, Settlement::Sent { labelled });
    }

    fn failed(&self, item: QueuedRow, reason: Box<str>, is_chat_unreachable: bool) {
        self.meters.failed.increment(1);
        if let Some(tally) = &item.tally {
            tally.failed(is_chat_unreachable);
        }
        self.report_failed(&item.row, reason.clone(), is_chat_unreachable);
        self.finish(&item.row, Settlement::Failed(reason));
    }

    fn finish(&self, row: &OutboxRow, outcome: Settlement) {
        self.settler.push(Settled { id: row.id, outcome });
        // No wakeup needed: this worker takes the next row itself.
        self.lanes.lock().done(row.outgoing.chat);
    }

    async fn handle_error(&self, mut item: QueuedRow, error: &ApiError) {
        if error.refusal() == Some(RefusalKind::Unauthorized) {
            self.token_refused();
        }
        match item.attempts.judge(error, &item.row.outgoing, &self.settings) {
            Verdict::Sent => self.sent(item, None),
            Verdict::Retry(after) => self.retry(item, after, error).await,
            Verdict::RetryAfter(after) => {
                if self.lanes.lock().refused(timer_now()) {
                    tracing::warn!(bot = self.bot, "too many requests over all; all chats pause");
                }
                self.retry(item, after, error).await;
            }
            Verdict::Moved(to) => self.moved(item, to),
            Verdict::Failed { reason, is_chat_unreachable } => {
                if let (true, Some(chat)) = (is_chat_unreachable, item.row.outgoing.chat) {
                    self.emit(SendEvent::ChatUnreachable { chat, reason: reason.clone() });
                }
                if !is_chat_unreachable {
                    self.send_failure_notice(&item, error).await;
                }
                self.failed(item, reason, is_chat_unreachable);
            }
        }
    }

    async fn retry(&self, item: QueuedRow, after: Duration, error: &ApiError) {
        if item.row.outgoing.extras.if_unsure == IfUnsure::Drop {
            // It was certainly not sent. The next instance must not assume that it may have been.
            self.retry_store("unmark a row", || self.store.not_sent(self.epoch, vec![item.row.id])).await;
        }
        self.meters.retries.increment(1);
        let id = item.row.id.0;
        let chat = item.row.outgoing.chat;
        tracing::debug!(bot = self.bot, id, chat, after_ms = after.as_millis(), %error, "a send will be retried");
        if self.lanes.lock().retry(item, timer_now() + after) {
            self.timer.notify_one();
        }
    }

    fn moved(&self, item: QueuedRow, to: i64) {
        // The verdict `Moved` is only for rows with a chat.
        let from = item.row.outgoing.chat.unwrap_or(to);
        tracing::info!(bot = self.bot, from, to, "a group became a supergroup");
        self.settler.push(Settled { id: item.row.id, outcome: Settlement::Moved { from, to } });
        self.emit(SendEvent::Moved { from, to });
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
