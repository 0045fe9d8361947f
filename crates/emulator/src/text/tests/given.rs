//! Entities that a bot gives itself.

use super::super::{GivenEntity, with_entities};
use serde_json::{Value, json};

fn given(entities: Value) -> Vec<GivenEntity> {
    serde_json::from_value(entities).unwrap()
}

fn becomes(text: &str, entities: Value, expected: &str) {
    let formatted = with_entities(text, given(entities)).unwrap();
    assert_eq!(super::shown(&formatted.entities), expected);
    super::assert_sound(&formatted);
}

fn fails(text: &str, entities: Value, complaint: &str) {
    assert_eq!(with_entities(text, given(entities)), Err(complaint.to_owned()));
}

#[test]
fn known_kinds_are_taken_and_found_ones_ignored() {
    let kinds = ["bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "blockquote"];
    for kind in kinds.into_iter().chain(["expandable_blockquote"]) {
        becomes("ab", json!([{"type": kind, "offset": 1, "length": 1}]), &format!("{kind} 1+1"));
    }
    for kind in ["mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"] {
        becomes("ab", json!([{"type": kind, "offset": 0, "length": 9}]), "");
    }
    becomes("ab", json!([{"type": "pre", "offset": 0, "length": 1, "language": "c"}]), "pre 0+1 c");
    becomes("ab", json!([{"type": "text_link", "offset": 0, "length": 1, "url": "a.b"}]), "text_link 0+1 http://a.b/");
    let mention = json!({"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 5, "first_name": "x"}});
    becomes("ab", json!([mention]), "text_mention 0+1 5");
    let link = json!({"type": "text_link", "offset": 0, "length": 1, "url": "tg://user?id=5"});
    becomes("ab", json!([link]), "text_mention 0+1 5");
    let emoji = json!({"type": "custom_emoji", "offset": 0, "length": 2, "custom_emoji_id": "77"});
    becomes("👍", json!([emoji]), "custom_emoji 0+2 77");
    let moment = json!({"type": "date_time", "offset": 0, "length": 1, "unix_time": 9, "date_time_format": "tD"});
    becomes("ab", json!([moment]), "date_time 0+1 9 Dt");
}

#[test]
fn entities_are_sorted_merged_and_cut() {
    let bold = |offset: i32, length: i32| json!({"type": "bold", "offset": offset, "length": length});
    becomes("abcd", json!([bold(2, 2), bold(0, 2)]), "bold 0+4");
    becomes("abcd", json!([bold(0, 0)]), "");
    let code = json!({"type": "code", "offset": 1, "length": 2});
    becomes("abcd", json!([bold(0, 4), code]), "bold 0+1, code 1+2, bold 3+1");
}

#[test]
fn wrong_entities_are_refused() {
    let bold = |offset: i32, length: i32| json!([{"type": "bold", "offset": offset, "length": length}]);
    fails("ab", bold(-1, 1), "receive an entity with incorrect offset -1");
    fails("ab", bold(0, 1_000_001), "receive an entity with incorrect length 1000001");
    fails("ab", bold(3, 1), "entity begins after the end of the text at UTF-16 offset 3");
    let beyond = "entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 3";
    fails("ab", bold(1, 2), beyond);
    fails("👍a", bold(1, 2), "entity begins in a middle of a UTF-16 symbol at byte offset 4");
    let middle = "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4";
    fails("👍a", bold(0, 1), middle);
    let plain = |kind: &str| json!([{"type": kind, "offset": 0, "length": 1}]);
    fails("ab", plain("loud"), "can't parse MessageEntity: Unsupported type specified");
    fails("ab", plain("text_link"), "can't parse MessageEntity: Can't find field \"url\"");
    let link = json!([{"type": "text_link", "offset": 0, "length": 1, "url": "x"}]);
    fails("ab", link, "entity URL 'x' is invalid: Wrong HTTP URL");
    let emoji = json!([{"type": "custom_emoji", "offset": 0, "length": 1, "custom_emoji_id": "0"}]);
    fails("ab", emoji, "invalid custom emoji identifier specified");
    let moment = json!([{"type": "date_time", "offset": 0, "length": 1, "unix_time": 0}]);
    fails("ab", moment, "invalid date specified");
}
