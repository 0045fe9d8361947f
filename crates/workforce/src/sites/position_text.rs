//! Reads a position as people write or paste it: coordinates in any common notation, or a link to a map.
//!
//! Pure: no link is opened, so short links, which hide their position, are refused with a reason of their own.

use super::rules::Position;
use crate::key;

mod coordinates;
mod link;

/// Why a text is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionMistake {
    /// A shortened link: only the map's server knows where it leads.
    ShortLink,
    /// A link without a position.
    LinkWithoutPosition,
    NotUnderstood,
}

impl PositionMistake {
    /// The key of the text that says what to type.
    pub const fn key(self) -> &'static str {
        match self {
            Self::ShortLink => key!("cabinet-bad-position-short-link"),
            Self::LinkWithoutPosition => key!("cabinet-bad-position-link"),
            Self::NotUnderstood => key!("cabinet-bad-position"),
        }
    }
}

/// Reads a position.
pub fn read_position(text: &str) -> Result<Position, PositionMistake> {
    let text = text.trim();
    match link::read(text) {
        Some(found) => found,
        None => coordinates::read(text).ok_or(PositionMistake::NotUnderstood),
    }
}

/// A position, rounded to about ten centimetres; None if it is not on the earth.
fn position(latitude: f64, longitude: f64) -> Option<Position> {
    let rounded = |degrees: f64| (degrees * 1e6).round() / 1e6;
    Some(Position { latitude: rounded(latitude), longitude: rounded(longitude) }).filter(|at| at.is_on_earth())
}

#[cfg(test)]
mod tests;
