//! The updates of virtual users, as Telegram would write them.

use std::fmt::{self, Write};

use crate::dialogue::{PHOTO_SIZES, Photo, Step, Tap, file_id, name_of, phone_of};
use crate::harness::{Harness, QueuedUpdate, World, unix_seconds};

/// The id of the first user: above 2^32, as real ones are.
pub const FIRST_USER_ID: i64 = 5_000_000_000;
/// The bot as the sender of a message.
pub const BOT: &str = r#"{"id":123456789,"is_bot":true,"first_name":"Bench","username":"bench_bot"}"#;
const START: &str = r#""text":"/start","entities":[{"offset":0,"length":6,"type":"bot_command"}]"#;
const KEYBOARD: &str = concat!(
    r#"{"inline_keyboard":[[{"text":"English","callback_data":"lang:en"},"#,
    r#"{"text":"Русский","callback_data":"lang:ru"}]]}"#
);
const FIRST_CALLBACK: i64 = 4_000_000_000_000_000;
/// Enough for an update, so that writing one allocates once.
const UPDATE_BYTES: usize = 640;

/// Queues the update with which a user answers at a step.
pub fn queue_update(harness: &Harness, world: &mut World, user: usize, step: Step, tap: Tap) {
    world.last_update += 1;
    world.last_message += 1;
    let id = world.last_update;
    let mut json = String::with_capacity(UPDATE_BYTES);
    json.push_str(r#"{"update_id":"#);
    json.push_str(&id.to_string());
    let written = if step == Step::Name {
        world.counts.callbacks_sent += 1;
        write_press(&mut json, id, user, world.users[user].keyboard_message)
    } else {
        write_message(&mut json, user, world.last_message, step, tap)
    };
    debug_assert!(written.is_ok(), "writing into a string cannot fail");
    json.push('}');
    if tap == Tap::First {
        world.users[user].last_update = id;
    }
    world.queue.push_back(QueuedUpdate { id, json });
    harness.news.notify_waiters();
}

/// Writes the field `message` of an update.
fn write_message(json: &mut String, user: usize, message: i64, step: Step, tap: Tap) -> fmt::Result {
    let date = unix_seconds();
    write!(json, r#","message":{{"message_id":{message},"#)?;
    write!(json, r#"{},{},"date":{date},"#, Sender(user), PrivateChat(user))?;
    match step {
        Step::Language | Step::Name => json.push_str(START),
        Step::Phone => write!(json, r#""text":"{}""#, name_of(user, tap))?,
        Step::Passport => write!(json, r#""text":"{}""#, phone_of(user, tap))?,
        Step::Selfie => write_photo(json, user, Photo::Passport)?,
        Step::Done => write_photo(json, user, Photo::Selfie)?,
    }
    json.push('}');
    Ok(())
}

fn write_photo(json: &mut String, user: usize, photo: Photo) -> fmt::Result {
    json.push_str(r#""photo":["#);
    for (index, (size, width)) in PHOTO_SIZES.into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let id = file_id(user, photo, size);
        let bytes = width * 100;
        write!(json, r#"{comma}{{"file_id":"{id}","file_unique_id":"q{id}","file_size":{bytes},"#)?;
        write!(json, r#""width":{width},"height":{width}}}"#)?;
    }
    json.push(']');
    Ok(())
}

/// Writes the field `callback_query` of an update: a press of the button "English".
fn write_press(json: &mut String, update: i64, user: usize, message: i64) -> fmt::Result {
    let (callback, date, instance) = (FIRST_CALLBACK + update, unix_seconds(), user_id(user));
    write!(json, r#","callback_query":{{"id":"{callback}",{},"#, Sender(user))?;
    write!(json, r#""message":{{"message_id":{message},"from":{BOT},{},"date":{date},"#, PrivateChat(user))?;
    write!(json, r#""text":"Choose your language","reply_markup":{KEYBOARD}}},"#)?;
    write!(json, r#""chat_instance":"-{instance}","data":"lang:en"}}"#)
}

/// The field `from` of a user.
struct Sender(usize);

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, id) = (self.0, user_id(self.0));
        write!(f, r#""from":{{"id":{id},"is_bot":false,"first_name":"U{user}","#)?;
        write!(f, r#""username":"user{user}","language_code":"en"}}"#)
    }
}

/// The field `chat` of a user's private chat.
struct PrivateChat(usize);

impl fmt::Display for PrivateChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, id) = (self.0, user_id(self.0));
        write!(f, r#""chat":{{"id":{id},"first_name":"U{user}","username":"user{user}","type":"private"}}"#)
    }
}

fn user_id(user: usize) -> i64 {
    FIRST_USER_ID + user as i64
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;
    use crate::harness::VirtualUser;
    use crate::options::Options;

    #[test]
    fn every_step_is_valid_json() {
        let harness = Harness::new(Options::parse_from(["botapi-load"]));
        let mut world = harness.world();
        world.users.push(VirtualUser::new());
        for step in [Step::Language, Step::Name, Step::Phone, Step::Passport, Step::Selfie, Step::Done] {
            queue_update(&harness, &mut world, 0, step, Tap::First);
            let QueuedUpdate { id, json } = world.queue.pop_back().unwrap();
            let update: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
            assert_eq!(update["update_id"], id);
        }
    }
}
