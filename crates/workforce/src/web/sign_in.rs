//! Signing in by PIN: who you are, six digits from the bot, and a session.
//!
//! Nothing that is answered tells whether there is such a person: a name that nobody has gets the same words, limits
//! and locks, because these go by what was typed and never by who was found. PINs are in no log, and neither are the
//! names that people type.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use opora::bot::NotRunning;
use opora::clock::Millis;
use opora::store::{StoreError, WriteError};
use opora::telegram::Say;
use serde::Deserialize;

use self::opening::Opening;
use self::pins::{Asked, Asker, Pin, Verdict};
use super::cookies::Cookie;
use super::oops::Oops;
use super::visit::Visit;
use super::{Event, Visitor, secrets, sessions};
use crate::application::App;
use crate::domain::Writing;
use crate::person::{Person, Who};
use crate::web::SignedIn;
use crate::{key, text};

pub use self::limits::forget_idle;
pub use self::links::{log_in as log_in_by_link, offer as offer_link, show as show_link};
pub use self::unsent::run as send_left_pins;

pub mod devices;
mod limits;
mod links;
mod opening;
mod pins;
mod tokens;
mod unsent;
mod view;

/// Where somebody wanted to go.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wish {
    next: String,
}

/// The form that asks for a PIN.
#[derive(Debug, Deserialize)]
pub struct Asking {
    who: String,
    #[serde(default)]
    next: String,
}

/// The form that brings one.
#[derive(Deserialize)]
pub struct Signing {
    who: String,
    pin: String,
    #[serde(default)]
    next: String,
}

/// Whether somebody sends PINs.
enum Sender {
    /// The bot runs, here or elsewhere.
    Ready,
    /// It runs nowhere.
    Nobody,
    /// It may run, but what it keeps its messages in takes none: Redis is away.
    Away,
}

/// `GET /sign-in`.
pub async fn show(visit: Visit, Query(wish): Query<Wish>) -> Response {
    if visit.person().is_some() {
        return Redirect::to(place(&wish.next)).into_response();
    }
    view::ask(&visit, &wish.next, None).into_response()
}

