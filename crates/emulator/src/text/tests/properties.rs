//! What holds for any text.

use proptest::prelude::*;

use super::super::{EntityKind, Formatted, GivenEntity, ParseMode, detect, parse, tidy, with_entities};
use super::assert_sound;

/// Texts that are likely to say something in one of the markups.
fn markup() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        4 => "[a-zа-я .]{0,4}",
        4 => "[*_~|`>!\\[\\]()\\\\\n]{1,3}",
        2 => prop::sample::select(vec![
            "<b>", "</b>", "<i>", "</i>", "<code>", "</code>", "<pre>", "</pre>", "<a href='a.ru'>", "</a>", "</>",
            "<blockquote>", "</blockquote>", "&amp;", "&#128077;", "\r", "\t", "👍", "\u{200F}", "\u{202E}", "||",
            "```", "**", "(a.ru)", "/go", "@durov", "#tag", "$USD", "a.ru/x", "a@b.ru", "tg://x", "https://",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

fn any_mode() -> impl Strategy<Value = ParseMode> {
    prop::sample::select(vec![ParseMode::Html, ParseMode::MarkdownV2, ParseMode::Markdown])
}

fn given() -> impl Strategy<Value = GivenEntity> {
    let kinds = ["bold", "italic", "spoiler", "blockquote", "code", "pre", "text_link"].map(Box::from).to_vec();
    (prop::sample::select(kinds), 0..12_i32, 0..12_i32).prop_map(|(kind, offset, length)| GivenEntity {
        kind,
        offset,
        length,
        url: Some("a.ru".into()),
        user: None,
        language: None,
        custom_emoji_id: None,
        unix_time: None,
        date_time_format: None,
    })
}

fn goes_all_the_way(mut formatted: Formatted) {
    assert_sound(&formatted);
    tidy(&mut formatted);
    assert_sound(&formatted);
    let once = formatted.clone();
    tidy(&mut formatted);
    assert_eq!(formatted.text, once.text, "tidying twice");
    detect(&mut formatted);
    assert_sound(&formatted);
}

proptest! {
    #[test]
    fn reading_never_panics_and_entities_lie_inside(source in markup(), mode in any_mode()) {
        if let Ok(formatted) = parse(&source, mode) {
            goes_all_the_way(formatted);
        }
    }

    #[test]
    fn reading_anything_never_panics(source in any::<String>(), mode in any_mode()) {
        if let Ok(formatted) = parse(&source, mode) {
            goes_all_the_way(formatted);
        }
    }

    #[test]
    fn plain_texts_go_through(text in markup()) {
        goes_all_the_way(Formatted { text, entities: Vec::new() });
    }

    #[test]
    fn given_entities_never_panic(text in "[ab👍\r ]{0,12}", given in prop::collection::vec(given(), 0..8)) {
        if let Ok(formatted) = with_entities(&text, given) {
            goes_all_the_way(formatted);
        }
    }

    #[test]
    fn escaped_html_gives_the_text_back(text in "[^\0]*") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        prop_assert_eq!(parse(&escaped, ParseMode::Html), Ok(Formatted { text, entities: Vec::new() }));
    }

    #[test]
    fn escaped_markdown_gives_the_text_back(text in any::<String>()) {
        let escaped: String = text.chars().flat_map(|character| {
            let reserved = "\\_*[]()~`>#+-=|{}.!".contains(character);
            reserved.then_some('\\').into_iter().chain([character])
        }).collect();
        prop_assert_eq!(parse(&escaped, ParseMode::MarkdownV2), Ok(Formatted { text, entities: Vec::new() }));
    }

    #[test]
    fn bold_covers_exactly_what_it_wraps(before in "[a-zа-я👍]{0,6}", inside in "[a-zа-я👍]{1,6}") {
        let formatted = parse(&format!("{before}<b>{inside}</b>"), ParseMode::Html).unwrap();
        prop_assert_eq!(formatted.entities.len(), 1);
        prop_assert_eq!(formatted.entities[0].kind, EntityKind::Bold);
        prop_assert_eq!(formatted.entities[0].offset as usize, before.encode_utf16().count());
        prop_assert_eq!(formatted.entities[0].length as usize, inside.encode_utf16().count());
    }
}
