//! The cabinet's pages and a running bot in this process, and a browser that keeps cookies and form tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use opora::bot::{Bot, SendLimits, Stop};
use opora::clock::Clock;
use opora::store::Store;
use opora::telegram::Telegram;
use opora::testing::clock_at_noon;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tower::ServiceExt;
use workforce::application::{self, App};
use workforce::people::{self, Grant};
use workforce::person::{Person, Role};
use workforce::rooms::Rooms;
use workforce::texts::Language;

use crate::kit::app_process::start_emulator;
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{NOON, StorageKind, TestStorage};

/// The lease is renewed after half of this time.
const SHORT_LEASE: Duration = Duration::from_secs(6);

pub struct Cabinet {
    pub app: App,
    /// The pages' clock, set by hand. The bot uses the machine's clock, except with [`Cabinet::on_port`].
    pub clock: Clock,
    pub router: Router,
    pub emulator: Arc<Demo>,
    stop: Stop,
    bot: JoinHandle<()>,
    // Dropped last.
    pub storage: TestStorage,
}

/// A browser without JavaScript, with its own cookies.
#[derive(Clone)]
pub struct Browser {
    router: Router,
    address: SocketAddr,
    cookies: Arc<Mutex<BTreeMap<String, String>>>,
    csrf: Arc<Mutex<String>>,
}

/// What a page answered.
#[derive(Debug)]
pub struct PageResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Cabinet {
    /// Anna is an owner, Boris an employee.
    pub async fn open(kind: StorageKind) -> Self {
        Self::with_rooms(kind, Rooms::all(), "http://office.example").await
    }

    pub async fn with_rooms(kind: StorageKind, rooms: Rooms, public_url: &str) -> Self {
        Self::with_settings(kind, rooms, &[("PUBLIC_URL", public_url)]).await
    }

    /// Serves the pages on a port, for real browsers. The bot uses the manual clock too. Returns the address as well.
    pub async fn on_port() -> (Self, String) {
        let (cabinet, base) = Self::new_business().await;
        cabinet.hire(BORIS, "Boris", Role::Employee).await;
        (cabinet, base)
    }

