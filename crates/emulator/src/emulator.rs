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
use crate::hosts::AllowedHosts;
use crate::journal::{self, Journal};
use crate::token::Token;
use crate::world::World;
use crate::world::limit::Limits;

/// A test tool does not need more bots than this, and a stray client must not fill the memory.
const MAX_BOTS: usize = 10_000;

/// Writing so many bytes takes less time than handing them to another thread.
const SMALL_UPLOAD: usize = 64 << 10;

/// How long a link's server may take.
const LINK_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub limits: Limits,
    /// Where worlds are kept over restarts; none: in memory only.
    pub data: Option<PathBuf>,
    /// Host names that are served besides `localhost` and addresses.
    pub allowed_hosts: AllowedHosts,
    /// The language of the chat page, `ru` or `en`, until its reader chooses another; none: that of the browser.
    pub page_language: Option<&'static str>,
}

/// How many threads serve the emulator best: half of the cores. A bot's world lies behind one lock, so more threads mostly
/// wait for each other, and the bot under test needs cores, too.
pub fn worker_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// The emulator; clones share one.
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
    /// Held while a bot is made: two first calls at once must not begin its journal twice.
    making: Mutex<()>,
    /// For webhooks.
    http: reqwest::Client,
    /// For media that a bot names by a link.
    links: reqwest::Client,
}

/// One bot's world with what is needed around its lock.
#[derive(Debug)]
pub struct Bot {
    pub token: Token,
    pub clock: Arc<Clock>,
    pub updates_ready: Arc<Notify>,
    world: Mutex<World>,
}

impl Emulator {
    /// Opens what the data directory holds, if there is one. Must be called within a Tokio runtime, since kept webhooks
    /// go on at once.
    pub fn new(settings: Settings) -> io::Result<Self> {
        // Whoever embeds the emulator may have chosen a provider already; either one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = || {
            // A developer's webhook has a certificate of its own making.
            reqwest::Client::builder().tls_danger_accept_invalid_certs(true).no_proxy()
        };
        let shared = Shared {
            _lock: settings.data.as_deref().map(journal::lock).transpose()?,
            settings,
            bots: RwLock::default(),
            making: Mutex::default(),
            http: client().redirect(Policy::none()).build().map_err(io::Error::other)?,
            links: client().redirect(Policy::limited(5)).timeout(LINK_PATIENCE).build().map_err(io::Error::other)?,
        };
        let emulator = Self { shared: Arc::new(shared) };
        if let Some(data) = &emulator.shared.settings.data {
            for world in journal::open_all(data, emulator.limits())? {
                let bot = emulator.adopt(world);
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

    /// The bot of a token as it came on the wire, with Telegram's error for one that cannot be.
    pub(crate) fn by_token(&self, token: &str) -> Result<Arc<Bot>, ApiError> {
        // Most calls are of a known bot: no token needs to be made for them.
        if let Some(bot) = self.shared.bots.read().get(token) {
            return Ok(bot.clone());
        }
        let token = Token::parse(token).ok_or_else(ApiError::unauthorized)?;
        self.bot(&token).ok_or_else(|| ApiError::too_many_requests(60))
    }

    /// The bot of a token, made if it is new; none if there are too many.
    pub fn bot(&self, token: &Token) -> Option<Arc<Bot>> {
        self.known(token).or_else(|| self.create(token))
    }

    /// The bot of a token that has been used before.
    pub fn known(&self, token: &Token) -> Option<Arc<Bot>> {
        self.shared.bots.read().get(token).cloned()
    }

    pub fn bots(&self) -> Vec<Arc<Bot>> {
        let mut bots: Vec<_> = self.shared.bots.read().values().cloned().collect();
        bots.sort_by_key(|bot| bot.token.bot_id());
        bots
    }

    /// Forgets a bot and everything of it.
    pub fn forget(&self, token: &Token) -> bool {
        let bot = self.shared.bots.write().remove(token);
        let Some(bot) = bot else { return false };
        let mut world = bot.world();
        world.webhook_generation += 1;
        world.profile.webhook = None;
        world.events.tell("forgotten", || serde_json::json!({}));
        if let Some(journal) = world.journal.take() {
            journal.erase();
        }
        bot.updates_ready.notify_waiters();
        true
    }

    fn create(&self, token: &Token) -> Option<Arc<Bot>> {
        let _making = self.shared.making.lock();
        if let Some(bot) = self.known(token) {
            return Some(bot);
        }
        if self.shared.bots.read().len() >= MAX_BOTS {
            return None;
        }
        let mut world = World::new(token.clone(), self.limits());
        if let Some(data) = &self.shared.settings.data {
            match journal::create(data, &world) {
                Ok(journal) => world.journal = Some(journal),
                Err(error) => tracing::error!(bot = token.bot_id(), %error, "this bot will not be kept over restarts"),
            }
        }
        tracing::info!(bot = token.bot_id(), "a new bot");
        Some(self.adopt(world))
    }

    fn adopt(&self, world: World) -> Arc<Bot> {
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

/// A world while it is locked. When it is released, everything that changed under the lock becomes one record, and
/// the record is written, along with those of earlier holders that still wait.
#[derive(Debug)]
pub struct WorldGuard<'a> {
    // Fields are dropped in this order: the lock is released before the write, so that no other call waits for it.
    world: MutexGuard<'a, World>,
    unwritten: Unwritten,
}

/// Writes a journal's records when it is dropped.
#[derive(Debug)]
struct Unwritten(Option<Arc<Journal>>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        if let Some(journal) = &self.0 {
            journal.write();
        }
    }
}

impl Drop for WorldGuard<'_> {
    fn drop(&mut self) {
        // An answer may tell of changes that an earlier holder made and has not written yet, so those are written too.
        if let Some(journal) = &self.world.journal
            && journal.seal()
        {
            self.unwritten.0 = Some(journal.clone());
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
    /// The world, locked. Never held over an await, and short: the lock spins before it sleeps.
    pub fn world(&self) -> WorldGuard<'_> {
        WorldGuard { world: self.world.lock(), unwritten: Unwritten(None) }
    }

    /// Stores large uploads before the world is locked, so that no other call waits for the disk. Small
    /// uploads are stored with their record.
    pub(crate) async fn store_uploads(&self, uploads: &[Upload]) {
        let large: Vec<Bytes> =
            uploads.iter().map(|it| it.bytes.clone()).filter(|it| it.len() > SMALL_UPLOAD).collect();
        let journal = if large.is_empty() { None } else { self.world().journal.clone() };
        if let Some(journal) = journal {
            // The journal logs what it cannot write, and tries again with the record.
            let _ = tokio::task::spawn_blocking(move || large.iter().for_each(|it| journal.store(it))).await;
        }
    }
}
