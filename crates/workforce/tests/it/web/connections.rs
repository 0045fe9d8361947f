//! The pages' HTTP server on real sockets: silent, slow and too many clients do not disturb the others. Also forms that
//! are too long.

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
use crate::kit::demo::{ANNA, TIMEOUT, until};
use crate::kit::firm::StorageKind;

const SHORT: Duration = Duration::from_millis(300);
/// No test waits this long.
const LONG: Duration = Duration::from_secs(600);
const NO_TIMEOUTS: Timeouts =
    Timeouts { head: LONG, keep_alive: LONG, body_idle: LONG, body_total: LONG, write: LONG, socket: LONG };
/// The size of one piece of `/endless`.
const PIECE_BYTES: usize = 64 * 1024;
const HELLO: &[u8] = b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n";
const UPLOAD: &[u8] = b"POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n";

/// A server with a few routes.
struct TestServer {
    server: Server,
    address: SocketAddr,
    /// Its other owners are the bodies of `/endless` that are being sent.
    sending: Arc<()>,
    /// How many calls of `/slow` have begun.
    slow_calls: Arc<AtomicUsize>,
    /// How many pieces of `/endless` were made.
    pieces: Arc<AtomicUsize>,
}

impl TestServer {
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

    /// Connects from the loopback address with this last byte.
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

