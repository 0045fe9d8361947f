//! Checks of databases, stores, files and disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use opora::store::{Lease, OpenError, ProcessStatus, RedisServerInfo, Store, StoreError, process_status};

use super::Finding;
use crate::config::{Config, Secret};
use crate::domain::Domain;
use crate::files::{Files, FilesAddress};
use crate::private;
use crate::terminal::output;

/// Below this the next document may not fit.
const CRITICAL_FREE_BYTES: u64 = 100 << 20;
/// Below this the operator should know.
const LOW_FREE_BYTES: u64 = 1 << 30;
const SERVER_ADVICE: &str = "check host, port, database, user and password, and whether the server runs";

/// Whether the application's tables can be read, and are of this version.
pub(super) async fn check_database(config: &Config) -> Finding {
    let database = &config.database;
    match Domain::inspect(database).await {
        Ok(None) => Finding::note("database", format!("{database} does not exist yet"), "the first start creates it"),
        Ok(Some(found)) if found.pending == 0 => Finding::ok("database", format!("{database}, {}", found.server)),
        Ok(Some(found)) => {
            let (migrations, server) = (found.pending, found.server);
            let text = format!("{database}, {server}: {migrations} migrations behind this version");
            Finding::note("database", text, "the start applies them, or opora migrate does")
        }
        Err(error) => Finding::trouble("database", format!("{database}: {error:#}"), SERVER_ADVICE),
    }
}

/// Whether the conversations can be read, and which process leads.
pub(super) async fn check_store(config: &Config) -> Vec<Finding> {
    let new = |found: String| {
        let advice = "the start creates or updates it; a newer one needs a newer opora";
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
        Err(error) => return vec![Finding::trouble("conversations", error.to_string(), SERVER_ADVICE)],
    };
    let bot = config.bot_token.0.split(':').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    let findings = vec![conversations(&*store, bot).await, lease(&*store, bot).await];
    // It was only read, so a failure to close does no harm.
    let _ = store.close().await;
    findings
}

async fn conversations(store: &dyn Store, bot: i64) -> Finding {
    let about = store.describe();
    match store.statistics(Some(bot)).await {
        Ok(numbers) if numbers.parked > 0 => {
            let found = format!("{about}: {} open, {} turns parked", numbers.active, numbers.parked);
            Finding::note("conversations", found, "opora state parked list shows what went wrong")
        }
        Ok(numbers) => Finding::ok("conversations", format!("{about}: {} open", numbers.active)),
        Err(error) => Finding::trouble("conversations", format!("{about}: {error}"), SERVER_ADVICE),
    }
}

async fn lease(store: &dyn Store, bot: i64) -> Finding {
    match store.lease(bot).await {
        Ok(None) => Finding::ok("lease", "no process runs this bot"),
        Ok(Some(Lease { holder, .. })) => {
            let description = format!("process {} on {} runs this bot", holder.pid, holder.host);
            match process_status(&holder) {
                ProcessStatus::Running => Finding::ok("lease", description),
                ProcessStatus::Unknown => {
                    let advice = "another instance stands by until it is gone; opora state lease clear ends its lease";
                    Finding::note("lease", format!("{description}; it cannot be checked from here"), advice)
                }
                ProcessStatus::Gone => {
                    Finding::ok("lease", format!("{description} no more; the next start continues at once"))
                }
            }
        }
        Err(error) => Finding::trouble("lease", error.to_string(), SERVER_ADVICE),
    }
}

/// Whether the Redis servers are reachable, which keys they evict, and what a restart loses.
pub(super) async fn check_redis(config: &Config) -> Vec<Finding> {
    let is_redis = config.state.starts_with("redis");
    let (state, cache) =
        tokio::join!(async { if is_redis { Some(RedisServerInfo::read(&config.state).await) } else { None } }, async {
            match &config.cache {
                Some(Secret(address)) => Some(RedisServerInfo::read(address).await),
                None => None,
            }
        },);
    state.map(|seen| state_server(&seen)).into_iter().chain(cache.map(|seen| cache_server(&seen))).collect()
}

