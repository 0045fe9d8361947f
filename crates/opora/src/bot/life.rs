//! The life of a running bot: stand by, lead, stop.
//!
//! A bot that leads puts together everything in the order of the data, takes up what an earlier instance left, and only
//! then asks for more. It stops in one order whatever the reason: the schedule and the intake, the turns under way, the
//! outbox, the lease, and the store if it is the bot's own. What cannot be finished in time is in the store and is done
//! after the next start.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;
use serde_json::value::RawValue;

use super::handle::Handle;
use super::works::{Closing, Works};
use super::{BotError, OnEvent, Settings, Stop};
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::effects::Register;
use crate::instance::{self, Leadership, NotLeading};
use crate::intake::polling::{Ended, Polling};
use crate::intake::{Door, Fleet, Hearing, Peeking, Webhook, WebhookSettings};
use crate::mailbox::Letter;
use crate::store::{Seq, Store, StoreError};
use crate::telegram::{Api, ApiError, RefusalKind};
use crate::turn::Context;

/// How many rows are read at once at the start and at the stop.
pub(super) const PAGE: usize = 1000;

/// How long to wait before the store is asked again for what was left to do.
const TAKE_UP_PAUSE: Duration = Duration::from_secs(1);

/// How long the store may take to take the lease back.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// A bot that is whole.
pub(super) struct Life {
    pub(super) bot: i64,
    pub(super) api: Arc<dyn Api>,
    pub(super) store: Arc<dyn Store>,
    /// Nobody else holds the store, so that it is closed at the end.
    pub(super) owns_store: bool,
    pub(super) script: Arc<Script>,
    pub(super) context: Arc<Context>,
    pub(super) effects: Register,
    pub(super) webhook: Option<(WebhookSettings, Webhook)>,
    /// Tells people to wait while the store is away, if that is wanted.
    pub(super) peeking: Option<Arc<Peeking>>,
    pub(super) clock: Clock,
    pub(super) settings: Settings,
    pub(super) on_event: Option<OnEvent>,
    pub(super) handle: Handle,
}

/// Why a term as the leader ended.
enum TermEnd {
    Stopped,
    Lost,
    /// The store goes on in another place: the lease is claimed again.
    Reclaim,
    Unauthorized(String),
    WebhookRefused(String),
}

impl Life {
    /// Stands by and leads until told to stop.
    pub(super) async fn run(self, stop: Stop) -> Result<(), BotError> {
        tracing::info!(bot = self.bot, store = %self.store.describe(), "starts");
        let fleet = self.join_fleet();
        let take_no_more = async {
            stop.begin.cancelled().await;
            self.take_no_more();
            std::future::pending().await
        };
        let lived = tokio::select! {
            lived = self.terms(&stop, fleet.as_ref()) => lived,
            never = take_no_more => never,
        };
        self.take_no_more();
        if let Some(fleet) = fleet {
            fleet.close().await;
        }
        if self.owns_store
            && let Err(error) = self.store.close().await
        {
            tracing::warn!(%error, "the store did not close cleanly");
        }
        tracing::info!(bot = self.bot, "stopped");
        lived
    }

    /// Whether other instances put updates into the inbox too.
    pub(super) fn shares_inbox(&self) -> bool {
        self.webhook.as_ref().is_some_and(|(settings, _)| settings.has_several(&*self.store))
    }

    /// Takes updates from now on, whoever leads, if several instances do.
    fn join_fleet(&self) -> Option<Fleet> {
        let (_, webhook) = self.webhook.as_ref().filter(|_| self.shares_inbox())?;
        let fleet = Fleet::open(self.bot, &self.store, &self.clock, self.settings.mailboxes.in_all);
        webhook.set(Some(fleet.door()));
        tracing::info!(bot = self.bot, "takes updates, whoever leads");
        Some(fleet)
    }

    fn take_no_more(&self) {
        if let Some((_, webhook)) = &self.webhook {
            webhook.set(None);
        }
    }

