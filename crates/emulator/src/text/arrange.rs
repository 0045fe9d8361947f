//! Sorts, merges and cuts entities as Telegram does.
//!
//! There are three roles. Frames (links, mentions, code, detected entities) never overlap: the first wins. Quotes never
//! overlap each other, and a frame lies inside or outside of a quote. Styles (such as bold) may lie anywhere: styles of
//! one kind merge, and a style is cut where a frame, a quote or another style begins.

use std::cmp::Reverse;

use super::{Entity, EntityExtra, EntityKind};

/// Sorts by position: earlier first, longer first, then containers before their contents.
pub(super) fn sort(entities: &mut [Entity]) {
    entities.sort_by_key(|entity| (entity.offset, Reverse(entity.length), rank(entity)));
}

/// Drops empty entities, resolves overlaps, merges and cuts styles. A second call changes nothing.
pub(super) fn settle(entities: &mut Vec<Entity>) {
    entities.retain(has_substance);
    sort(entities);
    if is_flat(entities) {
        return;
    }
    let mut roles = Roles::new(std::mem::take(entities));
    keep_first_of_overlapping(&mut roles.frames);
    keep_first_of_overlapping(&mut roles.quotes);
    roles.frames.retain(|frame| fits(frame, &roles.quotes));
    *entities = roles.join();
}

/// Adds detected entities, which must not overlap each other. Existing entities win.
pub(super) fn add_found(entities: &mut Vec<Entity>, mut found: Vec<Entity>) {
    if found.is_empty() {
        return;
    }
    if entities.is_empty() {
        *entities = found;
        return;
    }
    let mut roles = Roles::new(std::mem::take(entities));
    found.retain(|entity| fits(entity, &roles.quotes) && !overlaps(entity, &roles.frames));
    roles.frames.append(&mut found);
    *entities = roles.join();
}

/// Telegram keeps no more marks than this in one text; custom emoji do not count.
const MOST_MARKS: usize = 100;

/// Drops entities beyond the limit. Frames and quotes count first, then styles, each before it is cut.
pub(super) fn keep_allowed(entities: &mut Vec<Entity>) {
    if entities.len() <= MOST_MARKS {
        return;
    }
    let mut left = MOST_MARKS;
    let mut roles = Roles::new(std::mem::take(entities));
    let mut solid = std::mem::take(&mut roles.frames);
    solid.append(&mut roles.quotes);
    sort(&mut solid);
    solid.retain(|entity| {
        let is_kept = left > 0 || entity.kind == EntityKind::CustomEmoji;
        if is_kept && entity.kind != EntityKind::CustomEmoji {
            left -= 1;
        }
        is_kept
    });
    let mut styles = cut_styles(&roles.styles, &[]);
    sort(&mut styles);
    styles.truncate(left);
    solid.append(&mut styles);
    *entities = Roles::new(solid).join();
}

#[derive(Default)]
struct Roles {
    frames: Vec<Entity>,
    quotes: Vec<Entity>,
    styles: Vec<Entity>,
}

impl Roles {
    fn new(entities: Vec<Entity>) -> Self {
        let mut roles = Self::default();
        for entity in entities {
            match entity.kind {
                EntityKind::Blockquote | EntityKind::ExpandableBlockquote => roles.quotes.push(entity),
                kind if style_slot(kind).is_some() => roles.styles.push(entity),
                _ => roles.frames.push(entity),
            }
        }
        roles
    }

    fn join(self) -> Vec<Entity> {
        let Self { mut frames, mut quotes, styles } = self;
        frames.append(&mut quotes);
        sort(&mut frames);
        if !styles.is_empty() {
            let mut pieces = cut_styles(&styles, &frames);
            frames.append(&mut pieces);
            sort(&mut frames);
        }
        frames
    }
}

const STYLES: [EntityKind; 5] =
    [EntityKind::Bold, EntityKind::Italic, EntityKind::Underline, EntityKind::Strikethrough, EntityKind::Spoiler];

fn style_slot(kind: EntityKind) -> Option<usize> {
    STYLES.iter().position(|&style| style == kind)
}

/// Whether styles are removed inside this kind.
fn is_verbatim(kind: EntityKind) -> bool {
    matches!(kind, EntityKind::Code | EntityKind::Pre | EntityKind::DateTime)
}

