//! The HTTP server of the pages and the webhook: what one client may take of it is bounded.
//!
//! Every wait for a client has an end ([`Timeouts`]), and there are only so many connections, in total and from one
//! address ([`Limits`]). When all places are taken, the connection that has kept the server waiting longest for a
//! request gives its place to the new one. So a flood of silent connections from many addresses pushes out itself, and
//! a health check still gets an answer, from whichever address it comes. A few more places are for this machine alone,
//! for the case that every connection is busy.
//!
//! It speaks HTTP/1.1 with upgrades, on the same hyper as axum. HTTPS and HTTP/2 are the business of a proxy.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use self::admission::{Admission, Phase, Slot};
use self::bodies::{AnswerBody, AskedBody};
pub use self::descriptors::{connections_within, raise_descriptor_limit};
use self::tally::{Event, Tally};
use self::transport::Transport;
use crate::config::Networks;

mod admission;
mod bodies;
mod descriptors;
mod tally;
mod transport;

/// The longest head of a request, and about as much of an answer waits in memory for a client to read it.
const BUFFER_BYTES: usize = 64 * 1024;
/// What the system holds of an answer that its client does not read. It would grow to megabytes for each connection.
const SEND_BUFFER_BYTES: usize = 256 * 1024;
/// So many connections are accepted in each [`ACCEPT_WINDOW`]. In a flood of new ones the bot's turns run in between.
const ACCEPTS_IN_WINDOW: u32 = 16;
const ACCEPT_WINDOW: Duration = Duration::from_millis(5);
/// The pause after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// How often counts are looked at that are still to be told.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// Places for this machine alone, beyond the total.
const LOCAL_PLACES: usize = 16;
/// One address has at most this share of all places, and at least so many.
const SHARE_OF_ONE: usize = 8;
const LEAST_OF_ONE: usize = 32;

/// How long the server waits for a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the first byte of the first request, and from the first byte of any request to the end of its head.
    pub head: Duration,
    /// For the next request. Longer than proxies keep connections, so that none of them meets one that just closed.
    pub keep_alive: Duration,
    /// For the next bytes of a body.
    pub body_idle: Duration,
    /// For a whole body.
    pub body_total: Duration,
    /// For a client to take some of an answer.
    pub write: Duration,
    /// For anything on a WebSocket. Pages are pinged more often, and browsers answer.
    pub socket: Duration,
}

/// How many connections there may be.
#[derive(Clone, Debug)]
pub struct Limits {
    pub total: usize,
    /// From one IPv4 address, or from one /64 of IPv6.
    pub per_address: usize,
    /// Proxies: they ask for many, so [`Self::per_address`] does not hold for them.
    pub proxies: Networks,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    closing: CancellationToken,
    cutting: CancellationToken,
    accepting: JoinHandle<()>,
    connections: TaskTracker,
}

/// What every connection needs.
#[derive(Clone, Debug)]
struct Shared {
    router: Router,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    closing: CancellationToken,
    cutting: CancellationToken,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            keep_alive: Duration::from_secs(75),
            body_idle: Duration::from_secs(10),
            body_total: Duration::from_secs(60),
            write: Duration::from_secs(30),
            socket: Duration::from_secs(80),
        }
    }
}

impl Limits {
    /// So many in total, and a share of them from one address.
    pub fn new(total: usize, proxies: Networks) -> Self {
        let per_address = (total / SHARE_OF_ONE).max(LEAST_OF_ONE).min(total);
        Self { total, per_address, proxies }
    }

    /// So many, wherever they come from: for a server that listens on this machine only.
    pub fn local(total: usize) -> Self {
        Self { total, per_address: total, proxies: Networks::default() }
    }
}

impl Server {
    /// Accepts connections until it is closed.
    pub fn start(listener: TcpListener, router: Router, limits: Limits, timeouts: Timeouts) -> Self {
        let (closing, cutting) = (CancellationToken::new(), CancellationToken::new());
        let connections = TaskTracker::new();
        let shared =
            Shared { router, timeouts, tally: Arc::default(), closing: closing.clone(), cutting: cutting.clone() };
        let admission = Admission::new(limits);
        let accepting = tokio::spawn(accept(listener, admission, shared, connections.clone()));
        Self { closing, cutting, accepting, connections }
    }

