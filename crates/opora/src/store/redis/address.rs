//! Where a Redis is: `redis://[user][:password@]host[:port][/database][?prefix=name]`, or `rediss://` with TLS.
//!
//! The password goes to the server and nowhere else: what is shown of an address has none.

use std::fmt;

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::store::{StoreError, StoreResult};

/// The first part of all keys, unless an address names another.
const PREFIX: &str = "opora";

/// An address that was understood.
pub(crate) struct Address {
    pub(super) info: ConnectionInfo,
    pub(super) prefix: String,
}

impl Address {
    pub(crate) fn parse(address: &str) -> StoreResult<Self> {
        let is_redis = address.starts_with("redis://") || address.starts_with("rediss://");
        let (plain, query) = address.split_once('?').unwrap_or((address, ""));
        let mut prefix = PREFIX;
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            prefix = setting.strip_prefix("prefix=").ok_or_else(|| bad("only `prefix` may stand behind its `?`"))?;
        }
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)) {
            return Err(bad("a prefix has letters, digits and -_.: only"));
        }
        // The reader's own words could repeat a part of the address.
        let info = plain.into_connection_info().ok().filter(|_| is_redis && !plain.contains('#'));
        let info = info.ok_or_else(|| bad("redis://[:password@]host[:port][/database] was expected"))?;
        Ok(Self { info, prefix: prefix.to_owned() })
    }
}

/// Host, port and database.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.info.addr(), self.info.redis_settings().db())?;
        if self.prefix != PREFIX {
            write!(f, " under {}", self.prefix)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

fn bad(why: &str) -> StoreError {
    StoreError::Unavailable(format!("the address of Redis cannot be used: {why}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = Address::parse("redis://:s3cret@127.0.0.1:7000/2?prefix=shop").unwrap();
        assert_eq!(address.to_string(), "127.0.0.1:7000/2 under shop");
        assert_eq!(address.info.redis_settings().password(), Some("s3cret"));
        assert!(!format!("{address:?}").contains("s3cret"));
        assert_eq!(Address::parse("rediss://redis.example").unwrap().to_string(), "redis.example:6379/0");
    }

    #[test]
    fn a_bad_address_is_refused_without_repeating_it() {
        let bad = [
            "redis://:s3cret@host:port",
            "redis://:s3cret@host/x",
            "unix:///s3cret",
            "redis://h?prefix={s3cret}",
            "redis://h?s3cret=1",
            "rediss://s3cret/#insecure",
        ];
        for address in bad {
            let error = Address::parse(address).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
