//! A bot: its dialogues, its store, and the life of a process that runs them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::handle::{Handle, NotRunning};
use self::life::Life;
pub use self::stop::Stop;
use crate::clock::Clock;
use crate::dialogue::{Dialogue, Script, States, Texts};
use crate::effects::{Asked, EffectError, Register};
use crate::intake::Peeking;
use crate::outbox::SendEvent;
use crate::store::MemoryStore;
use crate::store::{Store, StoreError};
use crate::telegram::{Api, BadAddress, TELEGRAM, Telegram, shown};
use crate::tls_provider;
use crate::turn::Context;

// Everything that has to be named to set a bot up is here, wherever it is used.
pub use crate::effects::{DownloadSettings, EffectSettings};
pub use crate::engine::TurnSettings;
pub use crate::instance::{IfHeld, LeaseSettings, NotLeading};
pub use crate::intake::{Instances, PollingSettings, Webhook, WebhookSettings};
pub use crate::mailbox::MailboxSettings;
pub use crate::outbox::SendLimits;
pub use crate::schedule::Retention;

mod handle;
mod life;
mod stop;
mod works;

/// Why a bot does not run.
#[derive(Debug, thiserror::Error)]
pub enum BotError {
    /// The dialogues are not right; every mistake is listed.
    #[error("the dialogues are not right:\n  {}", .0.join("\n  "))]
    Mistakes(Vec<String>),
    /// The token has not the form that Telegram gives.
    #[error("the token is not of the form <number>:<secret>")]
    BadToken,
    /// Telegram would refuse the webhook's secret, or it is so short that it can be guessed.
    #[error(
        "the webhook's secret is not 16 to 256 characters of A-Z, a-z, 0-9, _ and -; `openssl rand -hex 32` makes one"
    )]
    BadSecret,
    /// The address of the Bot API cannot be used.
    #[error(transparent)]
    BadAddress(#[from] BadAddress),
    /// Telegram does not know the token.
    #[error("Telegram refuses the token: {0}")]
    Unauthorized(String),
    /// Telegram does not take the webhook's address, so nothing would ever be heard.
    #[error("Telegram refuses the webhook: {0}")]
    WebhookRefused(String),
    /// Somebody else runs this bot.
    #[error(transparent)]
    NotLeading(NotLeading),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signals cannot be listened to.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] std::io::Error),
}

/// Everything about how a bot runs that has a sensible default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Turns: deadline, retries.
    pub turns: TurnSettings,
    /// Queues and albums.
    pub mailboxes: MailboxSettings,
    /// Long polling.
    pub polling: PollingSettings,
    /// The lease.
    pub lease: LeaseSettings,
    /// Work outside.
    pub effects: EffectSettings,
    /// Downloaded files.
    pub downloads: DownloadSettings,
    /// Telegram's limits on sending.
    pub limits: SendLimits,
    /// How long old rows are kept.
    pub retention: Retention,
    /// The end of a bot's life.
    pub stop: StopSettings,
}

/// The end of a bot's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopSettings {
    /// How long turns and messages under way may take to finish.
    pub deadline: Duration,
    /// Whether people in the middle of a dialogue are told that the bot will be back in a moment.
    pub tell_people: bool,
}

impl Default for StopSettings {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), tell_people: false }
    }
}

/// A bot, being put together. [`Bot::run`] starts it.
///
/// See the [crate's documentation](crate) for a whole one.
pub struct Bot {
    token: String,
    api_url: String,
    api: Option<Arc<dyn Api>>,
    store: Arc<dyn Store>,
    script: Script,
    context: Context,
    effects: Register,
    webhook: Option<(WebhookSettings, Webhook)>,
    clock: Clock,
    settings: Settings,
    on_event: Option<OnEvent>,
    handle: Handle,
}

type OnEvent = Arc<dyn Fn(SendEvent) + Send + Sync>;

