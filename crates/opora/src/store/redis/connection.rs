//! The connection to Redis.
//!
//! One connection carries all calls, pipelined. Connecting and every answer have a time limit. After a lost answer the
//! connection is replaced, because it may be half-open; and also when the server says that it is a replica now, because
//! the master is elsewhere. No call is repeated, unless the server says that the function library is missing.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::RwLock;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, PubSubStream};
use redis::{Client, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};

use self::errors::{REPLICA, are_functions_refused, connect_error, describe_error, is_library_missing, is_read_only};
pub(super) use self::errors::{all_or_none, cannot_use, unavailable};
use super::address::Address;
use super::library;
use crate::clock::Stopwatch;
use crate::store::{StoreError, StoreResult};

mod errors;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Together with the pause before a turn is tried again, this stays below ten seconds.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest time of a call: two attempts to connect and one answer. The client's own limits do not cover the wait
/// for a connection that another caller is making.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before the second attempt to connect, while callers wait.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);
/// How many calls are buffered before callers have to wait.
const MAX_BUFFERED_CALLS: usize = 1_024;
/// How long a connection to a replica is kept at least, so that the search for a master causes no storm of connections.
const MIN_REPLICA_CONNECTION_AGE: Duration = Duration::from_millis(200);

/// The connection to a Redis.
pub(crate) struct Connection {
    pub(crate) address: Address,
    client: Client,
    current: RwLock<Current>,
    uses_scripts: AtomicBool,
    // The SHA1 of the script on the server.
    script: RwLock<Option<String>>,
    // What was logged last: whether the server is away, and whether it is a replica.
    is_away: AtomicBool,
    is_replica: AtomicBool,
}

/// The connection in use.
struct Current {
    /// How many connections there were before it.
    number: u64,
    manager: Option<ConnectionManager>,
    since: Stopwatch,
}

/// The server could not be reached, or accepts no writes: the call was certainly not applied.
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

impl Connection {
    pub(crate) async fn connect(address: Address) -> StoreResult<Self> {
        // The application may have installed another TLS provider already; either one works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = address.client().await?;
        let manager = ConnectionManager::new_with_config(client.clone(), settings()).await;
        let manager = manager.map_err(|error| connect_error(error, &address))?;
        let current = RwLock::new(Current { number: 0, manager: Some(manager), since: Stopwatch::start() });
        let uses_scripts = AtomicBool::new(false);
        let script = RwLock::new(None);
        let [is_away, is_replica] = [false; 2].map(AtomicBool::new);
        Ok(Self { address, client, current, uses_scripts, script, is_away, is_replica })
    }

    /// Uses scripts instead of functions from now on.
    pub(super) fn use_scripts(&self) {
        self.uses_scripts.store(true, Ordering::Relaxed);
    }

    pub(super) fn uses_scripts(&self) -> bool {
        self.uses_scripts.load(Ordering::Relaxed)
    }

    /// Closes the connection. Later calls fail.
    pub(super) fn close(&self) {
        self.current.write().manager = None;
    }

    /// Sends a command.
    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> StoreResult<T> {
        self.send(command).await.map_err(unavailable)
    }