fn rank(entity: &Entity) -> u8 {
    match entity.kind {
        EntityKind::Blockquote | EntityKind::ExpandableBlockquote => 0,
        EntityKind::Pre if entity.extra.is_some() => 10,
        EntityKind::Pre => 11,
        EntityKind::Code => 20,
        EntityKind::DateTime => 30,
        EntityKind::TextLink | EntityKind::TextMention => 49,
        EntityKind::Bold => 90,
        EntityKind::Italic => 91,
        EntityKind::Underline => 92,
        EntityKind::Strikethrough => 93,
        EntityKind::Spoiler => 94,
        EntityKind::CustomEmoji => 99,
        _ => 50,
    }
}

fn has_substance(entity: &Entity) -> bool {
    entity.length > 0
        && match entity.kind {
            EntityKind::TextLink => entity.url().is_some_and(|url| !url.is_empty()),
            EntityKind::TextMention => entity.user().is_some_and(|id| id > 0),
            EntityKind::CustomEmoji => entity.custom_emoji_id().is_some(),
            EntityKind::DateTime => {
                matches!(entity.extra.as_deref(), Some(EntityExtra::DateTime { unix_time: 1.., .. }))
            }
            _ => true,
        }
}

/// Whether sorted entities lie one after another with nothing to merge, which is the common case.
fn is_flat(entities: &[Entity]) -> bool {
    entities.windows(2).all(|pair| match pair {
        [first, second] if first.end() == second.offset => {
            first.kind != second.kind || style_slot(first.kind).is_none()
        }
        [first, second] => first.end() < second.offset,
        _ => true,
    })
}

fn keep_first_of_overlapping(entities: &mut Vec<Entity>) {
    let mut taken_until = 0;
    entities.retain(|entity| {
        let free = entity.offset >= taken_until;
        if free {
            taken_until = entity.end();
        }
        free
    });
}

/// Whether an entity lies wholly inside or wholly outside of each of the sorted quotes.
fn fits(entity: &Entity, quotes: &[Entity]) -> bool {
    let next = quotes.partition_point(|quote| quote.end() <= entity.offset);
    quotes.get(next).is_none_or(|quote| {
        entity.end() <= quote.offset || (quote.offset <= entity.offset && entity.end() <= quote.end())
    })
}

fn overlaps(entity: &Entity, frames: &[Entity]) -> bool {
    let next = frames.partition_point(|frame| frame.end() <= entity.offset);
    frames.get(next).is_some_and(|frame| frame.offset < entity.end())
}

/// Merges styles of one kind and cuts them at the edges of the sorted, nested frames.
fn cut_styles(styles: &[Entity], frames: &[Entity]) -> Vec<Entity> {
    let mut cutter = Cutter { rest: styles, running: [None; 5], pieces: Vec::with_capacity(styles.len()) };
    let mut open: Vec<&Entity> = Vec::new();
    for frame in frames {
        while let Some(ended) = open.pop_if(|last| last.end() <= frame.offset) {
            cutter.leave(ended);
        }
        cutter.advance(frame.offset);
        open.push(frame);
    }
    while let Some(ended) = open.pop() {
        cutter.leave(ended);
    }
    cutter.advance(u32::MAX);
    cutter.pieces
}

struct Cutter<'a> {
    rest: &'a [Entity],
    /// For each style the range that is not written yet: begin and end.
    running: [Option<(u32, u32)>; 5],
    pieces: Vec<Entity>,
}

impl Cutter<'_> {
    fn leave(&mut self, frame: &Entity) {
        let before = self.pieces.len();
        self.advance(frame.end());
        if is_verbatim(frame.kind) {
            self.pieces.truncate(before);
        }
    }

    /// Opens the styles that begin before a position and writes everything up to it.
    fn advance(&mut self, place: u32) {
        while let [style, rest @ ..] = self.rest {
            if style.offset >= place {
                break;
            }
            self.rest = rest;
            // The caller passes styles only, so the slot exists.
            let Some(slot) = style_slot(style.kind) else { continue };
            match &mut self.running[slot] {
                Some((_, end)) if style.offset <= *end => *end = style.end().max(*end),
                _ => {
                    self.write_until(style.offset);
                    self.running[slot] = Some((style.offset, style.end()));
                }
            }
        }
        self.write_until(place);
    }

    fn write_until(&mut self, place: u32) {
        for (slot, running) in self.running.iter_mut().enumerate() {
            let Some((begin, end)) = *running else { continue };
            if begin < place {
                self.pieces.push(Entity::new(STYLES[slot], begin, end.min(place) - begin));
                *running = (place < end).then_some((place, end));
            }
        }
    }
}
