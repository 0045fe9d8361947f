//! The event log brings a world back after a restart: an append-only file of JSON lines for each bot, and its uploads.
//!
//! A line is a record: all changes under one lock of the world. A record is written before its call is answered and
//! before its updates are delivered, so a killed process loses nothing that it answered. An incomplete record is
//! dropped. Reading the lines in order restores the world. When the file is opened it is rewritten without old changes.
//! Records are not synced to disk: a power loss may lose the last seconds.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::write::EventLog;
use crate::world::World;
use crate::world::file::StoredFile;
use crate::world::limit::Limits;
use crate::world::queue::{Lane, QueuedUpdate};
use crate::world::update::UpdateKind;

const LINES: &str = "journal.jsonl";
/// The event log of a deleted bot, whose folder is about to be removed.
const FORGOTTEN: &str = "journal.forgotten";
/// The event log while it is rewritten.
const NEW_LINES: &str = "journal.new";
const UPLOADS: &str = "files";
const LOCK: &str = "emulator.lock";

/// An update in the event log.
#[derive(Deserialize, Serialize)]
struct StoredUpdate<'a> {
    number: u64,
    /// The id of the next new update. It does not follow from `id`: a late or repeated update has an old id.
    next_id: i64,
    id: i64,
    kind: UpdateKind,
    lane: Lane,
    expires_ms: i64,
    late: bool,
    #[serde(borrow)]
    json: &'a RawValue,
}

/// Locks a data directory for this emulator, until the returned file is closed.
pub fn lock(data: &Path) -> io::Result<File> {
    fs::create_dir_all(data)?;
    let file = File::options().create(true).append(true).open(data.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another emulator is using the data directory {}", data.display());
            Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Loads all bots of a data directory. A folder that cannot be read is skipped and left unchanged.
pub fn open_all(data: &Path, limits: Limits) -> io::Result<Vec<World>> {
    fs::create_dir_all(data)?;
    let mut folders: Vec<PathBuf> = fs::read_dir(data)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders.iter().filter(|folder| folder.join(FORGOTTEN).is_file()).for_each(|folder| remove(folder));
    let mut worlds: Vec<World> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.join(LINES).is_file()) {
        let world = match open(folder, limits) {
            Ok(world) => world,
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "cannot load a bot: its folder is skipped");
                continue;
            }
        };
        // A bot that was deleted and created again just before a crash has two folders; the later one counts.
        if let Some(older) = worlds.iter().position(|older| older.token == world.token)
            && let Some(event_log) = worlds.remove(older).event_log
        {
            event_log.erase();
        }
        worlds.push(world);
    }
    Ok(worlds)
}

fn open(folder: &Path, limits: Limits) -> io::Result<World> {
    let mut world = read::world(folder, &folder.join(LINES), limits)?;
    world.event_log = Some(resume(folder, &world)?);
    tracing::info!(bot = world.token.bot_id(), chats = world.chats().count(), "bot loaded");
    Ok(world)
}

/// Creates the event log of a new bot, in a new folder: an old folder of the same token may still be there.
pub fn create(data: &Path, world: &World) -> io::Result<Arc<EventLog>> {
    let digest = crate::world::file::digest_of(world.token.as_str().as_bytes());
    // A bot may be deleted and created again within a millisecond. The counter sorts the later folder last.
    static CREATED: AtomicU64 = AtomicU64::new(0);
    let created = CREATED.fetch_add(1, Ordering::Relaxed);
    let folder = data.join(format!("{}-{digest:016x}-{}-{created:08}", world.token.bot_id(), world.created_ms));
    let file = write_new(&folder, world)?;
    put_into_place(&folder)?;
    Ok(Arc::new(EventLog::new(&folder, file)))
}

/// Rewrites the event log as the current world, and continues it.
fn resume(folder: &Path, world: &World) -> io::Result<Arc<EventLog>> {
    let file = write_new(folder, world)?;
    // These lines replace the old ones, so they must survive a power loss.
    file.sync_all()?;
    put_into_place(folder)?;
    remove_unnamed_uploads(folder, world);
    Ok(Arc::new(EventLog::new(folder, file)))
}

