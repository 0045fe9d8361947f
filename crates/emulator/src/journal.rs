//! What keeps a world over restarts: an append-only file of JSON lines a bot, and its uploads beside it.
//!
//! Each change of a person, chat, message, file or update appends the thing as it is now; reading the lines in order
//! gives the world back, and the file is written anew, short, when it is opened. Lines are written by a thread of their
//! own, so no call waits for the disk: a killed process may lose the last moments, a stopped one loses nothing.

mod read;

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::world::World;
use crate::world::file::{Data, StoredFile};
use crate::world::limit::Limits;
use crate::world::queue::{Lane, Queued};
use crate::world::update::UpdateKind;

const LINES: &str = "journal.jsonl";
const LOCK: &str = "emulator.lock";

/// The way to a bot's file.
#[derive(Debug)]
pub struct Journal {
    sender: Sender<Job>,
    folder: PathBuf,
}

enum Job {
    Line(Vec<u8>),
    Blob(PathBuf, Bytes),
    Flush(Sender<()>),
    Erase,
}

/// An update as it is kept.
#[derive(Deserialize, Serialize)]
struct KeptUpdate<'a> {
    number: u64,
    /// The id of the next new update. What comes late or again keeps an old id, so it does not follow from `id`.
    next_id: i64,
    id: i64,
    kind: UpdateKind,
    lane: Lane,
    expires_ms: i64,
    late: bool,
    #[serde(borrow)]
    json: &'a RawValue,
}

/// Takes a data directory for this emulator alone, as long as the file is kept open.
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

/// Opens every bot of a data directory. A folder that cannot be read is left as it is, for somebody to look into.
pub fn open_all(data: &Path, limits: Limits) -> io::Result<Vec<World>> {
    fs::create_dir_all(data)?;
    let mut folders: Vec<PathBuf> = fs::read_dir(data)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    let mut worlds: Vec<World> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.join(LINES).is_file()) {
        let world = match open(folder, limits) {
            Ok(world) => world,
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "a bot that cannot be read is left out");
                continue;
            }
        };
        // A bot that was forgotten and made again just before a crash has two folders; the later one stands.
        if let Some(older) = worlds.iter().position(|older| older.token == world.token)
            && let Some(journal) = worlds.remove(older).journal
        {
            journal.erase();
        }
        worlds.push(world);
    }
    Ok(worlds)
}

fn open(folder: &Path, limits: Limits) -> io::Result<World> {
    let mut world = read::world(folder, &folder.join(LINES), limits)?;
    world.journal = Some(resume(folder, &world)?);
    tracing::info!(bot = world.token.bot_id(), chats = world.chats().count(), "kept from the last run");
    Ok(world)
}

/// Begins the journal of a new bot, in a folder of its own: one that is being erased may be of the same token.
pub fn create(data: &Path, world: &World) -> io::Result<Journal> {
    let digest = crate::world::file::digest_of(world.token.as_str().as_bytes());
    // A bot may be forgotten and made again within a millisecond; a later folder has a higher name.
    static CREATED: AtomicU64 = AtomicU64::new(0);
    let created = CREATED.fetch_add(1, Ordering::Relaxed);
    let folder = data.join(format!("{}-{digest:016x}-{}-{created:08}", world.token.bot_id(), world.created_ms));
    let mut lines = Vec::new();
    write_world(world, |line| {
        lines.extend(line);
        Ok(())
    })?;
    start(&folder, move |folder| begin(folder, |file| file.write_all(&lines)))
}

/// Writes the whole world as it is now, short, and goes on from there.
fn resume(folder: &Path, world: &World) -> io::Result<Journal> {
    let file = begin(folder, |file| write_world(world, |line| file.write_all(&line)))?;
    start(folder, move |_| Ok(file))
}

/// Starts the writing thread; it also opens the file, so that no call waits for the disk.
fn start(
    folder: &Path,
    open: impl FnOnce(&Path) -> io::Result<BufWriter<File>> + Send + 'static,
) -> io::Result<Journal> {
    let (sender, receiver) = mpsc::channel();
    let journal = Journal { sender, folder: folder.to_owned() };
    let folder = folder.to_owned();
    let run = move || match open(&folder) {
        Ok(file) => write_all(&receiver, file, &folder),
        Err(error) => {
            tracing::error!(%error, folder = %folder.display(), "this bot will not be kept over restarts");
        }
    };
    thread::Builder::new().name("journal".into()).spawn(run)?;
    Ok(journal)
}

