//! The HTTP server of the pages and the webhook, with bounds for what a client may use.
//!
//! Every wait for a client has a timeout ([`Timeouts`]), and connections are limited, in total and per address
//! ([`Limits`]). When all slots are taken, the connection that has kept the server waiting longest for a request is
//! evicted for the new one. So a flood of silent connections evicts itself, and a health check from any address still
//! gets an answer. A few more slots are for this machine alone, in case every connection is busy.
//!
//! It speaks HTTP/1.1 with upgrades, on the same hyper as axum. HTTPS and HTTP/2 are left to a proxy.

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

use self::admission::{Admission, ConnectionSlot, Phase};
use self::bodies::{RequestBody, ResponseBody};
pub use self::descriptors::{connections_for, raise_descriptor_limit};
pub use self::tally::CUT_REASONS;
use self::tally::{Event, Tally};
use self::transport::Transport;
use crate::config::Networks;

mod admission;
mod bodies;
mod descriptors;
mod tally;
mod transport;

/// Maximum size of a request's head. About as much of a response is buffered for a client.
const BUFFER_BYTES: usize = 64 * 1024;
/// Socket send buffer. Without a limit an unread response would grow to megabytes per connection.
const SEND_BUFFER_BYTES: usize = 256 * 1024;
/// Connections accepted per [`ACCEPT_WINDOW`]. In a flood the bot's turns run in between.
const ACCEPTS_PER_WINDOW: u32 = 16;
const ACCEPT_WINDOW: Duration = Duration::from_millis(5);
/// Pause after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// Interval of logging the remaining counts.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Slots for this machine alone, beyond the total.
const LOCAL_SLOTS: usize = 16;
/// One address has at most this share of all slots, but at least the minimum.
const ADDRESS_SHARE: usize = 8;
const MIN_PER_ADDRESS: usize = 32;

/// Timeouts of waits for a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until the first byte of the first request, and from the first byte of any request to the end of its head.
    pub head: Duration,
    /// Until the next request. Longer than proxies keep connections, so that they meet no connection that just closed.
    pub keep_alive: Duration,
    /// Until the next bytes of a body.
    pub body_idle: Duration,
    /// For a complete body.
    pub body_total: Duration,
    /// Until a client reads some of a response.
    pub write: Duration,
    /// Until anything arrives on a WebSocket. Pages are pinged more often, and browsers answer.
    pub socket: Duration,
}

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct Limits {
    pub total: usize,
    /// From one IPv4 address, or from one /64 of IPv6.
    pub per_address: usize,
    /// Proxies open many connections, so [`Self::per_address`] does not apply to them.
    pub proxies: Networks,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    closing: CancellationToken,
    aborting: CancellationToken,
    accepting: JoinHandle<()>,
    connections: TaskTracker,
}

/// What all connections share.
#[derive(Clone, Debug)]
struct Shared {
    router: Router,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    closing: CancellationToken,
    aborting: CancellationToken,
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
    /// `total` connections, and a share of them from one address.
    pub fn new(total: usize, proxies: Networks) -> Self {
        let per_address = (total / ADDRESS_SHARE).max(MIN_PER_ADDRESS).min(total);
        Self { total, per_address, proxies }
    }

    /// `total` connections from any address, for a server on this machine only.
    pub fn local(total: usize) -> Self {
        Self { total, per_address: total, proxies: Networks::default() }
    }
}

impl Server {
    /// Accepts connections until closed.
    pub fn start(listener: TcpListener, router: Router, limits: Limits, timeouts: Timeouts) -> Self {
        let (closing, aborting) = (CancellationToken::new(), CancellationToken::new());
        let connections = TaskTracker::new();
        let shared =
            Shared { router, timeouts, tally: Arc::default(), closing: closing.clone(), aborting: aborting.clone() };
        let admission = Admission::new(limits);
        let accepting = tokio::spawn(accept(listener, admission, shared, connections.clone()));
        Self { closing, aborting, accepting, connections }
    }

