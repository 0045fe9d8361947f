//! What keeps a world over restarts: an append-only file of JSON lines a bot, and its uploads beside it.
//!
//! Each change of a person, chat, message, file or update appends the thing as it is now; reading the lines in order
//! gives the world back, and the file is written anew, short, when it is opened. Lines are written by a thread of their
//! own, so no call waits for the disk: a killed process may lose the last moments, a stopped one loses nothing.

mod read;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
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
    id: i64,
    kind: UpdateKind,
    lane: Lane,
    expires_ms: i64,
    late: bool,
    #[serde(borrow)]
    json: &'a RawValue,
}

/// Opens every bot of a data directory.
pub fn open_all(data: &Path, limits: Limits) -> io::Result<Vec<World>> {
    fs::create_dir_all(data)?;
    let mut folders: Vec<PathBuf> = fs::read_dir(data)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    let mut worlds = Vec::new();
    for folder in folders {
        let lines = folder.join("journal.jsonl");
        if !lines.is_file() {
            continue;
        }
        let mut world = read::world(&folder, &lines, limits)?;
        world.journal = Some(begin(&folder, &world)?);
        tracing::info!(bot = world.token.bot_id(), chats = world.chats().count(), "kept from the last run");
        worlds.push(world);
    }
    Ok(worlds)
}

/// Begins the journal of a new bot.
pub fn create(data: &Path, world: &World) -> io::Result<Journal> {
    let secret = crate::world::file::digest_of(world.token.as_str().as_bytes());
    begin(&data.join(format!("{}-{secret:016x}", world.token.bot_id())), world)
}

/// Writes the whole world as it is now and goes on from there.
fn begin(folder: &Path, world: &World) -> io::Result<Journal> {
    fs::create_dir_all(folder.join("files"))?;
    let (sender, receiver) = mpsc::channel();
    let journal = Journal { sender, folder: folder.to_owned() };
    let (old, new) = (folder.join("journal.jsonl"), folder.join("journal.new"));
    let mut file = BufWriter::new(File::create(&new)?);
    write_world(world, |line| file.write_all(&line))?;
    file.flush()?;
    file.get_ref().sync_all()?;
    fs::rename(new, old)?;
    let folder = folder.to_owned();
    thread::Builder::new().name("journal".into()).spawn(move || write_all(&receiver, file, &folder))?;
    Ok(journal)
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
        write(update_line(update))?;
    }
    Ok(())
}

impl Journal {
    pub fn save<T: Serialize>(&self, kind: &'static str, value: &T) {
        // The writing thread ends only with the journal; a line after that has nowhere to go.
        let _ = self.sender.send(Job::Line(line(kind, value)));
    }

    pub fn save_update(&self, update: &Queued) {
        let _ = self.sender.send(Job::Line(update_line(update)));
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

fn update_line(update: &Queued) -> Vec<u8> {
    let Some(json) = crate::world::event::raw(&update.json) else {
        return Vec::new();
    };
    let Queued { id, kind, lane, expires_ms, late, .. } = *update;
    line("update", &KeptUpdate { id, kind, lane, expires_ms, late, json })
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
