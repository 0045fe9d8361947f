//! The server of the pages over real sockets: clients that are silent, slow or too many, and those who are none of it. And
//! forms that are too long.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::Method;
use axum::routing::{get, post};
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, interval, timeout};
use tokio_tungstenite::client_async;
use workforce::config::Networks;
use workforce::server::{Limits, Server, Timeouts};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, PATIENCE, until};
use crate::kit::firm::Kind;

const SHORT: Duration = Duration::from_millis(300);
/// No test waits for these.
const LONG: Duration = Duration::from_secs(600);
const PATIENT: Timeouts =
    Timeouts { head: LONG, keep_alive: LONG, body_idle: LONG, body_total: LONG, write: LONG, socket: LONG };
/// Of what `/endless` sends.
const PIECE_BYTES: usize = 64 * 1024;
const HELLO: &[u8] = b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n";
const UPLOAD: &[u8] = b"POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n";

/// A server with a few routes.
struct Office {
    server: Server,
    address: SocketAddr,
    /// Who else holds it: the bodies of `/endless` that are being sent.
    sending: Arc<()>,
    /// How many calls of `/slow` have begun.
    slow_calls: Arc<AtomicUsize>,
    /// How many pieces of `/endless` were made.
    pieces: Arc<AtomicUsize>,
}

impl Office {
    async fn open(limits: Limits, timeouts: Timeouts) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let address = (Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port()).into();
        let sending = Arc::new(());
        let slow_calls = Arc::new(AtomicUsize::new(0));
        let pieces = Arc::new(AtomicUsize::new(0));
        let held = Arc::clone(&sending);
        let begun = Arc::clone(&slow_calls);
        let made = Arc::clone(&pieces);
        let router = Router::new()
            .route("/hello", get(async || "hello"))
            .route("/upload", post(async |body: Bytes| body.len().to_string()))
            .route("/slow", get(async move || slow(begun).await))
            .route("/socket", get(async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(ping)))
            .route("/endless", get(async move || endless(held, made)));
        Self { server: Server::start(listener, router, limits, timeouts), address, sending, slow_calls, pieces }
    }

    async fn with(timeouts: Timeouts) -> Self {
        Self::open(Limits::local(100), timeouts).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// From an address of this machine.
    async fn connect_from(&self, last: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream
    }

    async fn nothing_is_sent(&self) {
        until("the answer is given up", async || (Arc::strong_count(&self.sending) == 2).then_some(())).await;
    }
}

async fn slow(begun: Arc<AtomicUsize>) -> &'static str {
    begun.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(SHORT * 2).await;
    "at last"
}

/// Pings and reads until the client is gone.
async fn ping(mut socket: WebSocket) {
    let mut pulse = interval(SHORT / 3);
    loop {
        tokio::select! {
            _ = pulse.tick() => if socket.send(Message::Ping(Bytes::new())).await.is_err() { return },
            said = socket.recv() => if !matches!(said, Some(Ok(_))) { return },
        }
    }
}

fn endless(held: Arc<()>, made: Arc<AtomicUsize>) -> Body {
    let piece = Bytes::from(vec![b'x'; PIECE_BYTES]);
    Body::from_stream(stream::repeat_with(move || {
        let _held = &held;
        made.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(piece.clone())
    }))
}

/// Everything until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that was cut may end with a reset.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the server does not close the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One answer whose body ends so.
async fn answer(stream: &mut TcpStream, end: &str) {
    let mut bytes = Vec::new();
    let reading = async {
        while !bytes.ends_with(end.as_bytes()) {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the connection was closed");
        }
    };
    timeout(PATIENCE, reading).await.expect("no answer");
}

