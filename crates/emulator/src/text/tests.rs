//! Tables of texts and what they must become, and properties that hold for any text.

mod arrange;
mod detect;
mod given;
mod hostile;
mod html;
mod markdown;
mod markdown_v2;
mod properties;
mod tidy;

use super::{Entity, EntityExtra, Formatted, ParseMode, parse, utf16_len};

/// Entities in one line, such as `bold 0+4, text_link 5+3 http://a.b/`.
fn shown(entities: &[Entity]) -> String {
    let one = |entity: &Entity| {
        let place = format!("{} {}+{}", entity.kind.name(), entity.offset, entity.length);
        match entity.extra.as_deref() {
            None => place,
            Some(EntityExtra::Url(text) | EntityExtra::Language(text) | EntityExtra::CustomEmojiId(text)) => {
                format!("{place} {text}")
            }
            Some(EntityExtra::User(id)) => format!("{place} {id}"),
            Some(EntityExtra::DateTime { unix_time, format }) => format!("{place} {unix_time} {format}"),
        }
    };
    entities.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn becomes(mode: ParseMode, source: &str, text: &str, entities: &str) {
    let parsed = parse(source, mode).unwrap_or_else(|complaint| panic!("{source:?}: {complaint}"));
    assert_eq!(parsed.text, text, "the text of {source:?}");
    assert_eq!(shown(&parsed.entities), entities, "the entities of {source:?}");
}

fn fails(mode: ParseMode, source: &str, complaint: &str) {
    assert_eq!(parse(source, mode), Err(complaint.to_owned()), "{source:?}");
}

/// What is promised of every result.
fn assert_sound(formatted: &Formatted) {
    let mut boundaries = vec![0];
    for character in formatted.text.chars() {
        boundaries.push(boundaries[boundaries.len() - 1] + character.len_utf16() as u32);
    }
    for entity in &formatted.entities {
        assert!(entity.length > 0, "{formatted:?}");
        assert!(boundaries.binary_search(&entity.offset).is_ok(), "{formatted:?}");
        assert!(boundaries.binary_search(&entity.end()).is_ok(), "{formatted:?}");
    }
    assert!(
        formatted.entities.is_sorted_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length))),
        "{formatted:?}"
    );
}

#[test]
fn an_entity_stays_small() {
    assert_eq!(size_of::<Entity>(), 24);
}

#[test]
fn length_counts_utf16_units() {
    for text in ["", "abc", "привет", "👍🏽", "a👨‍👩‍👧b", "¶中"] {
        assert_eq!(utf16_len(text), text.encode_utf16().count(), "{text:?}");
    }
}

#[test]
fn parse_modes_are_read_in_any_case() {
    assert_eq!(ParseMode::from_name("hTmL"), Ok(ParseMode::Html));
    assert_eq!(ParseMode::from_name("MARKDOWN"), Ok(ParseMode::Markdown));
    assert_eq!(ParseMode::from_name("MarkdownV2"), Ok(ParseMode::MarkdownV2));
    assert_eq!(ParseMode::from_name("Markdown_v2"), Err("unsupported parse_mode"));
}

#[test]
fn stored_entities_load_again() {
    let source = "<b>x</b><a href=\"http://a.b\">y</a><a href=\"tg://user?id=7\">z</a>\
                  <pre><code class=\"language-rust\">c</code></pre><tg-emoji emoji-id=\"5\">👍</tg-emoji>\
                  <tg-time unix=\"9\" format=\"wDT\">t</tg-time><tg-time unix=\"9\">u</tg-time>";
    let entities = parse(source, ParseMode::Html).unwrap().entities;
    assert_eq!(entities.len(), 7);
    let stored = serde_json::to_value(&entities).unwrap();
    assert_eq!(stored[2], serde_json::json!({"type": "text_mention", "offset": 2, "length": 1, "user": 7}));
    assert_eq!(stored[6], serde_json::json!({"type": "date_time", "offset": 7, "length": 1, "unix_time": 9}));
    assert_eq!(serde_json::from_value::<Vec<Entity>>(stored).unwrap(), entities);
}
