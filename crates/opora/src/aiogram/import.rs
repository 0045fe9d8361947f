//! Brings the conversations of an aiogram bot into a store.
//!
//! Whatever is found is imported, was there already, or is in the report with its reason. The source stays as it is. An
//! import that stopped midway can be repeated: what is there already is left alone.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde::Serialize;

use super::{Found, NoConversation, Record, Scan, Storage, StorageKey, Translate, Untranslated};
use crate::clock::{Clock, Millis};
use crate::dialogue::WrittenState;
use crate::key::DialogueKey;
use crate::store::{ConversationRow, Opened, Store, StoreError, Version};

/// How many conversations are handed to the store at once; it makes them durable together.
const BATCH: usize = 256;

/// How an import goes about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Conversations that are open in the store are overwritten.
    pub replace: bool,
    /// Nothing is written, only counted.
    pub dry_run: bool,
}

/// What became of everything that was found. The numbers add up: `found` is `imported`, `already_there`, those in
/// `unmapped` and those in `left_out`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// States and data of this bot.
    pub found: u64,
    /// Imported, or in a dry run importable.
    pub imported: u64,
    /// Left as they are, because the store has an open conversation there.
    pub already_there: u64,
    /// How many stand in states that the mapping does not name; the empty name is data without a state.
    pub unmapped: BTreeMap<String, u64>,
    /// What could not be read or become a conversation.
    pub left_out: Vec<LeftOut>,
    /// Keys of other bots, which were passed over.
    pub of_other_bots: u64,
    /// Locks that were held: an aiogram bot was at work meanwhile, and what it wrote since is missing.
    pub locks: u64,
}

/// A key that was left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftOut {
    /// Its name in aiogram's Redis.
    pub key: String,
    /// Why, in words.
    pub reason: String,
}

/// What stopped an import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// aiogram's Redis.
    #[error("aiogram's Redis: {0}")]
    Source(#[source] StoreError),
    /// The store.
    #[error("{0}")]
    Target(#[source] StoreError),
}

impl ImportReport {
    /// Whether everything that was found has its place in the store.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unmapped.is_empty() && self.left_out.is_empty()
    }
}

/// Imports everything; `progress` hears of every page.
pub async fn import(
    from: &Storage,
    translate: &dyn Translate,
    to: &dyn Store,
    options: ImportOptions,
    clock: &Clock,
    mut progress: impl FnMut(&ImportReport),
) -> Result<ImportReport, ImportError> {
    let mut report = ImportReport::default();
    let mut scan = Scan::default();
    while let Some(page) = from.page(&mut scan).await.map_err(ImportError::Source)? {
        let mut arrivals = Vec::new();
        for found in page {
            arrivals.extend(report.sort(found, from, translate, clock.now()));
        }
        for some in arrivals.chunks(BATCH) {
            for done in join_all(some.iter().map(|arrival| arrival.enter(to, options, clock.now()))).await {
                report.note(done?);
            }
        }
        progress(&report);
    }
    report.left_out.sort();
    Ok(report)
}

/// A conversation on its way into the store.
struct Arrival {
    /// Its name in the source.
    name: Box<str>,
    key: DialogueKey,
    state: WrittenState,
    until: Option<Millis>,
}

/// What became of one.
enum Entered {
    Imported,
    AlreadyThere,
    Refused(LeftOut),
}

impl ImportReport {
    fn sort(&mut self, found: Found, from: &Storage, by: &dyn Translate, now: Millis) -> Option<Arrival> {
        match found {
            Found::OfAnotherBot => self.of_other_bots += 1,
            Found::Lock => self.locks += 1,
            Found::Unreadable(what) => {
                self.found += 1;
                self.leave_out(&what.name, what.reason);
            }
            Found::Record { name, key, record, expires_in } => {
                self.found += 1;
                match understand(from, by, &key, &record) {
                    Ok((key, state)) => {
                        return Some(Arrival { name, key, state, until: expires_in.map(|left| now.plus(left)) });
                    }
                    Err(NotUnderstood::State(state)) => *self.unmapped.entry(state.into()).or_default() += 1,
                    Err(NotUnderstood::Rest(reason)) => self.leave_out(&name, reason),
                }
            }
        }
        None
    }

    fn note(&mut self, done: Entered) {
        match done {
            Entered::Imported => self.imported += 1,
            Entered::AlreadyThere => self.already_there += 1,
            Entered::Refused(left_out) => self.left_out.push(left_out),
        }
    }

    fn leave_out(&mut self, name: &str, reason: String) {
        self.left_out.push(LeftOut { key: name.to_owned(), reason });
    }
}

impl Arrival {
    async fn enter(&self, to: &dyn Store, options: ImportOptions, now: Millis) -> Result<Entered, ImportError> {
        let (version, is_open) = match to.open(&self.key, None).await.map_err(ImportError::Target)? {
            Opened::At { version, stored } => (version, stored.is_some()),
            // Only an input can be taken, and none was asked about.
            Opened::AlreadyTaken => (Version(0), false),
        };
        if is_open && !options.replace {
            return Ok(Entered::AlreadyThere);
        }
        // Buttons of what stood here before are stale.
        let version = Version(version.0.saturating_add(1));
        let stored = match self.state.clone().stored(version, self.until) {
            Ok(stored) => Some(stored),
            Err(error) => {
                return Ok(Entered::Refused(LeftOut { key: self.name.to_string(), reason: error.to_string() }));
            }
        };
        if options.dry_run {
            return Ok(Entered::Imported);
        }
        let row = ConversationRow { key: self.key.clone(), version, stored, updated_at: now };
        let is_imported = to.operator().import(&row, options.replace).await.map_err(ImportError::Target)?;
        Ok(if is_imported { Entered::Imported } else { Entered::AlreadyThere })
    }
}

/// Why a record is not imported.
enum NotUnderstood {
    State(Box<str>),
    Rest(String),
}

fn understand(
    from: &Storage,
    by: &dyn Translate,
    key: &StorageKey,
    record: &Record,
) -> Result<(DialogueKey, WrittenState), NotUnderstood> {
    let key =
        from.layout.strategy.dialogue_key(key).map_err(|why: NoConversation| NotUnderstood::Rest(why.to_string()))?;
    match by.translate(record) {
        Ok(state) => Ok((key, state)),
        Err(Untranslated::NotMapped(state)) => Err(NotUnderstood::State(state)),
        Err(unfit) => Err(NotUnderstood::Rest(unfit.to_string())),
    }
}
