//! One request as the frame sees it: from whom, in which language, and signed in or not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

use super::cookies::Cookie;
use super::oops::Oops;
use super::{assets, csrf, file, secrets, sessions};
use crate::application::App;
use crate::config::{Networks, network_of};
use crate::person::{MANAGERS, OWNERS, Permission, Person};
use crate::rooms;
use crate::texts::Language;

/// A request under way. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Visit(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    app: App,
    number: String,
    path: String,
    /// Something to see, and not a form that was sent.
    is_page: bool,
    language: Language,
    network: IpAddr,
    cookie: String,
    csrf: String,
    standing: Standing,
    /// What a manager was permitted, wherever it was.
    permitted: Vec<Permission>,
}

/// What the browser's cookie stands for.
#[derive(Clone, Debug)]
enum Standing {
    /// It has none yet.
    New,
    Guest,
    Member {
        person: Box<Person>,
        session: i64,
        is_extended: bool,
    },
}

impl Visit {
    /// Looks at a request. What goes wrong in doing so is told to a guest.
    pub async fn begin(app: &App, request: &Parts) -> (Self, Result<(), Oops>) {
        let (headers, path) = (&request.headers, request.uri.path());
        let found = if path.starts_with(assets::FOLDER) {
            // Anybody's, and the same for everybody: nobody is looked up for them.
            Ok((String::new(), Standing::Guest, Vec::new()))
        } else {
            found(app, headers, path).await
        };
        let (found, went) = match found {
            Ok(found) => (found, Ok(())),
            Err(oops) => ((String::new(), Standing::Guest, Vec::new()), Err(oops)),
        };
        let (cookie, standing, permitted) = found;
        let language = match &standing {
            Standing::Member { person, .. } => person.language,
            Standing::New | Standing::Guest => guests_language(headers).unwrap_or(app.language),
        };
        let path = request.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let visit = Self(Arc::new(Inside {
            app: app.clone(),
            // Without randomness no cookie was made either, and that is told.
            number: secrets::short().unwrap_or_default(),
            path,
            is_page: request.method == Method::GET,
            language,
            network: network_of(address(request, &app.trusted_proxies)),
            csrf: csrf::token(&cookie),
            cookie,
            standing,
            permitted,
        }));
        (visit, went)
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// By which the request is found in the log.
    pub fn number(&self) -> &str {
        &self.0.number
    }

    /// What was asked for, with its question.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    pub fn language(&self) -> Language {
        self.0.language
    }

    /// The network that asks, as limits count it.
    pub fn network(&self) -> IpAddr {
        self.0.network
    }

    /// The browser's own secret.
    pub fn cookie(&self) -> &str {
        &self.0.cookie
    }

    /// The token of all its forms.
    pub fn csrf(&self) -> &str {
        &self.0.csrf
    }

    /// Who is signed in, and by which session.
    pub fn member(&self) -> Option<(&Person, i64)> {
        match &self.0.standing {
            Standing::Member { person, session, .. } => Some((person, *session)),
            Standing::New | Standing::Guest => None,
        }
    }

    pub fn person(&self) -> Option<&Person> {
        self.member().map(|(person, _)| person)
    }

    /// Whether there is anything that whoever is signed in may do so.
    pub fn may_somewhere(&self, what: Permission) -> bool {
        self.person().is_some_and(|person| person.may(OWNERS)) || self.0.permitted.contains(&what)
    }

    pub fn is_https(&self) -> bool {
        is_https(&self.0.app)
    }

    /// The way to the sign-in, and back here if this was a page.
    pub fn sign_in_path(&self) -> String {
        let path = self.path();
        if path == "/" || !self.0.is_page {
            return "/sign-in".to_owned();
        }
        let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
        format!("/sign-in?next={next}")
    }

    /// Gives the browser what it lacks, unless the handler has given it something already.
    pub fn give_cookies(&self, headers: &mut HeaderMap) {
        if headers.contains_key(header::SET_COOKIE) {
            return;
        }
        let cookie = match &self.0.standing {
            Standing::New => Cookie::Guest.set(self.cookie(), sessions::GUEST, self.is_https()),
            Standing::Member { is_extended: true, .. } => {
                Cookie::Session.set(self.cookie(), sessions::LIFE, self.is_https())
            }
            Standing::Guest | Standing::Member { .. } => None,
        };
        headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Oops> {
        let visit = parts.extensions.get::<Self>().cloned();
        visit.ok_or_else(|| anyhow::anyhow!("a page outside of the frame").into())
    }
}

/// The browser's cookie, what it stands for, and what its person may do as far as the navigation asks: within pictures and
/// films there is none.
async fn found(app: &App, headers: &HeaderMap, path: &str) -> Result<(String, Standing, Vec<Permission>), Oops> {
    let (cookie, standing) = standing(app, headers).await?;
    let permitted = if file::is_path(path) { Vec::new() } else { permitted(app, &standing).await? };
    Ok((cookie, standing, permitted))
}

/// The browser's cookie and what it stands for.
async fn standing(app: &App, headers: &HeaderMap) -> Result<(String, Standing), Oops> {
    let is_https = is_https(app);
    if let Some(cookie) = Cookie::Session.read(headers, is_https)
        && let Some(found) = sessions::find(app, &cookie).await?
    {
        let sessions::Found { person, session, is_extended } = found;
        return Ok((cookie, Standing::Member { person: Box::new(person), session, is_extended }));
    }
    Ok(match Cookie::Guest.read(headers, is_https) {
        Some(cookie) => (cookie, Standing::Guest),
        None => (secrets::token()?, Standing::New),
    })
}

/// What a manager may do; of others their role says it.
async fn permitted(app: &App, standing: &Standing) -> Result<Vec<Permission>, Oops> {
    match standing {
        Standing::Member { person, .. } if person.may(MANAGERS) && !person.may(OWNERS) => {
            Ok(rooms::permissions().permitted_anywhere(app, person.id).await?)
        }
        _ => Ok(Vec::new()),
    }
}

fn is_https(app: &App) -> bool {
    app.public_url.starts_with("https://")
}

/// The first language of the browser's that is spoken here.
fn guests_language(headers: &HeaderMap) -> Option<Language> {
    let wanted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    let codes = wanted.split(',').filter_map(|one| one.split([';', '-']).next());
    codes.map(str::trim).find_map(|code| code.parse().ok())
}

/// From where somebody asks. A trusted proxy says for whom; of what others say nothing is believed. Where one proxy stands
/// behind another, it is the first address from the end that is none of theirs.
fn address(request: &Parts, trusted: &Networks) -> IpAddr {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>();
    let mut nearest = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip());
    let lines: Vec<_> =
        request.headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    let mut said = lines.iter().rev().flat_map(|line| line.rsplit(',')).map(forwarded);
    while trusted.has(nearest)
        && let Some(Some(farther)) = said.next()
    {
        nearest = farther;
    }
    nearest.to_canonical()
}

/// An address as proxies write it: `198.51.100.1`, `198.51.100.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
fn forwarded(said: &str) -> Option<IpAddr> {
    let said = said.trim().trim_matches('"');
    let address = said.parse().ok().or_else(|| Some(said.parse::<SocketAddr>().ok()?.ip()));
    address.or_else(|| said.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}
