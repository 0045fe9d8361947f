//! Order, merging and cutting.

use super::super::EntityKind::{self, *};
use super::super::{Entity, arrange};

fn settles(given: &[(EntityKind, u32, u32)], expected: &str) {
    let mut entities: Vec<Entity> =
        given.iter().map(|&(kind, offset, length)| Entity::new(kind, offset, length)).collect();
    arrange::settle(&mut entities);
    assert_eq!(super::shown(&entities), expected, "of {given:?}");
    arrange::settle(&mut entities);
    assert_eq!(super::shown(&entities), expected, "settled twice, of {given:?}");
}

#[test]
fn styles_of_one_kind_merge() {
    settles(&[(Bold, 0, 2), (Bold, 2, 2)], "bold 0+4");
    settles(&[(Bold, 0, 5), (Bold, 1, 2)], "bold 0+5");
    settles(&[(Bold, 0, 2), (Bold, 3, 2)], "bold 0+2, bold 3+2");
}

#[test]
fn what_overlaps_is_resolved() {
    settles(&[(Code, 2, 4), (Pre, 0, 4)], "pre 0+4");
    settles(&[(Blockquote, 0, 4), (Blockquote, 2, 4)], "blockquote 0+4");
    settles(&[(Blockquote, 0, 4), (Code, 2, 4)], "blockquote 0+4");
    settles(&[(Blockquote, 0, 4), (Code, 0, 4)], "blockquote 0+4, code 0+4");
    settles(&[(Code, 0, 6), (Blockquote, 2, 2)], "blockquote 2+2");
}

#[test]
fn styles_yield_to_frames() {
    settles(&[(Bold, 0, 6), (Code, 2, 2)], "bold 0+2, code 2+2, bold 4+2");
    settles(&[(Code, 0, 4), (Bold, 1, 2)], "code 0+4");
    settles(&[(Bold, 1, 4), (Blockquote, 0, 3)], "blockquote 0+3, bold 1+2, bold 3+2");
}

#[test]
fn among_equals_containers_come_first() {
    let all = [(Spoiler, 0, 1), (Bold, 0, 1), (Italic, 0, 1), (ExpandableBlockquote, 0, 1)];
    settles(&all, "expandable_blockquote 0+1, bold 0+1, italic 0+1, spoiler 0+1");
}
