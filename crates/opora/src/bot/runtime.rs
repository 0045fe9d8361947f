//! Runs a bot: stand by, lead, stop.
//!
//! A leader starts its tasks, resumes the inputs that an earlier leader left, and only then receives updates. It always
//! stops in the same order: schedule and intake, running turns, outbox, lease, and the store if the bot owns it.
//! Unfinished work is in the store and continues after the next start.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;
use serde_json::value::RawValue;

use super::handle::{Handle, JobQueue};
use super::leader_tasks::{LeaderTasks, StopKind};
use super::{BotError, OnEvent, Settings, Stop};
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::effects::EffectRegistry;
use crate::instance::{self, Leadership, NotLeading};
use crate::intake::polling::{Ended, Polling};
use crate::intake::{InboxListener, OutageNotifier, SharedIntake, Webhook, WebhookQueue, WebhookSettings};
use crate::jobs::{Schedule, Workers};
use crate::mailbox::QueuedInput;
use crate::store::{Seq, Store, StoreError};
use crate::telegram::{Api, ApiError};
use crate::turn::Context;

/// How many rows are read at once at the start and at the stop.
pub(super) const PAGE: usize = 1000;

/// Pause before the stored inputs are read again after an error.
const RESUME_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How long the release of the lease may take.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// A bot that is ready to run.
pub(super) struct BotRuntime {
    pub(super) bot: i64,
    pub(super) api: Arc<dyn Api>,
    pub(super) store: Arc<dyn Store>,
    /// The bot holds the only reference to the store, so it closes the store at the end.
    pub(super) owns_store: bool,
    pub(super) script: Arc<Script>,
    pub(super) context: Arc<Context>,
    pub(super) effects: EffectRegistry,
    pub(super) workers: Arc<Workers>,
    pub(super) schedules: Arc<[Schedule]>,
    pub(super) webhook: Option<(WebhookSettings, Webhook)>,
    /// Tells people to wait while the store is unavailable, if enabled.
    pub(super) outage_notifier: Option<Arc<OutageNotifier>>,
    pub(super) clock: Clock,
    pub(super) settings: Settings,
    pub(super) on_event: Option<OnEvent>,
    pub(super) handle: Handle,
}

/// Why a term as the leader ended.
enum TermEnd {
    Stopped,
    LeaseLost,
    /// The store moved, for example to its journal: the lease is claimed again.
    Reclaim,
    Unauthorized(String),
    WebhookRefused(String),
}

impl BotRuntime {
    /// Stands by and leads until `stop` is called.
    pub(super) async fn run(self, stop: Stop) -> Result<(), BotError> {
        tracing::info!(bot = self.bot, store = %self.store.describe(), "bot starting");
        self.handle.open(Some(JobQueue { bot: self.bot, store: Arc::clone(&self.store), clock: self.clock.clone() }));
        let shared_intake = self.open_shared_intake();
        let close_webhook = async {
            stop.requested.cancelled().await;
            self.close_webhook();
            std::future::pending().await
        };
        let result = tokio::select! {
            result = self.run_terms(&stop, shared_intake.as_ref()) => result,
            never = close_webhook => never,
        };
        self.close_webhook();
        if let Some(shared_intake) = shared_intake {
            shared_intake.close().await;
        }
        self.handle.open(None);
        if self.owns_store
            && let Err(error) = self.store.close().await
        {
            tracing::warn!(%error, "the store did not close cleanly");
        }
        tracing::info!(bot = self.bot, "stopped");
        result
    }

    /// Whether other instances store updates in the inbox too.
    pub(super) fn shares_inbox(&self) -> bool {
        self.webhook.as_ref().is_some_and(|(settings, _)| settings.all_instances_deliver(&*self.store))
    }

    /// Accepts updates from now on, if all instances accept them.
    fn open_shared_intake(&self) -> Option<SharedIntake> {
        let (_, webhook) = self.webhook.as_ref().filter(|_| self.shares_inbox())?;
        let shared_intake = SharedIntake::open(self.bot, &self.store, &self.clock, self.settings.mailboxes.max_waiting);
        webhook.set(Some(shared_intake.queue()));
        tracing::info!(bot = self.bot, "accepting updates on this instance");
        Some(shared_intake)
    }

    fn close_webhook(&self) {
        if let Some((_, webhook)) = &self.webhook {
            webhook.set(None);
        }
    }

