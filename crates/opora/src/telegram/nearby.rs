//! Calls to a Bot API on this machine: a server of one's own, or the emulator.
//!
//! Such an answer comes so soon that a client for all cases costs more than the call. So the connections are kept here,
//! plain, one call on each at a time. What needs more than that (TLS, a proxy, files) goes by the other client.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::clock::timer_now;

/// How long a connection may take.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// Connections that were quiet for longer go.
const QUIET_CONNECTIONS_LIVE: Duration = Duration::from_secs(60);

/// What a connection reads at once. Answers to calls are short, and a thousand people may be answered at a time: with
/// the client's own 8 KiB for each, buffers were most of what a busy bot held. The head of an answer has to fit.
const ANSWER_BUFFER_BYTES: usize = 3072;

type Connection = SendRequest<Full<Bytes>>;

/// The connections to a Bot API nearby.
pub(super) struct Nearby {
    host: Box<str>,
    port: u16,
    authority: HeaderValue,
    /// What stands before a method's name; the token is in it.
    path: Box<str>,
    calls: Connections,
    /// Batches of updates are long: they have connections whose buffers grow.
    polls: Connections,
}

/// Connections of one kind.
#[derive(Default)]
struct Connections {
    /// What one reads at once; as the client likes unless given.
    buffer_bytes: Option<usize>,
    /// Those that nobody uses, the one used last behind the others.
    quiet: Mutex<Vec<(Connection, Instant)>>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing was sent.
    NotSent(String),
    /// Nobody can say.
    Unsure(String),
}

impl Nearby {
    /// Connections to this address, if it is on this machine and plain. `path` stands before the methods' names.
    pub(super) fn at(url: &Url, path: &str) -> Option<Self> {
        let host = url.host_str().filter(|host| is_loopback(host) && url.scheme() == "http")?;
        let port = url.port_or_known_default()?;
        Some(Self {
            authority: HeaderValue::from_str(&format!("{host}:{port}")).ok()?,
            host: host.trim_matches(['[', ']']).into(),
            port,
            path: path.into(),
            calls: Connections { buffer_bytes: Some(ANSWER_BUFFER_BYTES), ..Connections::default() },
            polls: Connections::default(),
        })
    }

    /// Calls a method; the whole may take as long as `patience`.
    pub(super) async fn call(&self, method: &str, body: &str, patience: Duration) -> Result<Response<Bytes>, Trouble> {
        match tokio::time::timeout(patience, self.exchange(method, body)).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble::Unsure("no answer in time".to_owned())),
        }
    }

    async fn exchange(&self, method: &str, body: &str) -> Result<Response<Bytes>, Trouble> {
        let mut request = Request::post(format!("{}{method}", self.path))
            .header(HOST, self.authority.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
            .map_err(|error| Trouble::NotSent(error.to_string()))?;
        let connections = if method == "getUpdates" { &self.polls } else { &self.calls };
        loop {
            let quiet = connections.take().await;
            let is_used = quiet.is_some();
            let mut connection = match quiet {
                Some(connection) => connection,
                None => self.connect(connections.buffer_bytes).await?,
            };
            match connection.try_send_request(request).await {
                Ok(response) => return connections.read(connection, response).await,
                Err(mut error) => match error.take_message() {
                    // The other side closed it while it was quiet; nothing was sent.
                    Some(again) if is_used => request = again,
                    Some(_) => return Err(Trouble::NotSent(in_words(&error.into_error()))),
                    None => return Err(Trouble::Unsure(in_words(&error.into_error()))),
                },
            }
        }
    }

    async fn connect(&self, buffer_bytes: Option<usize>) -> Result<Connection, Trouble> {
        let connecting = TcpStream::connect((&*self.host, self.port));
        let stream = match tokio::time::timeout(CONNECTS_WITHIN, connecting).await {
            Ok(stream) => stream.map_err(|error| Trouble::NotSent(error.to_string()))?,
            Err(_) => return Err(Trouble::NotSent("no connection in time".to_owned())),
        };
        stream.set_nodelay(true).map_err(|error| Trouble::NotSent(error.to_string()))?;
        let made = http1::Builder::new().read_buf_exact_size(buffer_bytes).handshake(TokioIo::new(stream)).await;
        let (connection, works) = made.map_err(|error| Trouble::NotSent(in_words(&error)))?;
        // Whoever waits for an answer is told of its errors.
        tokio::spawn(async move { drop(works.await) });
        Ok(connection)
    }
}