async fn is_open(stream: &mut TcpStream) -> bool {
    timeout(SHORT, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let office = Office::with(Timeouts { head: SHORT, ..PATIENT }).await;
    assert_eq!(rest(&mut office.connect().await).await, "");
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_cut() {
    let office = Office::with(Timeouts { head: SHORT, ..PATIENT }).await;
    let (mut reading, mut writing) = office.connect().await.into_split();
    let drip = tokio::spawn(async move {
        let mut pace = interval(SHORT / 10);
        while writing.write_all(b"x").await.is_ok() {
            pace.tick().await;
        }
    });
    let began = Instant::now();
    let mut bytes = Vec::new();
    let _ = timeout(PATIENCE, reading.read_to_end(&mut bytes)).await.expect("it is not cut");
    assert!(bytes.is_empty() && began.elapsed() < SHORT * 50, "each byte gave it more time");
    drop(reading);
    drip.abort();
}

#[tokio::test]
async fn an_idle_connection_serves_again_and_is_closed_later() {
    let office = Office::with(Timeouts { keep_alive: SHORT * 3, head: SHORT, ..PATIENT }).await;
    let mut stream = office.connect().await;
    for _ in 0..3 {
        stream.write_all(HELLO).await.unwrap();
        answer(&mut stream, "hello").await;
    }
    assert!(is_open(&mut stream).await, "it is idle for a shorter time than it may");
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_body_that_stops_coming_is_refused() {
    let office = Office::with(Timeouts { body_idle: SHORT, ..PATIENT }).await;
    let mut stream = office.send(UPLOAD).await;
    stream.write_all(b"a beginning").await.unwrap();
    let told = rest(&mut stream).await;
    assert!(told.starts_with("HTTP/1.1 400"), "{told}");
}

#[tokio::test]
async fn a_body_that_trickles_is_refused_as_well() {
    let office = Office::with(Timeouts { body_idle: LONG, body_total: SHORT * 2, ..PATIENT }).await;
    let (mut reading, mut writing) = office.send(UPLOAD).await.into_split();
    let drip = tokio::spawn(async move {
        let mut pace = interval(SHORT / 10);
        while writing.write_all(b"x").await.is_ok() {
            pace.tick().await;
        }
    });
    let mut head = [0; 12];
    timeout(PATIENCE, reading.read_exact(&mut head)).await.expect("it is never refused").unwrap();
    assert_eq!(&head, b"HTTP/1.1 400");
    drop(reading);
    drip.abort();
}

#[tokio::test]
async fn a_body_that_comes_in_time_is_read_whole() {
    let office = Office::with(Timeouts { body_idle: SHORT, ..PATIENT }).await;
    let mut stream = office.send(UPLOAD).await;
    let mut pace = interval(SHORT / 3);
    for _ in 0..5 {
        pace.tick().await;
        stream.write_all(&[b'x'; 20_000]).await.unwrap();
    }
    answer(&mut stream, "100000").await;
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up() {
    let office = Office::with(Timeouts { write: SHORT, ..PATIENT }).await;
    let stream = office.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    stream.readable().await.unwrap();
    assert_eq!(Arc::strong_count(&office.sending), 3);
    office.nothing_is_sent().await;
}

#[tokio::test]
async fn an_unread_answer_holds_little_memory_of_the_system() {
    let office = Office::with(Timeouts { write: SHORT, ..PATIENT }).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut stream = socket.connect(office.address).await.unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    stream.readable().await.unwrap();
    office.nothing_is_sent().await;
    let taken = office.pieces.load(Ordering::Relaxed) * PIECE_BYTES;
    assert!(taken < 1 << 20, "{taken} bytes were taken from the answer for a client that reads nothing");
}

#[tokio::test]
async fn an_answer_that_is_read_slowly_goes_on() {
    let office = Office::with(Timeouts { write: SHORT, ..PATIENT }).await;
    let mut stream = office.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut pace = interval(SHORT / 3);
    let mut bytes = vec![0; 8 << 20];
    for _ in 0..9 {
        pace.tick().await;
        stream.read_exact(&mut bytes).await.unwrap();
    }
}

#[tokio::test]
async fn a_flood_of_connections_is_accepted_little_by_little() {
    let office = Office::open(Limits::local(400), PATIENT).await;
    let began = Instant::now();
    let mut held = Vec::new();
    for _ in 0..320 {
        held.push(office.send(HELLO).await);
    }
    answer(held.last_mut().unwrap(), "hello").await;
    assert!(began.elapsed() >= Duration::from_millis(90), "the bot gets no processor in such a flood");
}

#[tokio::test]
async fn one_address_has_only_its_share() {
    let limits = Limits { total: 100, per_address: 3, proxies: Networks::default() };
    let office = Office::open(limits, PATIENT).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = office.connect_from(2).await;
        stream.write_all(HELLO).await.unwrap();
        answer(&mut stream, "hello").await;
        held.push(stream);
    }
    assert_eq!(rest(&mut office.connect_from(2).await).await, "", "a fourth one is closed at once");
    let mut other = office.connect_from(3).await;
    other.write_all(HELLO).await.unwrap();
    answer(&mut other, "hello").await;
    drop(held.pop());
    until("a place is free again", async || {
        let mut stream = office.connect_from(2).await;
        stream.write_all(HELLO).await.ok()?;
        timeout(PATIENCE, stream.read_u8()).await.unwrap().ok()
    })
    .await;
}

#[tokio::test]
async fn a_proxy_may_ask_for_many() {
    let limits = Limits { total: 100, per_address: 3, proxies: "127.0.0.9".parse().unwrap() };
    let office = Office::open(limits, PATIENT).await;
    let mut held = Vec::new();
    for _ in 0..9 {
        let mut stream = office.connect_from(9).await;
        stream.write_all(HELLO).await.unwrap();
        answer(&mut stream, "hello").await;
        held.push(stream);
    }
}

#[tokio::test]
async fn a_full_server_lets_go_of_those_who_say_nothing() {
    let limits = Limits { total: 8, per_address: 8, proxies: Networks::default() };
    let office = Office::open(limits, PATIENT).await;
    let mut silent = Vec::new();
    for number in 0..8 {
        silent.push(office.connect_from(10 + number).await);
    }
    for _ in 0..3 {
        let mut stream = office.send(HELLO).await;
        answer(&mut stream, "hello").await;
    }
    assert_eq!(rest(&mut silent[0]).await, "", "it has waited longest");
    assert!(is_open(&mut silent[7]).await);
}

#[tokio::test]
async fn a_body_that_never_comes_gives_its_place_up() {
    let limits = Limits { total: 4, per_address: 4, proxies: Networks::default() };
    let office = Office::open(limits, PATIENT).await;
    let mut stuck = Vec::new();
    for _ in 0..4 {
        stuck.push(office.send(UPLOAD).await);
    }
    let mut stream = office.connect_from(2).await;
    stream.write_all(HELLO).await.unwrap();
    answer(&mut stream, "hello").await;
}

#[tokio::test]
async fn a_socket_lives_while_its_client_answers() {
    let timeouts = Timeouts { head: SHORT, keep_alive: SHORT, socket: SHORT, write: SHORT, ..PATIENT };
    let office = Office::with(timeouts).await;
    let url = format!("ws://{}/socket", office.address);
    let (mut lively, _) = client_async(&url, office.connect().await).await.unwrap();
    let (silent, _) = client_async(&url, office.connect().await).await.unwrap();
    // Pings are answered while somebody reads.
    for _ in 0..15 {
        assert!(timeout(PATIENCE, lively.next()).await.unwrap().unwrap().unwrap().is_ping());
    }
    let mut silent = silent.into_inner();
    rest(&mut silent).await;
}

#[tokio::test]
async fn a_stop_finishes_calls_and_waits_for_no_one_else() {
    let office = Office::with(PATIENT).await;
    let url = format!("ws://{}/socket", office.address);
    let (_socket, _) = client_async(&url, office.connect().await).await.unwrap();
    let _silent = office.connect().await;
    let mut idle = office.send(HELLO).await;
    answer(&mut idle, "hello").await;
    let _unread = office.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut half = office.send(&UPLOAD[..20]).await;
    let mut called = office.send(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
    until("the call is under way", async || (office.slow_calls.load(Ordering::Relaxed) == 1).then_some(())).await;
    let Office { server, address, .. } = office;
    let began = Instant::now();
    server.close(SHORT * 5).await;
    assert!(began.elapsed() < SHORT * 50, "{:?}", began.elapsed());
    answer(&mut called, "at last").await;
    assert_eq!((rest(&mut idle).await, rest(&mut half).await), (String::new(), String::new()));
    assert!(TcpStream::connect(address).await.is_err(), "it still listens");
}

#[tokio::test]
async fn a_stop_is_quick_where_nothing_is_under_way() {
    let office = Office::with(PATIENT).await;
    let _silent = office.connect().await;
    let mut idle = office.send(HELLO).await;
    answer(&mut idle, "hello").await;
    timeout(PATIENCE, office.server.close(LONG)).await.expect("it waits for those who say nothing");
}

#[tokio::test]
async fn a_long_form_is_refused_whatever_vouches_for_it() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let guest = cabinet.browser();
    guest.get("/sign-in").await;
    for (browser, path, longest) in [(&owner, "/me/language", 64 * 1024), (&guest, "/auth/login", 8 * 1024)] {
        let token = browser.token();
        let form = format!("language=en&who=1&pin=000000&csrf={token}&more=");
        let header = [("x-csrf-token", token.as_str())];
        for headers in [&header[..], &[]] {
            let long = format!("{form}{}", "x".repeat(longest + 1 - form.len()));
            browser.send(Method::POST, path, &long, headers).await.is(400, "did not understand");
            let just_right = &long[..longest];
            assert_ne!(browser.send(Method::POST, path, just_right, headers).await.status.as_u16(), 400);
        }
    }
    cabinet.close().await;
}