impl std::fmt::Debug for Bot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token is left out, and so is what else of the address must not come into a log.
        f.debug_struct("Bot")
            .field("api_url", &shown(&self.api_url))
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Bot {
    /// A bot with this token, on Telegram, that keeps its state in memory until [`Bot::store`] says where else.
    ///
    /// Installs ring as the process's provider of cryptography for rustls, unless there is one: the application's own
    /// `reqwest` needs it, too.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        tls_provider::install();
        Self {
            token: token.into(),
            api_url: TELEGRAM.to_owned(),
            api: None,
            store: Arc::new(MemoryStore::new()),
            script: Script::new(),
            context: Context::default(),
            effects: Register::default(),
            webhook: None,
            clock: Clock::machine(),
            settings: Settings::default(),
            on_event: None,
            handle: Handle::default(),
        }
    }

    /// Keeps its state here; see [`crate::store::open`].
    ///
    /// Who holds a store closes it. A bot that is the only one to hold its store when it starts closes it when it ends;
    /// an application that keeps a clone, for its own queries or for a second bot, closes the store itself when nobody
    /// needs it any more.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// Adds a dialogue.
    #[must_use]
    pub fn dialogue<S: States>(mut self, dialogue: Dialogue<S>) -> Self {
        self.script = self.script.dialogue(dialogue);
        self
    }

    /// Runs this script, in place of the dialogues added before: with its own texts, `/cancel` and `/help`. A test can
    /// put the very same script on a [stage](crate::testing::chat::Stage).
    #[must_use]
    pub fn script(mut self, script: impl Into<Script>) -> Self {
        self.script = script.into();
        self
    }

    /// Talks to this address instead of Telegram's.
    #[must_use]
    pub fn api_url(mut self, url: impl Into<String>) -> Self {
        self.api_url = url.into();
        self
    }

    /// Talks to this instead of Telegram; for tests.
    #[must_use]
    pub fn api(mut self, api: Arc<dyn Api>) -> Self {
        self.api = Some(api);
        self
    }

    /// Something of the application's that handlers reach by [`crate::turn::Turn::context`]; one of each type.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context.insert(value);
        self
    }

    /// Says how to carry out a kind of work that turns ask for.
    #[must_use]
    pub fn effect<F, R>(mut self, kind: &str, run: F) -> Self
    where
        F: Fn(Asked) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, EffectError>> + Send + 'static,
    {
        self.effects.add(kind, run);
        self
    }

    /// Tries this kind of work so often before its failure is final; other kinds as often as
    /// [`EffectSettings::attempts`] says. Downloads are of the kind `download`.
    #[must_use]
    pub fn attempts(mut self, kind: &str, attempts: u32) -> Self {
        self.effects.set_attempts(kind, attempts);
        self
    }

    /// Uses these sentences where the library itself has to say something.
    #[must_use]
    pub fn texts(mut self, texts: impl Texts) -> Self {
        self.script = self.script.texts(texts);
        self
    }

    /// Takes updates by webhook instead of polling. Mount the [`Webhook`]'s router where the address leads.
    #[must_use]
    pub fn webhook(mut self, settings: WebhookSettings) -> (Self, Webhook) {
        let webhook = Webhook::new(&settings);
        self.webhook = Some((settings, webhook.clone()));
        (self, webhook)
    }

    /// Is told of chats that cannot be reached any more, of groups that moved, and of messages that were refused.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(SendEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(listener));
        self
    }

    /// Goes by this clock; for tests.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps downloaded files in this directory.
    #[must_use]
    pub fn files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.settings.downloads.directory = directory.into();
        self
    }

    /// Keeps Telegram's limits on sending, or none.
    #[must_use]
    pub fn send_limits(mut self, limits: SendLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Changes anything else about how it runs.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Posts messages outside of turns while the bot runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs until SIGINT or SIGTERM, then stops in order; a second signal cuts that short.
    pub async fn run(self) -> Result<(), BotError> {
        let stop = Stop::on_signals().map_err(BotError::Signals)?;
        self.run_until(stop).await
    }

    /// Runs until told to stop.
    pub async fn run_until(self, stop: Stop) -> Result<(), BotError> {
        self.script.check().map_err(BotError::Mistakes)?;
        if self.webhook.as_ref().is_some_and(|(settings, _)| !settings.has_good_secret()) {
            return Err(BotError::BadSecret);
        }
        self.check_store()?;
        let (number, _) = self.token.split_once(':').ok_or(BotError::BadToken)?;
        let bot = number.parse().map_err(|_| BotError::BadToken)?;
        let api = match self.api {
            Some(api) => api,
            None => Arc::new(Telegram::new(&self.token, &self.api_url)?),
        };
        let script = Arc::new(self.script);
        let context = Arc::new(self.context);
        let peeking = (self.settings.polling.tells_to_wait && self.webhook.is_none()).then(|| {
            let api = Arc::clone(&api);
            let script = Arc::clone(&script);
            let context = Arc::clone(&context);
            Arc::new(Peeking { bot, api, script, context, told: Default::default() })
        });
        let life = Life {
            bot,
            api,
            owns_store: Arc::strong_count(&self.store) == 1,
            store: self.store,
            script,
            context,
            peeking,
            effects: self.effects,
            webhook: self.webhook,
            clock: self.clock,
            settings: self.settings,
            on_event: self.on_event,
            handle: self.handle,
        };
        life.run(stop).await
    }

    /// Refuses a store with which every turn would fail; and one that takes no updates of other instances, where they
    /// are to bring some: else Telegram would hear 503 for ever.
    fn check_store(&self) -> Result<(), BotError> {
        if let Some(why) = self.store.why_unusable_for_bots() {
            return Err(StoreError::Unsupported(why).into());
        }
        let has_several = self.webhook.as_ref().is_some_and(|(settings, _)| settings.has_several(&*self.store));
        match self.store.why_only_leader_delivers().filter(|_| has_several) {
            Some(why) => Err(StoreError::Unsupported(why).into()),
            None => Ok(()),
        }
    }
}