    async fn terms(&self, stop: &Stop, fleet: Option<&Fleet>) -> Result<(), BotError> {
        loop {
            let leading = instance::lead(&self.store, self.bot, &self.settings.lease, &self.clock, &stop.begin);
            let leading = match &self.peeking {
                None => leading.await,
                Some(peeking) => tokio::select! {
                    leading = leading => leading,
                    never = peeking.tell_while_away(&*self.store) => match never {},
                },
            };
            let leadership = match leading {
                Ok(leadership) => leadership,
                Err(NotLeading::Stopped) => return Ok(()),
                Err(error) => {
                    if let NotLeading::Store(StoreError::Lost { what }) = &error {
                        tracing::error!(bot = self.bot, %what, "the store has lost something: the bot stops");
                    }
                    return Err(BotError::NotLeading(error));
                }
            };
            match self.term(leadership, stop, fleet).await? {
                TermEnd::Stopped => return Ok(()),
                TermEnd::Reclaim => {
                    tracing::info!(bot = self.bot, "claims its lease again, for its store has moved")
                }
                TermEnd::Lost => tracing::warn!(bot = self.bot, "does not lead any more; stands by"),
                TermEnd::Unauthorized(reason) => return Err(BotError::Unauthorized(reason)),
                TermEnd::WebhookRefused(reason) => return Err(BotError::WebhookRefused(reason)),
            }
        }
    }

    /// One term as the leader.
    async fn term(&self, leadership: Leadership, stop: &Stop, fleet: Option<&Fleet>) -> Result<TermEnd, BotError> {
        let works = Works::start(self, &leadership);
        self.handle.set(Some(works.running.clone()));
        let end = tokio::select! {
            biased;
            () = stop.begin.cancelled() => TermEnd::Stopped,
            () = leadership.lost.cancelled() => TermEnd::Lost,
            _ = self.store.lease_reclaim_requested(self.bot) => TermEnd::Reclaim,
            end = self.lead(&works, &leadership, fleet) => end,
        };
        match fleet {
            Some(fleet) => fleet.leading().set(None),
            None => self.take_no_more(),
        }
        self.handle.set(None);
        let closing = match end {
            TermEnd::Lost => Closing::WithoutLease,
            TermEnd::Reclaim => Closing::Reclaim,
            TermEnd::Stopped | TermEnd::Unauthorized(_) | TermEnd::WebhookRefused(_) => Closing::InOrder,
        };
        // Who waits for the store would wait in vain.
        if closing != Closing::InOrder {
            works.cut.cancel();
        }
        let cut = works.cut.clone();
        let effects = works.effects.clone();
        tokio::select! {
            () = stop.cut.cancelled() => {
                cut.cancel();
                effects.let_go();
                tracing::warn!("cut short: what was under way is done after the next start");
            }
            stopped = AssertUnwindSafe(works.stop(self, closing)).catch_unwind() => if stopped.is_err() {
                tracing::error!(bot = self.bot, "something panicked during the stop; the lease is given back all the same");
            }
        }
        if tokio::time::timeout(RELEASE_PATIENCE, leadership.release()).await.is_err() {
            tracing::warn!(bot = self.bot, "the store does not take the lease back; it will run out");
        }
        Ok(end)
    }

    /// Takes up what was left, then asks for more until something ends that.
    async fn lead(&self, works: &Works, leadership: &Leadership, fleet: Option<&Fleet>) -> TermEnd {
        if let Some(reason) = self.greet().await {
            return TermEnd::Unauthorized(reason);
        }
        // Before what was left is read, so that nothing falls between.
        let hearing = match fleet {
            Some(_) => Some(Hearing::begin(self.bot, &self.store, &works.intake.mailboxes).await),
            None => None,
        };
        self.take_up(works).await;
        works.begin_schedule.cancel();
        let Some((settings, webhook)) = &self.webhook else {
            self.webhook_off().await;
            let polling = Polling {
                api: Arc::clone(&self.api),
                intake: works.intake.clone(),
                settings: self.settings.polling.clone(),
                allowed: self.script.allowed_updates(),
                myself: format!("process {} of this machine", std::process::id()),
                peeking: self.peeking.clone(),
            };
            return match polling.run(&leadership.lost).await {
                Ended::Stopped | Ended::Fenced => TermEnd::Lost,
                Ended::Unauthorized(reason) => TermEnd::Unauthorized(reason),
            };
        };
        let hears = async {
            match fleet.zip(hearing) {
                Some((fleet, hearing)) => {
                    fleet.leading().set(Some(works.intake.mailboxes.clone()));
                    leadership.lost.run_until_cancelled(hearing.run()).await;
                }
                None => {
                    webhook.set(Some(Door::of_leader(works.intake.clone())));
                    leadership.lost.cancelled().await;
                }
            }
            TermEnd::Lost
        };
        let is_heard = async {
            match self.webhook_on(settings).await {
                Ok(()) => std::future::pending().await,
                Err(reason) => TermEnd::WebhookRefused(reason),
            }
        };
        tokio::select! {
            // The door is open before Telegram is told of it.
            biased;
            end = hears => end,
            end = is_heard => end,
        }
    }