impl Connections {
    async fn read(
        &self,
        connection: Connection,
        response: Response<hyper::body::Incoming>,
    ) -> Result<Response<Bytes>, Trouble> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| Trouble::Unsure(in_words(&error)))?.to_bytes();
        self.give_back(connection);
        Ok(Response::from_parts(head, body))
    }

    /// A connection that is quiet and open.
    async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, _) = self.quiet.lock().pop()?;
            if connection.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut quiet = self.quiet.lock();
        let now = timer_now();
        quiet.push((connection, now));
        // The first was quiet for the longest time; the others follow in their turn.
        if quiet.first().is_some_and(|(_, since)| now - *since > QUIET_CONNECTIONS_LIVE) {
            quiet.remove(0);
        }
    }
}

/// Whether a host is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "[::1]") || host.starts_with("127.")
}

/// An error with its causes.
pub(super) fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    const PATIENCE: Duration = Duration::from_secs(5);

    async fn listener() -> (TcpListener, Nearby) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        (listener, Nearby::at(&url, "/bot1:a/").unwrap())
    }

    /// Reads one request, which is short, and answers.
    async fn serve(stream: &mut TcpStream, answer: &[u8]) -> String {
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.unwrap();
        stream.write_all(answer).await.unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    }

    #[test]
    fn only_plain_addresses_of_this_machine_are_nearby() {
        let is_nearby = |address: &str| Nearby::at(&Url::parse(address).unwrap(), "/").is_some();
        assert!(["http://127.0.0.1:8081", "http://localhost", "http://[::1]:1"].iter().all(|near| is_nearby(near)));
        assert!(!["https://127.0.0.1", "http://10.0.0.1", "https://api.telegram.org"].iter().any(|far| is_nearby(far)));
    }

    #[tokio::test]
    async fn a_connection_serves_one_call_after_another() {
        let (listener, nearby) = listener().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            [serve(&mut stream, ANSWER).await, serve(&mut stream, ANSWER).await]
        });
        for _ in 0..2 {
            let answer = nearby.call("getMe", "{\"a\":1}", PATIENCE).await.unwrap();
            assert_eq!((answer.status().as_u16(), &**answer.body()), (200, &b"{}"[..]));
        }
        for request in server.await.unwrap() {
            assert!(request.starts_with("POST /bot1:a/getMe HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("content-type: application/json") && request.ends_with("{\"a\":1}"), "{request}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_quiet_is_replaced() {
        let (listener, nearby) = listener().await;
        let server = tokio::spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                serve(&mut stream, ANSWER).await;
            }
        });
        nearby.call("getMe", "{}", PATIENCE).await.unwrap();
        nearby.call("getMe", "{}", PATIENCE).await.unwrap();
        server.await.unwrap();
    }

    #[tokio::test]
    async fn what_was_cut_off_before_its_answer_is_unsure_and_what_reached_nobody_is_not_sent() {
        let (listener, nearby) = listener().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            serve(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").await;
        });
        let cut = nearby.call("getMe", "{}", PATIENCE).await.unwrap_err();
        assert!(matches!(cut, Trouble::Unsure(_)), "{cut:?}");
        // The listener is gone with its task.
        server.await.unwrap();
        let nobody = nearby.call("getMe", "{}", PATIENCE).await.unwrap_err();
        assert!(matches!(nobody, Trouble::NotSent(_)), "{nobody:?}");
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_unsure() {
        let (listener, nearby) = listener().await;
        let late = nearby.call("getMe", "{}", Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(late, Trouble::Unsure(_)), "{late:?}");
        drop(listener);
    }
}
