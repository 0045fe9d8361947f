//! The connection to Redis.
//!
//! One connection carries all calls, each on its way at once; what waits together is written together. Connecting and
//! every answer have a time limit; after a lost answer the connection is made anew, because it may be half dead, and so it
//! is when the server says that it is a replica now, because the master is elsewhere. Nothing is asked twice, except where
//! the server says that it did nothing for want of the library.

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
use crate::clock::Stopwatch;
use crate::store::{StoreError, StoreResult, tls};

/// How long a connection may take.
const CONNECTS_WITHIN: Duration = Duration::from_secs(3);
/// How long an answer may take; with the pause before a turn is tried again it stays below ten seconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);
/// How long until the one more try to connect, while the callers wait.
const TRIES_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// How many calls wait for the socket before callers do.
const CALLS_AT_ONCE: usize = 1_024;
/// A connection that leads to a replica is kept so long at least: while no master is to be found, the search is not a storm.
const SEARCHES_EVERY: Duration = Duration::from_millis(200);

/// Why a write is refused.
const REPLICA: &str = "Redis takes no writes: it is a replica now";

/// Carries calls to a Redis.
pub(crate) struct Wire {
    pub(crate) address: Address,
    client: Client,
    current: RwLock<Current>,
    uses_scripts: AtomicBool,
    // The script's name on the server.
    script: RwLock<Option<String>>,
    // For the log: whether the server is known to be away, and whether it is known to be a replica.
    is_away: AtomicBool,
    is_replica: AtomicBool,
}

/// The connection in use, how many there were before it, and since when it is.
struct Current {
    number: u64,
    manager: Option<ConnectionManager>,
    since: Stopwatch,
}

/// The server could not be reached, or takes no writes: what was asked for has surely not happened.
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
        let current = RwLock::new(Current { number: 0, manager: Some(manager), since: Stopwatch::start() });
        let uses_scripts = AtomicBool::new(false);
        let script = RwLock::new(None);
        let [is_away, is_replica] = [false; 2].map(AtomicBool::new);
        Ok(Self { address, client, current, uses_scripts, script, is_away, is_replica })
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
            Err(error) if error.is_timeout() => {
                tracing::warn!(redis = %self.address, "Redis did not answer in time; connecting anew");
                self.renew(number, Duration::ZERO);
            }
            Err(error) if error.is_io_error() => self.note_away(error),
            Err(error) if is_read_only(error) => {
                self.note_replica();
                self.renew(number, SEARCHES_EVERY);
            }
            Err(_) => {}
        }
        answer
    }

    /// Asks for nothing but an answer; of a server that has refused a write, whether it is a replica still.
    pub(super) async fn ping(&self) -> StoreResult<()> {
        if !self.is_replica.load(Ordering::Relaxed) {
            return self.ask::<String>(&redis::cmd("PING")).await.map(drop);
        }
        let number = self.current.read().number;
        match self.send::<Vec<redis::Value>>(&redis::cmd("ROLE")).await {
            Ok(role) if matches!(role.first(), Some(redis::Value::BulkString(role)) if role == b"master") => {
                self.is_master();
                Ok(())
            }
            Ok(_) => {
                self.renew(number, SEARCHES_EVERY);
                Err(StoreError::Unavailable(NotReached(REPLICA.to_owned()).into()))
            }
            // Where that may not be asked, the next write will tell.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
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
        all_or_none(join_all(calls.into_iter().map(|call| self.call(call))).await)
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
        let answer = self.send(&command).await;
        if answer.is_ok() && self.is_replica.load(Ordering::Relaxed) && !library::only_reads(call.function) {
            self.is_master();
        }
        answer
    }

    /// The server's rules keep its functions from us, and perhaps not its scripts.
    fn is_kept_from_us(&self, error: &RedisError) -> bool {
        let is_news = is_refused(error) && !self.uses_scripts();
        if is_news {
            self.use_scripts();
        }
        is_news
    }

    /// Replaces a connection that is of no use any more, unless somebody has done so or it is younger than this.
    fn renew(&self, number: u64, age: Duration) {
        let mut current = self.current.write();
        if current.number != number || current.manager.is_none() || current.since.elapsed() < age {
            return;
        }
        match ConnectionManager::new_lazy_with_config(self.client.clone(), settings()) {
            Ok(manager) => {
                *current = Current { number: number + 1, manager: Some(manager), since: Stopwatch::start() };
            }
            Err(error) => tracing::error!(redis = %self.address, %error, "the connection could not be replaced"),
        }
    }

    fn note_away(&self, error: &RedisError) {
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::warn!(redis = %self.address, reason = %in_words(error), "Redis is away");
        }
    }

    fn note_replica(&self) {
        if !self.is_replica.swap(true, Ordering::Relaxed) {
            tracing::warn!(redis = %self.address, "Redis is a replica now and takes no writes; looking for the master");
        }
    }

    fn is_master(&self) {
        if self.is_replica.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = %self.address, "Redis takes writes again");
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

