//! Trimming and cleaning.

use super::super::{EntityKind, Formatted, ParseMode, parse, tidy};

fn tidied(source: &str) -> Formatted {
    let mut formatted = parse(source, ParseMode::Html).unwrap();
    tidy(&mut formatted);
    super::assert_sound(&formatted);
    formatted
}

fn becomes(source: &str, text: &str, entities: &str) {
    let formatted = tidied(source);
    assert_eq!((&*formatted.text, &*super::shown(&formatted.entities)), (text, entities), "{source:?}");
}

#[test]
fn blanks_around_are_cut() {
    becomes(" \n a b \n\n", "a b", "");
    becomes("  <b>a</b> b  ", "a b", "bold 0+1");
    becomes("a <b>b </b> ", "a b", "bold 2+1");
    becomes("a<b> </b>", "a", "");
    becomes("  <b> a</b>", " a", "bold 0+2");
    becomes("\u{A0}a\u{A0}", "\u{A0}a\u{A0}", "");
}

#[test]
fn forbidden_characters_go() {
    becomes("a\tb\u{1}c", "a b c", "");
    becomes("a\r\n<b>b\r\nc</b>", "a\nb\nc", "bold 2+3");
    becomes("\u{202E}a\u{2028}<i>b\u{333}</i>", "ab", "italic 1+1");
    becomes("<b>a</b>\r<b>b</b>", "ab", "bold 0+2");
    becomes("a<b>\r</b>b", "ab", "");
    becomes("a\u{200F}\u{200E}\u{200F}b", "a\u{200C}\u{200C}\u{200F}b", "");
    becomes("a — «б»…", "a — «б»…", "");
    becomes("👍\r<b>x</b>", "👍x", "bold 2+1");
}

#[test]
fn a_text_that_shows_nothing_is_empty() {
    for source in [
        "",
        " \n ",
        "\t",
        "\u{200B}\u{200D}",
        "\u{FEFF} \u{2800}",
        "\u{333}",
        "<b>\u{3000}</b>",
        "\u{E0020}\r",
        "\u{1}\u{200B}\u{2060}",
    ] {
        becomes(source, "", "");
    }
}

#[test]
fn a_clean_text_keeps_its_memory() {
    let mut formatted = Formatted { text: "чистый текст 👍".to_owned(), entities: Vec::new() };
    let before = formatted.text.as_ptr();
    tidy(&mut formatted);
    assert_eq!(formatted.text.as_ptr(), before);
}

#[test]
fn only_a_hundred_marks_are_kept() {
    let formatted = tidied(&"<b>a</b> ".repeat(150));
    assert_eq!((formatted.text.len(), formatted.entities.len()), (299, 100));
    let formatted = tidied(&"<b>a</b> <code>b</code> ".repeat(60));
    assert_eq!(formatted.entities.iter().filter(|entity| entity.kind == EntityKind::Code).count(), 60);
    assert_eq!(formatted.entities.len(), 100);
    let formatted = tidied(&"<tg-emoji emoji-id='1'>👍</tg-emoji>".repeat(150));
    assert_eq!(formatted.entities.len(), 150);
}
