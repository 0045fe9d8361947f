//! One page request: its visitor, language and session.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::Response;
use futures_util::future::try_join_all;

use super::cookies::{self, Cookie};
use super::frame::LIVE;
use super::page_error::{PageError, is_html};
use super::ui::Toast;
use super::{assets, csrf, file, secrets, sessions};
use crate::application::App;
use crate::config::{Networks, network_of};
use crate::person::{MANAGERS, OWNERS, Permission, Person};
use crate::rooms;
use crate::texts::Language;

/// A toast that no page has shown by then is forgotten.
const TOAST_TTL: Duration = Duration::from_secs(60);

/// A page request. Clones share it.
#[derive(Clone, Debug)]
pub struct Visit(Arc<VisitData>);

#[derive(Debug)]
struct VisitData {
    app: App,
    request_id: String,
    path: String,
    /// A GET request, not a form.
    is_page: bool,
    language: Language,
    network: IpAddr,
    cookie: String,
    csrf: String,
    sign_in: SignInState,
    /// Permissions that a manager has at any site.
    permitted: Vec<Permission>,
    /// Counts beside items of the navigation, by path.
    badges: Vec<(&'static str, u64)>,
    /// The toast that this page shows.
    toast: Option<Toast>,
    is_sidebar_collapsed: bool,
}

/// What a request's cookie stands for, and what the navigation needs.
struct Found {
    cookie: String,
    sign_in: SignInState,
    permitted: Vec<Permission>,
    badges: Vec<(&'static str, u64)>,
}

/// What the browser's cookie stands for.
#[derive(Clone, Debug)]
enum SignInState {
    /// No cookie yet.
    New,
    Guest,
    Member {
        person: Box<Person>,
        session: i64,
        is_extended: bool,
    },
}

impl Visit {
    /// Reads a request. If that fails, the error is shown to a guest.
    pub async fn begin(app: &App, request: &Parts) -> (Self, Result<(), PageError>) {
        let (headers, path) = (&request.headers, request.uri.path());
        let found = if path.starts_with(assets::FOLDER) {
            // The same for everybody, so no session is looked up.
            Ok(Found::guest())
        } else {
            load(app, headers, path).await
        };
        let (found, outcome) = match found {
            Ok(found) => (found, Ok(())),
            Err(error) => (Found::guest(), Err(error)),
        };
        let Found { cookie, sign_in, permitted, badges } = found;
        // A part that is reloaded shows no toast, so it must not use it up.
        let takes_toast = request.method == Method::GET && !headers.contains_key(LIVE);
        let sealed = takes_toast.then(|| Cookie::Toast.read(headers, is_https(app))).flatten();
        let language = match &sign_in {
            SignInState::Member { person, .. } => person.language,
            SignInState::New | SignInState::Guest => guests_language(headers).unwrap_or(app.language),
        };
        let path = request.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let visit = Self(Arc::new(VisitData {
            app: app.clone(),
            // Without randomness no cookie was made either, and that is an error already.
            request_id: secrets::short_id().unwrap_or_default(),
            path,
            is_page: request.method == Method::GET,
            language,
            network: network_of(address(request, &app.trusted_proxies)),
            csrf: csrf::masked_token(&cookie).unwrap_or_default(),
            toast: sealed.and_then(|sealed| Toast::open(&sealed, &cookie)),
            is_sidebar_collapsed: cookies::is_sidebar_collapsed(headers),
            cookie,
            sign_in,
            permitted,
            badges,
        }));
        (visit, outcome)
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// The id that finds the request in the log.
    pub fn request_id(&self) -> &str {
        &self.0.request_id
    }

    /// Path and query.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    pub fn language(&self) -> Language {
        self.0.language
    }

    /// The client's network, as limits count it.
    pub fn network(&self) -> IpAddr {
        self.0.network
    }

    /// The browser's secret cookie.
    pub fn cookie(&self) -> &str {
        &self.0.cookie
    }

    /// The CSRF token of its forms, under this page's mask.
    pub fn csrf(&self) -> &str {
        &self.0.csrf
    }

    /// The signed-in person and the session.
    pub fn member(&self) -> Option<(&Person, i64)> {
        match &self.0.sign_in {
            SignInState::Member { person, session, .. } => Some((person, *session)),
            SignInState::New | SignInState::Guest => None,
        }
    }

    pub fn person(&self) -> Option<&Person> {
        self.member().map(|(person, _)| person)
    }

    /// Whether the signed-in person has this permission at any site.
    pub fn may_somewhere(&self, what: Permission) -> bool {
        self.person().is_some_and(|person| person.may(OWNERS)) || self.0.permitted.contains(&what)
    }

    /// The count beside an item of the navigation.
    pub fn badge(&self, path: &str) -> u64 {
        self.0.badges.iter().filter(|(item, _)| *item == path).map(|(_, count)| count).sum()
    }

    /// The toast that this page shows.
    pub fn toast(&self) -> Option<&Toast> {
        self.0.toast.as_ref()
    }

    pub fn is_sidebar_collapsed(&self) -> bool {
        self.0.is_sidebar_collapsed
    }

