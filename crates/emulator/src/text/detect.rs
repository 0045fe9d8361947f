//! Detects commands, mentions, tags, links and mail addresses in a text, as Telegram does.
//!
//! Entities of the sender win over detected ones. Phone numbers and bank cards are not detected.

mod addresses;
mod characters;
mod tags;
mod top_level_domain;

use std::cmp::Reverse;

use super::{Entity, EntityKind, Formatted, arrange, utf16_len};

/// Adds the detected entities. A text without any sign of one is scanned only once.
pub fn detect(formatted: &mut Formatted) {
    let found = find(&formatted.text);
    if !found.is_empty() {
        arrange::add_found(&mut formatted.entities, found);
    }
}

/// A detected entity, with its range in bytes.
#[derive(Clone, Copy)]
struct Match {
    kind: EntityKind,
    begin: usize,
    end: usize,
}

fn find(text: &str) -> Vec<Entity> {
    let signs = Signs::new(text);
    let mut finds = Vec::new();
    if signs.at {
        tags::mentions(text, &mut finds);
    }
    if signs.slash {
        tags::commands(text, &mut finds);
    }
    if signs.hash {
        tags::hashtags(text, &mut finds);
    }
    if signs.dollar {
        tags::cashtags(text, &mut finds);
    }
    if signs.slash && signs.colon {
        addresses::inner_links(text, &mut finds);
    }
    if signs.dot {
        addresses::links_and_emails(text, &mut finds);
    }
    in_units(text, finds)
}

#[derive(Default)]
struct Signs {
    at: bool,
    slash: bool,
    hash: bool,
    dollar: bool,
    colon: bool,
    dot: bool,
}

impl Signs {
    fn new(text: &str) -> Self {
        let mut signs = Self::default();
        for byte in text.bytes() {
            match byte {
                b'@' => signs.at = true,
                b'/' => signs.slash = true,
                b'#' => signs.hash = true,
                b'$' => signs.dollar = true,
                b':' => signs.colon = true,
                b'.' => signs.dot = true,
                _ => {}
            }
        }
        signs
    }
}

/// Keeps the first of overlapping matches, and converts byte offsets to UTF-16 units.
fn in_units(text: &str, mut finds: Vec<Match>) -> Vec<Entity> {
    finds.sort_by_key(|find| (find.begin, Reverse(find.end)));
    let mut entities = Vec::with_capacity(finds.len());
    let (mut reached, mut units) = (0, 0);
    for find in finds {
        if find.begin < reached {
            continue;
        }
        units += utf16_len(&text[reached..find.begin]) as u32;
        let length = utf16_len(&text[find.begin..find.end]) as u32;
        entities.push(Entity::new(find.kind, units, length));
        units += length;
        reached = find.end;
    }
    entities
}
