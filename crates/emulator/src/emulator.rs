//! All bots of one emulator. A bot exists from the first use of its token.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard, RwLock};
use reqwest::redirect::Policy;
use tokio::sync::Notify;

use crate::bot_api::call::Upload;
use crate::bot_api::error::ApiError;
use crate::clock::Clock;
use crate::delivery::webhook;
use crate::event_log::{self, EventLog};
use crate::hosts::AllowedHosts;
use crate::token::Token;
use crate::world::World;
use crate::world::limit::Limits;

/// More than a test needs. Keeps a faulty client from filling the memory.
const MAX_BOTS: usize = 10_000;

/// An upload up to this size is written faster than it is passed to another thread.
const SMALL_UPLOAD: usize = 64 << 10;

/// How long fetching a link may take.
const LINK_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub limits: Limits,
    /// Directory for the event logs. None keeps all state in memory.
    pub data: Option<PathBuf>,
    /// Host names that are served besides `localhost` and IP addresses.
    pub allowed_hosts: AllowedHosts,
    /// The initial language of the chat page, `ru` or `en`. None uses the language of the browser.
    pub page_language: Option<&'static str>,
}

/// The best number of server threads: half of the cores. More threads mostly wait for the lock of a world, and the bot
/// under test needs cores too.
pub fn worker_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// A handle to the emulator. Clones share it.
#[derive(Clone, Debug)]
pub struct Emulator {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Keeps other emulators out of the data directory.
    _lock: Option<File>,
    settings: Settings,
    bots: RwLock<HashMap<Token, Arc<Bot>>>,
    /// Held while a bot is created: two first calls at once must not create two event logs.
    creating: Mutex<()>,
    /// For webhooks.
    http: reqwest::Client,
    /// For media that a bot names by a link.
    links: reqwest::Client,
}

/// One bot: its world behind a lock, and what is used without the lock.
#[derive(Debug)]
pub struct Bot {
    pub token: Token,
    pub clock: Arc<Clock>,
    pub updates_ready: Arc<Notify>,
    world: Mutex<World>,
}