fn state_server(seen: &Result<RedisServerInfo, StoreError>) -> Finding {
    match seen {
        Err(error) => Finding::trouble("redis", error.to_string(), SERVER_ADVICE),
        Ok(RedisServerInfo { address, eviction_policy: Some(policy), .. }) => {
            let found = format!("{address} evicts keys when its memory is full (maxmemory-policy {policy})");
            Finding::trouble("redis", found, "set maxmemory-policy noeviction: it keeps conversations, PINs and locks")
        }
        Ok(RedisServerInfo { address, version: (major, minor), restart_loss, can_lose_data, .. }) => {
            let found = format!("{address}, Redis {major}.{minor}, evicts nothing; {restart_loss}");
            if *can_lose_data {
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

/// A cache may evict: its content can be loaded again.
fn cache_server(seen: &Result<RedisServerInfo, StoreError>) -> Finding {
    match seen {
        Ok(RedisServerInfo { address, version: (major, minor), .. }) => {
            Finding::ok("cache", format!("{address}, Redis {major}.{minor}"))
        }
        Err(error) => Finding::note("cache", error.to_string(), "pages are slower without it; check CACHE_URL"),
    }
}

/// Whether other users of this machine can read our files.
pub(super) async fn check_modes(config: &Config) -> Finding {
    let folder = config.data_dir.clone();
    let database = config.database.file().map(Path::to_owned);
    let seen = tokio::task::spawn_blocking(move || private::exposed(&folder, database.as_deref())).await;
    let folder = config.data_dir.display();
    match seen.map_err(std::io::Error::other).and_then(|seen| seen) {
        Ok(open) if open.is_empty() => Finding::ok("privacy", format!("only this user can read {folder}")),
        Ok(open) => {
            let advice = format!("the next start makes them private, or chmod -R go-rwx {folder} does");
            let is_entered = open.contains(&config.data_dir);
            let is_read = |path: &&PathBuf| !path.starts_with(&config.data_dir) || is_entered && path.is_file();
            match open.iter().find(is_read) {
                Some(path) => {
                    let found = format!("other users of this machine can read {}", path.display());
                    Finding::trouble("privacy", found, advice)
                }
                // Either the folder keeps other users out, or it holds no file that they could read.
                None => Finding::note("privacy", format!("{} modes in {folder} are loose", open.len()), advice),
            }
        }
        Err(error) => Finding::note("privacy", format!("{folder}: {error}"), "run doctor as the user that runs opora"),
    }
}

/// Free space for files and the embedded database.
pub(super) async fn check_disk(config: &Config) -> Finding {
    let folder = existing_ancestor(&config.data_dir).await;
    let path = folder.clone();
    let seen = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&path)).await;
    match seen {
        Ok(Ok(seen)) => disk_space(&folder, seen.f_bavail.saturating_mul(seen.f_frsize)),
        Ok(Err(error)) => Finding::note("disk", format!("{}: {error}", folder.display()), "check by hand: df -h"),
        Err(error) => Finding::note("disk", error.to_string(), "check by hand: df -h"),
    }
}

/// The folder itself, or its nearest existing parent.
async fn existing_ancestor(folder: &Path) -> PathBuf {
    for above in folder.ancestors() {
        if !above.as_os_str().is_empty() && tokio::fs::metadata(above).await.is_ok() {
            return above.to_owned();
        }
    }
    PathBuf::from(".")
}

fn disk_space(folder: &Path, free_bytes: u64) -> Finding {
    let found = format!("{} free on the disk of {}", output::size(free_bytes), folder.display());
    let advice = "free some space, or set DATA_DIR to a larger disk: turns wait while it is full";
    match free_bytes {
        0..CRITICAL_FREE_BYTES => Finding::trouble("disk", found, advice),
        CRITICAL_FREE_BYTES..LOW_FREE_BYTES => Finding::note("disk", found, advice),
        _ => Finding::ok("disk", found),
    }
}

/// Whether documents can be stored: stores and removes a small file.
pub(super) async fn check_files(config: &Config) -> Finding {
    let (address, tried) = (&config.files, Files::at(&config.files).check_writable().await);
    match (address, tried) {
        (FilesAddress::Folder(folder), Ok(())) if !folder.is_dir() => {
            Finding::note("files", format!("{address} does not exist yet"), "the first document creates it")
        }
        (_, Ok(())) => Finding::ok("files", format!("{address} can be written")),
        (FilesAddress::Folder(_), Err(error)) => {
            let found = format!("{address} cannot be written: {error}");
            Finding::trouble(
                "files",
                found,
                "make it writable for the user that runs opora, or free some space on the disk",
            )
        }
        (FilesAddress::Bucket(_), Err(error)) => {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => "check S3_ACCESS_KEY and S3_SECRET_KEY, and their rights there",
                _ => "check S3_ENDPOINT and S3_REGION, that the server runs, and that the bucket exists",
            };
            Finding::trouble("files", format!("{address} cannot be written: {error}"), advice)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn low_disk_space_is_reported_early() {
        let health = |free| disk_space(Path::new("/srv"), free).health;
        assert_eq!([health(5 << 20), health(500 << 20), health(5 << 30)], [Health::Trouble, Health::Note, Health::Ok]);
    }

    #[test]
    fn a_redis_that_evicts_or_loses_is_reported() {
        let server = |policy: Option<&str>, can_lose_data| {
            let address = "the Redis".to_owned();
            state_server(&Ok(RedisServerInfo {
                address,
                version: (7, 0),
                eviction_policy: policy.map(ToOwned::to_owned),
                restart_loss: "",
                can_lose_data,
            }))
            .health
        };
        assert_eq!(server(Some("allkeys-lru"), false), Health::Trouble);
        assert_eq!((server(None, true), server(None, false)), (Health::Note, Health::Ok));
    }
}
