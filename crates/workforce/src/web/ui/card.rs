//! Cards, headlines and tiles.

use maud::{Markup, html};

use super::Tone;

/// A part of a page.
///
/// `Card::new("Tasks").testid("tasks").render(&body)`
#[derive(Clone, Copy, Debug, Default)]
pub struct Card<'a> {
    title: Option<&'a str>,
    class: Option<&'a str>,
    id: Option<&'a str>,
    testid: Option<&'a str>,
    live: Option<&'a str>,
}

impl<'a> Card<'a> {
    pub fn new(title: &'a str) -> Self {
        Self { title: Some(title), ..Self::default() }
    }

    /// For a part without a title, or with more than words beside it.
    pub fn untitled() -> Self {
        Self::default()
    }

    /// Another class, for what one page arranges differently.
    #[must_use]
    pub const fn class(self, class: &'a str) -> Self {
        Self { class: Some(class), ..self }
    }

    #[must_use]
    pub const fn id(self, id: &'a str) -> Self {
        Self { id: Some(id), ..self }
    }

    #[must_use]
    pub const fn testid(self, testid: &'a str) -> Self {
        Self { testid: Some(testid), ..self }
    }

    /// The topics that reload it; it needs an id then.
    #[must_use]
    pub const fn live(self, topics: &'a str) -> Self {
        Self { live: Some(topics), ..self }
    }

    pub fn render(self, body: &Markup) -> Markup {
        let class = self.class.map_or_else(|| "card".to_owned(), |class| format!("card {class}"));
        html! {
            section class=(class) id=[self.id] data-testid=[self.testid] data-live=[self.live] {
                @if let Some(title) = self.title { h2 { (title) } }
                (body)
            }
        }
    }
}

/// A titled part of a page.
pub fn card(title: &str, body: &Markup) -> Markup {
    Card::new(title).render(body)
}

/// The page's title with what is beside it: badges and actions.
pub fn headline(title: &str, beside: &Markup) -> Markup {
    html! { div.headline { (page_title(title, None)) (beside) } }
}

/// The page's title alone, for a place of its own.
pub fn page_title(title: &str, testid: Option<&str>) -> Markup {
    html! { h1 data-testid=[testid] { (title) } }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_has_one_list_of_classes() {
        let card = Card::new("Tasks").class("wide").id("tasks").render(&html! { p { "None" } }).into_string();
        assert_eq!(card, "<section class=\"card wide\" id=\"tasks\"><h2>Tasks</h2><p>None</p></section>");
    }
}
