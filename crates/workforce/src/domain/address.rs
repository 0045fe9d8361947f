//! The address of the application's database.

use std::fmt;
use std::path::{Path, PathBuf};

/// A database address. Debug and Display hide the password.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Address {
    /// Parses `sqlite:<path>` or `postgres://…`; `None` if it is neither.
    pub fn parse(address: &str) -> Option<Self> {
        match address.split_once(':')? {
            ("sqlite", path) if !path.is_empty() => Some(Self::Sqlite(path.strip_prefix("//").unwrap_or(path).into())),
            ("postgres" | "postgresql", _) => Some(Self::Postgres(address.to_owned())),
            _ => None,
        }
    }

    /// Changes the URL of a server; a file stays as it is.
    #[must_use]
    pub fn with(self, set: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(path),
            Self::Postgres(url) => Self::Postgres(set(url)),
        }
    }

    /// The path of a database file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// The address as it was given, with its password.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => url.clone(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "the database file {}", path.display()),
            Self::Postgres(url) => {
                let after_scheme = url.split_once("//").map_or("", |(_, rest)| rest);
                let place = after_scheme.rsplit_once('@').map_or(after_scheme, |(_, place)| place);
                write!(f, "the PostgreSQL at {}", place.split('?').next().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_hide_the_password() {
        assert_eq!(Address::parse("sqlite:data/opora.db"), Some(Address::Sqlite("data/opora.db".into())));
        assert_eq!(Address::parse("sqlite:///srv/opora.db"), Some(Address::Sqlite("/srv/opora.db".into())));
        assert_eq!((Address::parse("sqlite:"), Address::parse("redis://host"), Address::parse("")), (None, None, None));
        let server = Address::parse("postgres://opora:s3cr@t@db.example:5432/opora?sslmode=require");
        let shown = format!("{:?}", server.unwrap());
        assert_eq!(shown, "the PostgreSQL at db.example:5432/opora");
    }
}
