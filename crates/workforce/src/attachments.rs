//! Attachments: files that people sent at work, downloaded from Telegram so that pages can show them.
//!
//! The commit that stores Telegram's file id also requests the download. A row records the result: pending, stored or
//! failed. A dialogue that requests downloads must handle their outcomes, with [`handle_downloads`].
//!
//! The pages that show a file decide who may see it.

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::dialogue::{Dialogue, States};
use opora::prelude::timer;
use sea_orm::DbErr;

pub use self::fetching::{RETRY_TIMER, TOPIC, download, fetch, retry, retry_pending, store};
pub use self::records::{Attachment, find, forget, insert};
use crate::application::App;
use crate::domain::Domain;
use crate::jobs::Jobs;
use crate::rooms::Room;

mod fetching;
mod records;
mod tables;

/// Telegram does not give larger files to bots.
pub const MAX_FILE_BYTES: u64 = 20_000_000;

/// The effect that stores a downloaded file.
pub const KEEP: &str = "attachments:keep";

#[derive(Debug)]
pub struct AttachmentsRoom;

impl Room for AttachmentsRoom {
    fn name(&self) -> &'static str {
        "attachments"
    }

    fn effects(&self, app: &App, bot: Bot) -> Bot {
        let app = app.clone();
        bot.effect(KEEP, move |request| store(app.clone(), request))
    }

    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        Box::pin(records::owned(domain, names))
    }

    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        Box::pin(records::count(domain))
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.scheduled(fetching::Fetch {}, "*/10 * * * *", fetching::retry_pending).also_at_start()
    }
}

/// Handles the downloads of a dialogue. One dialogue of the script must use [`handle_all_downloads`] instead.
pub fn handle_downloads<S: States>(dialogue: Dialogue<S>) -> Dialogue<S> {
    dialogue.on_late_outcome(fetching::downloaded::<S>)
}

/// Handles the downloads of the one dialogue that also requests pending downloads.
pub fn handle_all_downloads<S: States>(dialogue: Dialogue<S>) -> Dialogue<S> {
    handle_downloads(dialogue).start(timer(RETRY_TIMER), fetching::request_pending::<S>)
}
