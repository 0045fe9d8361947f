//! Entities that a bot passes instead of a markup.
//!
//! Kinds that Telegram detects are ignored and unknown kinds are refused. Positions must lie inside the text and
//! between its characters.

use serde::Deserialize;

use super::{Entity, EntityExtra, EntityKind, Formatted, arrange, links};

/// A `MessageEntity` in a call, before its kind is checked.
#[derive(Clone, Debug, Deserialize)]
pub struct GivenEntity {
    #[serde(rename = "type")]
    pub kind: Box<str>,
    pub offset: i32,
    pub length: i32,
    #[serde(default)]
    pub url: Option<Box<str>>,
    #[serde(default)]
    pub user: Option<GivenUser>,
    #[serde(default)]
    pub language: Option<Box<str>>,
    #[serde(default)]
    pub custom_emoji_id: Option<Box<str>>,
    #[serde(default)]
    pub unix_time: Option<i64>,
    #[serde(default)]
    pub date_time_format: Option<Box<str>>,
}

/// The part of a `User` object that a mention needs.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct GivenUser {
    pub id: i64,
}

/// Joins a text with the entities given for it. The error is the text after `Bad Request: `.
pub fn with_entities(text: &str, given: Vec<GivenEntity>) -> Result<Formatted, String> {
    let mut entities = Vec::with_capacity(given.len());
    for entity in given {
        let Some((kind, extra)) = meaning(&entity)? else {
            continue;
        };
        let offset = place(entity.offset).ok_or_else(|| incorrect("offset", entity.offset))?;
        let length = place(entity.length).ok_or_else(|| incorrect("length", entity.length))?;
        entities.push(Entity { kind, offset, length, extra: extra.map(Box::new) });
    }
    arrange::settle(&mut entities);
    check_places(text, &entities)?;
    Ok(Formatted { text: text.to_owned(), entities })
}

/// The kind and data of an entity; `None` for a kind that only Telegram sets.
fn meaning(given: &GivenEntity) -> Result<Option<(EntityKind, Option<EntityExtra>)>, String> {
    let kind = match &*given.kind {
        "mention" | "hashtag" | "cashtag" | "bot_command" | "url" | "email" | "phone_number" | "bank_card_number" => {
            return Ok(None);
        }
        "bold" => EntityKind::Bold,
        "italic" => EntityKind::Italic,
        "underline" => EntityKind::Underline,
        "strikethrough" => EntityKind::Strikethrough,
        "spoiler" => EntityKind::Spoiler,
        "blockquote" => EntityKind::Blockquote,
        "expandable_blockquote" => EntityKind::ExpandableBlockquote,
        "code" => EntityKind::Code,
        "pre" => {
            let language = given.language.clone().filter(|language| !language.is_empty());
            return Ok(Some((EntityKind::Pre, language.map(EntityExtra::Language))));
        }
        "text_link" => return link(given).map(Some),
        "text_mention" => {
            let user = given.user.ok_or_else(|| missing("user"))?;
            return Ok(Some((EntityKind::TextMention, Some(EntityExtra::User(user.id)))));
        }
        "custom_emoji" => return custom_emoji(given).map(Some),
        "date_time" => return date_time(given).map(Some),
        _ => return Err("can't parse MessageEntity: Unsupported type specified".to_owned()),
    };
    Ok(Some((kind, None)))
}

fn link(given: &GivenEntity) -> Result<(EntityKind, Option<EntityExtra>), String> {
    let url = given.url.as_deref().ok_or_else(|| missing("url"))?;
    if let Some(id) = links::user_id(url) {
        return Ok((EntityKind::TextMention, Some(EntityExtra::User(id))));
    }
    match links::checked(url) {
        Ok(url) => Ok((EntityKind::TextLink, Some(EntityExtra::Url(url.into())))),
        Err(why) => Err(format!("entity URL '{url}' is invalid: {why}")),
    }
}

fn custom_emoji(given: &GivenEntity) -> Result<(EntityKind, Option<EntityExtra>), String> {
    let id = given.custom_emoji_id.as_deref().ok_or_else(|| missing("custom_emoji_id"))?;
    let id = links::whole_number(id)
        .ok_or_else(|| "can't parse MessageEntity: Field \"custom_emoji_id\" must be a valid Number".to_owned())?;
    if id == 0 {
        return Err("invalid custom emoji identifier specified".to_owned());
    }
    Ok((EntityKind::CustomEmoji, Some(EntityExtra::CustomEmojiId(id.to_string().into()))))
}

fn date_time(given: &GivenEntity) -> Result<(EntityKind, Option<EntityExtra>), String> {
    let unix_time = given.unix_time.ok_or_else(|| missing("unix_time"))?;
    if unix_time <= 0 {
        return Err("invalid date specified".to_owned());
    }
    let format = links::date_format(given.date_time_format.as_deref().unwrap_or_default());
    let format = format.ok_or("can't parse MessageEntity: Invalid date format used")?;
    Ok((EntityKind::DateTime, Some(EntityExtra::DateTime { unix_time, format })))
}

fn missing(field: &str) -> String {
    format!("can't parse MessageEntity: Can't find field \"{field}\"")
}

fn incorrect(what: &str, value: i32) -> String {
    format!("receive an entity with incorrect {what} {value}")
}

fn place(value: i32) -> Option<u32> {
    const FARTHEST: u32 = 1_000_000;
    u32::try_from(value).ok().filter(|&value| value <= FARTHEST)
}

/// Whether each entity begins and ends between characters of the text.
fn check_places(text: &str, entities: &[Entity]) -> Result<(), String> {
    // At one position ends come before beginnings, so that the error names the first wrong entity.
    let mut places: Vec<(u32, bool, &Entity)> = Vec::with_capacity(entities.len() * 2);
    for entity in entities {
        places.push((entity.offset, true, entity));
        places.push((entity.end(), false, entity));
    }
    places.sort_by_key(|&(place, is_beginning, _)| (place, is_beginning));
    let mut places = places.into_iter().peekable();
    let mut reached = 0;
    let ends = text.char_indices().map(|(at, character)| (at, character.len_utf16() as u32));
    for (at, width) in ends.chain([(text.len(), 0)]) {
        while let Some((place, is_beginning, entity)) = places.next_if(|(place, ..)| *place <= reached) {
            if place == reached {
                continue;
            }
            return Err(if is_beginning {
                format!("entity begins in a middle of a UTF-16 symbol at byte offset {at}")
            } else {
                let offset = entity.offset;
                format!(
                    "entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol at byte offset {at}"
                )
            });
        }
        reached += width;
    }
    let beyond: Vec<_> = places.collect();
    if let Some((place, ..)) = beyond.iter().find(|(_, is_beginning, _)| *is_beginning) {
        return Err(format!("entity begins after the end of the text at UTF-16 offset {place}"));
    }
    match beyond.first() {
        Some((end, _, entity)) => Err(format!(
            "entity beginning at UTF-16 offset {} ends after the end of the text at UTF-16 offset {end}",
            entity.offset
        )),
        None => Ok(()),
    }
}
