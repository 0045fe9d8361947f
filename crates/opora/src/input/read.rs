//! Parses Telegram's updates into inputs.

use std::sync::Arc;

use frankenstein::types::{Message, PhotoSize};

use super::{Album, Command, Contact, Document, Input, Item, Location, Media, Other, Photo, Press};
use crate::clock::Millis;
use crate::telegram::Tag;
use crate::update::{Content, Update};

/// The longest command in Telegram.
const COMMAND_MAX_CHARS: usize = 32;

impl Input {
    /// The input of an update.
    #[must_use]
    pub fn from_update(update: &Update) -> Self {
        match &update.content {
            Content::Callback(query) => {
                let data = Tag::parse(query.data.as_deref().unwrap_or_default()).data.to_owned();
                let message_id = query.message.as_ref().map(|message| match message {
                    frankenstein::types::MaybeInaccessibleMessage::Message(message) => i64::from(message.message_id),
                    frankenstein::types::MaybeInaccessibleMessage::InaccessibleMessage(gone) => {
                        i64::from(gone.message_id)
                    }
                });
                Self::Press(Press { rest: data.clone(), data, message_id, id: query.id.clone() })
            }
            Content::Message(message) if is_new(&update.kind) => of_message(message),
            _ => Self::Other(Other { kind: update.kind.clone(), is_by_person: false }),
        }
    }

    /// The input of an album's updates. `late` if an earlier part of the album was handled before.
    #[must_use]
    pub fn from_album(updates: &[Arc<Update>], late: bool) -> Self {
        let mut messages: Vec<&Message> = updates
            .iter()
            .filter_map(|update| match &update.content {
                Content::Message(message) => Some(&**message),
                _ => None,
            })
            .collect();
        messages.sort_by_key(|message| message.message_id);
        let id = messages.first().and_then(|message| message.media_group_id.clone()).unwrap_or_default();
        let items = messages
            .into_iter()
            .filter_map(|message| match of_message(message) {
                Self::Photo(photo) => Some(Item::Photo(photo)),
                Self::Document(document) => Some(Item::Document(document)),
                Self::Media(media) => Some(Item::Media(media)),
                _ => None,
            })
            .collect();
        Self::Album(Album { id, items, late })
    }
}

fn is_new(kind: &str) -> bool {
    matches!(kind, "message" | "business_message" | "guest_message")
}

fn of_message(message: &Message) -> Input {
    if let Some(text) = &message.text {
        return Command::parse(text).map_or_else(|| Input::Text(text.clone()), Input::Command);
    }
    if let Some(photo) = message.photo.as_deref().and_then(largest) {
        return Input::Photo(Photo {
            file_id: photo.file_id.clone(),
            unique_id: photo.file_unique_id.clone(),
            width: photo.width,
            height: photo.height,
            size: photo.file_size,
            caption: message.caption.clone(),
        });
    }
    // Telegram sends an animation also as a document, for old clients. Here it is only media.
    if let Some(media) = of_media(message) {
        return Input::Media(media);
    }
    if let Some(document) = &message.document {
        return Input::Document(Document {
            file_id: document.file_id.clone(),
            unique_id: document.file_unique_id.clone(),
            file_name: document.file_name.clone(),
            mime_type: document.mime_type.clone(),
            size: document.file_size,
            caption: message.caption.clone(),
        });
    }
    if let Some(contact) = &message.contact {
        let sender = message.from.as_ref().map(|from| from.id);
        return Input::Contact(Contact {
            phone: contact.phone_number.clone(),
            own: contact.user_id.is_some() && contact.user_id == sender,
            first_name: contact.first_name.clone(),
            last_name: contact.last_name.clone(),
            user_id: contact.user_id.and_then(|id| i64::try_from(id).ok()),
        });
    }
    if let Some(location) = message.location.as_deref().or(message.venue.as_deref().map(|venue| &venue.location)) {
        return Input::Location(Location {
            latitude: location.latitude,
            longitude: location.longitude,
            accuracy_m: location.horizontal_accuracy,
            own: message.forward_origin.is_none() && message.via_bot.is_none() && message.venue.is_none(),
            live_s: location.live_period,
            sent_at: Millis(i64::try_from(message.date).unwrap_or_default().saturating_mul(1000)),
        });
    }
    Input::Other(of_other(message))
}

/// The largest size by pixels. Telegram lists sizes in rising order, but does not promise it.
fn largest(sizes: &[PhotoSize]) -> Option<&PhotoSize> {
    sizes.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height))
}

fn of_media(message: &Message) -> Option<Media> {
    let file = |kind, file_id: &str, unique_id: &str, size| Media {
        kind,
        file_id: file_id.to_owned(),
        unique_id: unique_id.to_owned(),
        size,
        caption: message.caption.clone(),
        ..Media::default()
    };
    macro_rules! plays {
        ($($field:ident),*) => {
            $(if let Some(found) = &message.$field {
                let file = file(stringify!($field), &found.file_id, &found.file_unique_id, found.file_size);
                return Some(Media { duration_s: Some(found.duration), mime_type: found.mime_type.clone(), ..file });
            })*
        };
    }
    plays!(animation, video, voice, audio);
    if let Some(note) = &message.video_note {
        let file = file("video_note", &note.file_id, &note.file_unique_id, note.file_size);
        return Some(Media { duration_s: Some(note.duration), ..file });
    }
    let sticker = message.sticker.as_ref()?;
    Some(file("sticker", &sticker.file_id, &sticker.file_unique_id, sticker.file_size))
}

/// A message that has no variant of its own, or a service message.
fn of_other(message: &Message) -> Other {
    let kinds = [
        ("dice", message.dice.is_some()),
        ("poll", message.poll.is_some()),
        ("game", message.game.is_some()),
        ("story", message.story.is_some()),
        ("checklist", message.checklist.is_some()),
        ("paid_media", message.paid_media.is_some()),
        ("live_photo", message.live_photo.is_some()),
        ("rich_message", message.rich_message.is_some()),
        ("web_app_data", message.web_app_data.is_some()),
        ("users_shared", message.users_shared.is_some()),
        ("chat_shared", message.chat_shared.is_some()),
        ("successful_payment", message.successful_payment.is_some()),
        ("passport_data", message.passport_data.is_some()),
    ];
    match kinds.iter().find(|(_, found)| *found) {
        Some((kind, _)) => Other { kind: (*kind).into(), is_by_person: true },
        None => Other { kind: "service".into(), is_by_person: false },
    }
}

impl Command {
    /// Parses a text such as `/start@my_bot anna`. None if it does not begin with a command.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('/')?;
        let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (name, mention) = word.split_once('@').map_or((word, None), |(name, mention)| (name, Some(mention)));
        let is_valid = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_valid(name) || name.len() > COMMAND_MAX_CHARS || !mention.is_none_or(is_valid) {
            return None;
        }
        let argument = argument.trim().to_owned();
        let mention = mention.map(ToOwned::to_owned);
        Some(Self { name: name.to_ascii_lowercase(), argument, mention })
    }
}
