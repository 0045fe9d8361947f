//! Attachments: what people sent in Telegram for their work, fetched from there and kept with the documents, so that pages
//! can show it.
//!
//! The commit that writes Telegram's id down asks for the file as well. Whatever comes of it stands in a row: it is being
//! fetched, it is there, or it could not be had. A dialogue that asks lets this room hear the outcomes, by [`hear`].
//!
//! Who may see a file is decided by whoever shows it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::dialogue::{Dialogue, States};
use opora::prelude::timer;
use sea_orm::DbErr;

pub use self::records::{Attachment, forget, of, want};
pub use self::taking::{AGAIN, TOPIC, ask, fetch, keep, try_again};
use crate::application::App;
use crate::domain::Domain;
use crate::rooms::{Job, Room};

mod records;
mod tables;
mod taking;

/// Telegram gives bots no larger files.
pub const LARGEST_BYTES: u64 = 20_000_000;

/// Puts a download into its place.
pub const KEEP: &str = "attachments:keep";

/// The room.
#[derive(Debug)]
pub struct AttachmentsRoom;

impl Room for AttachmentsRoom {
    fn name(&self) -> &'static str {
        "attachments"
    }

    fn work(&self, app: &App, bot: Bot) -> Bot {
        let app = app.clone();
        bot.effect(KEEP, move |asked| keep(app.clone(), asked))
    }

    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        Box::pin(records::owned(domain, names))
    }

    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        Box::pin(records::count(domain))
    }

    fn jobs(&self) -> Vec<Job> {
        let every = Duration::from_secs(10 * 60);
        vec![Job { name: "attachments", every, run: |app| Box::pin(taking::look_after(app)) }]
    }
}

/// Lets a dialogue hand over what its downloads bring. One dialogue of the script also takes up what waits.
pub fn hear<S: States>(dialogue: Dialogue<S>) -> Dialogue<S> {
    dialogue.late(taking::arrived::<S>)
}

/// The same for the dialogue that takes up what waits to be asked for.
pub fn hear_all<S: States>(dialogue: Dialogue<S>) -> Dialogue<S> {
    hear(dialogue).start(timer(AGAIN), taking::take_up::<S>)
}
