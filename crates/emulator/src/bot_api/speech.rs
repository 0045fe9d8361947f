//! Texts and captions: parsed, checked and counted as Telegram does it.

use super::error::ApiError;
use crate::text::{self, Formatted, GivenEntity, ParseMode, utf16_len};
use crate::world::content::Words;

const MAX_TEXT: usize = 4096;
const MAX_CAPTION: usize = 1024;
/// Longer texts are not even parsed.
const MAX_BYTES: usize = 32_768;

/// A text as a bot gives it.
#[derive(Debug, Default)]
pub struct Given<'a> {
    pub text: &'a str,
    pub parse_mode: Option<&'a str>,
    pub entities: Option<Vec<GivenEntity>>,
}

/// A message's text: 1 to 4,096 units.
pub fn message_text(given: Given<'_>) -> Result<Words, ApiError> {
    let words = words(given)?;
    if words.text.is_empty() {
        return Err(ApiError::bad_request("message text is empty"));
    }
    fits(&words, MAX_TEXT, "message is too long")?;
    Ok(words)
}

/// A caption: up to 1,024 units.
pub fn caption(given: Given<'_>) -> Result<Words, ApiError> {
    let words = words(given)?;
    fits(&words, MAX_CAPTION, "message caption is too long")?;
    Ok(words)
}

/// Any other text with entities: a poll's question, its options.
pub fn words(given: Given<'_>) -> Result<Words, ApiError> {
    if given.text.len() > MAX_BYTES {
        return Err(ApiError::bad_request("text is too long"));
    }
    let mode = given.parse_mode.filter(|mode| !given.text.is_empty() && !mode.eq_ignore_ascii_case("none"));
    let mut formatted = match (mode, given.entities) {
        // Telegram lets entities win only where no parse mode is named.
        (Some(mode), _) => {
            let mode = ParseMode::from_name(mode).map_err(ApiError::bad_request)?;
            let parsed = text::parse(given.text, mode);
            parsed.map_err(|error| ApiError::bad_request(format!("can't parse entities: {error}")))?
        }
        (None, Some(entities)) if !entities.is_empty() => {
            text::with_entities(given.text, entities).map_err(ApiError::bad_request)?
        }
        _ => Formatted { text: given.text.to_owned(), entities: Vec::new() },
    };
    text::tidy(&mut formatted);
    text::detect(&mut formatted);
    Ok(formatted.into())
}

fn fits(words: &Words, most: usize, otherwise: &str) -> Result<(), ApiError> {
    // A text of so many bytes cannot have more units, and most texts are short.
    let fits = words.text.len() <= most || utf16_len(&words.text) <= most;
    if fits { Ok(()) } else { Err(ApiError::bad_request(otherwise)) }
}
