//! The pages about people: the list, a person's page, and one's own page.

use sea_orm::DbErr;

use crate::application::App;
use crate::person::{OWNERS, Person, Status};
use crate::text;
use crate::web::{Card, Routes};

mod list;
mod me;
mod person;

pub fn routes() -> Routes {
    Routes::new()
        .get("/people", list::show)
        .get("/people/{id}", person::show)
        .post("/people/{id}/block", person::block)
        .post("/people/{id}/unblock", person::unblock)
        .post("/people/{id}/export", person::export)
        .get("/people/{id}/forget", person::ask_to_forget)
        .post("/people/{id}/forget", person::forget)
        .post("/people/{id}/roles/grant", person::grant)
        .post("/people/{id}/roles/revoke", person::revoke)
        .get("/me", me::show)
        .post("/me/language", me::set_language)
        .post("/me/sessions/end", me::end_session)
        .post("/me/sessions/end-others", me::end_others)
}

/// Numbers of verified and pending people, on the front page of owners.
pub async fn counts(app: &App, viewer: &Person) -> Result<Vec<Card>, DbErr> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let language = viewer.language;
    let (verified, pending) = tokio::try_join!(app.people.count(Status::Verified), app.people.count(Status::Pending))?;
    let card = |label: String, number: u64| Card { label, number, path: "/people".to_owned() };
    Ok(vec![card(text!(language, "web-count-verified"), verified), card(text!(language, "web-count-pending"), pending)])
}
