//! Texts cut to what Telegram takes: messages, lists within messages, and captions of buttons.

/// A message's text, at most, in UTF-16 units; Telegram takes a little more.
const MESSAGE_MOST: usize = 4000;
/// A button's text, at most; longer ones are cut.
const CAPTION_MOST: usize = 48;

/// As much of a text as fits a message: what is too long is better cut than not said.
pub fn fit(text: String) -> String {
    cut(&text, MESSAGE_MOST)
}

/// The same for a list that stands between something: the list is cut, and what comes after it is said all the same.
pub fn fit_between(before: &str, list: &str, after: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    // One is for the mark that something is cut.
    let room = MESSAGE_MOST.saturating_sub(units(before) + units(after) + 1);
    format!("{before}{}{after}", cut(list, room))
}

fn cut(text: &str, most_units: usize) -> String {
    let mut units = 0;
    let fits = |character: &char| {
        units += character.len_utf16();
        units <= most_units
    };
    let kept: String = text.chars().take_while(fits).collect();
    if kept.len() == text.len() { kept } else { kept + "…" }
}

/// A text that fits a button.
pub fn caption(text: &str) -> String {
    if text.chars().count() <= CAPTION_MOST {
        return text.to_owned();
    }
    text.chars().take(CAPTION_MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_what_fits_is_not() {
        assert_eq!(fit("x".repeat(MESSAGE_MOST)).len(), MESSAGE_MOST);
        let cut = fit("😀".repeat(MESSAGE_MOST));
        assert!(cut.ends_with('…') && cut.encode_utf16().count() == MESSAGE_MOST + 1);
        let list = fit_between("Tasks:\n", &"😀".repeat(MESSAGE_MOST), "\nGo on?");
        assert!(list.starts_with("Tasks:\n😀") && list.ends_with("…\nGo on?"), "{list}");
        assert_eq!(fit(list.clone()), list);
        assert_eq!(fit_between("1", "2", "3"), "123");
        assert_eq!(caption("Sweep"), "Sweep");
        assert_eq!(caption(&"я".repeat(100)).chars().count(), CAPTION_MOST);
    }
}