    pub fn is_https(&self) -> bool {
        is_https(&self.0.app)
    }

    /// The sign-in page, with the way back here if this was a page.
    pub fn sign_in_path(&self) -> String {
        let path = self.path();
        if path == "/" || !self.0.is_page {
            return "/sign-in".to_owned();
        }
        let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
        format!("/sign-in?next={next}")
    }

    /// Sets the cookie that the browser lacks, unless the handler has set one.
    pub fn give_cookies(&self, headers: &mut HeaderMap) {
        if headers.contains_key(header::SET_COOKIE) {
            return;
        }
        let cookie = match &self.0.sign_in {
            SignInState::New => Cookie::Guest.set(self.cookie(), sessions::GUEST_COOKIE_TTL, self.is_https()),
            SignInState::Member { is_extended: true, .. } => {
                Cookie::Session.set(self.cookie(), sessions::IDLE_TTL, self.is_https())
            }
            SignInState::Guest | SignInState::Member { .. } => None,
        };
        headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    }

    /// Keeps a new toast for the next page, and deletes the one that this page has shown.
    pub fn pass_toast(&self, response: &mut Response) {
        let cookie = match response.extensions_mut().remove::<Toast>() {
            Some(toast) => Cookie::Toast.set(&toast.sealed(self.cookie()), TOAST_TTL, self.is_https()),
            None if self.0.toast.is_some() && is_html(response) => {
                Cookie::Toast.set("", Duration::ZERO, self.is_https())
            }
            None => None,
        };
        if let Some(cookie) = cookie {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}

impl Found {
    fn guest() -> Self {
        Self { cookie: String::new(), sign_in: SignInState::Guest, permitted: Vec::new(), badges: Vec::new() }
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, PageError> {
        let visit = parts.extensions.get::<Self>().cloned();
        visit.ok_or_else(|| anyhow::anyhow!("a page outside of the frame").into())
    }
}

/// The browser's cookie, what it stands for, and the permissions for the navigation. Media files show no navigation.
async fn load(app: &App, headers: &HeaderMap, path: &str) -> Result<Found, PageError> {
    let (cookie, sign_in) = identify(app, headers).await?;
    if file::is_media_path(path) || path == super::live::PATH {
        return Ok(Found { cookie, sign_in, ..Found::guest() });
    }
    let (permitted, badges) = tokio::try_join!(permitted(app, &sign_in), badges(app, &sign_in))?;
    Ok(Found { cookie, sign_in, permitted, badges })
}

/// The counts beside items of the navigation.
async fn badges(app: &App, sign_in: &SignInState) -> Result<Vec<(&'static str, u64)>, PageError> {
    let SignInState::Member { person, .. } = sign_in else { return Ok(Vec::new()) };
    let rooms: Vec<_> = app.rooms.iter().collect();
    let of_rooms = try_join_all(rooms.iter().map(|room| room.nav_badges(app, person))).await?;
    Ok(of_rooms.into_iter().flatten().collect())
}

/// The browser's cookie and what it stands for.
async fn identify(app: &App, headers: &HeaderMap) -> Result<(String, SignInState), PageError> {
    let is_https = is_https(app);
    if let Some(cookie) = Cookie::Session.read(headers, is_https)
        && let Some(found) = sessions::find(app, &cookie).await?
    {
        let sessions::SignedInSession { person, session, is_extended } = found;
        return Ok((cookie, SignInState::Member { person: Box::new(person), session, is_extended }));
    }
    Ok(match Cookie::Guest.read(headers, is_https) {
        Some(cookie) => (cookie, SignInState::Guest),
        None => (secrets::token()?, SignInState::New),
    })
}

/// The permissions of a manager; none for other roles.
async fn permitted(app: &App, sign_in: &SignInState) -> Result<Vec<Permission>, PageError> {
    match sign_in {
        SignInState::Member { person, .. } if person.may(MANAGERS) && !person.may(OWNERS) => {
            Ok(rooms::permissions().permitted_anywhere(app, person.id).await?)
        }
        _ => Ok(Vec::new()),
    }
}

fn is_https(app: &App) -> bool {
    app.public_url.starts_with("https://")
}

/// The first language of the browser that the product has.
fn guests_language(headers: &HeaderMap) -> Option<Language> {
    let wanted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    let codes = wanted.split(',').filter_map(|one| one.split([';', '-']).next());
    codes.map(str::trim).find_map(|code| code.parse().ok())
}

/// The client's address. Only trusted proxies may name another one by `X-Forwarded-For`. Behind several proxies it is
/// the first address from the end that is no trusted proxy.
fn address(request: &Parts, trusted: &Networks) -> IpAddr {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>();
    let mut nearest = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip());
    let lines: Vec<_> =
        request.headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    let mut named = lines.iter().rev().flat_map(|line| line.rsplit(',')).map(forwarded);
    while trusted.has(nearest)
        && let Some(Some(farther)) = named.next()
    {
        nearest = farther;
    }
    nearest.to_canonical()
}

/// Parses an address as proxies write it: `198.51.100.1`, `198.51.100.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
fn forwarded(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let address = text.parse().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    address.or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}