    /// Stops accepting, lets requests finish within this time, and aborts the rest.
    pub async fn close(self, timeout: Duration) {
        self.closing.cancel();
        // The task ends by the cancelled token, or has panicked; its result does not matter.
        let _ = self.accepting.await;
        self.connections.close();
        if tokio::time::timeout(timeout, self.connections.wait()).await.is_err() {
            self.aborting.cancel();
            self.connections.wait().await;
        }
    }
}

async fn accept(listener: TcpListener, admission: Arc<Admission>, shared: Shared, connections: TaskTracker) {
    let mut log = tokio::time::interval(LOG_INTERVAL);
    let mut accept_rate = AcceptRate::begin();
    loop {
        let accepted = tokio::select! {
            () = shared.closing.cancelled() => return,
            _ = log.tick() => {
                shared.tally.log();
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                match admission.admit(peer.ip(), &shared.tally) {
                    Some(slot) => _ = connections.spawn(serve(stream, peer, slot, shared.clone())),
                    // Closed at once: a response would mean another wait.
                    None => drop(stream),
                }
                accept_rate.accepted().await;
            }
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection cannot be accepted");
                shared.tally.count(Event::NotAccepted);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Limits how fast connections are accepted.
struct AcceptRate {
    window_began: Instant,
    accepted: u32,
}

impl AcceptRate {
    fn begin() -> Self {
        Self { window_began: Instant::now(), accepted: 0 }
    }

    /// Counts a connection, and waits for the next window if this one is full.
    async fn accepted(&mut self) {
        self.accepted += 1;
        if self.accepted == ACCEPTS_PER_WINDOW {
            tokio::time::sleep_until(self.window_began + ACCEPT_WINDOW).await;
            *self = Self::begin();
        }
    }
}

/// Whether the client left before it was accepted.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Serves a connection until it ends, is evicted or is aborted. After an upgrade its socket lives on in the handler.
async fn serve(stream: TcpStream, peer: SocketAddr, slot: Arc<ConnectionSlot>, shared: Shared) {
    // Responses are written whole, so a delay would gain nothing.
    let _ = stream.set_nodelay(true);
    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
    let Shared { router, timeouts, tally, closing, aborting } = shared;
    let evicted = slot.evicted();
    let transport = Transport::new(stream, Arc::clone(&slot), timeouts, Arc::clone(&tally));
    let service = service_fn(move |request| {
        let request_context = RequestContext {
            router: router.clone(),
            slot: Arc::clone(&slot),
            peer,
            tally: Arc::clone(&tally),
            timeouts,
        };
        respond(request_context, request)
    });
    let connection =
        http1::Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(TokioIo::new(transport), service);
    let mut connection = pin!(connection.with_upgrades());
    let mut is_closing = false;
    loop {
        tokio::select! {
            // Errors are counted where they occur, or are the client's affair.
            _ = connection.as_mut() => return,
            () = evicted.cancelled() => return,
            () = aborting.cancelled() => return,
            () = closing.cancelled(), if !is_closing => {
                is_closing = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// The context of a request.
struct RequestContext {
    router: Router,
    slot: Arc<ConnectionSlot>,
    peer: SocketAddr,
    tally: Arc<Tally>,
    timeouts: Timeouts,
}

async fn respond(
    request_context: RequestContext,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, std::convert::Infallible> {
    let RequestContext { router, slot, peer, tally, timeouts } = request_context;
    slot.enter(Phase::Busy);
    let mut request = request.map(|body| Body::new(RequestBody::new(body, Arc::clone(&slot), timeouts, tally)));
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.oneshot(request).await?;
    let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if is_upgraded {
        slot.enter(Phase::upgraded());
    }
    Ok(response.map(|body| ResponseBody::new(body, (!is_upgraded).then_some(slot))))
}
