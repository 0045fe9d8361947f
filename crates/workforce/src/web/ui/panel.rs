//! A panel at the side of a page, for one record of what the page shows.

use maud::{Markup, html};

use super::Icon;

/// A side panel. `back` is the page without it; `close` names that link. Escape follows it. On phones the panel covers
/// the page.
pub fn side_panel(title: &str, back: &str, close: &str, body: &Markup) -> Markup {
    html! {
        aside.panel data-testid="panel" aria-labelledby="panel-title" {
            div.panel-head {
                h2 #panel-title tabindex="-1" { (title) }
                a.icon-button href=(back) aria-label=(close) data-closes-panel { (Icon::Close.svg()) }
            }
            div.panel-body { (body) }
        }
    }
}