/// A new file with its first lines, put into place once they are on disk.
fn begin(
    folder: &Path,
    first_lines: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<BufWriter<File>> {
    fs::create_dir_all(folder.join("files"))?;
    let new = folder.join("journal.new");
    let mut file = BufWriter::new(File::create(&new)?);
    first_lines(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    fs::rename(new, folder.join(LINES))?;
    Ok(file)
}

fn write_world(world: &World, mut write: impl FnMut(Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    write(line("token", &world.token.as_str()))?;
    write(line("me", &serde_json::json!({"user": world.me, "abilities": world.abilities})))?;
    write(line("profile", &world.profile))?;
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

impl Journal {
    pub fn save<T: Serialize>(&self, kind: &'static str, value: &T) {
        // The writing thread ends only with the journal; a line after that has nowhere to go.
        let _ = self.sender.send(Job::Line(line(kind, value)));
    }

    pub fn save_update(&self, update: &Queued, next_id: i64) {
        let _ = self.sender.send(Job::Line(update_line(update, next_id)));
    }

    /// Keeps the bytes of an upload under a name made from its content.
    pub fn save_blob(&self, file: &StoredFile) {
        if let Data::Memory(bytes) = &file.data {
            let _ = self.sender.send(Job::Blob(blob_path(&self.folder, file), bytes.clone()));
        }
    }

    /// Waits until everything said so far is in the file.
    pub fn flush(&self) {
        let (done, wait) = mpsc::channel();
        if self.sender.send(Job::Flush(done)).is_ok() {
            let _ = wait.recv();
        }
    }

    /// Removes the bot's folder.
    pub fn erase(self) {
        let _ = self.sender.send(Job::Erase);
    }
}

fn blob_path(folder: &Path, file: &StoredFile) -> PathBuf {
    folder.join("files").join(format!("{:016x}-{}", file.digest, file.size))
}

fn line<T: Serialize>(kind: &str, value: &T) -> Vec<u8> {
    // Everything that is kept serializes into memory without fail: string keys, finite numbers.
    let mut line = serde_json::to_vec(&(kind, value)).unwrap_or_default();
    line.push(b'\n');
    line
}

fn update_line(update: &Queued, next_id: i64) -> Vec<u8> {
    let Some(json) = crate::world::event::raw(&update.json) else {
        return Vec::new();
    };
    let Queued { number, id, kind, lane, expires_ms, late, .. } = *update;
    line("update", &KeptUpdate { number, next_id, id, kind, lane, expires_ms, late, json })
}

fn write_all(jobs: &Receiver<Job>, mut file: BufWriter<File>, folder: &Path) {
    while let Ok(job) = jobs.recv() {
        let mut next = Some(job);
        while let Some(job) = next {
            let written = match job {
                Job::Line(line) => file.write_all(&line),
                Job::Blob(path, bytes) => write_blob(&path, &bytes),
                Job::Flush(done) => {
                    let flushed = file.flush();
                    let _ = done.send(());
                    flushed
                }
                Job::Erase => {
                    if let Err(error) = fs::remove_dir_all(folder) {
                        tracing::warn!(%error, "a forgotten bot's folder could not be removed");
                    }
                    return;
                }
            };
            if let Err(error) = written {
                tracing::error!(%error, folder = %folder.display(), "the journal cannot be written");
            }
            next = jobs.try_recv().ok();
        }
        if let Err(error) = file.flush() {
            tracing::error!(%error, folder = %folder.display(), "the journal cannot be written");
        }
    }
}

fn write_blob(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Token;

    #[test]
    fn a_bot_made_twice_within_a_millisecond_has_two_folders_the_later_one_last() -> io::Result<()> {
        let data = tempfile::tempdir()?;
        let token = Token::parse("123456789:AAtesttesttesttesttesttesttesttestt").ok_or(io::ErrorKind::Other)?;
        let world = World::new(token, Limits::default());
        let (one, two) = (create(data.path(), &world)?, create(data.path(), &world)?);
        assert!(one.folder < two.folder, "{} {}", one.folder.display(), two.folder.display());
        Ok(())
    }
}
