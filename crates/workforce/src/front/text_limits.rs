//! Cuts texts to Telegram's limits: messages, lists within messages, and captions of buttons.

/// Maximum length of a message in UTF-16 units; Telegram's own limit is a little higher.
const MAX_MESSAGE_UNITS: usize = 4000;
/// Maximum length of a button's caption.
const MAX_CAPTION_CHARS: usize = 48;

/// Cuts a text to the length of a message.
pub fn fit(text: String) -> String {
    cut(&text, MAX_MESSAGE_UNITS)
}

/// Cuts a list in the middle of a message, and keeps what comes after it.
pub fn fit_between(before: &str, list: &str, after: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    // One unit for the ellipsis.
    let room = MAX_MESSAGE_UNITS.saturating_sub(units(before) + units(after) + 1);
    format!("{before}{}{after}", cut(list, room))
}

fn cut(text: &str, most_units: usize) -> String {
    let mut units = 0;
    let fits = |character: &char| {
        units += character.len_utf16();
        units <= most_units
    };
    let shortened: String = text.chars().take_while(fits).collect();
    if shortened.len() == text.len() { shortened } else { shortened + "…" }
}

/// Cuts a text to the length of a caption.
pub fn caption(text: &str) -> String {
    if text.chars().count() <= MAX_CAPTION_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CAPTION_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_are_too_long_are_cut() {
        assert_eq!(fit("x".repeat(MAX_MESSAGE_UNITS)).len(), MAX_MESSAGE_UNITS);
        let cut = fit("😀".repeat(MAX_MESSAGE_UNITS));
        assert!(cut.ends_with('…') && cut.encode_utf16().count() == MAX_MESSAGE_UNITS + 1);
        let list = fit_between("Tasks:\n", &"😀".repeat(MAX_MESSAGE_UNITS), "\nGo on?");
        assert!(list.starts_with("Tasks:\n😀") && list.ends_with("…\nGo on?"), "{list}");
        assert_eq!(fit(list.clone()), list);
        assert_eq!(fit_between("1", "2", "3"), "123");
        assert_eq!(caption("Sweep"), "Sweep");
        assert_eq!(caption(&"я".repeat(100)).chars().count(), MAX_CAPTION_CHARS);
    }
}
