//! Sign-in by PIN: an identifier, six digits from the bot, and a session.
//!
//! No response tells whether a person exists. An unknown identifier gets the same texts, limits and locks, because
//! these go by what was typed and never by the person found. Neither PINs nor typed identifiers are logged.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use opora::bot::HandleError;
use opora::clock::Millis;
use opora::store::{StoreError, WriteError};
use opora::telegram::Say;
use serde::Deserialize;

use self::new_session::NewSession;
use self::pins::{Pin, PinRequest, SignInAttempt, Verdict};
use super::cookies::Cookie;
use super::page_error::PageError;
use super::visit::Visit;
use super::{Event, Visitor, secrets, sessions};
use crate::application::App;
use crate::domain::Transaction;
use crate::person::{Person, PersonIdentifier};
use crate::web::SignedIn;
use crate::{key, text};

pub use self::limits::delete_idle;
pub use self::links::{log_in as log_in_by_link, offer as offer_link, show as show_link};
pub use self::unsent_pins::run as send_waiting_pins;

pub mod devices;
mod limits;
mod links;
mod new_session;
mod pins;
mod tokens;
mod unsent_pins;
mod view;

/// Where to go after the sign-in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SignInQuery {
    next: String,
}

/// The form that requests a PIN.
#[derive(Debug, Deserialize)]
pub struct PinRequestForm {
    who: String,
    #[serde(default)]
    next: String,
}

/// The form with the PIN.
#[derive(Deserialize)]
pub struct PinForm {
    who: String,
    pin: String,
    #[serde(default)]
    next: String,
}

/// Whether PINs can be sent.
enum PinSender {
    /// The bot runs, here or on another instance.
    Ready,
    /// The bot runs nowhere.
    NotRunning,
    /// The bot may run, but its store is away (Redis).
    StoreAway,
}

/// `GET /sign-in`.
pub async fn show(visit: Visit, Query(query): Query<SignInQuery>) -> Response {
    if visit.person().is_some() {
        return Redirect::to(own_path(&query.next)).into_response();
    }
    view::ask(&visit, &query.next, None).into_response()
}

/// `POST /auth/send-pin`.
pub async fn send_pin(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(form): Form<PinRequestForm>,
) -> Result<Response, PageError> {
    let now = app.clock.now();
    let notice = |key| Some(visit.language().text(key));
    let Some(who) = PersonIdentifier::parse(&form.who) else {
        let address = visit.network().to_string();
        let counting = app
            .domain
            .write_and_get(move |db| Box::pin(async move { limits::PINS_BY_ADDRESS.count(db, &address, now).await }));
        let wait_ms = counting.await?;
        if wait_ms > 0 {
            return Err(too_many(wait_ms));
        }
        let page = view::ask(&visit, &form.next, notice(key!("web-who-not-understood")).as_deref());
        return Ok((StatusCode::BAD_REQUEST, page).into_response());
    };
    let person = app.people.verified(&who).await?;
    let attempt = sign_in_attempt(&app, &visit, &headers, &who, person.as_ref()).await?;
    match sender(&app).await? {
        PinSender::Ready => {}
        PinSender::NotRunning => return Err(PageError::Unavailable),
        PinSender::StoreAway => {
            let page = view::ask(&visit, &form.next, notice(key!("web-pin-unavailable")).as_deref());
            return Ok((StatusCode::SERVICE_UNAVAILABLE, page).into_response());
        }
    }
    let pin = secrets::pin()?;
    let new_pin = Pin::new(&attempt, person.as_ref(), &pin, now);
    match pins::request(&app, attempt, new_pin, now).await? {
        PinRequest::Stored => {}
        PinRequest::Locked(until) => return Ok(locked_page(&visit, &form.who, &form.next, until, now)),
        PinRequest::TooMany { wait_ms } => return too_many_page(&visit, too_many(wait_ms)),
    }
    if let Some(person) = person
        && !may_use_any_pin(&app, &person).await?
    {
        // In the background, because the response would take longer for people who exist.
        tokio::spawn(deliver_pin(app, person, pin, now.plus(pins::TTL)));
    }
    Ok(view::enter(&visit, &form.who, &form.next, None).into_response())
}

