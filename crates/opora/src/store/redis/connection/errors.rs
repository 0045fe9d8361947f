//! What errors of the client mean: whether a call was applied, and what went wrong, in words.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::NotReached;
use crate::store::redis::address::Address;
use crate::store::redis::rows::unreadable;
use crate::store::redis::tls::SETTING_NAMES;
use crate::store::{StoreError, StoreResult, tls};

pub(super) const REPLICA: &str = "Redis refuses writes: it is a replica now";

/// The error of a first connection: a server that closes it at once, or does not answer TLS, expects another protocol.
pub(super) fn connect_error(error: RedisError, address: &Address) -> StoreError {
    let is_ended = error.is_connection_dropped() && !error.is_connection_refusal();
    let reason = match (is_ended, error.is_timeout(), address.is_tls()) {
        (true, _, false) => {
            "it closed the connection at once; if it expects TLS, the address has to begin with rediss://"
        }
        (_, true, true) => {
            "it did not answer in time; if it does not expect TLS, the address has to begin with redis://"
        }
        _ => return unavailable(error),
    };
    StoreError::Unavailable(reason.into())
}

/// The server did nothing, because it does not have the library.
pub(super) fn is_library_missing(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
        || error.detail().is_some_and(|detail| detail.contains("Function not found"))
}

/// The server does not support functions, or does not permit them.
pub(super) fn are_functions_refused(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || error.detail().is_some_and(|detail| detail.to_ascii_lowercase().contains("unknown command"))
}

/// The server is a replica. It refuses the first write of a call, so nothing was applied. Before Redis 7 the refusal of
/// a script's write is only in the text of the script's error.
pub(super) fn is_read_only(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        || error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError)
            && error.detail().is_some_and(|detail| detail.contains("-READONLY "))
}

/// All answers, or the first error. The error is [`NotReached`] only if no call was applied.
pub(in crate::store::redis) fn all_or_none<T>(answers: Vec<StoreResult<T>>) -> StoreResult<Vec<T>> {
    let none_applied = answers.iter().all(|answer| match answer {
        Err(StoreError::Unavailable(why)) => why.is::<NotReached>(),
        _ => false,
    });
    let all: StoreResult<Vec<T>> = answers.into_iter().collect();
    all.map_err(|error| match error {
        StoreError::Unavailable(why) if !none_applied => StoreError::Unavailable(why.to_string().into()),
        error => error,
    })
}

/// Adds the address to an `Unavailable` error.
pub(in crate::store::redis) fn cannot_use(error: StoreError, address: &str) -> StoreError {
    match error {
        StoreError::Unavailable(why) => {
            StoreError::Unavailable(format!("cannot use the Redis at {address}: {why}").into())
        }
        other => other,
    }
}

/// The store error of a lost answer or a refusal by the server.
pub(in crate::store::redis) fn unavailable(error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => unreadable(error),
        _ if error.is_connection_refusal() || is_read_only(&error) => {
            StoreError::Unavailable(NotReached(describe_error(&error)).into())
        }
        _ => StoreError::Unavailable(describe_error(&error).into()),
    }
}

/// What went wrong, without passwords.
pub(super) fn describe_error(error: &RedisError) -> String {
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
    if let Some(words) = tls::describe_error(error, SETTING_NAMES) {
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
    fn one_of_several_calls_may_have_been_applied() {
        let not_reached = || StoreError::Unavailable(NotReached("refused".to_owned()).into());
        let is_not_reached = |answers: Vec<StoreResult<()>>| {
            let Err(StoreError::Unavailable(why)) = all_or_none(answers) else { panic!("one of them has failed") };
            why.is::<NotReached>()
        };
        assert!(is_not_reached(vec![Err(not_reached()), Err(not_reached())]));
        assert!(!is_not_reached(vec![Err(not_reached()), Ok(())]));
        assert!(!is_not_reached(vec![Err(not_reached()), Err(StoreError::Unavailable("no answer".into()))]));
        assert_eq!(all_or_none(vec![Ok(1), Ok(2)]).unwrap(), [1, 2]);
    }

    #[test]
    fn a_replica_is_known_by_code_or_script_error() {
        let error_of = |line: &[u8]| redis::parse_redis_value(line).and_then(redis::Value::extract_error).unwrap_err();
        let replica: [&[u8]; 2] = [
            b"-READONLY You can't write against a read only replica.\r\n",
            b"-ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): @user_script:71: \
              @user_script: 71: -READONLY You can't write against a read only replica. \r\n",
        ];
        for line in replica {
            let error = error_of(line);
            assert!(is_read_only(&error), "{error}");
            assert!(matches!(unavailable(error), StoreError::Unavailable(why) if why.is::<NotReached>()));
        }
        let other: [&[u8]; 2] = [
            b"-ERR Error running script (call to f_6b1b): @user_script:71: -OOM command not allowed\r\n",
            b"-ERR unknown command 'READONLY '\r\n",
        ];
        for line in other {
            let error = error_of(line);
            assert!(!is_read_only(&error), "{error}");
        }
    }
}
