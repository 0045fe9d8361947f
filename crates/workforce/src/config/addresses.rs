//! The addresses of conversations, tables, files and the cache.

use std::path::Path;

use opora::store::{setting, with_setting};

use super::FilesAddress;
use super::layers::Layers;
use crate::domain::Address;

/// The address of the conversations, and the setting that names it.
pub fn state(layers: &Layers) -> (String, &'static str) {
    if let Some(given) = layers.get("STATE_URL") {
        return (given.value.to_owned(), "STATE_URL");
    }
    if let Some(given) = layers.get("REDIS_URL") {
        return (state_database(given.value), "REDIS_URL");
    }
    // State and tables in one database commit in one step.
    if let Some(given) = layers.get("DATABASE_URL") {
        return (given.value.to_owned(), "DATABASE_URL");
    }
    (embedded(layers), "DATA_DIR")
}

/// The address of the tables: `DATABASE_URL`, else that of the conversations if it is SQL, else the embedded file.
pub fn database(layers: &Layers) -> String {
    if let Some(given) = layers.get("DATABASE_URL") {
        return given.value.to_owned();
    }
    let (state, _) = state(layers);
    if Address::parse(&state).is_some() { state } else { embedded(layers) }
}

/// The data directory.
pub fn data_dir(layers: &Layers) -> &str {
    let folder = layers.get("DATA_DIR").map_or("data", |given| given.value);
    // The root keeps its slash.
    Some(folder.trim_end_matches('/')).filter(|folder| !folder.is_empty()).unwrap_or("/")
}

/// The address of the files; a sentence for each mistake.
pub fn files(layers: &Layers) -> Result<FilesAddress, Vec<String>> {
    let setting = |name: &str| layers.get(name).map(|given| given.value);
    match setting("FILES_URL") {
        Some(url) => FilesAddress::read(url, setting),
        None => Ok(FilesAddress::Folder(Path::new(data_dir(layers)).join("files"))),
    }
}

fn embedded(layers: &Layers) -> String {
    format!("sqlite:{}/opora.db", data_dir(layers))
}

/// The address of the cache: `CACHE_URL`, else database 0 of `REDIS_URL`.
pub fn cache(layers: &Layers) -> Option<String> {
    let own = layers.get("CACHE_URL").map(|given| given.value.to_owned());
    own.or_else(|| layers.get("REDIS_URL").map(|given| in_database(given.value, 0)))
}

/// The same Redis with another database number.
fn in_database(address: &str, number: u8) -> String {
    let (plain, settings) = address.split_at(address.find('?').unwrap_or(address.len()));
    let begins = plain.find("://").map_or(0, |scheme| scheme + 3);
    let server = plain[begins..].find('/').map_or(plain, |slash| &plain[..begins + slash]);
    format!("{server}/{number}{settings}")
}

/// Database 1, unless the address names one: caches are in 0.
fn state_database(address: &str) -> String {
    let plain = address.split('?').next().unwrap_or_default();
    let begins = plain.find("://").map_or(0, |scheme| scheme + 3);
    match plain[begins..].find('/') {
        Some(slash) if begins + slash + 1 < plain.len() => address.to_owned(),
        _ => in_database(address, 1),
    }
}

/// Adds a journal in the database for a single instance, so that it continues while Redis is away.
pub fn with_journal(state: String, only_instance: bool) -> String {
    let has_setting = |name: &str| setting(&state, name).is_some();
    if !only_instance || !state.starts_with("redis") || has_setting("journal") || has_setting("layout") {
        return state;
    }
    with_setting(&state, "journal", "database")
}

#[cfg(test)]
mod tests {
    use super::super::Layer;
    use super::*;

    fn set(values: &[(&str, &str)]) -> Layers {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Layers::new(vec![Layer { origin: "a test".into(), values }])
    }

    #[test]
    fn states_are_in_database_1_by_default() {
        for (address, meant) in [
            ("redis://host", "redis://host/1"),
            ("redis://:pw@host:7000/", "redis://:pw@host:7000/1"),
            ("redis://host/0", "redis://host/0"),
            ("rediss://host:1?ca=/etc/ca.pem", "rediss://host:1/1?ca=/etc/ca.pem"),
            ("redis://host/2?prefix=shop", "redis://host/2?prefix=shop"),
        ] {
            assert_eq!(state(&set(&[("REDIS_URL", address)])), (meant.to_owned(), "REDIS_URL"));
        }
    }

    #[test]
    fn the_cache_is_in_database_0_by_default() {
        let redis = ("REDIS_URL", "redis://:pw@host:7000/3?ca=/etc/ca.pem");
        assert_eq!(cache(&set(&[redis])).as_deref(), Some("redis://:pw@host:7000/0?ca=/etc/ca.pem"));
        assert_eq!(cache(&set(&[redis, ("CACHE_URL", "redis://other")])).as_deref(), Some("redis://other"));
        assert_eq!(cache(&set(&[])), None);
    }

    #[test]
    fn addresses_of_conversations_and_tables() {
        let (file, server, redis) = ("sqlite:data/opora.db", "postgres://db/opora", "redis://host/3");
        for (given, at, tables) in [
            (set(&[]), file, file),
            (set(&[("DATA_DIR", "/srv/opora/")]), "sqlite:/srv/opora/opora.db", "sqlite:/srv/opora/opora.db"),
            (set(&[("DATABASE_URL", server)]), server, server),
            (set(&[("STATE_URL", server)]), server, server),
            (set(&[("STATE_URL", redis)]), redis, file),
            (set(&[("STATE_URL", redis), ("DATABASE_URL", server)]), redis, server),
            (set(&[("REDIS_URL", "redis://host"), ("DATABASE_URL", server)]), "redis://host/1", server),
            (set(&[("STATE_URL", " "), ("DATABASE_URL", "")]), file, file),
        ] {
            assert_eq!((state(&given).0.as_str(), database(&given).as_str()), (at, tables));
        }
    }
}