    /// Like [`Self::on_port`], for a business on its first day: Anna is an owner, and no one else is known.
    pub async fn new_business() -> (Self, String) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let cabinet =
            Self::launch(StorageKind::Sqlite, Rooms::all(), &[("PUBLIC_URL", &base)], true, |store| store).await;
        cabinet.hire(ANNA, "Anna", Role::Owner).await;
        let telegram = Telegram::new(&cabinet.emulator.token, &cabinet.emulator.base).unwrap();
        cabinet.app.learn_bot_name(&telegram).await.unwrap();
        let service = cabinet.router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(axum::serve(listener, service).into_future());
        (cabinet, base)
    }

    pub async fn with_settings(kind: StorageKind, rooms: Rooms, more: &[(&str, &str)]) -> Self {
        Self::start(kind, rooms, more, |store| store).await
    }

    /// Puts a layer between the bot and the application's store.
    pub async fn with_store_layer(layer: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        let more = [("PUBLIC_URL", "http://office.example")];
        Self::start(StorageKind::Sqlite, Rooms::all(), &more, layer).await
    }

    async fn start(
        kind: StorageKind,
        rooms: Rooms,
        more: &[(&str, &str)],
        layer: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let cabinet = Self::launch(kind, rooms, more, false, layer).await;
        cabinet.hire(ANNA, "Anna", Role::Owner).await;
        cabinet.hire(BORIS, "Boris", Role::Employee).await;
        cabinet
    }

    /// Starts bot and pages. No one is known yet.
    async fn launch(
        kind: StorageKind,
        rooms: Rooms,
        more: &[(&str, &str)],
        is_bot_clock_manual: bool,
        layer: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
        let config = storage.config(&[&[("BOT_TOKEN", emulator.token.as_str())], more].concat());
        let clock = clock_at_noon();
        let bot = Bot::new(&emulator.token).api_url(&emulator.base).send_limits(SendLimits::Off);
        let bot = if is_bot_clock_manual { with_manual_clock(bot, &clock) } else { bot };
        let emulator = Arc::new(emulator);
        let app = App::new(&config, storage.domain().await, rooms, bot.handle(), clock.clone());
        let bot = application::bot(&app, bot.store(layer(app.domain.store().clone())));
        let stop = Stop::new();
        let stopped = stop.clone();
        let bot = tokio::spawn(async move { bot.run_until(stopped).await.unwrap() });
        until("the bot runs", async || app.bot.is_running().then_some(())).await;
        let router = application::router(&app);
        Self { app, clock, router, emulator, stop, bot, storage }
    }

    pub async fn hire(&self, telegram_id: i64, name: &str, role: Role) -> Person {
        let grant = Grant { telegram_id, full_name: name.into(), role, language: Language::En, by: None };
        self.app.domain.write(move |db| Box::pin(people::grant(db, grant, NOON))).await.unwrap();
        self.person(telegram_id).await
    }

    pub async fn person(&self, telegram_id: i64) -> Person {
        self.app.people.by_telegram(telegram_id).await.unwrap().unwrap()
    }

    /// The application as a second instance on the same database. It has no bot.
    pub async fn second_instance(&self) -> App {
        let config = self.storage.config(&[("BOT_TOKEN", &self.emulator.token), ("PUBLIC_URL", &self.app.public_url)]);
        let domain = self.storage.domain().await;
        App::new(&config, domain, self.app.rooms.clone(), Bot::new(&self.emulator.token).handle(), self.clock.clone())
    }

    pub fn browser(&self) -> Browser {
        self.browser_at("192.0.2.1:50000")
    }

    pub fn browser_at(&self, address: &str) -> Browser {
        Browser::new(self.router.clone(), address)
    }

    /// Requests a PIN and reads it in the chat.
    pub async fn request_pin(&self, browser: &Browser, telegram_id: i64) -> String {
        let before = self.pins(telegram_id).await.len();
        browser.get("/sign-in").await;
        let sent = browser.post("/auth/send-pin", &[("who", &telegram_id.to_string())]).await;
        assert_eq!(sent.status, StatusCode::OK, "{}", sent.body);
        until("the PIN is in the chat", async || {
            let pins = self.pins(telegram_id).await;
            (pins.len() > before).then(|| pins.last().cloned()).flatten()
        })
        .await
    }

    /// Every PIN that the bot sent to this person.
    pub async fn pins(&self, telegram_id: i64) -> Vec<String> {
        sent_pins(&self.emulator, telegram_id).await
    }

    /// A browser in which this person is signed in.
    pub async fn signed_in(&self, telegram_id: i64) -> Browser {
        let browser = self.browser();
        let pin = self.request_pin(&browser, telegram_id).await;
        let signed = browser.log_in(telegram_id, &pin).await;
        assert_eq!(signed.status, StatusCode::SEE_OTHER, "{}", signed.body);
        browser.get("/me").await;
        browser
    }

    pub async fn close(self) {
        self.stop.stop();
        self.bot.await.unwrap();
        self.app.domain.close().await.unwrap();
        Arc::into_inner(self.emulator).expect("no other owner of the emulator").stop().await;
    }
}

/// A bot with the manual clock. Each advance makes its lease look expired, and it sends nothing until the lease is
/// renewed. So the lease is short.
fn with_manual_clock(bot: Bot, clock: &Clock) -> Bot {
    bot.clock(clock.clone()).settings(|settings| settings.lease.ttl = SHORT_LEASE)
}

/// Every PIN that the bot sent to this person, in English.
pub async fn sent_pins(emulator: &Demo, telegram_id: i64) -> Vec<String> {
    let texts = emulator.texts(telegram_id).await;
    let pins = texts.iter().filter_map(|text| text.strip_prefix("Your sign-in PIN: "));
    pins.map(|rest| rest.chars().take(6).collect()).collect()
}

impl Browser {
    /// A browser without cookies.
    pub fn new(router: Router, address: &str) -> Self {
        Self { router, address: address.parse().unwrap(), cookies: Arc::default(), csrf: Arc::default() }
    }

    pub async fn get(&self, path: &str) -> PageResponse {
        self.send(Method::GET, path, "", &[]).await
    }

