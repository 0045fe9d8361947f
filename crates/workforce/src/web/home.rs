//! The front page: the day or a greeting, then what rooms contribute.

use axum::extract::State;
use futures_util::future::try_join_all;
use maud::{Markup, html};

use super::guards::SignedIn;
use super::labels::role_label;
use super::layout::Card;
use super::page_error::PageError;
use super::ui::{Tone, headline, tile};
use crate::application::App;
use crate::text;

/// `GET /`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Markup, PageError> {
    let (person, language) = (&visitor.person, visitor.language());
    let rooms: Vec<_> = app.rooms.iter().collect();
    let of_rooms = try_join_all(rooms.iter().map(|room| room.home_cards(&app, person))).await?;
    let sections = try_join_all(rooms.iter().map(|room| room.home_sections(&app, person))).await?;
    let cards: Vec<Card> = of_rooms.into_iter().flatten().collect();
    let items = visitor.visit.nav(person);
    let fronts = try_join_all(rooms.iter().map(|room| room.front_page(&app, &visitor))).await?;
    let front = fronts.into_iter().flatten().next();
    let greeting = text!(language, "web-greeting", name = person.full_name.as_str());
    let body = html! {
        @match &front {
            Some(front) => (front),
            None => {
                (headline(&greeting, &html! {}))
                p.roles { @for role in person.roles.iter() { (role_label(role, language)) " " } }
            },
        }
        @for section in sections.iter().flatten() { section.part { h2 { (section.title) } (section.body) } }
        @if !cards.is_empty() {
            div.cards #home data-live="people" {
                @for card in &cards { (tile(&card.label, &card.number.to_string(), Tone::Neutral, &card.path)) }
            }
        }
        @if items.is_empty() {
            p.quiet { (text!(language, "web-home-empty")) " " a href="/me" { (text!(language, "web-me")) } }
        }
    };
    Ok(visitor.page(&text!(language, "web-home"), &body))
}
