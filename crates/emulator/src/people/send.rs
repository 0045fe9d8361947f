//! A person sends or edits a message.

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::header;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::chats::member;
use super::upload::FileIn;
use super::{Body, BotPath, Refusal};
use crate::bot_api::call::{self, Call, Upload};
use crate::bot_api::methods::add_file;
use crate::bot_api::texts::{self, TextInput};
use crate::emulator::Emulator;
use crate::text::{EntityKind, GivenEntity};
use crate::world::chat::Chat;
use crate::world::content::{Contact, Content, Location, Media, MediaKind, TextWithEntities};
use crate::world::file::FileAttributes;
use crate::world::message::{Extra, Message};
use crate::world::render::Audience;
use crate::world::update::UpdateKind;
use crate::world::{NewMessage, World};

const MAX_ALBUM: usize = 10;

/// The JSON body of `send`.
#[derive(Deserialize)]
struct SendBody {
    from: i64,
    text: Option<String>,
    entities: Option<Vec<GivenEntity>>,
    photo: Option<FileIn>,
    document: Option<FileIn>,
    voice: Option<FileIn>,
    video: Option<FileIn>,
    video_note: Option<FileIn>,
    album: Option<Vec<FileIn>>,
    contact: Option<GivenContact>,
    location: Option<Location>,
    caption: Option<String>,
    reply_to: Option<i32>,
    thread_id: Option<i32>,
    edit: Option<i32>,
}

/// A contact. Without `user_id` it is the sender; 0 means a person without a Telegram account.
#[derive(Deserialize)]
struct GivenContact {
    phone_number: String,
    first_name: Option<String>,
    last_name: Option<String>,
    user_id: Option<i64>,
    vcard: Option<String>,
}

/// A parsed request of `send`, with files as bytes.
struct SendRequest {
    body: SendBody,
    files: Vec<Upload>,
}

pub(super) async fn send(
    State(emulator): State<Emulator>,
    at: BotPath,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let received = if call::is(content_type, "multipart/form-data") {
        from_multipart(request).await?
    } else {
        from_json(Body::from_request(request, &emulator).await?.0)?
    };
    let chat = at.chat()?;
    at.bot.store_uploads(&received.files).await;
    let mut world = at.bot.world();
    member(&world, chat, received.body.from)?;
    match received.body.edit {
        Some(id) => edit(&mut world, chat, id, &received),
        None => say(&mut world, chat, received),
    }
}

fn from_json(mut body: SendBody) -> Result<SendRequest, Refusal> {
    let mut files = Vec::new();
    let given = [
        ("photo", body.photo.take()),
        ("document", body.document.take()),
        ("voice", body.voice.take()),
        ("video", body.video.take()),
        ("video_note", body.video_note.take()),
    ];
    for (field, file) in given {
        files.extend(file.map(|file| file.upload(field)).transpose()?);
    }
    for file in body.album.take().unwrap_or_default() {
        files.push(file.upload("album")?);
    }
    Ok(SendRequest { body, files })
}

async fn from_multipart(request: Request) -> Result<SendRequest, Refusal> {
    let Call { parameters, uploads: files, .. } = Call::read("send", request).await?;
    if let Some(empty) = files.iter().find(|file| file.bytes.is_empty()) {
        return Err(Refusal::bad(format!("{} is empty", empty.field)));
    }
    let mut fields = serde_json::Map::new();
    for (field, text) in parameters.names().zip(parameters.values()) {
        // Other fields of a form are numbers or objects.
        let plain = matches!(field, "text" | "caption");
        fields.insert(field.to_owned(), if plain { text.into() } else { parsed(field, text)? });
    }
    Ok(SendRequest { body: parsed_value(fields.into())?, files })
}

fn parsed<T: DeserializeOwned>(field: &str, text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|error| Refusal::bad(format!("{field}: {error}")))
}

fn parsed_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    serde_json::from_value(value).map_err(|error| Refusal::bad(error.to_string()))
}

