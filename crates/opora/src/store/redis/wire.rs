//! The connection to Redis.
//!
//! One connection carries all calls, each on its way at once; what waits together is written together. Connecting and
//! every answer have a time limit; after a lost answer the connection is made anew, because it may be half dead. Nothing
//! is asked twice, except where the server says that it did nothing for want of the library.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::RwLock;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, PubSubStream};
use redis::{Client, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};

use super::address::Address;
use super::library;
use super::rows::unreadable;
use super::tls::SETTINGS;
use crate::store::{StoreError, StoreResult, tls};

/// How long a connection may take.
const CONNECTS_WITHIN: Duration = Duration::from_secs(3);
/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long until the one more try to connect, while the callers wait.
const TRIES_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// How many calls wait for the socket before callers do.
const CALLS_AT_ONCE: usize = 1_024;

/// Carries calls to a Redis.
pub(crate) struct Wire {
    pub(crate) address: Address,
    client: Client,
    current: RwLock<Current>,
    uses_scripts: AtomicBool,
    // The script's name on the server.
    script: RwLock<Option<String>>,
    // For the log: whether the server is known to be away.
    is_away: AtomicBool,
}

/// The connection in use, and how many there were before it.
#[derive(Default)]
struct Current {
    number: u64,
    manager: Option<ConnectionManager>,
}

/// The server could not be reached: what was asked for has surely not happened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotReached(pub(crate) String);

/// A call of one of the library's functions.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) function: &'static str,
    pub(super) keys: &'a [String],
    pub(super) args: Vec<String>,
}

impl Wire {
    /// Connects.
    pub(crate) async fn connect(address: Address) -> StoreResult<Self> {
        // The application may have chosen a provider of TLS already; either one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = address.client().await?;
        let manager = ConnectionManager::new_with_config(client.clone(), settings()).await;
        let manager = manager.map_err(|error| first_contact(error, &address))?;
        let current = RwLock::new(Current { number: 0, manager: Some(manager) });
        let (uses_scripts, script) = (AtomicBool::new(false), RwLock::new(None));
        Ok(Self { address, client, current, uses_scripts, script, is_away: AtomicBool::new(false) })
    }

    /// From now on the library is a script.
    pub(super) fn use_scripts(&self) {
        self.uses_scripts.store(true, Ordering::Relaxed);
    }

    pub(super) fn uses_scripts(&self) -> bool {
        self.uses_scripts.load(Ordering::Relaxed)
    }

    /// Lets the connection go; whoever calls later is told.
    pub(super) fn close(&self) {
        self.current.write().manager = None;
    }

