//! A bot: its dialogues, its store and its settings. [`Bot::run`] starts it and stops it in order.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::handle::{Handle, HandleError};
use self::runtime::BotRuntime;
pub use self::stop::Stop;
use crate::clock::Clock;
use crate::dialogue::{Dialogue, Script, States, Texts};
use crate::effects::{EffectError, EffectRegistry, EffectRequest};
use crate::intake::OutageNotifier;
use crate::jobs::{Job, JobContext, JobError, Schedule, Workers};
use crate::outbox::SendEvent;
use crate::store::MemoryStore;
use crate::store::{Store, StoreError};
use crate::telegram::{Api, TELEGRAM, Telegram, TelegramConfigError, redact_address};
use crate::tls_provider;
use crate::turn::Context;

// Every type that the settings of a bot need.
pub use crate::effects::{DownloadSettings, EffectSettings};
pub use crate::engine::TurnSettings;
pub use crate::instance::{IfHeld, LeaseSettings, NotLeading};
pub use crate::intake::{Instances, PollingSettings, Webhook, WebhookSettings};
pub use crate::jobs::{JobRetention, QueueSettings};
pub use crate::mailbox::MailboxSettings;
pub use crate::outbox::SendLimits;
pub use crate::schedule::Retention;

mod handle;
mod leader_tasks;
mod runtime;
mod stop;

/// Why a bot cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum BotError {
    /// Two schedules have the same name, so they would share their ticks.
    #[error("two schedules are named `{0}`")]
    SameSchedule(String),
    /// The script has mistakes; all are listed.
    #[error("the dialogues have mistakes:\n  {}", .0.join("\n  "))]
    Mistakes(Vec<String>),
    /// The token does not have Telegram's form.
    #[error("the token is not of the form <number>:<secret>")]
    BadToken,
    /// The webhook's secret is invalid, or so short that it can be guessed.
    #[error(
        "the webhook's secret is not 16 to 256 characters of A-Z, a-z, 0-9, _ and -; `openssl rand -hex 32` makes one"
    )]
    BadSecret,
    /// The address of the Bot API is invalid.
    #[error(transparent)]
    TelegramConfigError(#[from] TelegramConfigError),
    /// Telegram does not know the token.
    #[error("Telegram refuses the token: {0}")]
    Unauthorized(String),
    /// Telegram refuses the webhook's address, so no update would ever arrive.
    #[error("Telegram refuses the webhook: {0}")]
    WebhookRefused(String),
    /// Another instance leads, or the lease cannot be claimed.
    #[error(transparent)]
    NotLeading(NotLeading),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The process cannot listen for signals.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] std::io::Error),
}

/// Settings of a bot, all with defaults.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Deadline and retries of turns.
    pub turns: TurnSettings,
    /// Queues and albums.
    pub mailboxes: MailboxSettings,
    /// Long polling.
    pub polling: PollingSettings,
    /// The lease.
    pub lease: LeaseSettings,
    /// Concurrency and retries of effects.
    pub effects: EffectSettings,
    /// Downloaded files.
    pub downloads: DownloadSettings,
    /// Telegram's limits on sending.
    pub limits: SendLimits,
    /// How long stored rows are kept.
    pub retention: Retention,
    /// How long finished jobs are kept.
    pub jobs: JobRetention,
    /// How the bot stops.
    pub stop: StopSettings,
}

/// How a bot stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopSettings {
    /// How long running turns and unsent messages may take to finish.
    pub deadline: Duration,
    /// Whether people in the middle of a dialogue are told that the bot will be back soon.
    pub tell_people: bool,
}

impl Default for StopSettings {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), tell_people: false }
    }
}

/// A builder for a bot. [`Bot::run`] starts it.
///
/// See the [crate's documentation](crate) for an example.
#[must_use]
pub struct Bot {
    token: String,
    api_url: String,
    api: Option<Arc<dyn Api>>,
    store: Arc<dyn Store>,
    script: Script,
    context: Context,
    effects: EffectRegistry,
    workers: Workers,
    schedules: Vec<Schedule>,
    webhook: Option<(WebhookSettings, Webhook)>,
    clock: Clock,
    settings: Settings,
    on_event: Option<OnEvent>,
    handle: Handle,
}

type OnEvent = Arc<dyn Fn(SendEvent) + Send + Sync>;