fn say(world: &mut World, chat: i64, received: SendRequest) -> Result<Json<Value>, Refusal> {
    let extra = extra(world, chat, &received.body)?;
    let from = received.body.from;
    let album = received.files.iter().any(|file| file.field == "album");
    let contents = contents(world, received)?;
    let mut messages = Vec::new();
    let group = album.then(|| fastrand::u64(1 << 53..1 << 54).to_string());
    for content in contents {
        let mut extra = extra.clone();
        if let Some(group) = &group {
            extra.get_or_insert_default().media_group = Some(group.as_str().into());
        }
        let draft = NewMessage { from, content, markup: None, extra };
        let id = world.post(chat, draft).ok_or_else(|| Refusal::missing("the chat is gone"))?;
        queue_for_bot(world, UpdateKind::Message, chat, id);
        messages.push(message(world, chat, id));
    }
    Ok(Json(if album { messages.into() } else { messages.pop().unwrap_or_default() }))
}

fn message(world: &World, chat_id: i64, id: i32) -> Value {
    let Some(chat) = world.chat(chat_id) else {
        return Value::Null;
    };
    json!(chat.message(id).map(|message| world.message_view(chat, message, Audience::Bot)))
}

fn extra(world: &World, chat: i64, body: &SendBody) -> Result<Option<Box<Extra>>, Refusal> {
    let Some(chat) = world.chat(chat) else { return Ok(None) };
    let topics = chat.group.as_ref().map(|group| &group.topics[..]).unwrap_or_default();
    if let Some(thread) = body.thread_id
        && !topics.iter().any(|topic| topic.thread == thread)
    {
        return Err(Refusal::missing(format!("there is no topic {thread}")));
    }
    let replied = match body.reply_to {
        Some(id) => Some(chat.message(id).ok_or_else(|| Refusal::missing(format!("there is no message {id}")))?),
        None => None,
    };
    let thread = body.thread_id.or_else(|| replied.and_then(Message::thread));
    let extra = Extra { thread, reply_to: body.reply_to, ..Extra::default() };
    Ok((thread.is_some() || body.reply_to.is_some()).then(|| Box::new(extra)))
}

/// The contents of the messages to post: one, or one for each file of an album.
fn contents(world: &mut World, received: SendRequest) -> Result<Vec<Content>, Refusal> {
    let SendRequest { mut body, files } = received;
    let ways = usize::from(body.text.is_some())
        + usize::from(body.contact.is_some())
        + usize::from(body.location.is_some())
        + usize::from(!files.is_empty());
    if ways != 1 {
        return Err(Refusal::bad(
            "say one of text, photo, document, voice, video, video_note, album, contact or location",
        ));
    }
    if let Some(text) = body.text {
        let text = texts::message_text(TextInput { text: &text, parse_mode: None, entities: body.entities })?;
        return Ok(vec![Content::Text(text)]);
    }
    if let Some(contact) = body.contact {
        return Ok(vec![Content::Contact(Box::new(own_or_other(world, body.from, contact)))]);
    }
    if let Some(location) = body.location {
        let valid = (-90.0..=90.0).contains(&location.latitude) && (-180.0..=180.0).contains(&location.longitude);
        let wrong = || Refusal::bad("latitude is from -90 to 90, longitude from -180 to 180");
        return valid.then(|| vec![Content::Location(Box::new(location))]).ok_or_else(wrong);
    }
    let album = files.iter().any(|file| file.field == "album");
    if files.len() > if album { MAX_ALBUM } else { 1 } {
        return Err(Refusal::bad("one file at a time, or an album of up to 10 photos"));
    }
    let mut caption = caption(body.caption.take())?;
    files.into_iter().map(|file| media(world, &file, std::mem::take(&mut caption))).collect()
}

fn caption(text: Option<String>) -> Result<TextWithEntities, Refusal> {
    let text = text.unwrap_or_default();
    Ok(texts::caption(TextInput { text: &text, parse_mode: None, entities: None })?)
}

