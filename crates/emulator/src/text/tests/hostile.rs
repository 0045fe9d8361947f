//! Texts made to hurt: none may take more than time in proportion to its length.

use std::time::{Duration, Instant};

use super::super::{Formatted, ParseMode, detect, parse, tidy};

/// Far above what linear passes take unoptimised, far below what a quadratic one would.
const TIMEOUT: Duration = Duration::from_secs(10);
const LENGTH: usize = 1 << 18;

fn endures(unit: &str) {
    endures_for(unit, LENGTH);
}

fn endures_for(unit: &str, length: usize) {
    let source = unit.repeat(length / unit.len());
    let begin = Instant::now();
    for mode in [ParseMode::Html, ParseMode::MarkdownV2, ParseMode::Markdown] {
        if let Ok(mut formatted) = parse(&source, mode) {
            tidy(&mut formatted);
            detect(&mut formatted);
        }
    }
    let mut formatted = Formatted { text: source, entities: Vec::new() };
    detect(&mut formatted);
    tidy(&mut formatted);
    assert!(begin.elapsed() < TIMEOUT, "{unit:?} took {:?}", begin.elapsed());
}

#[test]
fn repeated_marks_are_read_in_linear_time() {
    for unit in ["<", "*", "_", "`", "[", "|", "!", ">", "\\", "&", "&#", "<b>", "<b>x</b>", "<b x='", "[x](", "![x]("]
    {
        endures(unit);
    }
}

#[test]
fn a_megabyte_of_one_mark_is_read() {
    for unit in ["<", "*"] {
        endures_for(unit, 1 << 20);
    }
}

#[test]
fn repeated_styles_are_arranged_in_linear_time() {
    for unit in ["*a*_b_", "<b>a<i>b</i></b>", "<code>a</code><b>b</b>", ">a\n", ">a||\n\n", "__a__*b*`c`~d~||e||"] {
        endures(unit);
    }
}

#[test]
fn repeated_signs_are_looked_through_in_linear_time() {
    for unit in ["@", "/", "#", "$", ".", ":", "a.b", "a@b.", "@a.b/", "://", "a.ru/(", "#a", "a.ru ", ".@", "/a.b/c"] {
        endures(unit);
    }
    for unit in ["\r", "\u{200F}", "\u{2028}a", " ", "\u{200B}", "ж.", "@ж.@", "http://", "tg://", "a.b@c.d@"] {
        endures(unit);
    }
}

#[test]
fn deep_nesting_is_no_recursion() {
    let depth = 200_000;
    let nested = format!("{}x{}", "<b>".repeat(depth), "</b>".repeat(depth));
    let parsed = parse(&nested, ParseMode::Html).unwrap();
    assert_eq!(super::shown(&parsed.entities), "bold 0+1");
}
