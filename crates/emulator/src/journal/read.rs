//! Reading a journal back. A last line that was cut short by a crash is passed over; so is one of a kind that a later
//! version wrote.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{KeptUpdate, blob_path};
use crate::token::Token;
use crate::world::World;
use crate::world::chat::Chat;
use crate::world::file::{Data, StoredFile};
use crate::world::limit::Limits;
use crate::world::message::Message;
use crate::world::queue::Queued;
use crate::world::user::{Abilities, User};

#[derive(Deserialize)]
struct KeptMessage {
    chat: i64,
    message: Message,
}

#[derive(Deserialize)]
struct KeptMe {
    user: User,
    abilities: Abilities,
}

#[derive(Deserialize)]
struct Gone {
    chat: i64,
    ids: Vec<i32>,
}

pub(super) fn world(folder: &Path, lines: &Path, limits: Limits) -> io::Result<World> {
    let mut reader = BufReader::new(File::open(lines)?);
    let mut text = String::new();
    reader.read_line(&mut text)?;
    let token = serde_json::from_str::<(String, String)>(&text).ok().and_then(|(_, token)| Token::parse(&token));
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a journal", lines.display()));
    let mut world = World::new(token.ok_or_else(unreadable)?, limits);
    let mut skipped = 0;
    for line in reader.lines() {
        let line = line?;
        let read = serde_json::from_str::<(&str, &RawValue)>(&line)
            .ok()
            .and_then(|(kind, value)| apply(&mut world, folder, kind, value.get()));
        skipped += usize::from(read.is_none());
    }
    if skipped > 0 {
        tracing::warn!(bot = world.token.bot_id(), lines = skipped, "lines of the journal that could not be read");
    }
    Ok(world)
}

fn apply(world: &mut World, folder: &Path, kind: &str, value: &str) -> Option<()> {
    match kind {
        "me" => {
            let me: KeptMe = read(value)?;
            (world.me, world.abilities) = (me.user, me.abilities);
        }
        "profile" => world.profile = read(value)?,
        "clock" => world.clock.advance(read::<i64>(value)? - world.clock.offset_seconds()),
        "next_update_id" => world.queue.set_next_id(read(value)?),
        "allowed_updates" => world.queue.allowed = read(value)?,
        "file" => {
            let mut file: StoredFile = read(value)?;
            file.data = Data::Disk(blob_path(folder, &file));
            world.files.add(file);
        }
        "photo" => {
            let (user, sizes) = read(value)?;
            world.add_profile_photo(user, sizes);
        }
        "user" => world.restore_user(read(value)?),
        "chat" => world.restore_chat(read::<Chat>(value)?),
        "message" => {
            let kept: KeptMessage = read(value)?;
            world.chat_mut(kept.chat)?.put(kept.message);
        }
        "gone" => {
            let gone: Gone = read(value)?;
            let chat = world.chat_mut(gone.chat)?;
            gone.ids.iter().for_each(|id| drop(chat.remove(*id)));
        }
        "update" => {
            let kept: KeptUpdate<'_> = serde_json::from_str(value).ok()?;
            let update = restored(&kept);
            world.queue.set_next_id(update.id + 1);
            world.queue.push(update);
        }
        "taken" => world.queue.forget(&read::<Vec<i64>>(value)?),
        _ => return None,
    }
    Some(())
}

fn read<T: DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_str(value).ok()
}

fn restored(kept: &KeptUpdate<'_>) -> Queued {
    Queued {
        id: kept.id,
        kind: kept.kind,
        lane: kept.lane,
        expires_ms: kept.expires_ms,
        ready_ms: 0,
        late: kept.late,
        delivered: false,
        in_flight: false,
        attempts: 0,
        json: Bytes::copy_from_slice(kept.json.get().as_bytes()),
    }
}