    /// Leads term after term, until `stop` is called or the bot cannot go on.
    async fn run_terms(&self, stop: &Stop, shared: Option<&SharedIntake>) -> Result<(), BotError> {
        loop {
            let claim = instance::lead(&self.store, self.bot, &self.settings.lease, &self.clock, &stop.requested);
            let claimed = match &self.outage_notifier {
                None => claim.await,
                Some(notifier) => tokio::select! {
                    claimed = claim => claimed,
                    never = notifier.run_while_unavailable(&*self.store) => match never {},
                },
            };
            let leadership = match claimed {
                Ok(leadership) => leadership,
                Err(NotLeading::Stopped) => return Ok(()),
                Err(error) => {
                    if let NotLeading::Store(StoreError::Lost { what }) = &error {
                        tracing::error!(bot = self.bot, %what, "the store has lost data: the bot stops");
                    }
                    return Err(BotError::NotLeading(error));
                }
            };
            match self.run_term(leadership, stop, shared).await {
                TermEnd::Stopped => return Ok(()),
                TermEnd::Reclaim => {
                    tracing::info!(bot = self.bot, "the store has moved; claiming the lease again")
                }
                TermEnd::LeaseLost => tracing::warn!(bot = self.bot, "no longer the leader; standing by"),
                TermEnd::Unauthorized(reason) => return Err(BotError::Unauthorized(reason)),
                TermEnd::WebhookRefused(reason) => return Err(BotError::WebhookRefused(reason)),
            }
        }
    }

    /// Runs one term as the leader.
    async fn run_term(&self, leadership: Leadership, stop: &Stop, shared: Option<&SharedIntake>) -> TermEnd {
        let tasks = LeaderTasks::start(self, &leadership);
        self.handle.set(Some(tasks.running.clone()));
        let end = tokio::select! {
            biased;
            () = stop.requested.cancelled() => TermEnd::Stopped,
            () = leadership.lost.cancelled() => TermEnd::LeaseLost,
            _ = self.store.lease_reclaim_requested(self.bot) => TermEnd::Reclaim,
            end = self.lead(&tasks, &leadership, shared) => end,
        };
        match shared {
            Some(shared) => shared.leader_mailboxes().set(None),
            None => self.close_webhook(),
        }
        let kind = match end {
            TermEnd::LeaseLost => StopKind::LeaseLost,
            TermEnd::Reclaim => StopKind::Reclaim,
            TermEnd::Stopped | TermEnd::Unauthorized(_) | TermEnd::WebhookRefused(_) => StopKind::InOrder,
        };
        // Running jobs may still post.
        if kind == StopKind::InOrder {
            self.handle.set_stopping();
        } else {
            self.handle.set(None);
            // Turns that wait for the store would wait in vain.
            tasks.give_up.cancel();
        }
        let give_up = tasks.give_up.clone();
        let effects = tasks.effects.clone();
        tokio::select! {
            () = stop.now.cancelled() => {
                give_up.cancel();
                effects.abort();
                tracing::warn!("stopped early: unfinished work continues after the next start");
            }
            stopped = AssertUnwindSafe(tasks.stop(self, kind)).catch_unwind() => if stopped.is_err() {
                tracing::error!(bot = self.bot, "panic during the stop; the lease is released anyway");
            }
        }
        self.handle.set(None);
        if tokio::time::timeout(RELEASE_TIMEOUT, leadership.release()).await.is_err() {
            tracing::warn!(bot = self.bot, "could not release the lease in time; it will expire");
        }
        end
    }

    /// Resumes stored inputs, then receives updates until the term ends.
    async fn lead(&self, tasks: &LeaderTasks, leadership: &Leadership, shared: Option<&SharedIntake>) -> TermEnd {
        if let Some(reason) = self.identify().await {
            return TermEnd::Unauthorized(reason);
        }
        // Listens before it reads the stored inputs, so that none is missed in between.
        let listener = match shared {
            Some(_) => Some(InboxListener::start(self.bot, &self.store, &tasks.intake.mailboxes).await),
            None => None,
        };
        self.resume_inputs(tasks).await;
        tasks.begin_schedule.cancel();
        let Some((settings, webhook)) = &self.webhook else {
            self.delete_webhook().await;
            let polling = Polling {
                api: Arc::clone(&self.api),
                intake: tasks.intake.clone(),
                settings: self.settings.polling.clone(),
                allowed: self.script.allowed_updates(),
                instance: format!("process {} of this machine", std::process::id()),
                outage_notifier: self.outage_notifier.clone(),
            };
            return match polling.run(&leadership.lost).await {
                Ended::Stopped | Ended::Fenced => TermEnd::LeaseLost,
                Ended::Unauthorized(reason) => TermEnd::Unauthorized(reason),
            };
        };
        let receive = async {
            match shared.zip(listener) {
                Some((shared, listener)) => {
                    shared.leader_mailboxes().set(Some(tasks.intake.mailboxes.clone()));
                    leadership.lost.run_until_cancelled(listener.run()).await;
                }
                None => {
                    webhook.set(Some(WebhookQueue::for_leader(tasks.intake.clone())));
                    leadership.lost.cancelled().await;
                }
            }
            TermEnd::LeaseLost
        };
        let register = async {
            match self.set_webhook(settings).await {
                Ok(()) => std::future::pending().await,
                Err(reason) => TermEnd::WebhookRefused(reason),
            }
        };
        tokio::select! {
            // The webhook accepts calls before Telegram learns its address.
            biased;
            end = receive => end,
            end = register => end,
        }
    }