    async fn wait_until_given_up(&self) {
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

/// Reads until the server closes the connection.
async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that was cut may end with a reset.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("the server does not close the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one response whose body ends with this text.
async fn read_response(stream: &mut TcpStream, end: &str) {
    let mut bytes = Vec::new();
    let reading = async {
        while !bytes.ends_with(end.as_bytes()) {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the connection was closed");
        }
    };
    timeout(TIMEOUT, reading).await.expect("no answer");
}

async fn is_open(stream: &mut TcpStream) -> bool {
    timeout(SHORT, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let test_server = TestServer::with(Timeouts { head: SHORT, ..NO_TIMEOUTS }).await;
    assert_eq!(read_to_close(&mut test_server.connect().await).await, "");
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_cut() {
    let test_server = TestServer::with(Timeouts { head: SHORT, ..NO_TIMEOUTS }).await;
    let (mut reading, mut writing) = test_server.connect().await.into_split();
    let drip = tokio::spawn(async move {
        let mut pace = interval(SHORT / 10);
        while writing.write_all(b"x").await.is_ok() {
            pace.tick().await;
        }
    });
    let began = Instant::now();
    let mut bytes = Vec::new();
    let _ = timeout(TIMEOUT, reading.read_to_end(&mut bytes)).await.expect("it is not cut");
    assert!(bytes.is_empty() && began.elapsed() < SHORT * 50, "each byte gave it more time");
    drop(reading);
    drip.abort();
}

#[tokio::test]
async fn an_idle_connection_serves_again_and_is_closed_later() {
    let test_server = TestServer::with(Timeouts { keep_alive: SHORT * 3, head: SHORT, ..NO_TIMEOUTS }).await;
    let mut stream = test_server.connect().await;
    for _ in 0..3 {
        stream.write_all(HELLO).await.unwrap();
        read_response(&mut stream, "hello").await;
    }
    assert!(is_open(&mut stream).await, "it was closed before the keep-alive time");
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn a_body_that_stops_coming_is_refused() {
    let test_server = TestServer::with(Timeouts { body_idle: SHORT, ..NO_TIMEOUTS }).await;
    let mut stream = test_server.send(UPLOAD).await;
    stream.write_all(b"The state of the service.").await.unwrap();
    let response = read_to_close(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
}

#[tokio::test]
async fn a_body_that_trickles_is_refused() {
    let test_server = TestServer::with(Timeouts { body_idle: LONG, body_total: SHORT * 2, ..NO_TIMEOUTS }).await;
    let (mut reading, mut writing) = test_server.send(UPLOAD).await.into_split();
    let drip = tokio::spawn(async move {
        let mut pace = interval(SHORT / 10);
        while writing.write_all(b"x").await.is_ok() {
            pace.tick().await;
        }
    });
    let mut head = [0; 12];
    timeout(TIMEOUT, reading.read_exact(&mut head)).await.expect("it is never refused").unwrap();
    assert_eq!(&head, b"HTTP/1.1 400");
    drop(reading);
    drip.abort();
}

#[tokio::test]
async fn a_body_that_comes_in_time_is_read_whole() {
    let test_server = TestServer::with(Timeouts { body_idle: SHORT, ..NO_TIMEOUTS }).await;
    let mut stream = test_server.send(UPLOAD).await;
    let mut pace = interval(SHORT / 3);
    for _ in 0..5 {
        pace.tick().await;
        stream.write_all(&[b'x'; 20_000]).await.unwrap();
    }
    read_response(&mut stream, "100000").await;
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up() {
    let test_server = TestServer::with(Timeouts { write: SHORT, ..NO_TIMEOUTS }).await;
    let stream = test_server.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    stream.readable().await.unwrap();
    assert_eq!(Arc::strong_count(&test_server.sending), 3);
    test_server.wait_until_given_up().await;
}

#[tokio::test]
async fn an_unread_answer_holds_little_memory() {
    let test_server = TestServer::with(Timeouts { write: SHORT, ..NO_TIMEOUTS }).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut stream = socket.connect(test_server.address).await.unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    stream.readable().await.unwrap();
    test_server.wait_until_given_up().await;
    let taken = test_server.pieces.load(Ordering::Relaxed) * PIECE_BYTES;
    assert!(taken < 1 << 20, "{taken} bytes were taken from the answer for a client that reads nothing");
}

#[tokio::test]
async fn an_answer_that_is_read_slowly_goes_on() {
    let test_server = TestServer::with(Timeouts { write: SHORT, ..NO_TIMEOUTS }).await;
    let mut stream = test_server.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut pace = interval(SHORT / 3);
    let mut bytes = vec![0; 8 << 20];
    for _ in 0..9 {
        pace.tick().await;
        stream.read_exact(&mut bytes).await.unwrap();
    }
}

#[tokio::test]
async fn a_flood_of_connections_is_accepted_slowly() {
    let test_server = TestServer::open(Limits::local(400), NO_TIMEOUTS).await;
    let began = Instant::now();
    let mut held = Vec::new();
    for _ in 0..320 {
        held.push(test_server.send(HELLO).await);
    }
    read_response(held.last_mut().unwrap(), "hello").await;
    assert!(began.elapsed() >= Duration::from_millis(90), "the flood was accepted at once");
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    let limits = Limits { total: 100, per_address: 3, proxies: Networks::default() };
    let test_server = TestServer::open(limits, NO_TIMEOUTS).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = test_server.connect_from(2).await;
        stream.write_all(HELLO).await.unwrap();
        read_response(&mut stream, "hello").await;
        held.push(stream);
    }
    assert_eq!(read_to_close(&mut test_server.connect_from(2).await).await, "", "a fourth one is closed at once");
    let mut other = test_server.connect_from(3).await;
    other.write_all(HELLO).await.unwrap();
    read_response(&mut other, "hello").await;
    drop(held.pop());
    until("a place is free again", async || {
        let mut stream = test_server.connect_from(2).await;
        stream.write_all(HELLO).await.ok()?;
        timeout(TIMEOUT, stream.read_u8()).await.unwrap().ok()
    })
    .await;
}

#[tokio::test]
async fn a_proxy_may_open_many_connections() {
    let limits = Limits { total: 100, per_address: 3, proxies: "127.0.0.9".parse().unwrap() };
    let test_server = TestServer::open(limits, NO_TIMEOUTS).await;
    let mut held = Vec::new();
    for _ in 0..9 {
        let mut stream = test_server.connect_from(9).await;
        stream.write_all(HELLO).await.unwrap();
        read_response(&mut stream, "hello").await;
        held.push(stream);
    }
}

#[tokio::test]
async fn a_full_server_drops_silent_connections() {
    let limits = Limits { total: 8, per_address: 8, proxies: Networks::default() };
    let test_server = TestServer::open(limits, NO_TIMEOUTS).await;
    let mut silent = Vec::new();
    for number in 0..8 {
        silent.push(test_server.connect_from(10 + number).await);
    }
    for _ in 0..3 {
        let mut stream = test_server.send(HELLO).await;
        read_response(&mut stream, "hello").await;
    }
    assert_eq!(read_to_close(&mut silent[0]).await, "", "it has waited longest");
    assert!(is_open(&mut silent[7]).await);
}

#[tokio::test]
async fn a_connection_without_its_body_is_dropped() {
    let limits = Limits { total: 4, per_address: 4, proxies: Networks::default() };
    let test_server = TestServer::open(limits, NO_TIMEOUTS).await;
    let mut stuck = Vec::new();
    for _ in 0..4 {
        stuck.push(test_server.send(UPLOAD).await);
    }
    let mut stream = test_server.connect_from(2).await;
    stream.write_all(HELLO).await.unwrap();
    read_response(&mut stream, "hello").await;
}

#[tokio::test]
async fn a_socket_lives_while_its_client_answers() {
    let timeouts = Timeouts { head: SHORT, keep_alive: SHORT, socket: SHORT, write: SHORT, ..NO_TIMEOUTS };
    let test_server = TestServer::with(timeouts).await;
    let url = format!("ws://{}/socket", test_server.address);
    let (mut lively, _) = client_async(&url, test_server.connect().await).await.unwrap();
    let (silent, _) = client_async(&url, test_server.connect().await).await.unwrap();
    // The client answers pings while it reads.
    for _ in 0..15 {
        assert!(timeout(TIMEOUT, lively.next()).await.unwrap().unwrap().unwrap().is_ping());
    }
    let mut silent = silent.into_inner();
    read_to_close(&mut silent).await;
}

#[tokio::test]
async fn a_stop_waits_only_for_running_calls() {
    let test_server = TestServer::with(NO_TIMEOUTS).await;
    let url = format!("ws://{}/socket", test_server.address);
    let (_socket, _) = client_async(&url, test_server.connect().await).await.unwrap();
    let _silent = test_server.connect().await;
    let mut idle = test_server.send(HELLO).await;
    read_response(&mut idle, "hello").await;
    let _unread = test_server.send(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut half = test_server.send(&UPLOAD[..20]).await;
    let mut called = test_server.send(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
    until("the call is under way", async || (test_server.slow_calls.load(Ordering::Relaxed) == 1).then_some(())).await;
    let TestServer { server, address, .. } = test_server;
    let began = Instant::now();
    server.close(SHORT * 5).await;
    assert!(began.elapsed() < SHORT * 50, "{:?}", began.elapsed());
    read_response(&mut called, "at last").await;
    assert_eq!((read_to_close(&mut idle).await, read_to_close(&mut half).await), (String::new(), String::new()));
    assert!(TcpStream::connect(address).await.is_err(), "it still listens");
}

#[tokio::test]
async fn a_stop_is_quick_without_running_calls() {
    let test_server = TestServer::with(NO_TIMEOUTS).await;
    let _silent = test_server.connect().await;
    let mut idle = test_server.send(HELLO).await;
    read_response(&mut idle, "hello").await;
    timeout(TIMEOUT, test_server.server.close(LONG)).await.expect("it waits for silent connections");
}

#[tokio::test]
async fn a_long_form_is_refused() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let guest = cabinet.browser();
    guest.get("/sign-in").await;
    for (browser, path, longest) in [(&owner, "/me/language", 64 * 1024), (&guest, "/auth/login", 8 * 1024)] {
        let token = browser.csrf_token();
        let form = format!("language=en&who=1&pin=000000&csrf={token}&more=");
        let header = [("x-csrf-token", token.as_str())];
        for headers in [&header[..], &[]] {
            let long = format!("{form}{}", "x".repeat(longest + 1 - form.len()));
            browser.send(Method::POST, path, &long, headers).await.is(400, "didn't understand");
            let just_right = &long[..longest];
            assert_ne!(browser.send(Method::POST, path, just_right, headers).await.status.as_u16(), 400);
        }
    }
    cabinet.close().await;
}
