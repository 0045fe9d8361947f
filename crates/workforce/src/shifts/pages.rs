//! The pages of this room: shifts with their media, and cancellations.

use maud::{Markup, html};

use super::ShiftCursor;
use crate::text;
use crate::texts::Language;
use crate::web::Routes;

mod cancellations;
pub mod media;
mod shift;

pub use self::shift::state;

pub fn routes() -> Routes {
    Routes::new()
        .get("/shifts", shift::list)
        .get("/shifts/{id}", shift::show)
        .post("/shifts/{id}/close", shift::close)
        .post("/shifts/{id}/photos", shift::photos)
        .get("/shifts/{id}/media/{medium}", media::show)
        .post("/shifts/{id}/media/{medium}/again", media::again)
        .get("/cancellations", cancellations::show)
        .post("/cancellations/{id}/judge", cancellations::judge)
        .post("/cancellations/{id}/take-back", cancellations::take_back)
        .get("/cancellations/{id}/photo", cancellations::photo)
        .post("/cancellations/{id}/photo/again", cancellations::photo_again)
}

/// Links to the neighbouring pages of a list with cursors.
fn cursor_pager(path: &str, newer: Option<ShiftCursor>, older: Option<ShiftCursor>, language: Language) -> Markup {
    html! {
        @if newer.is_some() || older.is_some() {
            nav.pager aria-label=(text!(language, "web-pages")) {
                @if let Some(mark) = newer { a.button.plain rel="prev" href={ (path) "&after=" (mark) } { (text!(language, "web-previous")) } }
                @if let Some(mark) = older { a.button.plain rel="next" href={ (path) "&before=" (mark) } { (text!(language, "web-next")) } }
            }
        }
    }
}