    /// Asks Telegram for the bot's username, and repeats that while Telegram is unreachable. Returns a reason if
    /// Telegram refuses: it answers 404 to some tokens that it does not know.
    async fn identify(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Me {
            username: Option<String>,
        }
        let me = match self.call_until_answered("getMe", "{}").await {
            Ok(me) => me,
            Err(reason) => return Some(reason),
        };
        let me = serde_json::from_str(me.get()).unwrap_or(Me { username: None });
        tracing::info!(bot = self.bot, username = me.username, "bot identified by Telegram");
        self.script.set_username(me.username);
        None
    }

    /// Delivers the stored inputs in their order, then loads the effects.
    async fn resume_inputs(&self, tasks: &LeaderTasks) {
        let mut after = Seq(i64::MIN);
        let mut count = 0;
        loop {
            let rows = match self.store.waiting(self.bot, after, PAGE).await {
                Ok(rows) => rows,
                Err(error) => {
                    tracing::error!(%error, "cannot read the stored inputs; trying again");
                    tokio::time::sleep(RESUME_RETRY_PAUSE).await;
                    continue;
                }
            };
            let Some(last) = rows.last() else { break };
            after = last.seq;
            count += rows.len();
            for row in rows {
                tasks.intake.mailboxes.deliver(row.incoming.key.clone(), QueuedInput::Inbox(row));
            }
            tasks.intake.mailboxes.wait_for_room().await;
        }
        if count > 0 {
            tracing::info!(inputs = count, "resuming stored inputs");
        }
        // Only now, so that outcomes are queued behind the stored inputs.
        tasks.effects.reload();
    }

    /// Registers the webhook. The error says why Telegram refuses it.
    async fn set_webhook(&self, settings: &WebhookSettings) -> Result<(), String> {
        let body = json!({
            "url": settings.url,
            "secret_token": settings.secret,
            "max_connections": settings.connections,
            "allowed_updates": self.script.allowed_updates(),
        });
        self.call_until_answered("setWebhook", &body.to_string()).await?;
        // Only the host is logged, because the path is often a secret.
        let host = reqwest::Url::parse(&settings.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
        tracing::info!(host, "the webhook is set");
        Ok(())
    }

    /// Deletes an earlier webhook, because polling would receive no update.
    async fn delete_webhook(&self) {
        #[derive(serde::Deserialize)]
        struct Info {
            url: String,
        }
        let info = self.call_until_answered("getWebhookInfo", "{}").await;
        let info = info.ok().and_then(|info| serde_json::from_str::<Info>(info.get()).ok());
        let is_set = info.is_none_or(|info| !info.url.is_empty());
        if is_set && self.call_until_answered("deleteWebhook", "{}").await.is_ok() {
            tracing::info!("the webhook is deleted: this bot polls");
        }
    }

    /// Repeats a call until it succeeds or is refused for good. The error is the reason of the refusal.
    async fn call_until_answered(&self, method: &str, body: &str) -> Result<Box<RawValue>, String> {
        let mut pause = Duration::from_millis(250);
        loop {
            match self.api.call(method, body, &[]).await {
                Ok(answer) => return Ok(answer),
                Err(error @ ApiError::Refused { .. }) if !error.is_transient() => {
                    tracing::error!(method, %error, "Telegram refuses the call");
                    return Err(error.to_string());
                }
                Err(error) => {
                    tracing::warn!(method, %error, "call to Telegram failed; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(30));
                }
            }
        }
    }
}
