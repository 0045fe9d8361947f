//! Makes Bot API objects from stored data.
//!
//! The bot and the people see the same messages, except for keyboards: as in Telegram, the bot sees only inline ones.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::json;

use super::World;
use super::chat::Chat;
use super::content::{Content, Media, MediaKind, Poll, Service, TextWithEntities};
use super::file::FileNo;
use super::keyboard::MarkupKind;
use super::message::Message;
use crate::text::{Entity, EntityExtra};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Bot,
    People,
}

/// A `Message`.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    pub world: &'a World,
    pub chat: &'a Chat,
    pub message: &'a Message,
    pub audience: Audience,
    /// A message inside another one does not show the message it replies to.
    pub nested: bool,
}

impl Serialize for MessageView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { world, chat, message, .. } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message_id", &message.id)?;
        if let Some(user) = world.user(message.from) {
            map.serialize_entry("from", user)?;
        }
        map.serialize_entry("chat", &ChatView { world, chat })?;
        map.serialize_entry("date", &message.date)?;
        if let Some(date) = message.edit_date {
            map.serialize_entry("edit_date", &date)?;
        }
        self.extra(&mut map)?;
        self.content(&mut map)?;
        if let Some(markup) = &message.markup
            && (self.audience == Audience::People || markup.kind == MarkupKind::Inline)
        {
            map.serialize_entry("reply_markup", &markup.json)?;
        }
        if self.audience == Audience::People && !self.nested {
            let reactions = world.reactions(chat.id, message.id);
            if !reactions.is_empty() {
                map.serialize_entry("reactions", &reactions)?;
            }
        }
        map.end()
    }
}

impl<'a> MessageView<'a> {
    fn inner(&self, message: &'a Message) -> Self {
        Self { message, nested: true, ..*self }
    }

    fn extra<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Some(extra) = &self.message.extra else {
            return Ok(());
        };
        if let Some(thread) = extra.thread {
            map.serialize_entry("message_thread_id", &thread)?;
            map.serialize_entry("is_topic_message", &true)?;
        }
        if let Some(origin) = &extra.forwarded {
            let sender = self.world.user(origin.user);
            map.serialize_entry(
                "forward_origin",
                &json!({"type": "user", "date": origin.date, "sender_user": sender}),
            )?;
        }
        if let Some(replied) = extra.reply_to.filter(|_| !self.nested).and_then(|id| self.chat.message(id)) {
            map.serialize_entry("reply_to_message", &self.inner(replied))?;
        }
        if let Some(quote) = &extra.quote {
            map.serialize_entry("quote", &json!({"text": quote.text, "position": quote.position, "is_manual": true}))?;
        }
        if let Some(group) = &extra.media_group {
            map.serialize_entry("media_group_id", group)?;
        }
        if extra.protected {
            map.serialize_entry("has_protected_content", &true)?;
        }
        if let Some(effect) = &extra.effect_id {
            map.serialize_entry("effect_id", effect)?;
        }
        if let Some(options) = &extra.link_preview {
            map.serialize_entry("link_preview_options", options)?;
        }
        Ok(())
    }

    fn content<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match &self.message.content {
            Content::Text(text) => self.text_and_entities(map, "text", "entities", text),
            Content::Media(media) => self.media(map, media),
            Content::Location(location) => map.serialize_entry("location", location),
            Content::Venue(venue) => {
                map.serialize_entry("location", &venue.location)?;
                map.serialize_entry("venue", venue)
            }
            Content::Contact(contact) => map.serialize_entry("contact", contact),
            Content::Dice(dice) => map.serialize_entry("dice", dice),
            Content::Poll(poll) => map.serialize_entry("poll", &PollView { world: self.world, poll, in_message: true }),
            Content::Service(service) => self.service(map, service),
        }
    }

    fn text_and_entities<M: SerializeMap>(
        &self,
        map: &mut M,
        text: &'static str,
        entities: &'static str,
        content: &TextWithEntities,
    ) -> Result<(), M::Error> {
        map.serialize_entry(text, &content.text)?;
        if !content.entities.is_empty() {
            map.serialize_entry(entities, &EntitiesView { world: self.world, entities: &content.entities })?;
        }
        Ok(())
    }

    fn media<M: SerializeMap>(&self, map: &mut M, media: &Media) -> Result<(), M::Error> {
        let world = self.world;
        match media.kind {
            MediaKind::Photo => map.serialize_entry("photo", &PhotoView { world, sizes: &media.files })?,
            kind => {
                let file = FileView { world, no: media.files[0], kind };
                map.serialize_entry(kind.name(), &file)?;
                if kind == MediaKind::Animation {
                    // Old clients know animations only as documents, so Telegram sends both.
                    map.serialize_entry("document", &FileView { kind: MediaKind::Document, ..file })?;
                }
            }
        }
        if !media.caption.text.is_empty() {
            self.text_and_entities(map, "caption", "caption_entities", &media.caption)?;
        }
        if media.caption_above {
            map.serialize_entry("show_caption_above_media", &true)?;
        }
        if media.spoiler {
            map.serialize_entry("has_media_spoiler", &true)?;
        }
        Ok(())
    }

    fn service<M: SerializeMap>(&self, map: &mut M, service: &Service) -> Result<(), M::Error> {
        match service {
            Service::GroupCreated { supergroup: true } => map.serialize_entry("supergroup_chat_created", &true),
            Service::GroupCreated { supergroup: false } => map.serialize_entry("group_chat_created", &true),
            Service::Joined(users) => {
                let users: Vec<_> = users.iter().filter_map(|id| self.world.user(*id)).collect();
                map.serialize_entry("new_chat_members", &users)
            }
            Service::MigratedTo(chat) => map.serialize_entry("migrate_to_chat_id", chat),
            Service::MigratedFrom(chat) => map.serialize_entry("migrate_from_chat_id", chat),
            Service::Left(user) => map.serialize_entry("left_chat_member", &self.world.user(*user)),
            Service::TopicCreated { name, icon_color } => {
                map.serialize_entry("forum_topic_created", &json!({"name": name, "icon_color": icon_color}))
            }
            // Inside another message only the id is shown: the pinned message could be such a service message itself.
            Service::Pinned(id) => match self.chat.message(*id).filter(|_| !self.nested) {
                Some(pinned) => map.serialize_entry("pinned_message", &self.inner(pinned)),
                None => map.serialize_entry(
                    "pinned_message",
                    &json!({"chat": ChatView { world: self.world, chat: self.chat }, "message_id": id, "date": 0}),
                ),
            },
        }
    }
}

