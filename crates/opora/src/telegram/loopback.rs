//! Calls to a Bot API on this machine: a local server, or the emulator.
//!
//! Such a server answers so fast that a general client costs more than the call. So this client keeps plain HTTP
//! connections, with one call on each at a time. Calls that need TLS, a proxy or files use the general client.

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

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that were idle for longer are closed.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);

/// The read buffer of a connection for calls. Their answers are short, and a busy bot has many connections: with
/// hyper's default of 8 KiB, buffers took most of its memory. The headers of an answer have to fit.
const ANSWER_BUFFER_BYTES: usize = 3072;

type Connection = SendRequest<Full<Bytes>>;

/// A client for a Bot API on this machine.
pub(super) struct LoopbackClient {
    host: Box<str>,
    port: u16,
    authority: HeaderValue,
    /// The path before a method's name. It contains the token.
    path: Box<str>,
    calls: Connections,
    /// Connections for `getUpdates`, whose answers are long: their buffers grow.
    polls: Connections,
}

/// A pool of connections.
#[derive(Default)]
struct Connections {
    /// The size of the read buffer; hyper's default if none.
    buffer_bytes: Option<usize>,
    /// Idle connections, the last used one at the end.
    idle: Mutex<Vec<(Connection, Instant)>>,
}

/// Why a call has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoopbackError {
    /// Nothing was sent.
    NotSent(String),
    /// It is unknown whether it was sent.
    Unsure(String),
}

impl LoopbackClient {
    /// A client for this address. None unless it is plain HTTP on this machine. `path` goes before a method's name.
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

    /// Calls a method. The whole call may take `timeout`.
    pub(super) async fn call(
        &self,
        method: &str,
        body: &str,
        timeout: Duration,
    ) -> Result<Response<Bytes>, LoopbackError> {
        match tokio::time::timeout(timeout, self.exchange(method, body)).await {
            Ok(answer) => answer,
            Err(_) => Err(LoopbackError::Unsure("no answer in time".to_owned())),
        }
    }

    async fn exchange(&self, method: &str, body: &str) -> Result<Response<Bytes>, LoopbackError> {
        let mut request = Request::post(format!("{}{method}", self.path))
            .header(HOST, self.authority.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
            .map_err(|error| LoopbackError::NotSent(error.to_string()))?;
        let connections = if method == "getUpdates" { &self.polls } else { &self.calls };
        loop {
            let idle = connections.take().await;
            let is_reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect(connections.buffer_bytes).await?,
            };
            match connection.try_send_request(request).await {
                Ok(response) => return connections.read(connection, response).await,
                Err(mut error) => match error.take_message() {
                    // The server closed the idle connection, and nothing was sent: use another one.
                    Some(unsent) if is_reused => request = unsent,
                    Some(_) => return Err(LoopbackError::NotSent(error_chain(&error.into_error()))),
                    None => return Err(LoopbackError::Unsure(error_chain(&error.into_error()))),
                },
            }
        }
    }

    async fn connect(&self, buffer_bytes: Option<usize>) -> Result<Connection, LoopbackError> {
        let connecting = TcpStream::connect((&*self.host, self.port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(stream) => stream.map_err(|error| LoopbackError::NotSent(error.to_string()))?,
            Err(_) => return Err(LoopbackError::NotSent("no connection in time".to_owned())),
        };
        stream.set_nodelay(true).map_err(|error| LoopbackError::NotSent(error.to_string()))?;
        let handshake = http1::Builder::new().read_buf_exact_size(buffer_bytes).handshake(TokioIo::new(stream)).await;
        let (connection, driver) = handshake.map_err(|error| LoopbackError::NotSent(error_chain(&error)))?;
        // Its errors reach the caller through the pending request.
        tokio::spawn(async move { drop(driver.await) });
        Ok(connection)
    }
}

impl Connections {
    async fn read(
        &self,
        connection: Connection,
        response: Response<hyper::body::Incoming>,
    ) -> Result<Response<Bytes>, LoopbackError> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| LoopbackError::Unsure(error_chain(&error)))?.to_bytes();
        self.release(connection);
        Ok(Response::from_parts(head, body))
    }

    /// An idle connection that is still open.
    async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, _) = self.idle.lock().pop()?;
            if connection.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    fn release(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        let now = timer_now();
        idle.push((connection, now));
        // Only the longest idle one: each later call checks the next.
        if idle.first().is_some_and(|(_, since)| now - *since > IDLE_CONNECTION_TIMEOUT) {
            idle.remove(0);
        }
    }
}

/// Whether a host name is a loopback address.
pub(super) fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "[::1]") || host.starts_with("127.")
}

/// The text of an error with its causes.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut description = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        description = format!("{description}: {cause}");
        source = cause.source();
    }
    description
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    const TIMEOUT: Duration = Duration::from_secs(5);

    async fn listener() -> (TcpListener, LoopbackClient) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        (listener, LoopbackClient::at(&url, "/bot1:a/").unwrap())
    }

    /// Reads one request, which is short, and answers.
    async fn serve(stream: &mut TcpStream, answer: &[u8]) -> String {
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.unwrap();
        stream.write_all(answer).await.unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    }

    #[test]
    fn only_plain_loopback_addresses_are_accepted() {
        let is_nearby = |address: &str| LoopbackClient::at(&Url::parse(address).unwrap(), "/").is_some();
        assert!(["http://127.0.0.1:8081", "http://localhost", "http://[::1]:1"].iter().all(|near| is_nearby(near)));
        assert!(!["https://127.0.0.1", "http://10.0.0.1", "https://api.telegram.org"].iter().any(|far| is_nearby(far)));
    }

    #[tokio::test]
    async fn a_connection_is_reused_for_the_next_call() {
        let (listener, loopback) = listener().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            [serve(&mut stream, ANSWER).await, serve(&mut stream, ANSWER).await]
        });
        for _ in 0..2 {
            let answer = loopback.call("getMe", "{\"a\":1}", TIMEOUT).await.unwrap();
            assert_eq!((answer.status().as_u16(), &**answer.body()), (200, &b"{}"[..]));
        }
        for request in server.await.unwrap() {
            assert!(request.starts_with("POST /bot1:a/getMe HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("content-type: application/json") && request.ends_with("{\"a\":1}"), "{request}");
        }
    }

    #[tokio::test]
    async fn a_connection_closed_while_idle_is_replaced() {
        let (listener, loopback) = listener().await;
        let server = tokio::spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                serve(&mut stream, ANSWER).await;
            }
        });
        loopback.call("getMe", "{}", TIMEOUT).await.unwrap();
        loopback.call("getMe", "{}", TIMEOUT).await.unwrap();
        server.await.unwrap();
    }

    #[tokio::test]
    async fn a_lost_answer_is_unsure_and_a_failed_connect_is_not_sent() {
        let (listener, loopback) = listener().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            serve(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").await;
        });
        let cut = loopback.call("getMe", "{}", TIMEOUT).await.unwrap_err();
        assert!(matches!(cut, LoopbackError::Unsure(_)), "{cut:?}");
        // The listener is gone with its task.
        server.await.unwrap();
        let refused = loopback.call("getMe", "{}", TIMEOUT).await.unwrap_err();
        assert!(matches!(refused, LoopbackError::NotSent(_)), "{refused:?}");
    }

    #[tokio::test]
    async fn a_missing_answer_is_unsure() {
        let (listener, loopback) = listener().await;
        let late = loopback.call("getMe", "{}", Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(late, LoopbackError::Unsure(_)), "{late:?}");
        drop(listener);
    }
}