/// `POST /auth/send-pin`.
pub async fn send_pin(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(form): Form<Asking>,
) -> Result<Response, Oops> {
    let now = app.clock.now();
    let notice = |key| Some(visit.language().text(key));
    let Some(who) = Who::parse(&form.who) else {
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
    let asker = asker(&app, &visit, &headers, &who, person.as_ref()).await?;
    match sender(&app).await? {
        Sender::Ready => {}
        Sender::Nobody => return Err(Oops::Unavailable),
        Sender::Away => {
            let page = view::ask(&visit, &form.next, notice(key!("web-pin-unavailable")).as_deref());
            return Ok((StatusCode::SERVICE_UNAVAILABLE, page).into_response());
        }
    }
    let pin = secrets::pin()?;
    let kept = Pin::new(&asker, person.as_ref(), &pin, now);
    match pins::ask(&app, asker, kept, now).await? {
        Asked::Kept => {}
        Asked::Locked(until) => return Ok(locked(&visit, &form.who, &form.next, until, now)),
        Asked::TooMany { wait_ms } => return held_back(&visit, too_many(wait_ms)),
    }
    if let Some(person) = person
        && !may_use_any_pin(&app, &person).await?
    {
        // Beside the answer, which would otherwise take longer for those who exist.
        tokio::spawn(tell_pin(app, person, pin, now.plus(pins::LIFE)));
    }
    Ok(view::enter(&visit, &form.who, &form.next, None).into_response())
}

/// `POST /auth/login`.
pub async fn log_in(
    State(app): State<App>,
    visit: Visit,
    headers: HeaderMap,
    Form(form): Form<Signing>,
) -> Result<Response, Oops> {
    let (language, now) = (visit.language(), app.clock.now());
    let who = Who::parse(&form.who).ok_or(Oops::BadRequest)?;
    // Answered before anybody is looked up: so the time that it takes does not tell whether there is such a person.
    if !app.allows_test_users().await? && !pins::is_asked_for(&app, &who.name(), visit.cookie()).await? {
        return Ok(wrong(&visit, &form, &text!(language, "web-pin-wrong")));
    }
    let person = app.people.verified(&who).await?;
    let asker = asker(&app, &visit, &headers, &who, person.as_ref()).await?;
    let pin: String = form.pin.chars().filter(|c| !c.is_whitespace()).collect();
    let notice = match (judge(&app, asker, person.as_ref(), &pin).await?, person) {
        (Verdict::Right, Some(person)) => return open(&app, &visit, &headers, &person, &form.next).await,
        (Verdict::Locked(until), _) => return Ok(locked(&visit, &form.who, &form.next, until, now)),
        (Verdict::TooMany { wait_ms }, _) => return held_back(&visit, too_many(wait_ms)),
        (Verdict::Expired, _) => text!(language, "web-pin-expired"),
        (Verdict::Wrong | Verdict::Right, _) => text!(language, "web-pin-wrong"),
    };
    Ok(wrong(&visit, &form, &notice))
}

/// A PIN that opens nothing, and why.
fn wrong(visit: &Visit, form: &Signing, notice: &str) -> Response {
    let page = view::enter(visit, &form.who, &form.next, Some(notice));
    (StatusCode::UNAUTHORIZED, page).into_response()
}

/// `POST /auth/logout`.
pub async fn log_out(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, Oops> {
    let Visitor { person, session, visit } = visitor;
    app.domain.write(move |db| Box::pin(sessions::end(db, person.id, session))).await?;
    app.events.publish(Event::to_person("me", person.id));
    let gone = Cookie::Session.set("", std::time::Duration::ZERO, visit.is_https());
    Ok((gone.map(|gone| [(header::SET_COOKIE, gone)]), Redirect::to("/sign-in")).into_response())
}

/// Who asks in which name. Limits and locks go by that alone, so that they are the same for a person and for a name that
/// is not known here. A device that the person has used before is the one exception.
async fn asker(
    app: &App,
    visit: &Visit,
    headers: &HeaderMap,
    who: &Who,
    person: Option<&Person>,
) -> Result<Asker, Oops> {
    let device = match person {
        Some(person) => devices::known(app, visit, headers, person.id).await?,
        None => None,
    };
    Ok(Asker { name: who.name(), address: visit.network().to_string(), cookie: visit.cookie().to_owned(), device })
}

fn too_many(wait_ms: u64) -> Oops {
    Oops::TooMany { retry_after_s: wait_ms.div_ceil(1000) }
}

/// Says how long to wait, and that the bot's link works meanwhile.
fn held_back(visit: &Visit, oops: Oops) -> Result<Response, Oops> {
    let Oops::TooMany { retry_after_s } = oops else { return Err(oops) };
    let notice = text!(visit.language(), "web-sign-in-too-many", minutes = retry_after_s.div_ceil(60));
    let page = view::ask(visit, "", Some(&notice));
    let wait = [(header::RETRY_AFTER, HeaderValue::from(retry_after_s))];
    Ok((StatusCode::TOO_MANY_REQUESTS, wait, page).into_response())
}

/// Who sends a PIN, here or elsewhere. A PIN that cannot be sent is not asked for: nobody is left waiting for one.
async fn sender(app: &App) -> Result<Sender, Oops> {
    match app.bot.takes_posts().await {
        Ok(()) => return Ok(Sender::Ready),
        Err(NotRunning::NotLeading | NotRunning::Store(StoreError::Fenced { .. })) => {}
        Err(error) => {
            tracing::debug!(%error, "no PINs are sent now");
            return Ok(Sender::Away);
        }
    }
    match app.domain.store().lease(app.bot_id).await {
        Ok(Some(_)) => Ok(Sender::Ready),
        Ok(None) => Ok(Sender::Nobody),
        Err(StoreError::Unavailable(_)) => Ok(Sender::Away),
        Err(error) => Err(anyhow::Error::from(error).into()),
    }
}

async fn judge(app: &App, asker: Asker, person: Option<&Person>, pin: &str) -> Result<Verdict, Oops> {
    let is_pin = pin.len() == 6 && pin.bytes().all(|digit| digit.is_ascii_digit());
    let fits_any = match person {
        Some(person) => is_pin && may_use_any_pin(app, person).await?,
        None => false,
    };
    Ok(pins::check(app, asker, person, pin, fits_any).await?)
}

/// Removes PINs that are over, sent or not.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    unsent::forget_expired(db, now).await?;
    tokens::forget_expired(db, now).await?;
    pins::forget_expired(db, now).await
}

/// Removes what is kept of a person's ways in: PINs, links and devices.
pub async fn forget(db: &Writing<'_, '_>, person: &Person) -> Result<(), WriteError> {
    tokens::forget(db, person.id).await?;
    unsent::forget(db, person).await
}

/// Both flags are needed, so that one forgotten row opens nothing.
async fn may_use_any_pin(app: &App, person: &Person) -> Result<bool, Oops> {
    Ok(person.is_test && app.allows_test_users().await?)
}

/// Sends a PIN, or leaves it for the instance that leads, or for when the store takes posts again. If only the answer of
/// the store was lost, its name keeps it from being sent twice.
async fn tell_pin(app: App, person: Person, pin: String, until: Millis) {
    let Ok(once) = secrets::token() else { return };
    let words = message(&app, &person, &pin);
    let told = match app.bot.post(&format!("pin:{once}"), person.telegram_id, words).await {
        Err(NotRunning::NotLeading | NotRunning::Store(StoreError::Unavailable(_) | StoreError::Fenced { .. })) => {
            unsent::leave(&app, once, &person, pin, until).await.map_err(|error| error.to_string())
        }
        posted => posted.map_err(|error| error.to_string()),
    };
    if let Err(error) = told {
        tracing::warn!(user = person.id, error, "a PIN could not be sent");
    }
}

/// What the bot says with a PIN. The store does not keep it once it is sent or has failed.
fn message(app: &App, person: &Person, pin: &str) -> Say {
    Say::text(text!(person.language, "web-pin-message", pin = pin, url = app.public_url.as_str())).secret()
}

/// Opens a session for the person whose PIN was right.
async fn open(app: &App, visit: &Visit, headers: &HeaderMap, person: &Person, next: &str) -> Result<Response, Oops> {
    let opening = Opening::new(app, visit, headers, person).await?;
    let begin = opening.clone();
    app.domain.write(move |db| Box::pin(begin.commit(db))).await?;
    Ok(opening.answer(app, visit, person, next))
}

/// The sixth wrong try, and everything until the lock is over.
fn locked(visit: &Visit, who: &str, next: &str, until: Millis, now: Millis) -> Response {
    let wait_s = until.since(now).as_secs().max(1);
    let notice = text!(visit.language(), "web-pin-locked", minutes = wait_s.div_ceil(60));
    let page: Markup = view::enter(visit, who, next, Some(&notice));
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, HeaderValue::from(wait_s))], page).into_response()
}

/// A place of our own pages; anything else leads to the front page. What is led to goes into a header, so it has nothing
/// that a browser would not write into an address itself.
fn place(next: &str) -> &str {
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_own = is_plain && next.starts_with('/') && !next.starts_with("//");
    if is_own { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn nobody_is_led_to_another_site() {
        assert_eq!((place("/people?page=2"), place("/")), ("/people?page=2", "/"));
        for odd in ["", "//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "people"] {
            assert_eq!(place(odd), "/", "{odd}");
        }
    }

    #[test]
    fn what_is_no_header_is_no_place() {
        for code in (0..=0x20_u8).chain([0x7f]) {
            let odd = format!("/people{}", char::from(code));
            assert_eq!(place(&odd), "/", "{odd:?}");
        }
        for odd in ["/\u{80}", "/люди", "/\u{202e}", "/people page"] {
            assert_eq!(place(odd), "/", "{odd:?}");
        }
        for good in ["/calendar?day=2026-01-31&view=week", "/people?q=%D0%90+b&page=2", "/shifts/1#photo"] {
            assert_eq!(place(good), good);
        }
    }
}
