//! Sends photos, documents, videos and sounds, alone or as albums.

use serde::Deserialize;

use super::files::{Source, stored};
use super::send::{Options, ReplyParameters, Target, envelope, open, post, post_and_render, render_message};
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::bot_api::texts::{self, TextInput};
use crate::text::GivenEntity;
use crate::world::World;
use crate::world::content::{Content, Media, MediaKind, TextWithEntities};
use crate::world::file::FileAttributes;

#[derive(Debug, Default, Deserialize)]
pub struct Caption {
    caption: Option<String>,
    parse_mode: Option<String>,
    caption_entities: Option<Vec<GivenEntity>>,
}

impl Caption {
    pub fn parse(self) -> Result<TextWithEntities, ApiError> {
        texts::caption(TextInput {
            text: self.caption.as_deref().unwrap_or_default(),
            parse_mode: self.parse_mode.as_deref(),
            entities: self.caption_entities,
        })
    }
}

/// How photos, videos and animations are shown.
#[derive(Debug, Default, Deserialize)]
pub struct DisplayOptions {
    show_caption_above_media: Option<bool>,
    has_spoiler: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct Photo {
    photo: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Document {
    document: Option<String>,
    thumbnail: Option<String>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    disable_content_type_detection: Option<Ignored>,
}

#[derive(Debug, Deserialize)]
pub struct Video {
    video: Option<String>,
    duration: Option<u32>,
    width: Option<u32>,
    height: Option<u32>,
    thumbnail: Option<String>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    cover: Option<Ignored>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    start_timestamp: Option<Ignored>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    supports_streaming: Option<Ignored>,
}

#[derive(Debug, Deserialize)]
pub struct Animation {
    animation: Option<String>,
    duration: Option<u32>,
    width: Option<u32>,
    height: Option<u32>,
    thumbnail: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Audio {
    audio: Option<String>,
    duration: Option<u32>,
    performer: Option<Box<str>>,
    title: Option<Box<str>>,
    thumbnail: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Voice {
    voice: Option<String>,
    duration: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub struct VideoNote {
    video_note: Option<String>,
    duration: Option<u32>,
    length: Option<u32>,
    thumbnail: Option<String>,
}

pub fn photo(world: &mut World, call: &Call) -> MethodResult {
    let given: Photo = call.parameters.read()?;
    single(world, call, MediaKind::Photo, given.photo, None, FileAttributes::default())
}

pub fn document(world: &mut World, call: &Call) -> MethodResult {
    let given: Document = call.parameters.read()?;
    single(world, call, MediaKind::Document, given.document, given.thumbnail, FileAttributes::default())
}

pub fn video(world: &mut World, call: &Call) -> MethodResult {
    let given: Video = call.parameters.read()?;
    let attributes = moving(given.width, given.height, given.duration);
    single(world, call, MediaKind::Video, given.video, given.thumbnail, attributes)
}

pub fn animation(world: &mut World, call: &Call) -> MethodResult {
    let given: Animation = call.parameters.read()?;
    let attributes = moving(given.width, given.height, given.duration);
    single(world, call, MediaKind::Animation, given.animation, given.thumbnail, attributes)
}

pub fn audio(world: &mut World, call: &Call) -> MethodResult {
    let given: Audio = call.parameters.read()?;
    let (performer, title) = (given.performer, given.title);
    let attributes =
        FileAttributes { duration: given.duration.unwrap_or(0), performer, title, ..FileAttributes::default() };
    single(world, call, MediaKind::Audio, given.audio, given.thumbnail, attributes)
}

pub fn voice(world: &mut World, call: &Call) -> MethodResult {
    let given: Voice = call.parameters.read()?;
    let attributes = FileAttributes { duration: given.duration.unwrap_or(0), ..FileAttributes::default() };
    single(world, call, MediaKind::Voice, given.voice, None, attributes)
}

/// A video in a circle, which has no caption.
pub fn video_note(world: &mut World, call: &Call) -> MethodResult {
    let given: VideoNote = call.parameters.read()?;
    let attributes = moving(given.length, given.length, given.duration);
    single(world, call, MediaKind::VideoNote, given.video_note, given.thumbnail, attributes)
}

fn moving(width: Option<u32>, height: Option<u32>, duration: Option<u32>) -> FileAttributes {
    FileAttributes {
        width: width.unwrap_or(0),
        height: height.unwrap_or(0),
        duration: duration.unwrap_or(0),
        ..FileAttributes::default()
    }
}

fn single(
    world: &mut World,
    call: &Call,
    kind: MediaKind,
    file: Option<String>,
    thumbnail: Option<String>,
    attributes: FileAttributes,
) -> MethodResult {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let caption = call.parameters.read::<Caption>()?.parse()?;
    let display: DisplayOptions = call.parameters.read()?;
    let envelope = envelope(world, chat_id, &target, Options::read(call)?)?;
    let source = Source { field: kind.name(), value: file.as_deref(), thumbnail: thumbnail.as_deref() };
    let files = stored(world, call, kind, source, attributes)?;
    let media = Media {
        kind,
        files,
        caption,
        caption_above: display.show_caption_above_media.unwrap_or(false),
        spoiler: display.has_spoiler.unwrap_or(false),
    };
    post_and_render(world, chat_id, envelope, Content::Media(Box::new(media)))
}

/// One item of an album, or the new media of an edited message.
#[derive(Debug, Deserialize)]
pub struct InputMedia {
    #[serde(rename = "type")]
    kind: String,
    media: String,
    thumbnail: Option<String>,
    caption: Option<String>,
    parse_mode: Option<String>,
    caption_entities: Option<Vec<GivenEntity>>,
    #[serde(default)]
    show_caption_above_media: bool,
    #[serde(default)]
    has_spoiler: bool,
    width: Option<u32>,
    height: Option<u32>,
    duration: Option<u32>,
    performer: Option<Box<str>>,
    title: Option<Box<str>>,
}

impl InputMedia {
    pub fn kind(&self) -> Result<MediaKind, ApiError> {
        match self.kind.as_str() {
            "photo" => Ok(MediaKind::Photo),
            "document" => Ok(MediaKind::Document),
            "video" => Ok(MediaKind::Video),
            "audio" => Ok(MediaKind::Audio),
            "animation" => Ok(MediaKind::Animation),
            other => Err(ApiError::bad_request(format!("can't parse InputMedia: type \"{other}\" is unsupported"))),
        }
    }

    /// Stores the file and returns the content of a message.
    pub fn content(self, world: &mut World, call: &Call) -> Result<Content, ApiError> {
        let kind = self.kind()?;
        let caption =
            Caption { caption: self.caption, parse_mode: self.parse_mode, caption_entities: self.caption_entities };
        let caption = caption.parse()?;
        let attributes = FileAttributes {
            performer: self.performer,
            title: self.title,
            ..moving(self.width, self.height, self.duration)
        };
        let source = Source { field: "media", value: Some(&self.media), thumbnail: self.thumbnail.as_deref() };
        let files = stored(world, call, kind, source, attributes)?;
        let media =
            Media { kind, files, caption, caption_above: self.show_caption_above_media, spoiler: self.has_spoiler };
        Ok(Content::Media(Box::new(media)))
    }
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Group {
    media: Vec<InputMedia>,
    disable_notification: Option<bool>,
    protect_content: Option<bool>,
    allow_paid_broadcast: Option<Ignored>,
    message_effect_id: Option<Box<str>>,
    reply_parameters: Option<ReplyParameters>,
}

pub fn group(world: &mut World, call: &Call) -> MethodResult {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let given: Group = call.parameters.read()?;
    if !(2..=10).contains(&given.media.len()) {
        return Err(ApiError::bad_request("media group must include 2-10 items"));
    }
    same_kinds(&given.media)?;
    let options = Options {
        protect_content: given.protect_content,
        message_effect_id: given.message_effect_id,
        reply_parameters: given.reply_parameters,
        ..Options::default()
    };
    let mut envelope = envelope(world, chat_id, &target, options.with_former_names(call)?)?;
    envelope.extra.get_or_insert_default().media_group = Some(new_album());
    // All files are stored before the first message is posted: an album is sent whole or not at all.
    let contents = given.media.into_iter().map(|media| media.content(world, call)).collect::<Result<Vec<_>, _>>()?;
    let mut messages = vec![b'['];
    for content in contents {
        let envelope = super::send::Envelope { markup: None, extra: envelope.extra.clone() };
        let id = post(world, chat_id, envelope, content)?;
        if messages.len() > 1 {
            messages.push(b',');
        }
        messages.extend(render_message(world, chat_id, id)?);
    }
    messages.push(b']');
    Ok(messages)
}

/// An id that holds the messages of an album together.
pub fn new_album() -> Box<str> {
    fastrand::u64(1 << 53..1 << 54).to_string().into()
}

/// Whether media of this kind may replace `content` within its album.
pub fn fits_album(content: &Content, kind: MediaKind) -> bool {
    let visual = |kind| matches!(kind, MediaKind::Photo | MediaKind::Video);
    matches!(content, Content::Media(media) if media.kind == kind || (visual(media.kind) && visual(kind)))
}

/// Photos and videos may be mixed. Documents and sounds cannot, and animations are sent alone.
fn same_kinds(media: &[InputMedia]) -> Result<(), ApiError> {
    let mut first = None;
    for item in media {
        let class = match item.kind()? {
            MediaKind::Photo | MediaKind::Video => "album",
            MediaKind::Document => "document",
            MediaKind::Audio => "audio",
            MediaKind::Animation | MediaKind::Voice | MediaKind::VideoNote => {
                return Err(ApiError::bad_request("can't use the media of the specified type in the album"));
            }
        };
        if *first.get_or_insert(class) != class {
            return Err(ApiError::bad_request(format!("{class} can't be mixed with other media types")));
        }
    }
    Ok(())
}
