//! The search over pages, people and sites: a page of its own, and the content of the command palette.
//!
//! Rooms answer by [`Room::search`](crate::rooms::Room::search) and name only what the viewer may see.

use axum::extract::{Query, State};
use futures_util::future::try_join_all;
use maud::{Markup, html};
use serde::Deserialize;

use super::guards::{SignedIn, Visitor};
use super::nav::NavItem;
use super::page_error::PageError;
use super::ui::{Button, Icon, headline};
use crate::application::App;
use crate::domain::user_text;
use crate::text;

/// Maximum number of hits of one kind.
pub const MAX_HITS: usize = 8;
/// Longer searches are cut off.
const MAX_CHARS: usize = 64;

/// What was found in a room, in titled groups.
pub type SearchGroups = Vec<(String, Vec<SearchHit>)>;

/// What was found.
#[derive(Clone, Debug)]
pub struct SearchHit {
    pub icon: Icon,
    pub caption: String,
    /// What tells it from others of the same name.
    pub detail: String,
    pub path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SearchQuery {
    q: String,
}

/// `GET /search`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<SearchQuery>,
) -> Result<Markup, PageError> {
    let words: String = user_text::line(&query.q).chars().take(MAX_CHARS).collect();
    let mut groups = vec![(text!(visitor.language(), "web-search-pages"), pages(&visitor, &words))];
    if !words.is_empty() {
        let rooms: Vec<_> = app.rooms.iter().collect();
        let of_rooms = try_join_all(rooms.iter().map(|room| room.search(&app, &visitor.person, &words))).await?;
        groups.extend(of_rooms.into_iter().flatten());
    }
    groups.retain(|(_, hits)| !hits.is_empty());
    Ok(draw(&visitor, &words, &groups))
}

/// Pages of the visitor's navigation whose caption has these words.
fn pages(visitor: &Visitor, words: &str) -> Vec<SearchHit> {
    let (language, wanted) = (visitor.language(), words.to_lowercase());
    let hit = |item: NavItem| {
        let caption = language.text(item.caption);
        SearchHit { icon: item.icon, caption, detail: String::new(), path: item.path.to_owned() }
    };
    let own = SearchHit {
        icon: Icon::Person,
        caption: text!(language, "web-me"),
        detail: String::new(),
        path: "/me".to_owned(),
    };
    let all = visitor.visit.nav(&visitor.person).into_iter().map(hit).chain([own]);
    all.filter(|hit| hit.caption.to_lowercase().contains(&wanted)).collect()
}

fn draw(visitor: &Visitor, words: &str, groups: &[(String, Vec<SearchHit>)]) -> Markup {
    let language = visitor.language();
    let title = text!(language, "web-search");
    let body = html! {
        (headline(&title, &html! {}))
        form.search method="get" action="/search" role="search" {
            input type="search" name="q" value=(words) maxlength=(MAX_CHARS) aria-label=(text!(language, "web-palette-hint"))
                placeholder=(text!(language, "web-palette-hint"));
            (Button::primary(&title).submit())
        }
        div #results {
            @if groups.is_empty() { p.quiet data-testid="no-hits" { (text!(language, "web-search-nothing")) } }
            @else {
                div.hits {
                    @for (at, (name, hits)) in groups.iter().enumerate() {
                        section aria-labelledby={ "hits-" (at) } {
                            h2 id={ "hits-" (at) } { (name) }
                            @for hit in hits { (row(hit)) }
                        }
                    }
                }
            }
        }
    };
    visitor.page(&title, &body)
}

fn row(hit: &SearchHit) -> Markup {
    html! {
        a.hit href=(hit.path) {
            (hit.icon.svg()) span { (hit.caption) }
            @if !hit.detail.is_empty() { span.quiet { (hit.detail) } }
        }
    }
}