/// A `Chat`.
#[derive(Clone, Copy, Debug)]
pub struct ChatView<'a> {
    pub world: &'a World,
    pub chat: &'a Chat,
}

impl Serialize for ChatView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.fields(&mut map)?;
        map.end()
    }
}

impl ChatView<'_> {
    pub fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("id", &self.chat.id)?;
        if let Some(user) = self.world.user(self.chat.id).filter(|_| self.chat.is_private()) {
            map.serialize_entry("first_name", &user.first_name)?;
            if let Some(name) = &user.last_name {
                map.serialize_entry("last_name", name)?;
            }
            if let Some(name) = &user.username {
                map.serialize_entry("username", name)?;
            }
        }
        if let Some(group) = &self.chat.group {
            map.serialize_entry("title", &group.title)?;
            if let Some(name) = &group.username {
                map.serialize_entry("username", name)?;
            }
        }
        map.serialize_entry("type", self.chat.kind.name())?;
        if self.chat.group.as_ref().is_some_and(|group| group.forum) {
            map.serialize_entry("is_forum", &true)?;
        }
        Ok(())
    }
}

/// An array of `MessageEntity`.
#[derive(Clone, Copy, Debug)]
pub struct EntitiesView<'a> {
    pub world: &'a World,
    pub entities: &'a [Entity],
}

impl Serialize for EntitiesView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.entities.len()))?;
        for entity in self.entities {
            match entity.extra.as_deref() {
                // The one field whose wire form is not the stored one.
                Some(EntityExtra::User(id)) => seq.serialize_element(&json!({
                    "type": entity.kind.name(), "offset": entity.offset, "length": entity.length,
                    "user": self.world.user(*id),
                }))?,
                _ => seq.serialize_element(entity)?,
            }
        }
        seq.end()
    }
}

/// An array of `PhotoSize`.
#[derive(Clone, Copy, Debug)]
pub struct PhotoView<'a> {
    pub world: &'a World,
    pub sizes: &'a [FileNo],
}

impl Serialize for PhotoView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let world = self.world;
        serializer.collect_seq(self.sizes.iter().map(|no| FileView { world, no: *no, kind: MediaKind::Photo }))
    }
}