    /// Sends a form with the CSRF token of the last page.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> PageResponse {
        let csrf = self.csrf.lock().clone();
        self.post_with(path, &[fields, &[("csrf", csrf.as_str())]].concat(), &[]).await
    }

    /// Sends exactly these fields and headers.
    pub async fn post_with(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> PageResponse {
        let pairs = fields.iter().map(|(name, value)| {
            let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
            format!("{name}={value}")
        });
        self.send(Method::POST, path, &pairs.collect::<Vec<_>>().join("&"), headers).await
    }

    pub async fn log_in(&self, telegram_id: i64, pin: &str) -> PageResponse {
        self.post("/auth/login", &[("who", &telegram_id.to_string()), ("pin", pin)]).await
    }

    /// Presses the button of the toast that the page after this redirect shows.
    pub async fn press_toast(&self, done: &PageResponse) -> PageResponse {
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.body);
        let page = self.get(done.header("location")).await;
        let (_, toast) = page.body.split_once("data-testid=\"toast\"").expect("a page with a toast");
        let (toast, _) = toast.split_once("data-testid=\"toast-action\"").expect("a toast with a button");
        let value = |text: &str| text.split('"').next().unwrap().replace("&quot;", "\"");
        let path = value(toast.split_once("action=\"").unwrap().1);
        let inputs = toast.split("<input").skip(1).filter_map(|input| {
            let (name, typed) = (input.split_once("name=\"")?.1, input.split_once("value=\"")?.1);
            Some((value(name), value(typed).replace("&amp;", "&")))
        });
        let fields: Vec<(String, String)> = inputs.filter(|(name, _)| name != "csrf").collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, typed)| (name.as_str(), typed.as_str())).collect();
        self.post(&path, &fields).await
    }

    /// The same browser, with another router.
    pub fn with_router(self, router: Router) -> Self {
        Self { router, ..self }
    }

    /// The same browser, with one more cookie.
    pub fn with_cookie(self, name: &str, value: &str) -> Self {
        self.cookies.lock().insert(name.to_owned(), value.to_owned());
        self
    }

    /// The CSRF token of the last page.
    pub fn csrf_token(&self) -> String {
        self.csrf.lock().clone()
    }

    /// The `Cookie` header that the browser sends.
    pub fn cookies(&self) -> String {
        let cookies = self.cookies.lock();
        cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    pub async fn send(&self, method: Method, path: &str, body: &str, headers: &[(&str, &str)]) -> PageResponse {
        let (status, headers, body) = self.fetch(method, path, body, headers).await;
        let body = String::from_utf8_lossy(&body).into_owned();
        if let Some((_, rest)) = body.split_once("name=\"csrf\" value=\"") {
            *self.csrf.lock() = rest.split('"').next().unwrap().to_owned();
        }
        PageResponse { status, headers, body }
    }

    /// The bytes of a response, as they are sent.
    pub async fn fetch(
        &self,
        method: Method,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> (StatusCode, HeaderMap, Bytes) {
        let mut request = Request::builder().method(method).uri(path).header(header::COOKIE, self.cookies());
        request = request.header(header::ACCEPT_LANGUAGE, "en");
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::from(body.to_owned())).unwrap();
        request.extensions_mut().insert(ConnectInfo(self.address));
        let response = self.router.clone().oneshot(request).await.unwrap();
        self.keep_cookies(response.headers());
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, to_bytes(body, 1 << 20).await.unwrap())
    }

    /// How many bytes a browser that was never here receives for a page with its style sheet, scripts and icons.
    pub async fn first_load_bytes(&self, path: &str) -> usize {
        let page = self.get(path).await;
        let linked = page.body.split('"').filter(|value| value.starts_with("/assets/"));
        let mut total = 0;
        for path in linked.chain([path]).collect::<BTreeSet<_>>() {
            let (status, headers, body) = self.fetch(Method::GET, path, "", &[("accept-encoding", "gzip")]).await;
            assert!(status.is_success(), "{path}: {status}");
            total +=
                body.len() + headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>();
        }
        total
    }

    fn keep_cookies(&self, headers: &HeaderMap) {
        for line in headers.get_all(header::SET_COOKIE) {
            let (name, rest) = line.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if rest.contains("Max-Age=0") {
                self.cookies.lock().remove(name);
            } else {
                self.cookies.lock().insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

impl PageResponse {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub fn is(&self, status: u16, words: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert!(self.body.contains(words), "no {words:?} in {}", self.body);
        self
    }

    /// Whether the next page shows a toast.
    pub fn has_toast(&self) -> bool {
        let cookies = self.headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies.into_iter().any(|cookie| cookie.starts_with("opora_toast="))
    }

    /// Asserts a redirect to this path.
    #[track_caller]
    pub fn redirects_to(&self, place: &str) {
        assert_eq!((self.status.as_u16(), self.header("location")), (303, place), "{}", self.body);
    }
}