fn media(world: &mut World, file: &Upload, caption: TextWithEntities) -> Result<Content, Refusal> {
    let kind = match file.field.as_str() {
        "photo" | "album" => MediaKind::Photo,
        "document" => MediaKind::Document,
        "voice" => MediaKind::Voice,
        "video" => MediaKind::Video,
        "video_note" => MediaKind::VideoNote,
        other => {
            let kinds = "photo, document, voice, video, video_note or album";
            return Err(Refusal::bad(format!("{other} is not a kind of file: {kinds}")));
        }
    };
    // Not strict: a test may send the bot a photo that is not an image.
    let files = add_file(world, kind, file, FileAttributes::default(), false)?;
    Ok(Content::Media(Box::new(Media { kind, files, caption, caption_above: false, spoiler: false })))
}

fn own_or_other(world: &World, from: i64, given: GivenContact) -> Contact {
    let user_id = given.user_id.unwrap_or(from);
    let user = world.user(user_id);
    let own_name = user.map(|user| user.first_name.to_string());
    Contact {
        phone_number: given.phone_number,
        first_name: given.first_name.or(own_name).unwrap_or_default(),
        last_name: given.last_name.or_else(|| user?.last_name.as_deref().map(str::to_owned)),
        user_id: (user_id != 0).then_some(user_id),
        vcard: given.vcard,
    }
}

/// Edits a message of the sender.
fn edit(world: &mut World, chat: i64, id: i32, received: &SendRequest) -> Result<Json<Value>, Refusal> {
    let old = world.chat(chat).and_then(|chat| chat.message(id));
    let old = old.ok_or_else(|| Refusal::missing(format!("there is no message {id}")))?;
    if old.from != received.body.from {
        return Err(Refusal::bad("a person can edit only their own message"));
    }
    let content = match (&old.content, &received.body.text, &received.body.caption) {
        (Content::Text(_), Some(text), None) => {
            Content::Text(texts::message_text(TextInput { text, parse_mode: None, entities: None })?)
        }
        (Content::Media(media), None, Some(text)) => {
            Content::Media(Box::new(Media { caption: caption(Some(text.clone()))?, ..(**media).clone() }))
        }
        _ => return Err(Refusal::bad("edit a text with text, and a file with caption")),
    };
    world.change(chat, id, true, |message| message.content = content);
    queue_for_bot(world, UpdateKind::EditedMessage, chat, id);
    Ok(Json(message(world, chat, id)))
}

/// Queues a message for the bot, unless privacy mode hides it.
fn queue_for_bot(world: &mut World, kind: UpdateKind, chat_id: i64, id: i32) {
    let Some(chat) = world.chat(chat_id) else { return };
    let Some(message) = chat.message(id) else { return };
    let open = chat.is_private() || world.abilities.can_read_all_group_messages || concerns_bot(world, chat, message);
    if open {
        world.queue_message(kind, chat_id, id);
    }
}

/// Whether a message reaches the bot in privacy mode: commands, replies to the bot and mentions of it do.
fn concerns_bot(world: &World, chat: &Chat, message: &Message) -> bool {
    let replied = message.extra.as_ref().and_then(|extra| chat.message(extra.reply_to?));
    if replied.is_some_and(|replied| replied.from == world.me.id) {
        return true;
    }
    let Some(content) = message.content.text() else { return false };
    let name = world.me.username.as_deref().unwrap_or_default();
    content.entities.iter().any(|entity| {
        let text = slice_utf16(&content.text, entity.offset, entity.length);
        let named = text.split_once('@').map(|(_, named)| named.eq_ignore_ascii_case(name));
        match entity.kind {
            // A command may name its bot. A command without a name is for all bots.
            EntityKind::BotCommand => named.unwrap_or(true),
            EntityKind::Mention => named == Some(true),
            _ => false,
        }
    })
}

/// The part of a text that an entity covers.
fn slice_utf16(text: &str, offset: u32, length: u32) -> String {
    let units: Vec<u16> = text.encode_utf16().skip(offset as usize).take(length as usize).collect();
    String::from_utf16_lossy(&units)
}
