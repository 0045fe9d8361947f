//! Imports the conversations of an aiogram bot into a store.
//!
//! Every key is imported, was imported before, or is in the report with a reason. The source is not changed. An import
//! that stopped midway can be repeated: existing conversations are left alone.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde::Serialize;

use super::{Record, Scan, ScannedKey, Storage, StorageKey, Translate, TranslateError, UnsupportedKey};
use crate::clock::{Clock, Millis};
use crate::dialogue::WrittenState;
use crate::key::ConversationKey;
use crate::store::{ConversationRow, Opened, Store, StoreError, Version};

/// How many conversations are written at once. The store commits them together.
const BATCH: usize = 256;

/// Options of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Overwrite conversations that are open in the store.
    pub replace: bool,
    /// Write nothing, only count.
    pub dry_run: bool,
}

/// The result of an import. The numbers add up: `found` is `imported`, `already_there`, those in
/// `unmapped` and those in `left_out`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// States and data of this bot.
    pub found: u64,
    /// Imported; in a dry run, importable.
    pub imported: u64,
    /// Skipped, because the store has an open conversation with that key.
    pub already_there: u64,
    /// The number of records by state that the mapping does not know. The empty name is data without a state.
    pub unmapped: BTreeMap<String, u64>,
    /// Keys that could not be read or converted.
    pub left_out: Vec<SkippedKey>,
    /// Keys of other bots, which were ignored.
    pub of_other_bots: u64,
    /// Locks that were held: an aiogram bot was running, and what it wrote since then is missing.
    pub locks: u64,
}

/// A key that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SkippedKey {
    /// The key in aiogram's Redis.
    pub key: String,
    /// Why it was skipped.
    pub reason: String,
}

/// Why an import stopped.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// aiogram's Redis failed.
    #[error("aiogram's Redis: {0}")]
    Source(#[source] StoreError),
    /// The store failed.
    #[error("{0}")]
    Target(#[source] StoreError),
}

impl ImportReport {
    /// Whether everything that was found is in the store.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unmapped.is_empty() && self.left_out.is_empty()
    }
}

/// Imports everything. `progress` is called after every page.
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
        let mut pending = Vec::new();
        for found in page {
            pending.extend(report.prepare(found, from, translate, clock.now()));
        }
        for some in pending.chunks(BATCH) {
            for done in join_all(some.iter().map(|pending| pending.import_into(to, options, clock.now()))).await {
                report.count(done?);
            }
        }
        progress(&report);
    }
    report.left_out.sort();
    Ok(report)
}

/// A conversation that is to be imported.
struct PendingImport {
    /// Its key in the source.
    name: Box<str>,
    key: ConversationKey,
    state: WrittenState,
    until: Option<Millis>,
}

/// Result of importing one conversation.
enum ImportResult {
    Imported,
    AlreadyThere,
    Refused(SkippedKey),
}

impl ImportReport {
    fn prepare(&mut self, found: ScannedKey, from: &Storage, by: &dyn Translate, now: Millis) -> Option<PendingImport> {
        match found {
            ScannedKey::OtherBot => self.of_other_bots += 1,
            ScannedKey::Lock => self.locks += 1,
            ScannedKey::Unreadable(what) => {
                self.found += 1;
                self.skip(&what.name, what.reason);
            }
            ScannedKey::Record { name, key, record, expires_in } => {
                self.found += 1;
                match translate(from, by, &key, &record) {
                    Ok((key, state)) => {
                        return Some(PendingImport { name, key, state, until: expires_in.map(|left| now.plus(left)) });
                    }
                    Err(SkipReason::State(state)) => *self.unmapped.entry(state.into()).or_default() += 1,
                    Err(SkipReason::Rest(reason)) => self.skip(&name, reason),
                }
            }
        }
        None
    }

    fn count(&mut self, done: ImportResult) {
        match done {
            ImportResult::Imported => self.imported += 1,
            ImportResult::AlreadyThere => self.already_there += 1,
            ImportResult::Refused(left_out) => self.left_out.push(left_out),
        }
    }

    fn skip(&mut self, name: &str, reason: String) {
        self.left_out.push(SkippedKey { key: name.to_owned(), reason });
    }
}

impl PendingImport {
    async fn import_into(
        &self,
        to: &dyn Store,
        options: ImportOptions,
        now: Millis,
    ) -> Result<ImportResult, ImportError> {
        let (version, is_open) = match to.open(&self.key, None).await.map_err(ImportError::Target)? {
            Opened::At { version, stored } => (version, stored.is_some()),
            // Cannot happen: `open` was called without an input.
            Opened::AlreadyProcessed => (Version(0), false),
        };
        if is_open && !options.replace {
            return Ok(ImportResult::AlreadyThere);
        }
        // Makes the buttons of the former conversation stale.
        let version = Version(version.0.saturating_add(1));
        let stored = match self.state.clone().stored(version, self.until) {
            Ok(stored) => Some(stored),
            Err(error) => {
                return Ok(ImportResult::Refused(SkippedKey { key: self.name.to_string(), reason: error.to_string() }));
            }
        };
        if options.dry_run {
            return Ok(ImportResult::Imported);
        }
        let row = ConversationRow { key: self.key.clone(), version, stored, updated_at: now };
        let is_imported = to.operator().import(&row, options.replace).await.map_err(ImportError::Target)?;
        Ok(if is_imported { ImportResult::Imported } else { ImportResult::AlreadyThere })
    }
}

/// Why a record is skipped.
enum SkipReason {
    State(Box<str>),
    Rest(String),
}

fn translate(
    from: &Storage,
    by: &dyn Translate,
    key: &StorageKey,
    record: &Record,
) -> Result<(ConversationKey, WrittenState), SkipReason> {
    let key =
        from.layout.strategy.conversation_key(key).map_err(|why: UnsupportedKey| SkipReason::Rest(why.to_string()))?;
    match by.translate(record) {
        Ok(state) => Ok((key, state)),
        Err(TranslateError::NotMapped(state)) => Err(SkipReason::State(state)),
        Err(unfit) => Err(SkipReason::Rest(unfit.to_string())),
    }
}