impl Emulator {
    /// Creates the emulator and loads the data directory, if there is one. Must be called within a Tokio runtime,
    /// because loaded webhooks start at once.
    pub fn new(settings: Settings) -> io::Result<Self> {
        // A program that embeds the emulator may have installed a provider already; any provider works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = || {
            // A developer's webhook often has a self-signed certificate.
            reqwest::Client::builder().tls_danger_accept_invalid_certs(true).no_proxy()
        };
        let shared = Shared {
            _lock: settings.data.as_deref().map(event_log::lock).transpose()?,
            settings,
            bots: RwLock::default(),
            creating: Mutex::default(),
            http: client().redirect(Policy::none()).build().map_err(io::Error::other)?,
            links: client().redirect(Policy::limited(5)).timeout(LINK_TIMEOUT).build().map_err(io::Error::other)?,
        };
        let emulator = Self { shared: Arc::new(shared) };
        if let Some(data) = &emulator.shared.settings.data {
            for world in event_log::open_all(data, emulator.limits())? {
                let bot = emulator.register(world);
                webhook::run(&emulator, &bot);
            }
        }
        Ok(emulator)
    }

    pub fn limits(&self) -> Limits {
        self.shared.settings.limits
    }

    pub fn allowed_hosts(&self) -> &AllowedHosts {
        &self.shared.settings.allowed_hosts
    }

    pub(crate) fn page_language(&self) -> Option<&'static str> {
        self.shared.settings.page_language
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.shared.http
    }

    pub(crate) fn links(&self) -> &reqwest::Client {
        &self.shared.links
    }

    /// The bot of the token in a request, or Telegram's error for an invalid token.
    pub(crate) fn by_token(&self, token: &str) -> Result<Arc<Bot>, ApiError> {
        // Most calls are for an existing bot and need no parsed token.
        if let Some(bot) = self.shared.bots.read().get(token) {
            return Ok(bot.clone());
        }
        let token = Token::parse(token).ok_or_else(ApiError::unauthorized)?;
        self.bot(&token).ok_or_else(|| ApiError::too_many_requests(60))
    }

    /// The bot of a token, created if it is new; none if there are too many bots.
    pub fn bot(&self, token: &Token) -> Option<Arc<Bot>> {
        self.existing(token).or_else(|| self.create(token))
    }

    /// The bot of a token, if it exists.
    pub fn existing(&self, token: &Token) -> Option<Arc<Bot>> {
        self.shared.bots.read().get(token).cloned()
    }

    pub fn bots(&self) -> Vec<Arc<Bot>> {
        let mut bots: Vec<_> = self.shared.bots.read().values().cloned().collect();
        bots.sort_by_key(|bot| bot.token.bot_id());
        bots
    }

    /// Deletes a bot and everything of it.
    pub fn forget(&self, token: &Token) -> bool {
        let bot = self.shared.bots.write().remove(token);
        let Some(bot) = bot else { return false };
        let mut world = bot.world();
        world.webhook_generation += 1;
        world.profile.webhook = None;
        world.events.publish("forgotten", || serde_json::json!({}));
        if let Some(event_log) = world.event_log.take() {
            event_log.erase();
        }
        bot.updates_ready.notify_waiters();
        true
    }

    fn create(&self, token: &Token) -> Option<Arc<Bot>> {
        let _making = self.shared.creating.lock();
        if let Some(bot) = self.existing(token) {
            return Some(bot);
        }
        if self.shared.bots.read().len() >= MAX_BOTS {
            return None;
        }
        let mut world = World::new(token.clone(), self.limits());
        if let Some(data) = &self.shared.settings.data {
            match event_log::create(data, &world) {
                Ok(event_log) => world.event_log = Some(event_log),
                Err(error) => {
                    tracing::error!(bot = token.bot_id(), %error, "cannot create the event log: the bot will be lost at the next restart")
                }
            }
        }
        tracing::info!(bot = token.bot_id(), "bot created");
        Some(self.register(world))
    }

    fn register(&self, world: World) -> Arc<Bot> {
        let bot = Arc::new(Bot {
            token: world.token.clone(),
            clock: world.clock.clone(),
            updates_ready: world.updates_ready.clone(),
            world: Mutex::new(world),
        });
        self.shared.bots.write().insert(bot.token.clone(), bot.clone());
        bot
    }
}

/// A locked world. When the guard is dropped, all changes become one record of the event log. The record is then
/// written, together with earlier records that still wait.
#[derive(Debug)]
pub struct WorldGuard<'a> {
    // Fields are dropped in this order: the lock is released first, so that no other call waits for the write.
    world: MutexGuard<'a, World>,
    unwritten: WriteOnDrop,
}

/// Writes the waiting records of an event log when it is dropped.
#[derive(Debug)]
struct WriteOnDrop(Option<Arc<EventLog>>);

impl Drop for WriteOnDrop {
    fn drop(&mut self) {
        if let Some(event_log) = &self.0 {
            event_log.write();
        }
    }
}

impl Drop for WorldGuard<'_> {
    fn drop(&mut self) {
        // An answer may contain changes of an earlier call that are not written yet, so those are written too.
        if let Some(event_log) = &self.world.event_log
            && event_log.seal()
        {
            self.unwritten.0 = Some(event_log.clone());
        }
    }
}

impl Deref for WorldGuard<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for WorldGuard<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Bot {
    /// Locks the world. The lock must be short and never held over an await: it spins before it sleeps.
    pub fn world(&self) -> WorldGuard<'_> {
        WorldGuard { world: self.world.lock(), unwritten: WriteOnDrop(None) }
    }

    /// Stores large uploads before the world is locked, so that no other call waits for the disk. Small uploads are
    /// stored with their record.
    pub(crate) async fn store_uploads(&self, uploads: &[Upload]) {
        let large: Vec<Bytes> =
            uploads.iter().map(|it| it.bytes.clone()).filter(|it| it.len() > SMALL_UPLOAD).collect();
        let event_log = if large.is_empty() { None } else { self.world().event_log.clone() };
        if let Some(event_log) = event_log {
            // A failure is logged there, and the record stores the upload again.
            let _ = tokio::task::spawn_blocking(move || large.iter().for_each(|it| event_log.store(it))).await;
        }
    }
}
