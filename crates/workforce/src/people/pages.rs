//! The pages about people: the list, a person's page, and one's own page.

use sea_orm::DbErr;

use crate::application::App;
use crate::people::PeopleFilter;
use crate::person::{OWNERS, Person, Status};
use crate::text;
use crate::web::ui::Icon;
use crate::web::{Card, MAX_HITS, PageError, Routes, SearchGroups, SearchHit};

mod edit;
mod invite;
mod list;
mod me;
mod person;

pub fn routes() -> Routes {
    Routes::new()
        .get("/people", list::show)
        .get("/people/invite", invite::show)
        .get("/people/{id}", person::show)
        .get("/people/{id}/edit", edit::show)
        .post("/people/{id}/edit", edit::save)
        .get("/people/{id}/block", person::ask_to_block)
        .post("/people/{id}/block", person::block)
        .get("/people/{id}/unblock", person::ask_to_unblock)
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

/// People whom a search finds, for the command palette.
pub async fn search(app: &App, viewer: &Person, words: &str) -> Result<SearchGroups, PageError> {
    let visible = match list::visible_ids(app, viewer).await {
        Ok(visible) => visible,
        Err(PageError::Forbidden) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let filter = PeopleFilter { ids: visible.as_deref(), wanted: words, ..PeopleFilter::default() };
    let found = app.people.page_of(filter, 0).await?;
    let hits = found.people.iter().take(MAX_HITS).map(|person| SearchHit {
        icon: Icon::Person,
        caption: person.full_name.clone(),
        detail: person.username.as_ref().map(|name| format!("@{name}")).or(person.phone.clone()).unwrap_or_default(),
        path: list::path_of(viewer, person.id),
    });
    Ok(vec![(text!(viewer.language, "web-people"), hits.collect())])
}

/// Numbers of verified and pending people, on the front page of owners.
pub async fn counts(app: &App, viewer: &Person) -> Result<Vec<Card>, DbErr> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let language = viewer.language;
    let number = app.people.count(Status::Verified).await?;
    Ok(vec![Card { label: text!(language, "web-count-verified"), number, path: "/people".to_owned() }])
}
