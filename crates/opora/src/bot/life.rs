//! The life of a running bot: stand by, lead, stop.
//!
//! A bot that leads puts together everything in the order of the data, takes up what an earlier instance left, and only
//! then asks for more. It stops in one order whatever the reason: the schedule and the intake, the turns under way, the
//! outbox, the lease, the store. What cannot be finished in time is in the store and is done after the next start.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::handle::{Handle, Running};
use super::{BotError, OnEvent, Settings, Stop};
use crate::clock::{Clock, Stopwatch};
use crate::dialogue::Script;
use crate::effects::{DOWNLOAD, Downloads, Effects, Register};
use crate::engine::{Engine, StateCache};
use crate::instance::{self, Leadership, NotLeading};
use crate::intake::polling::{Ended, Polling};
use crate::intake::{Intake, Webhook, WebhookSettings};
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Mailboxes};
use crate::outbox::{Courier, CourierSettings};
use crate::schedule::{Schedule, Wakeup};
use crate::store::{Filter, Seq, Store};
use crate::telegram::{Api, ApiError, Destination, IntoOutgoing, RefusalKind, Say, Tag};
use crate::turn::Context;

/// How many waiting inputs are read at once at the start.
const PAGE: usize = 1000;

/// How long to wait before the store is asked again for what was left to do.
const TAKE_UP_PAUSE: Duration = Duration::from_secs(1);

/// How long the store may take to take the lease back.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// A bot that is whole.
pub(super) struct Life {
    pub(super) bot: i64,
    pub(super) api: Arc<dyn Api>,
    pub(super) store: Arc<dyn Store>,
    pub(super) script: Arc<Script>,
    pub(super) context: Arc<Context>,
    pub(super) effects: Register,
    pub(super) webhook: Option<(WebhookSettings, Webhook)>,
    pub(super) clock: Clock,
    pub(super) settings: Settings,
    pub(super) on_event: Option<OnEvent>,
    pub(super) handle: Handle,
}

/// Why a term as the leader ended.
enum TermEnd {
    Stopped,
    Lost,
    Unauthorized(String),
}

impl Life {
    /// Stands by and leads until told to stop.
    pub(super) async fn run(self, stop: Stop) -> Result<(), BotError> {
        tracing::info!(bot = self.bot, store = %self.store.describe(), "starts");
        let lived = self.terms(&stop).await;
        if let Err(error) = self.store.close().await {
            tracing::warn!(%error, "the store did not close cleanly");
        }
        tracing::info!(bot = self.bot, "stopped");
        lived
    }

    async fn terms(&self, stop: &Stop) -> Result<(), BotError> {
        loop {
            let leading = instance::lead(&self.store, self.bot, &self.settings.lease, &self.clock, &stop.begin).await;
            let leadership = match leading {
                Ok(leadership) => leadership,
                Err(NotLeading::Stopped) => return Ok(()),
                Err(error) => return Err(BotError::NotLeading(error)),
            };
            match self.term(leadership, stop).await? {
                TermEnd::Stopped => return Ok(()),
                TermEnd::Lost => tracing::warn!(bot = self.bot, "does not lead any more; stands by"),
                TermEnd::Unauthorized(reason) => return Err(BotError::Unauthorized(reason)),
            }
        }
    }

    /// One term as the leader.
    async fn term(&self, leadership: Leadership, stop: &Stop) -> Result<TermEnd, BotError> {
        let works = Works::start(self, &leadership);
        self.handle.set(Some(works.running.clone()));
        let end = tokio::select! {
            biased;
            () = stop.begin.cancelled() => TermEnd::Stopped,
            () = leadership.lost.cancelled() => TermEnd::Lost,
            end = self.lead(&works, &leadership) => end,
        };
        if let Some((_, webhook)) = &self.webhook {
            webhook.set(None);
        }
        self.handle.set(None);
        let is_lost = matches!(end, TermEnd::Lost);
        if is_lost {
            works.cut.cancel();
        }
        let (cut, effects) = (works.cut.clone(), works.effects.clone());
        tokio::select! {
            () = stop.cut.cancelled() => {
                cut.cancel();
                effects.let_go();
                tracing::warn!("cut short: what was under way is done after the next start");
            }
            () = works.stop(self, is_lost) => {}
        }
        if tokio::time::timeout(RELEASE_PATIENCE, leadership.release()).await.is_err() {
            tracing::warn!(bot = self.bot, "the store does not take the lease back; it will run out");
        }
        Ok(end)
    }

