//! Lists that are longer than one message: so many choices at once, and buttons that lead to those before and after them.
//!
//! Such a button carries where its page begins, so nothing has to be remembered, and a list that has become shorter is
//! shown from its last page on.

use opora::prelude::*;

use super::chat;
use crate::text;
use crate::texts::Language;

/// Choices in one message. Telegram takes a hundred buttons; people look through fewer.
const CHOICES_MOST: usize = 20;

/// A part of a list.
#[derive(Debug)]
pub struct Page<'a, T> {
    pub items: &'a [T],
    from: usize,
    of: usize,
}

/// A question with its choices; none where nobody is there to be asked.
pub type Question = Option<(String, Vec<Vec<Button>>)>;

pub fn ask(turn: &mut Turn, question: Question) {
    if let Some((words, rows)) = question {
        turn.say(Say::text(words).buttons(rows));
    }
}

/// The same in place of the page under which a button was pressed.
pub fn turn_page<S>(turn: &mut Turn, press: &Press, question: Question) -> Step<S> {
    if let Some((words, rows)) = question {
        chat::show_again(turn, press, words, rows);
    }
    Ok(Next::Stay)
}

/// Where the page begins that a button leads to.
pub fn offset(press: &Press) -> usize {
    press.rest.trim_start_matches(':').parse().unwrap_or_default()
}

impl<'a, T> Page<'a, T> {
    /// The page that begins here, or the last one.
    pub fn of(all: &'a [T], offset: usize) -> Self {
        let last = all.len().saturating_sub(1) / CHOICES_MOST * CHOICES_MOST;
        let from = offset.min(last);
        let to = all.len().min(from + CHOICES_MOST);
        Self { items: &all[from..to], from, of: all.len() }
    }

    /// The buttons to the pages before and after this one, as a row; none where this is all. `data` is what stands before
    /// the offset.
    pub fn turns(&self, data: &str, language: Language) -> Option<Vec<Button>> {
        let to = |words: String, offset: usize| Button::new(words, format!("{data}{offset}")).repeatable();
        let before = self.from.checked_sub(CHOICES_MOST);
        let after = Some(self.from + CHOICES_MOST).filter(|after| *after < self.of);
        let before = before.map(|offset| to(text!(language, "shifts-page-before-button"), offset));
        let after = after.map(|offset| to(text!(language, "shifts-page-after-button"), offset));
        let row: Vec<Button> = before.into_iter().chain(after).collect();
        (!row.is_empty()).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end_and_none_is_beyond_it() {
        let all: Vec<usize> = (0..CHOICES_MOST * 2 + 1).collect();
        let turns = |page: &Page<'_, usize>| page.turns("more:", Language::En).map_or(0, |row| row.len());
        let first = Page::of(&all, 0);
        assert_eq!((first.items, turns(&first)), (&all[..CHOICES_MOST], 1));
        let second = Page::of(&all, CHOICES_MOST);
        assert_eq!((second.items, turns(&second)), (&all[CHOICES_MOST..CHOICES_MOST * 2], 2));
        let last = Page::of(&all, 1_000);
        assert_eq!((last.items, turns(&last)), (&all[CHOICES_MOST * 2..], 1));
        let whole = Page::of(&all[..CHOICES_MOST], 5);
        assert_eq!((whole.items.len(), turns(&whole)), (CHOICES_MOST, 0));
        assert!(Page::<usize>::of(&[], 7).items.is_empty());
    }
}
