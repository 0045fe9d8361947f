//! The visitor's own page: personal data, language and sessions.

use axum::Form;
use axum::extract::State;
use axum::http::HeaderMap;
use futures_util::future::try_join_all;
use maud::{Markup, html};
use serde::Deserialize;

use super::person::facts;
use crate::application::App;
use crate::people;
use crate::text;
use crate::texts::Language;
use crate::web::sessions::Session;
use crate::web::ui::{self, Button, Card, Icon, PageRedirect, headline};
use crate::web::{Event, PageError, SignedIn, Visitor, devices, moment, sessions};

#[derive(Debug, Deserialize)]
pub struct LanguageForm {
    language: Language,
}

#[derive(Debug, Deserialize)]
pub struct SessionForm {
    session: i64,
}

/// `GET /me`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Markup, PageError> {
    let sessions = sessions::of_person(&app, visitor.person.id).await?;
    let language = visitor.language();
    let title = text!(language, "web-me");
    let of_rooms = try_join_all(app.rooms.iter().map(|room| room.own_sections(&app, &visitor.person))).await?;
    Ok(visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            div.columns {
                (Card::new(&visitor.person.full_name).render(&facts(&visitor.person, language)))
                (ui::card(&text!(language, "web-language"), &languages(&visitor)))
                @for section in of_rooms.iter().flatten() { (ui::card(&section.title, &section.body)) }
            }
            (Card::new(&text!(language, "web-sessions")).id("sessions").live("me").render(&html! {
                (list(&visitor, &sessions))
            }))
        },
    ))
}

/// `POST /me/language`.
pub async fn set_language(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(chosen): Form<LanguageForm>,
) -> Result<PageRedirect, PageError> {
    let (id, at) = (visitor.person.id, app.clock.now());
    app.domain.write(move |db| Box::pin(people::set_language(db, id, chosen.language, at))).await?;
    Ok(visitor.redirect("/me").with_toast(text!(chosen.language, "web-language-saved")))
}

/// `POST /me/sessions/end`.
pub async fn end_session(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(ended): Form<SessionForm>,
) -> Result<PageRedirect, PageError> {
    let id = visitor.person.id;
    app.domain.write(move |db| Box::pin(sessions::end(db, id, ended.session))).await?;
    app.events.publish(Event::to_person("me", id));
    Ok(visitor.redirect("/me").with_toast(text!(visitor.language(), "web-session-ended")))
}

/// `POST /me/sessions/end-others`.
pub async fn end_others(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    headers: HeaderMap,
) -> Result<PageRedirect, PageError> {
    let (id, session) = (visitor.person.id, visitor.session);
    let device = devices::known(&app, &visitor.visit, &headers, id).await?;
    app.domain
        .write(move |db| {
            Box::pin(async move {
                devices::forget_others(db, id, device.as_deref()).await?;
                sessions::end_others(db, id, session).await
            })
        })
        .await?;
    app.events.publish(Event::to_person("me", id));
    Ok(visitor.redirect("/me").with_toast(text!(visitor.language(), "web-sessions-ended")))
}

fn languages(visitor: &Visitor) -> Markup {
    let (now, visit) = (visitor.language(), &visitor.visit);
    html! {
        div.row {
            @for language in Language::ALL {
                (visit.form("/me/language", &html! {
                    input type="hidden" name="language" value=(language.code());
                    (Button::plain(language.name()).pressed(language == now).testid(&format!("language-{language}")).submit())
                }))
            }
        }
    }
}

fn list(visitor: &Visitor, sessions: &[Session]) -> Markup {
    let (language, visit) = (visitor.language(), &visitor.visit);
    html! {
        ul.rows {
            @for session in sessions {
                li {
                    div {
                        strong { (browser(&session.agent)) }
                        @if session.id == visitor.session { " " span.chip { (text!(language, "web-this-browser")) } }
                        p.quiet { (text!(language, "web-seen")) " " (moment(session.seen_at, language)) }
                    }
                    @if session.id != visitor.session {
                        (visit.form("/me/sessions/end", &html! {
                            input type="hidden" name="session" value=(session.id);
                            (Button::plain(&text!(language, "web-end-session")).small().submit())
                        }))
                    }
                }
            }
        }
        @if sessions.len() > 1 {
            (visit.form("/me/sessions/end-others", &html! {
                (Button::plain(&text!(language, "web-end-others")).icon(Icon::SignOut).submit())
            }))
        }
    }
}

/// A short name for a browser, from its `User-Agent`.
fn browser(agent: &str) -> String {
    let named =
        |names: &[(&str, &'static str)]| names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    // Most browsers claim to be others as well, so the rarer marks come first.
    let browser = named(&[
        ("YaBrowser/", "Yandex Browser"),
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = named(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser}, {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) if agent.is_empty() => "?".to_owned(),
        (None, None) => agent.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::browser;

    #[test]
    fn browsers_have_short_names() {
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0";
        assert_eq!(browser(edge), "Edge, Windows");
        assert_eq!(browser("curl/8.5"), "curl/8.5");
        assert_eq!(browser(""), "?");
    }
}
