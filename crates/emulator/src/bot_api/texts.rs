//! Texts and captions of calls: parses them and checks their length as Telegram does.

use super::error::ApiError;
use crate::text::{self, Formatted, GivenEntity, ParseMode, utf16_len};
use crate::world::content::TextWithEntities;

const MAX_TEXT: usize = 4096;
const MAX_CAPTION: usize = 1024;
/// Longer texts are not even parsed.
const MAX_BYTES: usize = 32_768;

/// A text in a call.
#[derive(Debug, Default)]
pub struct TextInput<'a> {
    pub text: &'a str,
    pub parse_mode: Option<&'a str>,
    pub entities: Option<Vec<GivenEntity>>,
}

/// A message's text: 1 to 4,096 units.
pub fn message_text(given: TextInput<'_>) -> Result<TextWithEntities, ApiError> {
    let text = parse(given)?;
    if text.text.is_empty() {
        return Err(ApiError::bad_request("message text is empty"));
    }
    fits(&text, MAX_TEXT, "message is too long")?;
    Ok(text)
}

/// A caption: up to 1,024 units.
pub fn caption(given: TextInput<'_>) -> Result<TextWithEntities, ApiError> {
    let text = parse(given)?;
    fits(&text, MAX_CAPTION, "message caption is too long")?;
    Ok(text)
}

/// Any other text with entities: a poll's question, its options.
pub fn parse(given: TextInput<'_>) -> Result<TextWithEntities, ApiError> {
    if given.text.len() > MAX_BYTES {
        return Err(ApiError::bad_request("text is too long"));
    }
    let mode = given.parse_mode.filter(|mode| !given.text.is_empty() && !mode.eq_ignore_ascii_case("none"));
    let mut formatted = match (mode, given.entities) {
        // Entities count only without a parse mode.
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

fn fits(text: &TextWithEntities, most: usize, otherwise: &str) -> Result<(), ApiError> {
    // A text never has more UTF-16 units than bytes, so short texts need no count.
    let fits = text.text.len() <= most || utf16_len(&text.text) <= most;
    if fits { Ok(()) } else { Err(ApiError::bad_request(otherwise)) }
}
