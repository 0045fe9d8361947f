//! Where things are kept, and where pages are served.

use std::io::ErrorKind;
use std::path::Path;

use opora::instance::{self, Sighting};
use opora::store::{Lease, OpenError, Store, StoreError};
use tokio::net::TcpListener;

use super::Finding;
use crate::config::Config;
use crate::domain::Domain;
use crate::files::{Files, FilesAddress};

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
