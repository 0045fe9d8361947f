//! Where things are kept, and where pages are served.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use opora::instance::{self, Sighting};
use opora::store::{Lease, OpenError, RedisServer, Store, StoreError};
use tokio::net::TcpListener;

use super::Finding;
use crate::config::{Config, Secret};
use crate::domain::Domain;
use crate::files::{Files, FilesAddress};
use crate::private;
use crate::state::output;

/// Below this the next document may not fit.
const FULL_BYTES: u64 = 100 << 20;
/// Below this somebody should know.
const SCARCE_BYTES: u64 = 1 << 30;
const SERVER: &str = "look at host, port, database, user and password, and whether the server runs";

/// The application's tables: whether they can be read, and whether they are of this version.
pub(super) async fn look_at_database(config: &Config) -> Finding {
    let database = &config.database;
    match Domain::look(database).await {
        Ok(None) => Finding::note("database", format!("{database} is not there yet"), "the first start makes it"),
        Ok(Some(found)) if found.steps_left == 0 => Finding::ok("database", format!("{database}, {}", found.server)),
        Ok(Some(found)) => {
            let (steps, server) = (found.steps_left, found.server);
            let told = format!("{database}, {server}: {steps} steps behind this version");
            Finding::note("database", told, "the start takes them, or opora migrate does")
        }
        Err(error) => Finding::trouble("database", format!("{database}: {error:#}"), SERVER),
    }
}

/// Where conversations are kept, and who works on them.
pub(super) async fn look_at_store(config: &Config) -> Vec<Finding> {
    let new = |found: String| {
        let advice = "the start makes it, or brings it up to date; a newer one needs a newer opora";
        vec![Finding::note("conversations", found, advice)]
    };
    if let Some(path) = config.state.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path))
        && !Path::new(path).exists()
    {
        return new(format!("there is no {path} yet"));
    }
    let store = match opora::store::open_existing(&config.state).await {
        Ok(store) => store,
        Err(OpenError::Store(error @ StoreError::Unsupported(_))) => return new(error.to_string()),
        Err(error) => return vec![Finding::trouble("conversations", error.to_string(), SERVER)],
    };
    let bot = config.bot_token.0.split(':').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    let findings = vec![kept(&*store, bot).await, held(&*store, bot).await];
    // It was opened to be read: that it does not close cleanly harms nothing.
    let _ = store.close().await;
    findings
}

async fn kept(store: &dyn Store, bot: i64) -> Finding {
    let about = store.describe();
    match store.statistics(Some(bot)).await {
        Ok(numbers) if numbers.parked > 0 => {
            let found = format!("{about}: {} open, {} turns parked", numbers.active, numbers.parked);
            Finding::note("conversations", found, "opora state parked list shows what went wrong")
        }
        Ok(numbers) => Finding::ok("conversations", format!("{about}: {} open", numbers.active)),
        Err(error) => Finding::trouble("conversations", format!("{about}: {error}"), SERVER),
    }
}

async fn held(store: &dyn Store, bot: i64) -> Finding {
    match store.lease(bot).await {
        Ok(None) => Finding::ok("lease", "nobody works for this bot"),
        Ok(Some(Lease { holder, .. })) => {
            let who = format!("process {} on {} works for this bot", holder.pid, holder.host);
            match instance::look_for(&holder) {
                Sighting::Running => Finding::ok("lease", who),
                Sighting::OutOfSight => {
                    let advice = "another start stands by until it is gone; opora state lease clear ends its right";
                    Finding::note("lease", format!("{who}; from here it cannot be seen"), advice)
                }
                Sighting::Gone => Finding::ok("lease", format!("{who} no more; the next start goes on at once")),
            }
        }
        Err(error) => Finding::trouble("lease", error.to_string(), SERVER),
    }
}

/// The Redis servers: whether they are reached, what they may throw away, and what a restart of theirs loses.
pub(super) async fn look_at_redis(config: &Config) -> Vec<Finding> {
    let is_redis = config.state.starts_with("redis");
    let (state, cache) =
        tokio::join!(async { if is_redis { Some(RedisServer::look(&config.state).await) } else { None } }, async {
            match &config.cache {
                Some(Secret(address)) => Some(RedisServer::look(address).await),
                None => None,
            }
        },);
    state.map(|seen| state_server(&seen)).into_iter().chain(cache.map(|seen| cache_server(&seen))).collect()
}

fn state_server(seen: &Result<RedisServer, StoreError>) -> Finding {
    match seen {
        Err(error) => Finding::trouble("redis", error.to_string(), SERVER),
        Ok(RedisServer { place, evicts: Some(policy), .. }) => {
            let found = format!("{place} throws keys away when its memory is full (maxmemory-policy {policy})");
            Finding::trouble("redis", found, "set maxmemory-policy noeviction: it keeps conversations, PINs and locks")
        }
        Ok(RedisServer { place, version: (major, minor), losses, may_lose, .. }) => {
            let found = format!("{place}, Redis {major}.{minor}, throws nothing away; {losses}");
            if *may_lose {
                return Finding::note(
                    "redis",
                    found,
                    "with appendonly yes and appendfsync always it would lose nothing",
                );
            }
            Finding::ok("redis", found)
        }
    }
}