/// Writes a world to a new file beside the one in use.
fn write_new(folder: &Path, world: &World) -> io::Result<File> {
    fs::create_dir_all(folder.join(UPLOADS))?;
    let mut file = BufWriter::new(File::create(folder.join(NEW_LINES))?);
    write_world(world, |line| file.write_all(&line))?;
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

fn put_into_place(folder: &Path) -> io::Result<()> {
    fs::rename(folder.join(NEW_LINES), folder.join(LINES))
}

/// Removes uploads that no record names. Refused calls leave them: an upload is stored before its call runs.
fn remove_unnamed_uploads(folder: &Path, world: &World) {
    let named: HashSet<PathBuf> = world.files.iter().map(|(_, file)| upload_path(folder, file)).collect();
    let stored = fs::read_dir(folder.join(UPLOADS)).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in stored.filter(|path| !named.contains(path)) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove an unused upload");
        }
    }
}

/// Marks a bot as deleted. A thread removes its folder, which may be large.
fn erase(folder: &Path) {
    if let Err(error) = fs::rename(folder.join(LINES), folder.join(FORGOTTEN)) {
        tracing::warn!(%error, folder = %folder.display(), "cannot rename the event log of a deleted bot");
    }
    let folder = folder.to_owned();
    if let Err(error) = thread::Builder::new().name("erase".into()).spawn(move || remove(&folder)) {
        tracing::warn!(%error, "cannot start a thread: the folder of a deleted bot is removed at the next start");
    }
}

fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(%error, folder = %folder.display(), "cannot remove the folder of a deleted bot");
    }
}

fn write_world(world: &World, mut write: impl FnMut(Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    write(line("token", &world.token.as_str()))?;
    write(line("me", &serde_json::json!({"user": world.me, "abilities": world.abilities})))?;
    write(line("profile", &world.profile))?;
    write(line("hints", world.hints()))?;
    write(line("clock", &world.clock.offset_seconds()))?;
    write(line("next_update_id", &world.queue.next_id()))?;
    write(line("allowed_updates", &world.queue.allowed))?;
    for (_, file) in world.files.iter() {
        write(line("file", file))?;
    }
    for user in world.users() {
        write(line("user", user))?;
        for sizes in world.profile_photos(user.id).iter().rev() {
            write(line("photo", &(user.id, sizes)))?;
        }
    }
    for chat in world.chats() {
        write(line("chat", chat))?;
        for message in chat.messages() {
            write(line("message", &serde_json::json!({"chat": chat.id, "message": message})))?;
        }
    }
    for update in world.queue.iter() {
        write(update_line(update, world.queue.next_id()))?;
    }
    Ok(())
}

fn upload_path(folder: &Path, file: &StoredFile) -> PathBuf {
    upload_name(folder, file.digest, file.size)
}

fn upload_name(folder: &Path, digest: u64, size: u64) -> PathBuf {
    folder.join(UPLOADS).join(format!("{digest:016x}-{size}"))
}

/// A record with one change.
fn line<T: Serialize>(kind: &str, value: &T) -> Vec<u8> {
    let mut record = Vec::new();
    write::change(&mut record, kind, value);
    write::end(&mut record);
    record
}

fn update_line(update: &QueuedUpdate, next_id: i64) -> Vec<u8> {
    stored_update(update, next_id).map_or_else(Vec::new, |kept| line("update", &kept))
}

fn stored_update(update: &QueuedUpdate, next_id: i64) -> Option<StoredUpdate<'_>> {
    let json = crate::world::event::raw(&update.json)?;
    let QueuedUpdate { number, id, kind, lane, expires_ms, late, .. } = *update;
    Some(StoredUpdate { number, next_id, id, kind, lane, expires_ms, late, json })
}