    /// Asks who the bot is; answers why it is nobody. While Telegram is away, it keeps asking.
    async fn greet(&self) -> Option<String> {
        let mut pause = Duration::from_millis(250);
        loop {
            match self.api.call("getMe", "{}", &[]).await {
                Ok(me) => {
                    #[derive(serde::Deserialize)]
                    struct Me {
                        username: Option<String>,
                    }
                    let me = serde_json::from_str(me.get()).unwrap_or(Me { username: None });
                    tracing::info!(bot = self.bot, username = me.username, "Telegram knows the bot");
                    self.script.set_username(me.username);
                    return None;
                }
                Err(ApiError::Refused { kind: RefusalKind::Unauthorized, description, .. }) => {
                    return Some(description.into());
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot ask Telegram who this bot is; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(30));
                }
            }
        }
    }

    /// Takes up what an earlier instance has left: messages, effects and inputs, in their order.
    async fn take_up(&self, works: &Works) {
        let mut after = Seq(i64::MIN);
        let mut count = 0;
        loop {
            let rows = match self.store.waiting(self.bot, after, PAGE).await {
                Ok(rows) => rows,
                Err(error) => {
                    tracing::error!(%error, "cannot read what was left to do; trying again");
                    tokio::time::sleep(TAKE_UP_PAUSE).await;
                    continue;
                }
            };
            let Some(last) = rows.last() else { break };
            after = last.seq;
            count += rows.len();
            for row in rows {
                works.intake.mailboxes.deliver(row.incoming.key.clone(), Letter::Inbox(row));
            }
            works.intake.mailboxes.room().await;
        }
        if count > 0 {
            tracing::info!(inputs = count, "takes up what was left to do");
        }
        // Their outcomes come behind the inputs that waited.
        works.effects.reload();
    }

    /// Tells Telegram where updates go; or why it does not take that, and nothing would ever be heard.
    async fn webhook_on(&self, settings: &WebhookSettings) -> Result<(), String> {
        let body = json!({
            "url": settings.url,
            "secret_token": settings.secret,
            "max_connections": settings.connections,
            "allowed_updates": self.script.allowed_updates(),
        });
        self.insist("setWebhook", &body.to_string()).await?;
        // The path of the address is often a secret of its own.
        let host = reqwest::Url::parse(&settings.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
        tracing::info!(host, "the webhook is set");
        Ok(())
    }

    /// A webhook that an earlier setting left would keep every update from polling.
    async fn webhook_off(&self) {
        #[derive(serde::Deserialize)]
        struct Info {
            url: String,
        }
        let info = self.insist("getWebhookInfo", "{}").await;
        let info = info.ok().and_then(|info| serde_json::from_str::<Info>(info.get()).ok());
        let is_set = info.is_none_or(|info| !info.url.is_empty());
        if is_set && self.insist("deleteWebhook", "{}").await.is_ok() {
            tracing::info!("the webhook is deleted: this bot polls");
        }
    }

    /// Calls until it works or is refused for good; says why when it is refused.
    async fn insist(&self, method: &str, body: &str) -> Result<Box<RawValue>, String> {
        let mut pause = Duration::from_millis(250);
        loop {
            match self.api.call(method, body, &[]).await {
                Ok(answer) => return Ok(answer),
                Err(error @ ApiError::Refused { .. }) if !error.passes() => {
                    tracing::error!(method, %error, "Telegram refuses");
                    return Err(error.to_string());
                }
                Err(error) => {
                    tracing::warn!(method, %error, "trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(30));
                }
            }
        }
    }
}