/// What a cache throws away can be loaded again.
fn cache_server(seen: &Result<RedisServer, StoreError>) -> Finding {
    match seen {
        Ok(RedisServer { place, version: (major, minor), .. }) => {
            Finding::ok("cache", format!("{place}, Redis {major}.{minor}"))
        }
        Err(error) => Finding::note("cache", error.to_string(), "pages are slower without it; look at CACHE_URL"),
    }
}

/// Whether other users of this machine can read what is kept in files.
pub(super) async fn look_at_modes(config: &Config) -> Finding {
    let folder = config.data_dir.clone();
    let database = config.database.file().map(Path::to_owned);
    let seen = tokio::task::spawn_blocking(move || private::exposed(&folder, database.as_deref())).await;
    let folder = config.data_dir.display();
    match seen.map_err(std::io::Error::other).and_then(|seen| seen) {
        Ok(open) if open.is_empty() => Finding::ok("privacy", format!("only this user can read {folder}")),
        Ok(open) => {
            let advice = format!("the next start closes them, or chmod -R go-rwx {folder} does");
            let is_entered = open.contains(&config.data_dir);
            let is_read = |path: &&PathBuf| !path.starts_with(&config.data_dir) || is_entered && path.is_file();
            match open.iter().find(is_read) {
                Some(path) => {
                    let found = format!("other users of this machine can read {}", path.display());
                    Finding::trouble("privacy", found, advice)
                }
                // Either the folder keeps other users out, or there is no file in it that they could read.
                None => Finding::note("privacy", format!("{} modes in {folder} are loose", open.len()), advice),
            }
        }
        Err(error) => Finding::note("privacy", format!("{folder}: {error}"), "run doctor as the user that runs opora"),
    }
}

/// How much room there is for files and the embedded database.
pub(super) async fn look_at_disk(config: &Config) -> Finding {
    let folder = nearest(&config.data_dir).await;
    let asked = folder.clone();
    let seen = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&asked)).await;
    match seen {
        Ok(Ok(seen)) => room_on_disk(&folder, seen.f_bavail.saturating_mul(seen.f_frsize)),
        Ok(Err(error)) => Finding::note("disk", format!("{}: {error}", folder.display()), "look by hand: df -h"),
        Err(error) => Finding::note("disk", error.to_string(), "look by hand: df -h"),
    }
}

/// The folder itself, or the nearest one above that is there.
async fn nearest(folder: &Path) -> PathBuf {
    for above in folder.ancestors() {
        if !above.as_os_str().is_empty() && tokio::fs::metadata(above).await.is_ok() {
            return above.to_owned();
        }
    }
    PathBuf::from(".")
}

fn room_on_disk(folder: &Path, free_bytes: u64) -> Finding {
    let found = format!("{} is free where {} is", output::size(free_bytes), folder.display());
    let advice = "make room, or let DATA_DIR name a larger disk: turns wait while it is full";
    match free_bytes {
        0..FULL_BYTES => Finding::trouble("disk", found, advice),
        FULL_BYTES..SCARCE_BYTES => Finding::note("disk", found, advice),
        _ => Finding::ok("disk", found),
    }
}

/// Whether documents can be stored: by storing something and taking it away again.
pub(super) async fn look_at_files(config: &Config) -> Finding {
    let (address, tried) = (&config.files, Files::at(&config.files).try_out().await);
    match (address, tried) {
        (FilesAddress::Folder(folder), Ok(())) if !folder.is_dir() => {
            Finding::note("files", format!("{address} is not there yet"), "the first document makes it")
        }
        (_, Ok(())) => Finding::ok("files", format!("{address} can be written")),
        (FilesAddress::Folder(_), Err(error)) => {
            let found = format!("{address} cannot be written: {error}");
            Finding::trouble("files", found, "give it to the user that runs opora, or make room on the disk")
        }
        (FilesAddress::Bucket(_), Err(error)) => {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => "look at S3_ACCESS_KEY and S3_SECRET_KEY, and what they may do there",
                _ => "look at S3_ENDPOINT and S3_REGION, whether the server runs, and whether the bucket is there",
            };
            Finding::trouble("files", format!("{address} cannot be written: {error}"), advice)
        }
    }
}

/// Whether pages can be served.
pub(super) async fn look_at_port(config: &Config) -> Finding {
    let address = config.web_listen;
    match TcpListener::bind(address).await {
        Ok(_) => Finding::ok("pages", format!("{address} is free; people reach them at {}", config.public_url)),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let advice = "that is right if opora runs here; otherwise WEB_LISTEN names another address";
            Finding::note("pages", format!("{address} is taken"), advice)
        }
        Err(error) => {
            let advice = "WEB_LISTEN names an address of this machine and a port above 1023";
            Finding::trouble("pages", format!("{address}: {error}"), advice)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn a_disk_is_told_before_it_is_full() {
        let health = |free| room_on_disk(Path::new("/srv"), free).health;
        assert_eq!([health(5 << 20), health(500 << 20), health(5 << 30)], [Health::Trouble, Health::Note, Health::Ok]);
    }

    #[test]
    fn a_redis_that_throws_keys_away_or_forgets_is_told() {
        let server = |evicts: Option<&str>, may_lose| {
            let (place, evicts) = ("the Redis".to_owned(), evicts.map(ToOwned::to_owned));
            state_server(&Ok(RedisServer { place, version: (7, 0), evicts, losses: "", may_lose })).health
        };
        assert_eq!(server(Some("allkeys-lru"), false), Health::Trouble);
        assert_eq!((server(None, true), server(None, false)), (Health::Note, Health::Ok));
    }
}