    /// Sends a command, and returns the server's own error.
    pub(super) async fn send<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        let (number, manager) = {
            let current = self.current.read();
            (current.number, current.manager.clone())
        };
        let mut manager = manager.ok_or((ErrorKind::Client, "the store is closed"))?;
        let answer = match tokio::time::timeout(CALL_TIMEOUT, command.query_async(&mut manager)).await {
            Ok(answer) => answer,
            Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        };
        match &answer {
            Ok(_) => self.note_back(),
            Err(error) if error.is_timeout() => {
                tracing::warn!(redis = %self.address, "Redis did not answer in time; reconnecting");
                self.replace(number, Duration::ZERO);
            }
            Err(error) if error.is_io_error() => self.note_away(error),
            Err(error) if is_read_only(error) => {
                self.note_replica();
                self.replace(number, MIN_REPLICA_CONNECTION_AGE);
            }
            Err(_) => {}
        }
        answer
    }

    /// Checks that the server answers and, after a refused write, that it is not a replica any more.
    pub(super) async fn ping(&self) -> StoreResult<()> {
        if !self.is_replica.load(Ordering::Relaxed) {
            return self.query::<String>(&redis::cmd("PING")).await.map(drop);
        }
        let number = self.current.read().number;
        match self.send::<Vec<redis::Value>>(&redis::cmd("ROLE")).await {
            Ok(role) if matches!(role.first(), Some(redis::Value::BulkString(role)) if role == b"master") => {
                self.note_master();
                Ok(())
            }
            Ok(_) => {
                self.replace(number, MIN_REPLICA_CONNECTION_AGE);
                Err(StoreError::Unavailable(NotReached(REPLICA.to_owned()).into()))
            }
            // Without permission for ROLE, the next write will show it.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Subscribes to a channel on a separate connection. The stream ends when that connection is lost.
    pub(super) async fn subscribe(&self, channel: &str) -> StoreResult<PubSubStream> {
        let listening = async {
            let mut listener = self.client.get_async_pubsub().await?;
            listener.subscribe(channel).await?;
            Ok(listener.into_on_message())
        };
        match tokio::time::timeout(CONNECT_TIMEOUT + RESPONSE_TIMEOUT, listening).await {
            Ok(listening) => listening.map_err(unavailable),
            Err(_) => Err(StoreError::Unavailable("no answer from Redis to a subscription in time".into())),
        }
    }

    /// Calls a function of the library, and loads the library if it is missing.
    pub(super) async fn call(&self, call: Call<'_>) -> StoreResult<Vec<String>> {
        match self.try_call(&call).await {
            Err(error) if is_library_missing(&error) || self.falls_back_to_scripts(&error) => {
                self.load().await.map_err(unavailable)?;
                self.try_call(&call).await.map_err(unavailable)
            }
            answer => answer.map_err(unavailable),
        }
    }

    /// Calls functions concurrently. Answers are in the order of the calls.
    pub(super) async fn call_all(&self, calls: Vec<Call<'_>>) -> StoreResult<Vec<Vec<String>>> {
        all_or_none(join_all(calls.into_iter().map(|call| self.call(call))).await)
    }

    /// Loads the library, as functions if the server supports them.
    async fn load(&self) -> Result<(), RedisError> {
        if !self.uses_scripts() {
            let loaded: Result<String, _> =
                self.send(redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(library::library())).await;
            match loaded {
                Err(error) if are_functions_refused(&error) => {
                    tracing::info!(reason = %describe_error(&error), "Redis does not permit functions; scripts are used");
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
        let answer = self.send(&command).await;
        if answer.is_ok() && self.is_replica.load(Ordering::Relaxed) && !library::only_reads(call.function) {
            self.note_master();
        }
        answer
    }

    /// Switches to scripts if the server does not permit functions. False if they are in use already.
    fn falls_back_to_scripts(&self, error: &RedisError) -> bool {
        let falls_back = are_functions_refused(error) && !self.uses_scripts();
        if falls_back {
            self.use_scripts();
        }
        falls_back
    }

    /// Replaces an unusable connection, unless another caller has replaced it or it is younger than `min_age`.
    fn replace(&self, number: u64, min_age: Duration) {
        let mut current = self.current.write();
        if current.number != number || current.manager.is_none() || current.since.elapsed() < min_age {
            return;
        }
        match ConnectionManager::new_lazy_with_config(self.client.clone(), settings()) {
            Ok(manager) => {
                *current = Current { number: number + 1, manager: Some(manager), since: Stopwatch::start() };
            }
            Err(error) => tracing::error!(redis = %self.address, %error, "cannot replace the connection"),
        }
    }

    fn note_away(&self, error: &RedisError) {
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::warn!(redis = %self.address, reason = %describe_error(error), "Redis is away");
        }
    }

    fn note_replica(&self) {
        if !self.is_replica.swap(true, Ordering::Relaxed) {
            tracing::warn!(redis = %self.address, "Redis is a replica now and refuses writes; looking for the master");
        }
    }

    fn note_master(&self) {
        if self.is_replica.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = %self.address, "Redis accepts writes again");
        }
    }

    fn note_back(&self) {
        if self.is_away.load(Ordering::Relaxed) && self.is_away.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = %self.address, "Redis is back");
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("address", &self.address).finish_non_exhaustive()
    }
}

fn settings() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_number_of_retries(1)
        .set_min_delay(RECONNECT_DELAY)
        .set_max_delay(RECONNECT_DELAY)
        .set_pipeline_buffer_size(MAX_BUFFERED_CALLS)
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn a_replica_answers_functions_that_only_read() {
        assert!(library::only_reads("open") && library::only_reads("stands"));
        assert!(!library::only_reads("commit") && !library::only_reads("claim"));
    }
}