    /// Sends a plain command.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> StoreResult<T> {
        self.send(command).await.map_err(unavailable)
    }

    /// Sends a plain command, and tells the server's own error.
    pub(super) async fn send<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        let (number, manager) = {
            let current = self.current.read();
            (current.number, current.manager.clone())
        };
        let mut manager = manager.ok_or((ErrorKind::Client, "the store is closed"))?;
        let answer = command.query_async(&mut manager).await;
        match &answer {
            Ok(_) => self.is_back(),
            Err(error) if error.is_timeout() => self.renew(number),
            Err(error) if error.is_io_error() => self.note_away(error),
            Err(_) => {}
        }
        answer
    }

    /// Listens to a channel on a connection of its own, until that is lost.
    pub(super) async fn subscribe(&self, channel: &str) -> StoreResult<PubSubStream> {
        let listening = async {
            let mut listener = self.client.get_async_pubsub().await?;
            listener.subscribe(channel).await?;
            Ok(listener.into_on_message())
        };
        match tokio::time::timeout(CONNECTS_WITHIN + ANSWERS_WITHIN, listening).await {
            Ok(listening) => listening.map_err(unavailable),
            Err(_) => Err(StoreError::Unavailable("Redis does not let anybody listen".into())),
        }
    }

    /// Calls a function.
    pub(super) async fn call(&self, call: Call<'_>) -> StoreResult<Vec<String>> {
        match self.try_call(&call).await {
            Err(error) if is_missing(&error) || self.is_kept_from_us(&error) => {
                self.load().await.map_err(unavailable)?;
                self.try_call(&call).await.map_err(unavailable)
            }
            answer => answer.map_err(unavailable),
        }
    }

    /// Calls functions, all on their way at once; answers come in their order.
    pub(super) async fn call_all(&self, calls: Vec<Call<'_>>) -> StoreResult<Vec<Vec<String>>> {
        join_all(calls.into_iter().map(|call| self.call(call))).await.into_iter().collect()
    }

    /// Loads the library, as functions if the server has them.
    async fn load(&self) -> Result<(), RedisError> {
        if !self.uses_scripts() {
            let loaded: Result<String, _> =
                self.send(redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(library::library())).await;
            match loaded {
                Err(error) if is_refused(&error) => {
                    tracing::info!(reason = %in_words(&error), "Redis takes no functions from us; scripts are used");
                    self.use_scripts();
                }
                done => return done.map(drop),
            }
        }
        let name = self.send(redis::cmd("SCRIPT").arg("LOAD").arg(library::script())).await?;
        *self.script.write() = Some(name);
        Ok(())
    }

    async fn try_call(&self, call: &Call<'_>) -> Result<Vec<String>, RedisError> {
        let mut command = if self.uses_scripts() {
            let script = self.script.read().clone();
            let mut command = redis::cmd("EVALSHA");
            command.arg(script.unwrap_or_default());
            command
        } else {
            let mut command = redis::cmd("FCALL");
            command.arg(library::full_name(call.function));
            command
        };
        command.arg(call.keys.len()).arg(call.keys).arg(&call.args);
        if self.uses_scripts() {
            command.arg(call.function);
        }
        self.send(&command).await
    }

    /// The server's rules keep its functions from us, and perhaps not its scripts.
    fn is_kept_from_us(&self, error: &RedisError) -> bool {
        let is_news = is_refused(error) && !self.uses_scripts();
        if is_news {
            self.use_scripts();
        }
        is_news
    }

    /// Replaces a connection that lost an answer, unless somebody has done so.
    fn renew(&self, number: u64) {
        let mut current = self.current.write();
        if current.number != number || current.manager.is_none() {
            return;
        }
        tracing::warn!(redis = %self.address, "Redis did not answer in time; connecting anew");
        match ConnectionManager::new_lazy_with_config(self.client.clone(), settings()) {
            Ok(manager) => *current = Current { number: number + 1, manager: Some(manager) },
            Err(error) => tracing::error!(redis = %self.address, %error, "the connection could not be replaced"),
        }
    }

    fn note_away(&self, error: &RedisError) {
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::warn!(redis = %self.address, reason = %in_words(error), "Redis is away");
        }
    }

    fn is_back(&self) {
        if self.is_away.load(Ordering::Relaxed) && self.is_away.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = %self.address, "Redis is back");
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("address", &self.address).finish_non_exhaustive()
    }
}

fn settings() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECTS_WITHIN))
        .set_response_timeout(Some(ANSWERS_WITHIN))
        .set_number_of_retries(1)
        .set_min_delay(TRIES_AGAIN_AFTER)
        .set_max_delay(TRIES_AGAIN_AFTER)
        .set_pipeline_buffer_size(CALLS_AT_ONCE)
}

/// A server that ends the connection at once, or says nothing to TLS, expects something else.
fn first_contact(error: RedisError, address: &Address) -> StoreError {
    let is_ended = error.is_connection_dropped() && !error.is_connection_refusal();
    let why = match (is_ended, error.is_timeout(), address.is_tls()) {
        (true, _, false) => {
            "it ended the connection at once; if it speaks TLS there, the address begins with rediss://"
        }
        (_, true, true) => {
            "it did not answer in time; if it does not speak TLS there, the address begins with redis://"
        }
        _ => return unavailable(error),
    };
    StoreError::Unavailable(why.into())
}

/// The server did nothing, because it does not have the library.
fn is_missing(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
        || error.detail().is_some_and(|detail| detail.contains("Function not found"))
}

/// The server has no functions, or gives none to us.
fn is_refused(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || error.detail().is_some_and(|detail| detail.to_ascii_lowercase().contains("unknown command"))
}

/// An answer that was lost, or a refusal of the server's.
pub(super) fn unavailable(error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => unreadable(error),
        _ if error.is_connection_refusal() => StoreError::Unavailable(NotReached(in_words(&error)).into()),
        _ => StoreError::Unavailable(in_words(&error).into()),
    }
}

/// What went wrong, in words; a password stands in none of them.
pub(super) fn in_words(error: &RedisError) -> String {
    let text = error.to_string();
    let is_about_access = error.kind() == ErrorKind::AuthenticationFailed
        || ["WRONGPASS", "NOAUTH"].iter().any(|code| error.code() == Some(code) || text.contains(code));
    if is_about_access {
        return "Redis refused the user name or the password (or wants one and got none)".to_owned();
    }
    if error.is_timeout() {
        return "no answer from Redis in time".to_owned();
    }
    if let Some(words) = tls::in_words(error, SETTINGS) {
        return words;
    }
    if error.is_io_error() {
        return format!("the connection to Redis failed: {text}");
    }
    format!("Redis says: {text}")
}
