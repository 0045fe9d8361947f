//! Cards, headlines and tiles.

use maud::{Markup, html};

use super::Tone;

/// A titled part of a page.
pub fn card(title: &str, body: &Markup) -> Markup {
    html! { section.card { h2 { (title) } (body) } }
}

/// The page's title with what is beside it: badges and actions.
pub fn headline(title: &str, beside: &Markup) -> Markup {
    html! { div.headline { h1 { (title) } (beside) } }
}

/// A number with its label.
pub fn figure(label: &str, number: &str, testid: &str) -> Markup {
    html! { div.card.sum { span { (label) } strong data-testid=(testid) { (number) } } }
}

/// A number with its label, as a link.
pub fn tile(label: &str, number: &str, tone: Tone, path: &str) -> Markup {
    html! {
        a.card.tile href=(path) { span { (label) } strong class={ "tone-" (tone.name()) } { (number) } }
    }
}
