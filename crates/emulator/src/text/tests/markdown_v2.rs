//! The `MarkdownV2` markup.

use super::super::ParseMode;

fn becomes(source: &str, text: &str, entities: &str) {
    super::becomes(ParseMode::MarkdownV2, source, text, entities);
}

fn fails(source: &str, complaint: &str) {
    super::fails(ParseMode::MarkdownV2, source, complaint);
}

#[test]
fn every_mark_has_its_meaning() {
    becomes("*x*", "x", "bold 0+1");
    becomes("_x_", "x", "italic 0+1");
    becomes("__x__", "x", "underline 0+1");
    becomes("~x~", "x", "strikethrough 0+1");
    becomes("||x||", "x", "spoiler 0+1");
    becomes("`x`", "x", "code 0+1");
    becomes("```x```", "x", "pre 0+1");
    becomes("```\nx\n```", "x\n", "pre 0+2");
    becomes("```rust\nx```", "x", "pre 0+1 rust");
    becomes("[x](a.b)", "x", "text_link 0+1 http://a.b/");
    becomes("[x](a.b/\\))", "x", "text_link 0+1 http://a.b/)");
    becomes("[a\\.b]", "a.b", "text_link 0+3 http://a.b/");
    becomes("[x](tg://user?id=5)", "x", "text_mention 0+1 5");
    becomes("![👍](tg://emoji?id=5368324170671202286)", "👍", "custom_emoji 0+2 5368324170671202286");
    becomes("![x](tg://time?unix=1647531900&format=r)", "x", "date_time 0+1 1647531900 r");
    becomes("![x](tg://time?unix=1647531900)", "x", "date_time 0+1 1647531900 ");
}

#[test]
fn quotes_go_from_line_to_line() {
    becomes(">a", "a", "blockquote 0+1");
    becomes(">a\n>b\nc", "a\nb\nc", "blockquote 0+4");
    becomes("a\n>b", "a\nb", "blockquote 2+1");
    becomes(">a||", "a", "expandable_blockquote 0+1");
    becomes(">a\n>b||\nc", "a\nb\nc", "expandable_blockquote 0+4");
    becomes(">a||\r\nc", "a\r\nc", "expandable_blockquote 0+3");
    becomes(">a\n**>b||", "a\nb", "blockquote 0+2, expandable_blockquote 2+1");
    becomes(">*a*||b||", "ab", "blockquote 0+2, bold 0+1, spoiler 1+1");
    becomes(">", "", "");
    becomes("\\>a", ">a", "");
}

#[test]
fn marks_nest() {
    becomes("*a _b_ c*", "a b c", "bold 0+2, bold 2+3, italic 2+1");
    becomes("_a __b__ c_", "a b c", "italic 0+2, italic 2+3, underline 2+1");
    becomes("*[a](a.b)*", "a", "text_link 0+1 http://a.b/, bold 0+1");
    becomes("[*a*](a.b)", "a", "text_link 0+1 http://a.b/, bold 0+1");
    becomes("||~__*x*__~||", "x", "bold 0+1, underline 0+1, strikethrough 0+1, spoiler 0+1");
    becomes("___a_\r__", "a\r", "underline 0+2, italic 0+1");
    becomes("**~~||||", "", "");
}

#[test]
fn anything_may_be_escaped() {
    becomes("\\_\\*\\[\\]\\(\\)\\~\\`\\>\\#\\+\\-\\=\\|\\{\\}\\.\\!\\a\\\\", "_*[]()~`>#+-=|{}.!a\\", "");
    becomes("\\ж\\", "\\ж\\", "");
    becomes("`a.b*\\`\\\\`", "a.b*`\\", "code 0+6");
    becomes("👍 *да*", "👍 да", "bold 3+2");
}

#[test]
fn reserved_characters_must_be_escaped() {
    for character in "])(>#+-={}.!|".chars() {
        let complaint = format!("Character '{character}' is reserved and must be escaped with the preceding '\\'");
        fails(&format!("a{character}b"), &complaint);
    }
}

#[test]
fn what_has_no_end_is_refused() {
    for (source, name, place) in [
        ("abc*d", "Bold", 3),
        ("я_d", "Italic", 2),
        ("__a", "Underline", 0),
        ("~a", "Strikethrough", 0),
        ("||a", "Spoiler", 0),
        ("`a", "Code", 0),
        ("```a", "Pre", 0),
        ("```a b", "PreCode", 0),
        ("[a", "TextUrl", 0),
        ("![a", "CustomEmoji", 0),
        ("*_a*", "Bold", 3),
        (">*a\nb*", "Bold", 1),
        (">*a", "Bold", 1),
        (">*a||\nb", "Bold", 1),
    ] {
        fails(source, &format!("Can't find end of {name} entity at byte offset {place}"));
    }
}

#[test]
fn wrong_addresses_are_refused() {
    fails("[a](b", "Can't find end of a URL at byte offset 4");
    fails("[a](b\\)", "Can't find end of a URL at byte offset 4");
    fails("![a](b", "Can't find end of a URL at byte offset 5");
    fails("![a]", "The entity must contain a tg://emoji or tg://time URL");
    fails("![a](http://a.b)", "Invalid tg://emoji or tg://time URL specified");
    fails("![a](tg://emoji?id=x)", "Invalid tg://emoji or tg://time URL specified");
    fails("![a](tg://time?unix=0)", "Invalid tg://emoji or tg://time URL specified");
    fails("![a](tg://time?unix=5&format=x)", "Invalid date format used");
    becomes("[a](nowhere)", "a", "");
}
