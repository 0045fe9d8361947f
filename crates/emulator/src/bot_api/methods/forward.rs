//! Forwarding messages (with their origin) and copying them (without).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;

use super::media::new_album;
use super::send::{Envelope, Options, Target, envelope, open, post, render_message};
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::bot_api::texts::{self, TextInput};
use crate::text::GivenEntity;
use crate::world::World;
use crate::world::content::{Content, TextWithEntities};
use crate::world::message::{Message, Origin};

const MAX_AT_ONCE: usize = 100;

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Forward {
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    direct_messages_topic_id: Option<Ignored>,
    from_chat_id: ChatRef,
    video_start_timestamp: Option<Ignored>,
    disable_notification: Option<bool>,
    protect_content: Option<bool>,
    message_effect_id: Option<Box<str>>,
    suggested_post_parameters: Option<Ignored>,
    message_id: i32,
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct ForwardSeveral {
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    direct_messages_topic_id: Option<Ignored>,
    from_chat_id: ChatRef,
    message_ids: Vec<i32>,
    disable_notification: Option<bool>,
    protect_content: Option<bool>,
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Copy {
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    direct_messages_topic_id: Option<Ignored>,
    from_chat_id: ChatRef,
    message_id: i32,
    video_start_timestamp: Option<Ignored>,
    caption: Option<String>,
    parse_mode: Option<String>,
    caption_entities: Option<Vec<GivenEntity>>,
    show_caption_above_media: Option<bool>,
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct CopySeveral {
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    direct_messages_topic_id: Option<Ignored>,
    from_chat_id: ChatRef,
    message_ids: Vec<i32>,
    disable_notification: Option<bool>,
    protect_content: Option<bool>,
    remove_caption: Option<bool>,
}

/// The message to forward or copy, if that is allowed.
fn source(world: &World, chat: &ChatRef, id: i32, deed: &str) -> Result<Message, ApiError> {
    let message = chats::find(world, chat)?.message(id);
    let message = message.ok_or_else(|| ApiError::bad_request(format!("message to {deed} not found")))?;
    if message.extra.as_ref().is_some_and(|extra| extra.protected) || matches!(message.content, Content::Service(_)) {
        return Err(ApiError::bad_request(format!(
            "message can't be {}",
            if deed == "copy" { "copied" } else { "forwarded" }
        )));
    }
    Ok(message.clone())
}

fn forwarded(message: Message, mut envelope: Envelope) -> (Envelope, Content) {
    let earlier = message.extra.and_then(|extra| extra.forwarded);
    let origin = earlier.unwrap_or(Origin { user: message.from, date: message.date });
    envelope.extra.get_or_insert_default().forwarded = Some(origin);
    (envelope, message.content)
}

pub fn forward(world: &mut World, call: &Call) -> MethodResult {
    let given: Forward = call.parameters.read()?;
    let target = target(given.chat_id, given.message_thread_id);
    let chat_id = open(world, &target)?;
    let message = source(world, &given.from_chat_id, given.message_id, "forward")?;
    let options = Options {
        protect_content: given.protect_content,
        message_effect_id: given.message_effect_id,
        ..Options::default()
    };
    let (envelope, content) = forwarded(message, envelope(world, chat_id, &target, options)?);
    let id = post(world, chat_id, envelope, content)?;
    render_message(world, chat_id, id)
}

pub fn forward_several(world: &mut World, call: &Call) -> MethodResult {
    let given: ForwardSeveral = call.parameters.read()?;
    let target = target(given.chat_id, given.message_thread_id);
    let sources = sources(world, &given.from_chat_id, &given.message_ids, "forward")?;
    several(world, &target, given.protect_content, sources, forwarded)
}

pub fn copy(world: &mut World, call: &Call) -> MethodResult {
    let given: Copy = call.parameters.read()?;
    let target = target(given.chat_id, given.message_thread_id);
    let chat_id = open(world, &target)?;
    let message = source(world, &given.from_chat_id, given.message_id, "copy")?;
    let envelope = envelope(world, chat_id, &target, Options::read(call)?)?;
    let mut content = copied(message.content, world.clock.now());
    if let (Content::Media(media), Some(text)) = (&mut content, given.caption.as_deref()) {
        media.caption = texts::caption(TextInput {
            text,
            parse_mode: given.parse_mode.as_deref(),
            entities: given.caption_entities,
        })?;
        media.caption_above = given.show_caption_above_media.unwrap_or(media.caption_above);
    }
    let id = post(world, chat_id, envelope, content)?;
    Ok(json!({"message_id": id}).to_string().into())
}

pub fn copy_several(world: &mut World, call: &Call) -> MethodResult {
    let given: CopySeveral = call.parameters.read()?;
    let target = target(given.chat_id, given.message_thread_id);
    let sources = sources(world, &given.from_chat_id, &given.message_ids, "copy")?;
    let bare = given.remove_caption.unwrap_or(false);
    let now = world.clock.now();
    several(world, &target, given.protect_content, sources, |message, envelope| {
        let mut content = copied(message.content, now);
        if let (Content::Media(media), true) = (&mut content, bare) {
            media.caption = TextWithEntities::default();
        }
        (envelope, content)
    })
}

/// The content of a copy. A copied poll is a new poll without votes.
fn copied(content: Content, now: i64) -> Content {
    match content {
        Content::Poll(poll) => Content::Poll(Box::new(poll.asked_again(now))),
        other => other,
    }
}

fn target(chat_id: ChatRef, message_thread_id: Option<i32>) -> Target {
    Target { business_connection_id: None, chat_id, message_thread_id, direct_messages_topic_id: None }
}

/// The messages that can be forwarded or copied. It is an error if there are none.
fn sources(world: &World, from: &ChatRef, ids: &[i32], deed: &str) -> Result<Vec<Message>, ApiError> {
    chats::find(world, from)?;
    if !(1..=MAX_AT_ONCE).contains(&ids.len()) {
        return Err(ApiError::bad_request("message identifiers must be from 1 to 100"));
    }
    if !ids.is_sorted_by(|before, after| before < after) {
        return Err(ApiError::bad_request("message identifiers must be in a strictly increasing order"));
    }
    let found: Vec<_> = ids.iter().filter_map(|id| source(world, from, *id, deed).ok()).collect();
    if found.is_empty() {
        return Err(ApiError::bad_request(format!("there are no messages to {deed}")));
    }
    Ok(found)
}

fn several(
    world: &mut World,
    target: &Target,
    protect_content: Option<bool>,
    sources: Vec<Message>,
    again: impl Fn(Message, Envelope) -> (Envelope, Content),
) -> MethodResult {
    let chat_id = open(world, target)?;
    let albums = new_albums(&sources);
    let mut ids = Vec::new();
    for message in sources {
        let options = Options { protect_content, ..Options::default() };
        let mut envelope = envelope(world, chat_id, target, options)?;
        if let Some(album) = album_of(&message).and_then(|album| albums.get(album)) {
            envelope.extra.get_or_insert_default().media_group = Some(album.clone());
        }
        let (envelope, content) = again(message, envelope);
        ids.push(json!({"message_id": post(world, chat_id, envelope, content)?}));
    }
    Ok(json!(ids).to_string().into())
}

fn album_of(message: &Message) -> Option<&str> {
    message.extra.as_ref()?.media_group.as_deref()
}

/// A new album id for each album of which more than one message is forwarded or copied.
fn new_albums(sources: &[Message]) -> HashMap<Box<str>, Box<str>> {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    for album in sources.iter().filter_map(album_of) {
        *sizes.entry(album).or_default() += 1;
    }
    sizes.into_iter().filter(|(_, size)| *size > 1).map(|(album, _)| (album.into(), new_album())).collect()
}
