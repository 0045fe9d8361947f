//! The pages of shifts: shifts with what was sent for their tasks, and reasons of those who do not come.

use maud::{Markup, html};

use super::Mark;
use crate::text;
use crate::texts::Language;
use crate::web::Routes;

mod cancellations;
mod media;
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
        .get("/cancellations/{id}/photo", cancellations::photo)
        .post("/cancellations/{id}/photo/again", cancellations::photo_again)
}

/// The ways through a list of which nobody has counted the pages.
fn more(path: &str, newer: Option<Mark>, older: Option<Mark>, language: Language) -> Markup {
    html! {
        @if newer.is_some() || older.is_some() {
            nav.pager aria-label=(text!(language, "web-pages")) {
                @if let Some(mark) = newer { a.button.plain rel="prev" href={ (path) "&after=" (mark) } { (text!(language, "web-previous")) } }
                @if let Some(mark) = older { a.button.plain rel="next" href={ (path) "&before=" (mark) } { (text!(language, "web-next")) } }
            }
        }
    }
}
