//! Lists of choices in the chat that need several pages.
//!
//! A page button carries the offset of its page, so nothing is stored. If the list has become shorter, its last page is
//! shown.

use opora::prelude::*;

use crate::front::reply;
use crate::text;
use crate::texts::Language;

/// Choices in one message. Telegram allows a hundred buttons, but a short list is easier to read.
const PAGE_SIZE: usize = 20;

/// A page of a list.
#[derive(Debug)]
pub struct Page<'a, T> {
    pub items: &'a [T],
    from: usize,
    of: usize,
}

/// A question with its buttons; None if the speaker may not answer.
pub type Question = Option<(String, Vec<Vec<Button>>)>;

/// Shows a question in place of the one before.
pub fn ask(turn: &mut Turn, question: Question) {
    if let Some((text, rows)) = question {
        reply::show(turn, text, rows);
    }
}

/// Shows another page in place of the one before.
pub fn turn_page<S>(turn: &mut Turn, question: Question) -> Step<S> {
    ask(turn, question);
    Ok(Next::Stay)
}

/// The offset of the page that a button leads to.
pub fn offset(press: &Press) -> usize {
    press.rest.trim_start_matches(':').parse().unwrap_or_default()
}

impl<'a, T> Page<'a, T> {
    /// The page at this offset, or the last one.
    pub fn new(all: &'a [T], offset: usize) -> Self {
        let last = all.len().saturating_sub(1) / PAGE_SIZE * PAGE_SIZE;
        let from = offset.min(last);
        let to = all.len().min(from + PAGE_SIZE);
        Self { items: &all[from..to], from, of: all.len() }
    }

    /// A row of buttons to the neighbouring pages; None if there is only one page. `data` is the prefix before the
    /// offset.
    pub fn page_buttons(&self, data: &str, language: Language) -> Option<Vec<Button>> {
        let to = |text: String, offset: usize| Button::new(text, format!("{data}{offset}")).repeatable();
        let before = self.from.checked_sub(PAGE_SIZE);
        let after = Some(self.from + PAGE_SIZE).filter(|after| *after < self.of);
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
    fn an_offset_beyond_the_end_shows_the_last_page() {
        let all: Vec<usize> = (0..PAGE_SIZE * 2 + 1).collect();
        let page_buttons = |page: &Page<'_, usize>| page.page_buttons("more:", Language::En).map_or(0, |row| row.len());
        let first = Page::new(&all, 0);
        assert_eq!((first.items, page_buttons(&first)), (&all[..PAGE_SIZE], 1));
        let second = Page::new(&all, PAGE_SIZE);
        assert_eq!((second.items, page_buttons(&second)), (&all[PAGE_SIZE..PAGE_SIZE * 2], 2));
        let last = Page::new(&all, 1_000);
        assert_eq!((last.items, page_buttons(&last)), (&all[PAGE_SIZE * 2..], 1));
        let whole = Page::new(&all[..PAGE_SIZE], 5);
        assert_eq!((whole.items.len(), page_buttons(&whole)), (PAGE_SIZE, 0));
        assert!(Page::<usize>::new(&[], 7).items.is_empty());
    }
}
