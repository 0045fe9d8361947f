//! The form with which an owner edits a person.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::person::{announce, target};
use crate::application::App;
use crate::key;
use crate::people::OwnerAction;
use crate::people::editing::AboutPerson;
use crate::person::{Person, contact};
use crate::text;
use crate::texts::Language;
use crate::web::form::{FieldErrors, Fields, FormAttempt, FormSpec, Reader, Submitted, fields, submit, version_of};
use crate::web::ui::{Card, headline};
use crate::web::{Owner, PageError, Visitor};

const NAME: &str = "name";
const PHONE: &str = "phone";
const EMAIL: &str = "email";
const LANGUAGE: &str = "language";

/// `GET /people/<id>/edit`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, PageError> {
    page(&app, &visitor, id, &FormAttempt::default()).await
}

/// `POST /people/<id>/edit`.
pub async fn save(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    target(&app, &visitor, id, OwnerAction::Edit).await?;
    let version = version_of(&typed);
    let act = async |about| app.people.edit(&visitor.person, id, version, about, app.clock.now()).await;
    match submit(&visitor, typed, read, act).await? {
        Submitted::Done(()) => {
            announce(&app, id);
            let saved = text!(visitor.language(), "web-person-saved");
            Ok(visitor.redirect(format!("/people/{id}")).with_toast(saved).into_response())
        }
        Submitted::Refused(attempt) => page(&app, &visitor, id, &attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: &FormAttempt) -> Result<Response, PageError> {
    let person = target(app, visitor, id, OwnerAction::Edit).await?;
    Ok((attempt.status(), draw(visitor, &person, attempt)).into_response())
}

fn draw(visitor: &Visitor, person: &Person, attempt: &FormAttempt) -> Markup {
    let (language, back) = (visitor.language(), format!("/people/{}", person.id));
    let (path, title, now) = (format!("{back}/edit"), text!(language, "web-person-edit"), write(&person.into()));
    let caption = text!(language, "cabinet-save");
    let version = Some(person.version);
    let spec = FormSpec { path: &path, now: &now, version, back: &path, caption: &caption, testid: "save-person" };
    let languages = Language::ALL.map(|one| (one.code(), one.name().to_owned()));
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href=(back) { (person.full_name) } }
            (headline(&title, &html! {}))
            (attempt.notice(language))
            (Card::untitled().render(&html! {
                (visitor.record_form(attempt, spec, |form| html! {
                    div.row.fields { (form.line(NAME, &text!(language, "web-name"), 100)) }
                    div.row.fields {
                        (form.line(PHONE, &text!(language, "web-phone"), 40))
                        (form.line(EMAIL, &text!(language, "web-email"), 254))
                    }
                    div.row.fields { (form.choice(LANGUAGE, &text!(language, "web-language"), &languages)) }
                    p.quiet { (text!(language, "web-person-username-about")) }
                }))
            }))
        },
    )
}

fn write(about: &AboutPerson) -> Fields {
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    fields([
        (NAME, about.full_name.clone()),
        (PHONE, or_empty(&about.phone)),
        (EMAIL, or_empty(&about.email)),
        (LANGUAGE, about.language.code().to_owned()),
    ])
}

fn read(typed: &Fields) -> Result<AboutPerson, FieldErrors> {
    let mut reader = Reader::new(typed);
    let optional = |text: &str, parse: fn(&str) -> Option<String>| {
        if text.is_empty() { Some(None) } else { parse(text).map(Some) }
    };
    let full_name = reader.read(NAME, key!("web-person-name-hint"), |text| contact::name(text).ok());
    let phone = reader.read(PHONE, key!("web-person-phone-hint"), |text| optional(text, contact::phone));
    let email = reader.read(EMAIL, key!("web-person-email-hint"), |text| optional(text, contact::email));
    let language = reader.read(LANGUAGE, key!("web-form-bad-choice"), |text| text.parse().ok().map(Some));
    let language = language.unwrap_or(Language::Ru);
    reader.bad.or(AboutPerson { full_name, phone, email, language })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_survives_the_form_and_mistakes_are_named() {
        let about = AboutPerson {
            full_name: "Анна Петрова".into(),
            phone: Some("+79991234567".into()),
            email: None,
            language: Language::En,
        };
        assert_eq!(read(&write(&about)), Ok(about.clone()));
        let mut typed = write(&about);
        typed.insert(PHONE.into(), "8 999 123-45-67".into());
        assert_eq!(read(&typed), Ok(about), "a phone has one form");
        let typed =
            fields([(NAME, "A".into()), (PHONE, "call me".into()), (EMAIL, "anna".into()), (LANGUAGE, "xx".into())]);
        assert_eq!(read(&typed).unwrap_err().names(), [NAME, PHONE, EMAIL, LANGUAGE]);
    }
}
