//! What an owner sets for the business: each setting with its default, and who changed what and when.

use std::collections::HashMap;

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use crate::application::App;
use crate::key;
use crate::settings::{self, Change, Declared, NotDone, Shape};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Attempt, Fields, Filled, Sheet, carry_out};
use crate::web::{OPERATORS, Oops, Owner, Visitor, moment};

const PATH: &str = "/settings";
/// How many changes are shown.
const CHANGES: u64 = 50;
/// What a field that says what was looked at begins with.
const SEEN: &str = "seen-";

/// The settings of an owner with their names and what they do.
const OFFERED: [(&dyn Declared, &str, &str); 6] = [
    (&settings::TIME_ZONE, key!("cabinet-setting-time-zone"), key!("cabinet-setting-time-zone-about")),
    (
        &settings::MANDATORY_TASK_PENALTY,
        key!("cabinet-setting-task-penalty"),
        key!("cabinet-setting-task-penalty-about"),
    ),
    (&settings::CANCEL_NOTICE_HOURS, key!("cabinet-setting-notice"), key!("cabinet-setting-notice-about")),
    (
        &settings::CANCEL_SHORT_NOTICE_FINE,
        key!("cabinet-setting-short-notice"),
        key!("cabinet-setting-short-notice-about"),
    ),
    (
        &settings::CANCEL_INVALID_REASON_FINE,
        key!("cabinet-setting-invalid-reason"),
        key!("cabinet-setting-invalid-reason-about"),
    ),
    (&settings::QUESTIONS_GO_TO, key!("cabinet-setting-questions"), key!("cabinet-setting-questions-about")),
];
/// What lets people in is for whoever looks after the installation.
const OF_OPERATORS: (&dyn Declared, &str, &str) =
    (&settings::ENABLE_TEST_USERS, key!("cabinet-setting-test-users"), key!("cabinet-setting-test-users-about"));

type Offered = (&'static dyn Declared, &'static str, &'static str);

/// `GET /settings`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner) -> Result<Response, Oops> {
    page(&app, &visitor, Attempt::default()).await
}

/// `POST /settings`.
pub async fn edit(State(app): State<App>, Owner(visitor): Owner, Form(typed): Form<Fields>) -> Result<Response, Oops> {
    let (by, at) = (visitor.person.id, app.clock.now());
    let act = async |wishes| -> Result<(), NotDone> {
        Ok(app.domain.write(move |db| Box::pin(settings::set_as_seen(db, wishes, by, at))).await?)
    };
    match carry_out(&visitor, typed, |typed| read(typed, &offered(&visitor)), act).await? {
        Ok(()) => Ok(Redirect::to(PATH).into_response()),
        Err(attempt) => page(&app, &visitor, attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, attempt: Attempt) -> Result<Response, Oops> {
    let (values, changes) = tokio::try_join!(app.settings.all(), app.settings.latest(CHANGES))?;
    let names = app.people.names(changes.iter().filter_map(|change| change.by)).await?;
    let (language, offered) = (visitor.language(), offered(visitor));
    let now: Fields = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let (title, caption) = (text!(language, "cabinet-nav-settings"), text!(language, "cabinet-save"));
    let sheet = Sheet { path: PATH, now: &now, version: None, back: PATH, caption: &caption, testid: "save-settings" };
    let body = html! {
        h1 { (title) }
        (attempt.notice(language))
        section.card {
            (visitor.sheet(&attempt, sheet, |form| html! {
                @for one in &offered { (field(form, one, now.get(one.0.name()).map_or("", String::as_str))) }
            }))
        }
        section.card {
            h2 { (text!(language, "cabinet-settings-history")) }
            (history(&changes, &names, language))
        }
    };
    Ok((attempt.status(), visitor.page(&title, &body)).into_response())
}

fn offered(visitor: &Visitor) -> Vec<Offered> {
    let operators = visitor.person.may(OPERATORS).then_some(OF_OPERATORS);
    OFFERED.into_iter().chain(operators).collect()
}

fn field(form: &Filled<'_>, (declared, title, about): &Offered, now: &str) -> Markup {
    let (language, name) = (form.language, declared.name());
    let title = language.text(title);
    html! {
        div.setting data-testid={ "setting-" (name) } {
            input type="hidden" name={ (SEEN) (name) } value=(now);
            div.row.fields {
                @match declared.shape() {
                    Shape::Flag => (form.choice(name, &title, &[
                        ("true", text!(language, "cabinet-yes")),
                        ("false", text!(language, "cabinet-no")),
                    ])),
                    Shape::Number => (form.short(name, &title, "number")),
                    Shape::Roubles => (form.short(name, &title, "text")),
                    Shape::Words => (form.line(name, &title, 60)),
                }
            }
            p.quiet {
                (language.text(about)) " "
                (text!(language, "cabinet-setting-default", value = shown(*declared, &declared.default_text(), language)))
            }
        }
    }
}

/// A value as people read it.
fn shown(declared: &dyn Declared, value: &str, language: Language) -> String {
    match (declared.shape(), value) {
        (Shape::Flag, "true") => text!(language, "cabinet-yes"),
        (Shape::Flag, _) => text!(language, "cabinet-no"),
        (Shape::Roubles, value) => format!("{value} ₽"),
        (_, value) => value.to_owned(),
    }
}

fn history(changes: &[Change], names: &HashMap<i64, String>, language: Language) -> Markup {
    let all = || OFFERED.iter().chain([&OF_OPERATORS]);
    html! {
        @if changes.is_empty() { p.quiet { (text!(language, "cabinet-settings-untouched")) } }
        ul.rows data-testid="settings-history" {
            @for change in changes {
                @if let Some((declared, title, _)) = all().find(|(declared, ..)| declared.name() == change.name) {
                    @let usual = declared.default_text();
                    @let old = change.old.as_deref().unwrap_or(&usual);
                    li {
                        div {
                            (language.text(title)) ": " (shown(*declared, old, language)) " → "
                            strong { (shown(*declared, &change.new, language)) }
                            p.quiet { (change.by.and_then(|id| names.get(&id)).map_or("–", String::as_str)) }
                        }
                        span.quiet { (moment(change.at)) }
                    }
                }
            }
        }
    }
}

/// What is to be changed: the name of each, what was looked at, and what is wanted.
fn read(typed: &Fields, offered: &[Offered]) -> Result<Vec<settings::Wish>, Vec<&'static str>> {
    let (mut wishes, mut bad) = (Vec::new(), Vec::new());
    for (declared, ..) in offered {
        let name = declared.name();
        let (Some(seen), Some(text)) = (typed.get(&format!("{SEEN}{name}")), typed.get(name)) else { continue };
        match declared.normal(text) {
            None => bad.push(name),
            Some(wanted) if wanted != *seen => wishes.push(settings::Wish { name, seen: seen.clone(), wanted }),
            Some(_) => {}
        }
    }
    if bad.is_empty() { Ok(wishes) } else { Err(bad) }
}