    /// Accepts nothing more, lets calls under way finish within this time, and cuts the rest.
    pub async fn close(self, patience: Duration) {
        self.closing.cancel();
        // It ends at the cancelled token, or it has panicked: there is nothing to wait for in both cases.
        let _ = self.accepting.await;
        self.connections.close();
        if tokio::time::timeout(patience, self.connections.wait()).await.is_err() {
            self.cutting.cancel();
            self.connections.wait().await;
        }
    }
}

async fn accept(listener: TcpListener, admission: Arc<Admission>, shared: Shared, connections: TaskTracker) {
    let mut tell = tokio::time::interval(TELL_EVERY);
    let mut pace = Pace::begin();
    loop {
        let accepted = tokio::select! {
            () = shared.closing.cancelled() => return,
            _ = tell.tick() => {
                shared.tally.tell();
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                match admission.admit(peer.ip(), &shared.tally) {
                    Some(slot) => _ = connections.spawn(serve(stream, peer, slot, shared.clone())),
                    // It is closed at once: an answer would have to be waited for.
                    None => drop(stream),
                }
                pace.accepted().await;
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection cannot be accepted");
                shared.tally.count(Event::NotAccepted);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// How quickly connections are accepted.
struct Pace {
    window_began: Instant,
    accepted: u32,
}

impl Pace {
    fn begin() -> Self {
        Self { window_began: Instant::now(), accepted: 0 }
    }

    /// Counts one, and waits for the next window if this one is full.
    async fn accepted(&mut self) {
        self.accepted += 1;
        if self.accepted == ACCEPTS_IN_WINDOW {
            tokio::time::sleep_until(self.window_began + ACCEPT_WINDOW).await;
            *self = Self::begin();
        }
    }
}

/// The client has gone before it was accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection, until it ends, is evicted or is cut. After an upgrade its socket lives on in the handler.
async fn serve(stream: TcpStream, peer: SocketAddr, slot: Arc<Slot>, shared: Shared) {
    // Answers are written whole: there is nothing that a delay would put together.
    let _ = stream.set_nodelay(true);
    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
    let Shared { router, timeouts, tally, closing, cutting } = shared;
    let evicted = slot.evicted();
    let transport = Transport::new(stream, Arc::clone(&slot), timeouts, Arc::clone(&tally));
    let service = service_fn(move |request| {
        let asked =
            Asked { router: router.clone(), slot: Arc::clone(&slot), peer, tally: Arc::clone(&tally), timeouts };
        answer(asked, request)
    });
    let connection =
        http1::Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(TokioIo::new(transport), service);
    let mut connection = pin!(connection.with_upgrades());
    let mut is_closing = false;
    loop {
        tokio::select! {
            // What ends a connection has been counted where it was noticed, or is the client's affair.
            _ = connection.as_mut() => return,
            () = evicted.cancelled() => return,
            () = cutting.cancelled() => return,
            () = closing.cancelled(), if !is_closing => {
                is_closing = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// What is known of a request besides itself.
struct Asked {
    router: Router,
    slot: Arc<Slot>,
    peer: SocketAddr,
    tally: Arc<Tally>,
    timeouts: Timeouts,
}

async fn answer(asked: Asked, request: Request<Incoming>) -> Result<Response<AnswerBody>, std::convert::Infallible> {
    let Asked { router, slot, peer, tally, timeouts } = asked;
    slot.enter(Phase::Busy);
    let mut request = request.map(|body| Body::new(AskedBody::new(body, Arc::clone(&slot), timeouts, tally)));
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.oneshot(request).await?;
    let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if is_upgraded {
        slot.enter(Phase::upgraded());
    }
    Ok(response.map(|body| AnswerBody::new(body, (!is_upgraded).then_some(slot))))
}
