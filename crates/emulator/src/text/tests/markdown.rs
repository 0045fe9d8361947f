//! The old `Markdown` markup.

use super::super::ParseMode;

fn becomes(source: &str, text: &str, entities: &str) {
    super::becomes(ParseMode::Markdown, source, text, entities);
}

#[test]
fn every_mark_has_its_meaning() {
    becomes("*x*", "x", "bold 0+1");
    becomes("_x_", "x", "italic 0+1");
    becomes("`x`", "x", "code 0+1");
    becomes("```x```", "x", "pre 0+1");
    becomes("```\nx```", "x", "pre 0+1");
    becomes("```\r\n\nx```", "\nx", "pre 0+2");
    becomes("```rust\nfn```", "fn", "pre 0+2 rust");
    becomes("```a `b` ```", " `b` ", "pre 0+5 a");
    becomes("[x](a.b)", "x", "text_link 0+1 http://a.b/");
    becomes("[x](tg://user?id=5)", "x", "text_mention 0+1 5");
    becomes("[a.b]", "a.b", "text_link 0+3 http://a.b/");
    becomes("[x](nowhere)", "x", "");
    becomes("[x](a.b", "x", "text_link 0+1 http://a.b/");
}

#[test]
fn marks_do_not_nest_and_may_be_escaped() {
    becomes("*a _b_*", "a _b_", "bold 0+5");
    becomes("\\*a\\_b\\`c\\[d\\]\\x", "*a_b`c[d\\]\\x", "");
    becomes("a\\", "a\\", "");
    becomes("a.b-c!(d)", "a.b-c!(d)", "");
    becomes("**__a[](b)", "a(b)", "");
    becomes("👍*да*", "👍да", "bold 2+2");
}

#[test]
fn what_has_no_end_is_refused() {
    for (source, place) in [("a*b", 1), ("я_b", 2), ("`", 0), ("```a``", 0), ("*a* [b", 4), ("```\n", 0)] {
        let complaint = format!("Can't find end of the entity starting at byte offset {place}");
        super::fails(ParseMode::Markdown, source, &complaint);
    }
}