/// `POST /auth/login`.
pub async fn log_in(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(form): Form<PinForm>,
) -> Result<Response, PageError> {
    let (language, now) = (visit.language(), app.clock.now());
    let identifier = PersonIdentifier::parse(&form.who).ok_or(PageError::BadRequest)?;
    // Answered before any person is looked up, so that the response time does not tell whether the person exists.
    if !app.allows_test_users().await? && !pins::is_requested(&app, &identifier.canonical(), visit.cookie()).await? {
        return Ok(wrong_pin(&visit, &form, &text!(language, "web-pin-wrong")));
    }
    let person = app.people.verified(&identifier).await?;
    let attempt = sign_in_attempt(&app, &visit, &headers, &identifier, person.as_ref()).await?;
    let pin: String = form.pin.chars().filter(|c| !c.is_whitespace()).collect();
    let notice = match (judge(&app, attempt, person.as_ref(), &pin).await?, person) {
        (Verdict::Right, Some(person)) => return open_session(&app, &visit, &headers, &person, &form.next).await,
        (Verdict::Locked(until), _) => return Ok(locked_page(&visit, &form.who, &form.next, until, now)),
        (Verdict::TooMany { wait_ms }, _) => return too_many_page(&visit, too_many(wait_ms)),
        (Verdict::Expired, _) => text!(language, "web-pin-expired"),
        (Verdict::Wrong | Verdict::Right, _) => text!(language, "web-pin-wrong"),
    };
    Ok(wrong_pin(&visit, &form, &notice))
}

/// The page after a wrong PIN.
fn wrong_pin(visit: &Visit, form: &PinForm, notice: &str) -> Response {
    let page = view::enter(visit, &form.who, &form.next, Some(notice));
    (StatusCode::UNAUTHORIZED, page).into_response()
}

/// `POST /auth/logout`.
pub async fn log_out(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    let Visitor { person, session, visit } = visitor;
    app.domain.write(move |db| Box::pin(sessions::end(db, person.id, session))).await?;
    app.events.publish(Event::to_person("me", person.id));
    let cleared_cookie = Cookie::Session.set("", std::time::Duration::ZERO, visit.is_https());
    Ok((cleared_cookie.map(|cleared_cookie| [(header::SET_COOKIE, cleared_cookie)]), Redirect::to("/sign-in"))
        .into_response())
}

/// Who tries to sign in, and from where. Limits and locks go by this alone, so they are the same for known and unknown
/// identifiers. A device that the person has used before is the one exception.
async fn sign_in_attempt(
    app: &App,
    visit: &Visit,
    headers: &HeaderMap,
    who: &PersonIdentifier,
    person: Option<&Person>,
) -> Result<SignInAttempt, PageError> {
    let device = match person {
        Some(person) => devices::known(app, visit, headers, person.id).await?,
        None => None,
    };
    Ok(SignInAttempt {
        name: who.canonical(),
        address: visit.network().to_string(),
        cookie: visit.cookie().to_owned(),
        device,
    })
}

fn too_many(wait_ms: u64) -> PageError {
    PageError::TooMany { retry_after_s: wait_ms.div_ceil(1000) }
}

/// Says how long to wait, and that the bot's link works meanwhile.
fn too_many_page(visit: &Visit, error: PageError) -> Result<Response, PageError> {
    let PageError::TooMany { retry_after_s } = error else { return Err(error) };
    let notice = text!(visit.language(), "web-sign-in-too-many", minutes = retry_after_s.div_ceil(60));
    let page = view::ask(visit, "", Some(&notice));
    let wait = [(header::RETRY_AFTER, HeaderValue::from(retry_after_s))];
    Ok((StatusCode::TOO_MANY_REQUESTS, wait, page).into_response())
}

/// Whether PINs can be sent. If not, none is made, so that a person does not wait in vain.
async fn sender(app: &App) -> Result<PinSender, PageError> {
    match app.bot.check_accepts_posts().await {
        Ok(()) => return Ok(PinSender::Ready),
        Err(HandleError::NotLeading | HandleError::Store(StoreError::Fenced { .. })) => {}
        Err(error) => {
            tracing::debug!(%error, "PINs cannot be sent now");
            return Ok(PinSender::StoreAway);
        }
    }
    match app.domain.store().lease(app.bot_id).await {
        Ok(Some(_)) => Ok(PinSender::Ready),
        Ok(None) => Ok(PinSender::NotRunning),
        Err(StoreError::Unavailable(_)) => Ok(PinSender::StoreAway),
        Err(error) => Err(anyhow::Error::from(error).into()),
    }
}

