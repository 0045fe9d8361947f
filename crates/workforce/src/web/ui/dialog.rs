//! A question before an action that matters.
//!
//! The element is a native `<dialog>`: the script opens it as a modal, so the browser keeps the focus inside, closes it
//! with Escape and gives the focus back. Without a script its link leads to it, and it is shown as a part of the page.

use maud::{Markup, html};

/// A dialog. `Button::danger("Block…").opens(dialog.id)` opens it.
#[derive(Clone, Copy, Debug)]
pub struct Dialog<'a> {
    /// Unique within the page.
    pub id: &'a str,
    /// The question: "Block Anna Petrova?"
    pub title: &'a str,
    /// The caption of the link that closes it: "Keep access".
    pub cancel: &'a str,
    /// Whether it is open when the page loads, after its form was refused.
    pub is_open: bool,
}

impl Dialog<'_> {
    /// The dialog. `body` says what will happen and contains the form with its button; see `Visit::form`.
    pub fn render(self, body: &Markup) -> Markup {
        let title_id = format!("{}-title", self.id);
        html! {
            dialog.dialog id=(self.id) open[self.is_open] aria-labelledby=(title_id) data-testid=(self.id) {
                h2 id=(title_id) { (self.title) }
                div.dialog-body { (body) }
                a.button.plain.cancel href="#main" data-closes { (self.cancel) }
            }
        }
    }
}