    /// Takes up what was left, then asks for more until something ends that.
    async fn lead(&self, works: &Works, leadership: &Leadership) -> TermEnd {
        if let Some(reason) = self.greet().await {
            return TermEnd::Unauthorized(reason);
        }
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
            };
            return match polling.run(&leadership.lost).await {
                Ended::Stopped | Ended::Fenced => TermEnd::Lost,
                Ended::Unauthorized(reason) => TermEnd::Unauthorized(reason),
            };
        };
        webhook.set(Some(works.intake.clone()));
        self.webhook_on(settings).await;
        leadership.lost.cancelled().await;
        TermEnd::Lost
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
        let (mut after, mut count) = (Seq(i64::MIN), 0);
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

    async fn webhook_on(&self, settings: &WebhookSettings) {
        let body = json!({
            "url": settings.url,
            "secret_token": settings.secret,
            "max_connections": settings.connections,
            "allowed_updates": self.script.allowed_updates(),
        });
        if self.insist("setWebhook", &body.to_string()).await.is_some() {
            // The path of the address is often a secret of its own.
            let host = reqwest::Url::parse(&settings.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
            tracing::info!(host, "the webhook is set");
        }
    }

    /// A webhook that an earlier setting left would keep every update from polling.
    async fn webhook_off(&self) {
        #[derive(serde::Deserialize)]
        struct Info {
            url: String,
        }
        let info = self.insist("getWebhookInfo", "{}").await;
        let info = info.and_then(|info| serde_json::from_str::<Info>(info.get()).ok());
        let is_set = info.is_none_or(|info| !info.url.is_empty());
        if is_set && self.insist("deleteWebhook", "{}").await.is_some() {
            tracing::info!("the webhook is deleted: this bot polls");
        }
    }

    /// Calls until it works or is refused; says why when it is refused.
    async fn insist(&self, method: &str, body: &str) -> Option<Box<RawValue>> {
        let mut pause = Duration::from_millis(250);
        loop {
            match self.api.call(method, body, &[]).await {
                Ok(answer) => return Some(answer),
                Err(error @ ApiError::Refused { .. }) => {
                    tracing::error!(method, %error, "Telegram refuses");
                    return None;
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

/// Everything that works while the bot leads.
struct Works {
    running: Running,
    effects: Effects,
    intake: Intake,
    cut: CancellationToken,
    /// Time speaks only after what was left to do is in its queues, so that no timer overtakes an older input.
    begin_schedule: CancellationToken,
    stop_schedule: CancellationToken,
    schedule: JoinHandle<()>,
    outcomes: JoinHandle<()>,
}

impl Works {
    fn start(life: &Life, leadership: &Leadership) -> Self {
        let (bot, epoch, store, clock) = (life.bot, leadership.epoch, &life.store, &life.clock);
        let settings = &life.settings;
        let courier = Courier::new(
            courier_settings(settings),
            Arc::clone(&life.api),
            Arc::clone(store),
            bot,
            epoch,
            Arc::new(leadership.remaining()),
            clock.clone(),
            events(life.on_event.clone(), leadership.lost.clone()),
        );
        // What earlier instances have left goes before anything that is said from now on.
        courier.reload();
        let mut register = life.effects.clone();
        let downloads = Downloads { api: Arc::clone(&life.api), settings: settings.downloads.clone() };
        register.add(DOWNLOAD, move |asked| downloads.clone().run(asked));
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects =
            Effects::new((bot, epoch), register, Arc::clone(store), clock.clone(), settings.effects, outcome_sender);
        let (wakeup, cut) = (Wakeup::default(), CancellationToken::new());
        let engine = Engine {
            epoch,
            script: Arc::clone(&life.script),
            context: Arc::clone(&life.context),
            store: Arc::clone(store),
            clock: clock.clone(),
            courier: courier.clone(),
            effects: effects.clone(),
            wakeup: wakeup.clone(),
            settings: settings.turns,
            cache: StateCache::new(settings.turns.cached),
            lost: leadership.lost.clone(),
            cut: cut.clone(),
        };
        let mailboxes = Mailboxes::new(Arc::new(engine), Arc::clone(store), settings.mailboxes);
        let schedule = Schedule {
            bot,
            epoch,
            store: Arc::clone(store),
            clock: clock.clone(),
            mailboxes: mailboxes.clone(),
            wakeup,
            retention: settings.retention,
        };
        let (begin_schedule, stop_schedule) = (CancellationToken::new(), CancellationToken::new());
        let (begin, stop) = (begin_schedule.clone(), stop_schedule.clone());
        let schedule = async move {
            if stop.run_until_cancelled(begin.cancelled()).await.is_some() {
                schedule.run(stop).await;
            }
        };
        Self {
            running: Running { bot, epoch, store: Arc::clone(store), courier, clock: clock.clone() },
            effects,
            schedule: tokio::spawn(schedule),
            outcomes: tokio::spawn(pass_on(outcomes, mailboxes.clone())),
            intake: Intake {
                bot,
                epoch,
                store: Arc::clone(store),
                clock: clock.clone(),
                mailboxes,
                unsure: Arc::default(),
            },
            cut,
            begin_schedule,
            stop_schedule,
        }
    }

    /// Stops in order, each step within the deadline that is left.
    async fn stop(mut self, life: &Life, is_lost: bool) {
        let (deadline, watch) = (life.settings.stop.deadline, Stopwatch::start());
        let left = || deadline.saturating_sub(watch.elapsed());
        tracing::info!(deadline_s = deadline.as_secs(), "stopping: no more updates and timers; finishing turns");
        self.stop_schedule.cancel();
        // It only reads and delivers: nothing is lost if it has to be let go.
        if tokio::time::timeout(left(), &mut self.schedule).await.is_err() {
            self.schedule.abort();
        }
        if tokio::time::timeout(left(), self.intake.mailboxes.close()).await.is_err() {
            self.cut.cancel();
            tracing::warn!("some turns did not finish in time; their inputs wait for the next start");
        }
        self.effects.close().await;
        self.outcomes.abort();
        if life.settings.stop.tell_people && !is_lost {
            let told = tokio::time::timeout(left(), self.tell_people(life)).await;
            if told.is_err() {
                tracing::warn!("not everybody could be told about the stop in time");
            }
        }
        // Without the lease nothing may be sent: the one who has it does.
        self.running.courier.drain(if is_lost { Duration::ZERO } else { left() }).await;
    }

    /// Tells everybody in the middle of a dialogue that the bot will be back.
    async fn tell_people(&self, life: &Life) {
        let filter = Filter { bot: Some(life.bot), ..Filter::default() };
        let mut after: Option<DialogueKey> = None;
        let mut told = 0;
        loop {
            let rows = match life.store.list(&filter, after.as_ref(), PAGE).await {
                Ok(rows) => rows,
                Err(error) => return tracing::warn!(%error, "cannot tell people about the stop"),
            };
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            let once = format!("stop:{}:{}", self.running.epoch.0, last.key);
            let notices = rows.iter().filter_map(|row| {
                let text = life.script.restart_notice(row.stored.as_ref()?);
                let notice = Say::text(text).silent().into_outgoing(&Destination::from(&row.key), &Tag(row.version));
                Some((row.key.clone(), notice.ok()?))
            });
            let notices: Vec<_> = notices.collect();
            told += notices.len();
            if let Err(error) = self.running.post(&once, notices).await {
                return tracing::warn!(%error, "cannot tell people about the stop");
            }
        }
        tracing::info!(people = told, "people in the middle of a dialogue are told");
    }
}

/// The courier's settings. It stops sending some time before the lease is over; of a short lease that is a part.
fn courier_settings(settings: &Settings) -> CourierSettings {
    let usual = CourierSettings::default();
    CourierSettings { limits: settings.limits, lease_margin: usual.lease_margin.min(settings.lease.ttl / 4), ..usual }
}

/// Outcomes of effects go to the mailboxes.
async fn pass_on(mut outcomes: mpsc::UnboundedReceiver<(DialogueKey, Letter)>, mailboxes: Mailboxes) {
    while let Some((key, letter)) = outcomes.recv().await {
        mailboxes.deliver(key, letter);
    }
}

/// Events of the courier go to the application.
fn events(listener: Option<OnEvent>, lost: CancellationToken) -> mpsc::UnboundedSender<crate::outbox::SendEvent> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = receiver.recv().await {
            if matches!(event, crate::outbox::SendEvent::Fenced) {
                lost.cancel();
            } else if let Some(listener) = &listener
                && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| listener(event))).is_err()
            {
                tracing::error!(
                    "the application's listener for events of sending panicked; it is told of the next ones"
                );
            }
        }
    });
    sender
}