async fn judge(app: &App, attempt: SignInAttempt, person: Option<&Person>, pin: &str) -> Result<Verdict, PageError> {
    let is_pin = pin.len() == 6 && pin.bytes().all(|digit| digit.is_ascii_digit());
    let fits_any = match person {
        Some(person) => is_pin && may_use_any_pin(app, person).await?,
        None => false,
    };
    Ok(pins::check(app, attempt, person, pin, fits_any).await?)
}

/// Deletes expired PINs and tokens.
pub async fn delete_expired(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    unsent_pins::delete_expired(db, now).await?;
    tokens::delete_expired(db, now).await?;
    pins::delete_expired(db, now).await
}

/// Deletes a person's PINs, links and devices.
pub async fn forget(db: &Transaction<'_, '_>, person: &Person) -> Result<(), WriteError> {
    tokens::forget(db, person.id).await?;
    unsent_pins::forget(db, person).await
}

/// Both flags are needed, so that one forgotten row is not enough.
async fn may_use_any_pin(app: &App, person: &Person) -> Result<bool, PageError> {
    Ok(person.is_test && app.allows_test_users().await?)
}

/// Posts a PIN, or stores it for the leader, or until the store takes posts again. Its unique name keeps it from being
/// sent twice if only the store's answer was lost.
async fn deliver_pin(app: App, person: Person, pin: String, until: Millis) {
    let Ok(once) = secrets::token() else { return };
    let pin_message = message(&app, &person, &pin);
    let sent = match app.bot.post(&format!("pin:{once}"), person.telegram_id, pin_message).await {
        Err(HandleError::NotLeading | HandleError::Store(StoreError::Unavailable(_) | StoreError::Fenced { .. })) => {
            unsent_pins::store(&app, once, &person, pin, until).await.map_err(|error| error.to_string())
        }
        posted => posted.map_err(|error| error.to_string()),
    };
    if let Err(error) = sent {
        tracing::warn!(user = person.id, error, "a PIN could not be sent");
    }
}

/// The bot's message with a PIN. The store drops its body once it is sent or has failed.
fn message(app: &App, person: &Person, pin: &str) -> Say {
    Say::text(text!(person.language, "web-pin-message", pin = pin, url = app.public_url.as_str())).secret()
}

/// Opens a session after the right PIN.
async fn open_session(
    app: &App,
    visit: &Visit,
    headers: &HeaderMap,
    person: &Person,
    next: &str,
) -> Result<Response, PageError> {
    let new_session = NewSession::new(app, visit, headers, person).await?;
    let begin = new_session.clone();
    app.domain.write(move |db| Box::pin(begin.commit(db))).await?;
    Ok(new_session.answer(app, visit, person, next))
}

/// The page from the sixth wrong try until the lock ends.
fn locked_page(visit: &Visit, who: &str, next: &str, until: Millis, now: Millis) -> Response {
    let wait_s = until.since(now).as_secs().max(1);
    let notice = text!(visit.language(), "web-pin-locked", minutes = wait_s.div_ceil(60));
    let page: Markup = view::enter(visit, who, next, Some(&notice));
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, HeaderValue::from(wait_s))], page).into_response()
}

/// A path of our own pages; anything else becomes the front page. It goes into a header, so it contains only characters
/// that browsers leave unescaped.
fn own_path(next: &str) -> &str {
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_own = is_plain && next.starts_with('/') && !next.starts_with("//");
    if is_own { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn redirects_stay_on_this_site() {
        assert_eq!((own_path("/people?page=2"), own_path("/")), ("/people?page=2", "/"));
        for odd in ["", "//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "people"] {
            assert_eq!(own_path(odd), "/", "{odd}");
        }
    }

    #[test]
    fn paths_that_do_not_fit_a_header_are_refused() {
        for code in (0..=0x20_u8).chain([0x7f]) {
            let odd = format!("/people{}", char::from(code));
            assert_eq!(own_path(&odd), "/", "{odd:?}");
        }
        for odd in ["/\u{80}", "/люди", "/\u{202e}", "/people page"] {
            assert_eq!(own_path(odd), "/", "{odd:?}");
        }
        for good in ["/calendar?day=2026-01-31&view=week", "/people?q=%D0%90+b&page=2", "/shifts/1#photo"] {
            assert_eq!(own_path(good), good);
        }
    }
}
