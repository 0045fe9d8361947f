//! `editMessageText`, `…Caption`, `…Media` and `…ReplyMarkup`.

use serde::Deserialize;

use super::media::{self, InputMedia};
use super::send::{Preview, render_message};
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::bot_api::texts::{self, TextInput};
use crate::text::GivenEntity;
use crate::world::World;
use crate::world::content::Content;
use crate::world::keyboard::{GivenMarkup, Markup, MarkupKind};
use crate::world::message::Message;

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the same \
                            as a current content and reply markup of the message";

/// The message to edit, and its new keyboard.
#[derive(Debug, Deserialize)]
pub struct EditTarget {
    business_connection_id: Option<String>,
    chat_id: Option<ChatRef>,
    message_id: Option<i32>,
    inline_message_id: Option<String>,
    reply_markup: Option<GivenMarkup>,
}

#[derive(Debug, Deserialize)]
pub struct Text {
    text: String,
    parse_mode: Option<String>,
    entities: Option<Vec<GivenEntity>>,
}

/// A rich message is not emulated. A call with one has no text.
#[derive(Debug, Deserialize)]
pub struct RichMessage {
    rich_message: Option<Ignored>,
}

#[derive(Debug, Deserialize)]
pub struct Caption {
    #[serde(default)]
    caption: Option<String>,
    parse_mode: Option<String>,
    caption_entities: Option<Vec<GivenEntity>>,
    show_caption_above_media: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct NewMedia {
    media: InputMedia,
}

/// A message that exists and may be edited, with its new keyboard.
struct CheckedTarget {
    chat_id: i64,
    id: i32,
    markup: Option<Markup>,
}

fn find(world: &World, call: &Call) -> Result<CheckedTarget, ApiError> {
    let given: EditTarget = call.parameters.read()?;
    if given.business_connection_id.is_some() {
        return Err(ApiError::bad_request("business connection not found"));
    }
    if given.inline_message_id.is_some() {
        return Err(ApiError::bad_request("MESSAGE_ID_INVALID"));
    }
    let chat_ref = given.chat_id.ok_or_else(|| ApiError::bad_request("chat_id is empty"))?;
    let chat = chats::open(world, &chat_ref)?;
    let id = given.message_id.ok_or_else(|| ApiError::bad_request("message identifier is not specified"))?;
    let message = chat.message(id).ok_or_else(|| ApiError::bad_request("message to edit not found"))?;
    let theirs = message.from != world.me.id || matches!(message.content, Content::Service(_));
    // A message with a reply keyboard cannot be edited: Telegram would have to show the keyboard again.
    let fixed = message.markup.as_ref().is_some_and(|markup| markup.kind != MarkupKind::Inline);
    if theirs || fixed {
        return Err(ApiError::bad_request("message can't be edited"));
    }
    let markup = given.reply_markup.map(|markup| markup.check(chat.is_private())).transpose()?.flatten();
    if markup.as_ref().is_some_and(|markup| markup.kind != MarkupKind::Inline) {
        return Err(ApiError::bad_request("inline keyboard expected"));
    }
    Ok(CheckedTarget { chat_id: chat.id, id, markup })
}

fn current<'a>(world: &'a World, target: &CheckedTarget) -> Result<&'a Message, ApiError> {
    let message = world.chat(target.chat_id).and_then(|chat| chat.message(target.id));
    message.ok_or_else(|| ApiError::bad_request("message to edit not found"))
}

/// Sets the new content and keyboard. An edit that changes neither is an error.
fn apply(world: &mut World, target: CheckedTarget, content: Content, also: impl FnOnce(&mut Message)) -> MethodResult {
    let message = current(world, &target)?;
    if message.content == content && message.markup.as_deref() == target.markup.as_ref() {
        return Err(ApiError::bad_request(NOT_MODIFIED));
    }
    let dated = message.content != content;
    let CheckedTarget { chat_id, id, markup } = target;
    world.change(chat_id, id, dated, |message| {
        message.content = content;
        message.markup = markup.map(Box::new);
        also(message);
    });
    render_message(world, chat_id, id)
}

pub fn text(world: &mut World, call: &Call) -> MethodResult {
    let target = find(world, call)?;
    if call.parameters.read::<RichMessage>()?.rich_message.is_some() {
        return Err(ApiError::new(501, "Not Implemented: rich messages are not emulated yet"));
    }
    let given: Text = call.parameters.read()?;
    if !matches!(current(world, &target)?.content, Content::Text(_)) {
        return Err(ApiError::bad_request("there is no text in the message to edit"));
    }
    let text = texts::message_text(TextInput {
        text: &given.text,
        parse_mode: given.parse_mode.as_deref(),
        entities: given.entities,
    })?;
    // A new preview alone does not count as a change.
    let preview = Preview::read(call)?.to_json();
    apply(world, target, Content::Text(text), |message| {
        if preview.is_some() || message.extra.is_some() {
            message.extra_mut().link_preview = preview;
        }
    })
}

pub fn caption(world: &mut World, call: &Call) -> MethodResult {
    let target = find(world, call)?;
    let given: Caption = call.parameters.read()?;
    let Content::Media(mut media) = current(world, &target)?.content.clone() else {
        return Err(ApiError::bad_request("there is no caption in the message to edit"));
    };
    media.caption = texts::caption(TextInput {
        text: given.caption.as_deref().unwrap_or_default(),
        parse_mode: given.parse_mode.as_deref(),
        entities: given.caption_entities,
    })?;
    media.caption_above = given.show_caption_above_media.unwrap_or(false);
    apply(world, target, Content::Media(media), |_| ())
}

pub fn media(world: &mut World, call: &Call) -> MethodResult {
    let target = find(world, call)?;
    let given: NewMedia = call.parameters.read()?;
    let message = current(world, &target)?;
    if !matches!(message.content, Content::Media(_) | Content::Text(_)) {
        return Err(ApiError::bad_request("message can't be edited"));
    }
    let in_group = message.extra.as_ref().is_some_and(|extra| extra.media_group.is_some());
    if in_group && !media::fits_album(&message.content, given.media.kind()?) {
        return Err(ApiError::bad_request("message can't be edited"));
    }
    let content = given.media.content(world, call)?;
    apply(world, target, content, |_| ())
}

pub fn reply_markup(world: &mut World, call: &Call) -> MethodResult {
    let target = find(world, call)?;
    let content = current(world, &target)?.content.clone();
    apply(world, target, content, |_| ())
}
