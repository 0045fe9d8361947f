//! Reads an event log. A record that a crash cut short, even inside a character, is dropped. Changes of unknown kinds,
//! written by a later version, are skipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{StoredUpdate, upload_path};
use crate::token::Token;
use crate::world::World;
use crate::world::chat::Chat;
use crate::world::file::{FileData, StoredFile};
use crate::world::limit::Limits;
use crate::world::message::Message;
use crate::world::queue::QueuedUpdate;
use crate::world::user::{Abilities, User};

#[derive(Deserialize)]
struct StoredMessage {
    chat: i64,
    message: Message,
}

#[derive(Deserialize)]
struct StoredMe {
    user: User,
    abilities: Abilities,
}

#[derive(Deserialize)]
struct DeletedMessages {
    chat: i64,
    ids: Vec<i32>,
}

pub(super) fn world(folder: &Path, lines: &Path, limits: Limits) -> io::Result<World> {
    let mut reader = BufReader::new(File::open(lines)?);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    let first = serde_json::from_slice::<[(String, String); 1]>(&line).ok();
    let token = first.and_then(|[(_, token)]| Token::parse(&token));
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is not an event log", lines.display()));
    let mut world = World::new(token.ok_or_else(unreadable)?, limits);
    let (mut waiting, mut skipped) = (BTreeMap::new(), 0);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        // A record without a line end is incomplete, even if it can be parsed.
        let whole = line.ends_with(b"\n").then(|| serde_json::from_slice::<Vec<(&str, &RawValue)>>(&line).ok());
        let Some(changes) = whole.flatten() else {
            skipped += 1;
            continue;
        };
        for (kind, value) in changes {
            let applied = apply(&mut world, &mut waiting, folder, kind, value.get());
            skipped += usize::from(applied.is_none());
        }
    }
    for update in waiting.into_values() {
        world.queue.push(update);
    }
    if skipped > 0 {
        tracing::warn!(bot = world.token.bot_id(), skipped, "unreadable records of the event log were skipped");
    }
    Ok(world)
}

/// Updates by number. Most of them are removed again by a later line.
type Waiting = BTreeMap<u64, QueuedUpdate>;

fn apply(world: &mut World, waiting: &mut Waiting, folder: &Path, kind: &str, value: &str) -> Option<()> {
    match kind {
        "me" => {
            let me: StoredMe = read(value)?;
            (world.me, world.abilities) = (me.user, me.abilities);
        }
        "profile" => world.profile = read(value)?,
        "hints" => world.restore_hints(read(value)?),
        "clock" => world.clock.advance(read::<i64>(value)? - world.clock.offset_seconds()),
        "next_update_id" => world.queue.set_next_id(read(value)?),
        "allowed_updates" => world.queue.allowed = read(value)?,
        "file" => {
            let mut file: StoredFile = read(value)?;
            file.data = FileData::Disk(upload_path(folder, &file));
            world.files.add(file);
        }
        "link" => {
            let (no, until) = read(value)?;
            world.files.restore_link(no, until)?;
        }
        "photo" => {
            let (user, sizes) = read(value)?;
            world.add_profile_photo(user, sizes);
        }
        "user" => world.restore_user(read(value)?),
        "chat" => world.restore_chat(read::<Chat>(value)?),
        "message" => {
            let kept: StoredMessage = read(value)?;
            world.chat_mut(kept.chat)?.put(kept.message);
        }
        "gone" => {
            let gone: DeletedMessages = read(value)?;
            let chat = world.chat_mut(gone.chat)?;
            gone.ids.iter().for_each(|id| drop(chat.remove(*id)));
        }
        "update" => {
            let kept: StoredUpdate<'_> = serde_json::from_str(value).ok()?;
            world.queue.set_next_id(kept.next_id);
            waiting.insert(kept.number, restored(&kept));
        }
        "taken" => {
            for number in read::<Vec<u64>>(value)? {
                waiting.remove(&number);
            }
        }
        _ => return None,
    }
    Some(())
}

fn read<T: DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_str(value).ok()
}

fn restored(kept: &StoredUpdate<'_>) -> QueuedUpdate {
    let json = Bytes::copy_from_slice(kept.json.get().as_bytes());
    let update = QueuedUpdate::new(kept.id, kept.kind, kept.lane, 0, json);
    QueuedUpdate { expires_ms: kept.expires_ms, late: kept.late, ..update }
}