/// The server is a replica, of a master that is elsewhere; it refuses the first write, so nothing has happened. Before 7 a
/// script's refused write is an error of the script's, whose words have the code.
fn is_read_only(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        || error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError)
            && error.detail().is_some_and(|detail| detail.contains("-READONLY "))
}

/// All answers, or the first error. What surely has not happened here may have happened by another of these calls.
pub(super) fn all_or_none<T>(answers: Vec<StoreResult<T>>) -> StoreResult<Vec<T>> {
    let nothing_happened = answers.iter().all(|answer| match answer {
        Err(StoreError::Unavailable(why)) => why.is::<NotReached>(),
        _ => false,
    });
    let all: StoreResult<Vec<T>> = answers.into_iter().collect();
    all.map_err(|error| match error {
        StoreError::Unavailable(why) if !nothing_happened => StoreError::Unavailable(why.to_string().into()),
        error => error,
    })
}

/// An answer that was lost, or a refusal of the server's.
pub(super) fn unavailable(error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => unreadable(error),
        _ if error.is_connection_refusal() || is_read_only(&error) => {
            StoreError::Unavailable(NotReached(in_words(&error)).into())
        }
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
    if is_read_only(error) {
        return REPLICA.to_owned();
    }
    if let Some(words) = tls::in_words(error, SETTINGS) {
        return words;
    }
    if error.is_io_error() {
        return format!("the connection to Redis failed: {text}");
    }
    format!("Redis says: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_calls_that_go_together_one_may_have_happened_although_another_has_not() {
        let not_reached = || StoreError::Unavailable(NotReached("refused".to_owned()).into());
        let surely_not = |answers: Vec<StoreResult<()>>| {
            let Err(StoreError::Unavailable(why)) = all_or_none(answers) else { panic!("one of them has failed") };
            why.is::<NotReached>()
        };
        assert!(surely_not(vec![Err(not_reached()), Err(not_reached())]));
        assert!(!surely_not(vec![Err(not_reached()), Ok(())]));
        assert!(!surely_not(vec![Err(not_reached()), Err(StoreError::Unavailable("no answer".into()))]));
        assert_eq!(all_or_none(vec![Ok(1), Ok(2)]).unwrap(), [1, 2]);
    }

    #[test]
    fn a_replica_is_known_by_the_code_and_where_a_script_failed_by_its_words() {
        let said = |line: &[u8]| redis::parse_redis_value(line).and_then(redis::Value::extract_error).unwrap_err();
        let replica: [&[u8]; 2] = [
            b"-READONLY You can't write against a read only replica.\r\n",
            b"-ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): @user_script:71: \
              @user_script: 71: -READONLY You can't write against a read only replica. \r\n",
        ];
        for line in replica {
            let error = said(line);
            assert!(is_read_only(&error), "{error}");
            assert!(matches!(unavailable(error), StoreError::Unavailable(why) if why.is::<NotReached>()));
        }
        let other: [&[u8]; 2] = [
            b"-ERR Error running script (call to f_6b1b): @user_script:71: -OOM command not allowed\r\n",
            b"-ERR unknown command 'READONLY '\r\n",
        ];
        for line in other {
            let error = said(line);
            assert!(!is_read_only(&error), "{error}");
        }
    }

    #[test]
    fn a_replica_answers_what_only_reads() {
        assert!(library::only_reads("open") && library::only_reads("stands"));
        assert!(!library::only_reads("commit") && !library::only_reads("claim"));
    }
}