/// A file as an object of its kind: `PhotoSize`, `Document`, `Video` …
#[derive(Clone, Copy, Debug)]
pub struct FileView<'a> {
    pub world: &'a World,
    pub no: FileNo,
    pub kind: MediaKind,
}

impl Serialize for FileView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files = &self.world.files;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file_id", &files.file_id(self.no))?;
        map.serialize_entry("file_unique_id", &files.unique_id(self.no))?;
        let Some(file) = files.get(self.no) else {
            return map.end();
        };
        let attributes = &file.attributes;
        let (sized, timed, titled, named) = match self.kind {
            MediaKind::Photo => (true, false, false, false),
            MediaKind::Document => (false, false, false, true),
            MediaKind::Video | MediaKind::Animation => (true, true, false, true),
            MediaKind::Audio => (false, true, true, true),
            MediaKind::Voice | MediaKind::VideoNote => (false, true, false, false),
        };
        let is_round = self.kind == MediaKind::VideoNote;
        if is_round {
            map.serialize_entry("length", &attributes.width)?;
        }
        if sized {
            map.serialize_entry("width", &attributes.width)?;
            map.serialize_entry("height", &attributes.height)?;
        }
        if timed {
            map.serialize_entry("duration", &attributes.duration)?;
        }
        if let Some(performer) = attributes.performer.as_ref().filter(|_| titled) {
            map.serialize_entry("performer", performer)?;
        }
        if let Some(title) = attributes.title.as_ref().filter(|_| titled) {
            map.serialize_entry("title", title)?;
        }
        if let Some(name) = attributes.name.as_ref().filter(|_| named) {
            map.serialize_entry("file_name", name)?;
        }
        if let Some(mime) = attributes.mime_type.as_ref().filter(|_| self.kind != MediaKind::Photo && !is_round) {
            map.serialize_entry("mime_type", mime)?;
        }
        if let Some(no) = attributes.thumbnail.filter(|_| named || is_round) {
            map.serialize_entry("thumbnail", &FileView { world: self.world, no, kind: MediaKind::Photo })?;
        }
        map.serialize_entry("file_size", &file.size)?;
        map.end()
    }
}

/// A `Poll`.
#[derive(Clone, Copy, Debug)]
pub struct PollView<'a> {
    pub world: &'a World,
    pub poll: &'a Poll,
    /// Only a message shows its poll's description.
    pub in_message: bool,
}

impl Serialize for PollView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { world, poll, in_message } = *self;
        let entities = |content: &TextWithEntities| json!(EntitiesView { world, entities: &content.entities });
        let option = |option: &super::content::PollOption| {
            let mut shown = json!({
                "persistent_id": option.id, "text": option.text.text, "voter_count": option.voters.len(),
            });
            if !option.text.entities.is_empty() {
                shown["text_entities"] = entities(&option.text);
            }
            shown
        };
        let mut voters: Vec<i64> = poll.options.iter().flat_map(|option| &option.voters).copied().collect();
        voters.sort_unstable();
        voters.dedup();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &poll.id)?;
        map.serialize_entry("question", &poll.question.text)?;
        if !poll.question.entities.is_empty() {
            map.serialize_entry("question_entities", &entities(&poll.question))?;
        }
        map.serialize_entry("options", &poll.options.iter().map(option).collect::<Vec<_>>())?;
        map.serialize_entry("total_voter_count", &voters.len())?;
        map.serialize_entry("is_closed", &poll.is_closed(world.clock.now()))?;
        map.serialize_entry("is_anonymous", &poll.anonymous)?;
        map.serialize_entry("type", if poll.quiz { "quiz" } else { "regular" })?;
        map.serialize_entry("allows_multiple_answers", &poll.several_answers)?;
        map.serialize_entry("allows_revoting", &poll.revoting)?;
        map.serialize_entry("members_only", &poll.members_only)?;
        if poll.quiz {
            map.serialize_entry("correct_option_ids", &poll.correct)?;
        }
        for (name, content) in [
            ("explanation", poll.explanation.as_ref()),
            ("description", poll.description.as_ref().filter(|_| in_message)),
        ] {
            let Some(content) = content else { continue };
            map.serialize_entry(name, &content.text)?;
            if !content.entities.is_empty() {
                map.serialize_entry(&format!("{name}_entities"), &entities(content))?;
            }
        }
        if let Some(period) = poll.open_period {
            map.serialize_entry("open_period", &period)?;
        }
        if let Some(date) = poll.close_date {
            map.serialize_entry("close_date", &date)?;
        }
        map.end()
    }
}