impl std::fmt::Debug for Bot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the token nor credentials in the address may appear in a log.
        f.debug_struct("Bot")
            .field("api_url", &redact_address(&self.api_url))
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Bot {
    /// A bot with this token, on Telegram. It keeps its state in memory unless [`Bot::store`] sets another store.
    ///
    /// Installs ring as the process's cryptography provider for rustls, unless there is one. The application's own
    /// `reqwest` needs it too.
    pub fn new(token: impl Into<String>) -> Self {
        tls_provider::install();
        Self {
            token: token.into(),
            api_url: TELEGRAM.to_owned(),
            api: None,
            store: Arc::new(MemoryStore::new()),
            script: Script::new(),
            context: Context::default(),
            effects: EffectRegistry::default(),
            workers: Workers::default(),
            schedules: Vec::new(),
            webhook: None,
            clock: Clock::machine(),
            settings: Settings::default(),
            on_event: None,
            handle: Handle::default(),
        }
    }

    /// Sets the store; see [`crate::store::open`].
    ///
    /// If the bot holds the only reference to the store when it starts, it closes the store when it ends. An
    /// application that keeps a clone, for its own queries or for a second bot, closes the store itself.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// Adds a dialogue.
    pub fn dialogue<S: States>(mut self, dialogue: Dialogue<S>) -> Self {
        self.script = self.script.dialogue(dialogue);
        self
    }

    /// Sets the script, with its texts, `/cancel` and `/help`. It replaces the dialogues added before. A test can run
    /// the same script on a [stage](crate::testing::chat::Stage).
    pub fn script(mut self, script: impl Into<Script>) -> Self {
        self.script = script.into();
        self
    }

    /// Sets the address of the Bot API, in place of Telegram's.
    pub fn api_url(mut self, url: impl Into<String>) -> Self {
        self.api_url = url.into();
        self
    }

    /// Replaces the Bot API client; for tests.
    pub fn api(mut self, api: Arc<dyn Api>) -> Self {
        self.api = Some(api);
        self
    }

    /// Adds a value that handlers read by [`crate::turn::Turn::context`]. There is one value per type.
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context.insert(value);
        self
    }

    /// Registers a function that runs effects of this kind.
    pub fn effect<F, R>(mut self, kind: &str, run: F) -> Self
    where
        F: Fn(EffectRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, EffectError>> + Send + 'static,
    {
        self.effects.add(kind, run);
        self
    }

    /// Sets the number of attempts for effects of this kind, in place of [`EffectSettings::attempts`]. Downloads have
    /// the kind `download`.
    pub fn effect_attempts(mut self, kind: &str, attempts: u32) -> Self {
        self.effects.set_attempts(kind, attempts);
        self
    }

    /// Registers the function that runs jobs of this type.
    pub fn worker<J, F, R, T>(mut self, run: F) -> Self
    where
        J: Job,
        F: Fn(J, JobContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, JobError>> + Send + 'static,
        T: serde::Serialize,
    {
        self.workers.add(run);
        self
    }

    /// Sets the functions that run jobs, and their queues, in place of those that were registered before. A test can
    /// run the same ones on a [stage](crate::testing::jobs::JobStage).
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = workers;
        self
    }

    /// Sets how a queue of jobs is worked through. A queue without settings has those of [`QueueSettings::default`].
    pub fn queue(mut self, name: &str, settings: QueueSettings) -> Self {
        self.workers.set_queue(name, settings);
        self
    }

    /// Adds a schedule: it enqueues a job at each tick. The names of schedules are different.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Sets the texts of messages that the library itself sends.
    pub fn texts(mut self, texts: impl Texts) -> Self {
        self.script = self.script.texts(texts);
        self
    }

    /// Receives updates by webhook instead of polling. Mount the [`Webhook`]'s router at the address.
    pub fn webhook(mut self, settings: WebhookSettings) -> (Self, Webhook) {
        let webhook = Webhook::new(&settings);
        self.webhook = Some((settings, webhook.clone()));
        (self, webhook)
    }

    /// Sets a listener for send events: unreachable chats, groups that moved, refused messages.
    pub fn on_event(mut self, listener: impl Fn(SendEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(listener));
        self
    }

    /// Sets the clock; for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the directory for downloaded files.
    pub fn files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.settings.downloads.directory = directory.into();
        self
    }

    /// Sets the send limits.
    pub fn send_limits(mut self, limits: SendLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Changes other settings.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// A handle that posts messages outside of turns while the bot runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs until SIGINT or SIGTERM, then stops in order. A second signal stops at once.
    pub async fn run(self) -> Result<(), BotError> {
        let stop = Stop::on_signals().map_err(BotError::Signals)?;
        self.run_until(stop).await
    }

    /// Runs until `stop` is called.
    pub async fn run_until(self, stop: Stop) -> Result<(), BotError> {
        self.script.check().map_err(BotError::Mistakes)?;
        if self.webhook.as_ref().is_some_and(|(settings, _)| !settings.has_good_secret()) {
            return Err(BotError::BadSecret);
        }
        self.check_schedules()?;
        self.check_store()?;
        let (number, _) = self.token.split_once(':').ok_or(BotError::BadToken)?;
        let bot = number.parse().map_err(|_| BotError::BadToken)?;
        let api = match self.api {
            Some(api) => api,
            None => Arc::new(Telegram::new(&self.token, &self.api_url)?),
        };
        let script = Arc::new(self.script);
        let context = Arc::new(self.context);
        let outage_notifier = (self.settings.polling.tell_people_to_wait && self.webhook.is_none()).then(|| {
            let api = Arc::clone(&api);
            let script = Arc::clone(&script);
            let context = Arc::clone(&context);
            Arc::new(OutageNotifier { bot, api, script, context, notified: Default::default() })
        });
        let runtime = BotRuntime {
            bot,
            api,
            owns_store: Arc::strong_count(&self.store) == 1,
            store: self.store,
            script,
            context,
            outage_notifier,
            effects: self.effects,
            workers: Arc::new(self.workers),
            schedules: self.schedules.into(),
            webhook: self.webhook,
            clock: self.clock,
            settings: self.settings,
            on_event: self.on_event,
            handle: self.handle,
        };
        runtime.run(stop).await
    }

    fn check_schedules(&self) -> Result<(), BotError> {
        let mut names = HashSet::new();
        let repeated = self.schedules.iter().map(Schedule::name).find(|name| !names.insert(*name));
        repeated.map_or(Ok(()), |name| Err(BotError::SameSchedule(name.to_owned())))
    }

    /// Refuses a store with which every turn would fail. Also refuses a store that accepts updates only from the leader
    /// if all instances accept them: a standby would answer 503 for ever.
    fn check_store(&self) -> Result<(), BotError> {
        if let Some(reason) = self.store.why_unusable_for_bots() {
            return Err(StoreError::Unsupported(reason).into());
        }
        let all_deliver =
            self.webhook.as_ref().is_some_and(|(settings, _)| settings.all_instances_deliver(&*self.store));
        match self.store.why_only_leader_delivers().filter(|_| all_deliver) {
            Some(reason) => Err(StoreError::Unsupported(reason).into()),
            None => Ok(()),
        }
    }
}
