//! The address of a PostgreSQL database, checked before the driver reads it.
//!
//! The driver ignores unknown settings and logs them with their values. But a mistyped `sslmode` would mean no TLS at
//! all, and a mistyped `password` would appear in the log. So unknown settings are refused here, without their values.

use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use crate::store::open::exposes_password;
use crate::store::{StoreError, StoreResult, without_setting};

/// The settings allowed behind `?`; also `options[name]`.
const SETTINGS: [&str; 15] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
    "statement-cache-capacity",
    DATA,
    "ssl-mode",
];

/// The folder for the last-seen record and the sent log. The driver does not see it.
const DATA: &str = "data";

pub(super) struct Address {
    pub(super) options: PgConnectOptions,
    pub(super) files: TlsFiles,
    pub(super) data: Option<PathBuf>,
}

/// The TLS files that an address names, with their settings.
#[derive(Clone, Debug, Default)]
pub(super) struct TlsFiles(Vec<(String, PathBuf)>);

impl Address {
    pub(super) fn parse(address: &str) -> StoreResult<Self> {
        let (plain, query) = address.split_once('?').unwrap_or((address, ""));
        if let Some(complaint) = exposes_password(plain) {
            return Err(bad(complaint));
        }
        let mut files = TlsFiles::default();
        let mut data = None;
        for (setting, value) in form_urlencoded::parse(query.as_bytes()) {
            if !SETTINGS.contains(&&*setting) && !setting.starts_with("options[") {
                let allowed = SETTINGS[..SETTINGS.len() - 1].join(", ");
                return Err(bad(&format!("the settings after `?` can be {allowed} and options[name]")));
            }
            if ["sslrootcert", "sslcert", "sslkey"].contains(&&*setting) {
                files.0.push((setting.into_owned(), value.into_owned().into()));
            } else if setting == DATA {
                data = Some(PathBuf::from(&*value));
            }
        }
        if data.as_ref().is_some_and(|data| data.as_os_str().is_empty()) {
            return Err(bad("`data` names no directory"));
        }
        let options = PgConnectOptions::from_str(&without_data(address)).map_err(|error| bad(&in_words(&error)))?;
        Ok(Self { options, files, data })
    }
}

impl TlsFiles {
    /// Checks that the files can be read: the driver's error would not name the file.
    pub(super) async fn check(&self) -> StoreResult<()> {
        for (setting, path) in &self.0 {
            tokio::fs::read(path).await.map_err(|error| {
                let path = path.display();
                let reason = format!("the file {path}, which `{setting}` names, cannot be used: {error}");
                StoreError::Unavailable(reason.into())
            })?;
        }
        Ok(())
    }
}

pub(super) fn without_data(address: &str) -> String {
    without_setting(address, DATA)
}

/// The driver's message, without its repeated prefix.
fn in_words(error: &sqlx::Error) -> String {
    error.to_string().replace("error with configuration: ", "")
}

fn bad(why: &str) -> StoreError {
    StoreError::Unavailable(format!("this is not an address of a PostgreSQL database: {why}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> Option<String> {
        Address::parse(address).err().map(|error| error.to_string())
    }

    #[test]
    fn known_settings_are_accepted() {
        for address in [
            "postgres://bot:pw@host:5432/db",
            "postgres://bot:p%2Fw%40@host/db?sslmode=verify-full&sslrootcert=/etc/ca.pem",
            "postgresql:///db?host=/run/postgresql&user=bot&password=a@b",
            "postgres://host/db?options[search_path]=bots&application_name=shop",
            "postgres://host/db?data=/var/lib/bot&sslmode=disable",
        ] {
            assert_eq!(refusal(address), None, "{address}");
        }
    }

    #[test]
    fn the_data_folder_is_hidden_from_the_driver() {
        for (address, known) in [
            ("postgres://host/db?data=%2Fmy%20files", "postgres://host/db"),
            ("postgres://host/db?user=a&d%61ta=/my files&port=5", "postgres://host/db?user=a&port=5"),
        ] {
            assert_eq!(Address::parse(address).unwrap().data, Some("/my files".into()), "{address}");
            assert_eq!(without_data(address), known);
        }
        assert_eq!(Address::parse("postgres://host/db?user=data").unwrap().data, None);
        assert!(refusal("postgres://host/db?data=").is_some_and(|told| told.contains("no directory")));
    }

    #[test]
    fn mistakes_are_refused_without_repeating_a_password() {
        for address in [
            "postgres://host/db?pasword=s3cret",
            "postgres://host/db?ssl_mode=s3cret",
            "postgres://bot:12/s3cret@host/db",
            "postgres://bot:12#s3cret@host/db",
            "postgres://bot:s3cret@host:port/db",
        ] {
            assert!(refusal(address).is_some_and(|message| !message.contains("s3cret")), "{address}");
        }
    }
}
