//! A TCP proxy in front of a server. It counts round trips, and can delay, stall, drop or cut connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug)]
pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

/// What happens to the data on connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Passing,
    /// All data is delayed by this time.
    Delaying(Duration),
    /// All data is held back until the mode changes, then delivered.
    Stalled,
    /// Connections are accepted, and everything sent on them is dropped.
    Blackholed,
    /// All connections are closed, and new ones are closed at once.
    CutOff,
}

#[derive(Debug, Default)]
struct Shared {
    /// The port of the server, for new connections.
    server: AtomicU16,
    /// The reply to a request with these bytes is dropped, and its connection is closed.
    drop_reply_to: Mutex<Option<Vec<u8>>>,
    /// A request with these bytes is dropped, and everything after it.
    blackhole_from: Mutex<Option<Vec<u8>>>,
    has_dropped_reply: AtomicBool,
    round_trips: AtomicUsize,
    mode: watch::Sender<Mode>,
}

/// State that both directions of a connection share.
#[derive(Default)]
struct Connection {
    /// The client waits for an answer.
    is_waiting: AtomicBool,
    /// The next answer is dropped, and the connection is closed.
    drops_reply: AtomicBool,
}

impl Proxy {
    /// Starts a proxy in front of a server on this machine.
    pub async fn in_front_of(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { server: AtomicU16::new(server), ..Shared::default() });
        let passing = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&passing)));
            }
        });
        Self { port, shared }
    }

    /// Drops the server's reply to the next request with these bytes, and closes that connection.
    pub fn drop_reply_to(&self, request: &[u8]) {
        *self.shared.drop_reply_to.lock() = Some(request.to_vec());
    }

    /// Closes all connections and refuses new ones, or allows connections again.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.shared.mode.send_replace(if is_cut_off { Mode::CutOff } else { Mode::Passing });
    }

    pub fn delay(&self, by: Duration) {
        self.shared.mode.send_replace(Mode::Delaying(by));
    }

    /// Holds all data back, as a stalled server does. [`Self::resume`] delivers it.
    pub fn stall(&self) {
        self.shared.mode.send_replace(Mode::Stalled);
    }

    /// Drops all data silently. Connections that exist now, or are made meanwhile, stay dead after [`Self::resume`],
    /// and the server keeps its end of them open.
    pub fn blackhole(&self) {
        self.shared.mode.send_replace(Mode::Blackholed);
    }

    /// Calls [`Self::blackhole`] when a request with these bytes comes. The server does not get that request.
    pub fn blackhole_from(&self, request: &[u8]) {
        *self.shared.blackhole_from.lock() = Some(request.to_vec());
    }

    /// Forwards data normally again.
    pub fn resume(&self) {
        self.shared.mode.send_replace(Mode::Passing);
    }

    /// Connects new clients to another server. Existing connections stay.
    pub fn set_server(&self, server: u16) {
        self.shared.server.store(server, Ordering::Release);
    }

    /// Whether [`Self::drop_reply_to`] has closed a connection.
    pub fn has_dropped_reply(&self) -> bool {
        self.shared.has_dropped_reply.load(Ordering::Acquire)
    }

    /// How often a client sent a request and waited for an answer, over all connections so far.
    pub fn round_trips(&self) -> usize {
        self.shared.round_trips.load(Ordering::Acquire)
    }
}

async fn pass(mut client: TcpStream, shared: Arc<Shared>) {
    let (mut ends, mut dies) = (shared.mode.subscribe(), shared.mode.subscribe());
    let ends = ends.wait_for(|mode| *mode == Mode::CutOff);
    tokio::pin!(ends);
    let mut server = None;
    tokio::select! {
        biased;
        _ = &mut ends => return,
        _ = dies.wait_for(|mode| *mode == Mode::Blackholed) => {}
        () = forward(&mut client, &mut server, &shared) => return,
    }
    let draining = async {
        let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
        // The server never learns that the client has given up.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = &mut ends => {}
        () = draining => {}
    }
}

async fn forward(client: &mut TcpStream, server: &mut Option<TcpStream>, shared: &Shared) {
    let port = shared.server.load(Ordering::Acquire);
    let connected = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
    let server = server.insert(connected);
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let connection = Connection::default();
    tokio::select! {
        () = forward_requests(from_client, to_server, shared, &connection) => {}
        () = forward_replies(from_server, to_client, shared, &connection) => {}
    }
}

async fn forward_requests(
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
    shared: &Shared,
    connection: &Connection,
) {
    let mut request = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut request).await {
        if !connection.is_waiting.swap(true, Ordering::AcqRel) {
            shared.round_trips.fetch_add(1, Ordering::AcqRel);
        }
        shared.delay().await;
        if take_match(&mut shared.blackhole_from.lock(), &request[..length]) {
            shared.mode.send_replace(Mode::Blackholed);
        }
        if *shared.mode.borrow() == Mode::Blackholed {
            std::future::pending::<()>().await;
        }
        let drops_reply = take_match(&mut shared.drop_reply_to.lock(), &request[..length]);
        connection.drops_reply.store(drops_reply, Ordering::Release);
        if server.write_all(&request[..length]).await.is_err() {
            return;
        }
        if drops_reply {
            // The reply shows that the server has done its work. The other direction then closes the connection.
            std::future::pending::<()>().await;
        }
    }
}

async fn forward_replies(
    mut server: ReadHalf<'_>,
    mut client: WriteHalf<'_>,
    shared: &Shared,
    connection: &Connection,
) {
    let mut reply = vec![0; 1 << 16];
    while let Ok(length @ 1..) = server.read(&mut reply).await {
        connection.is_waiting.store(false, Ordering::Release);
        if connection.drops_reply.load(Ordering::Acquire) {
            shared.has_dropped_reply.store(true, Ordering::Release);
            return;
        }
        shared.delay().await;
        if client.write_all(&reply[..length]).await.is_err() {
            return;
        }
    }
}

/// Whether the request contains the awaited bytes. If so, they are not awaited any more.
fn take_match(awaited: &mut Option<Vec<u8>>, request: &[u8]) -> bool {
    let is_match = awaited.as_ref().is_some_and(|awaited| request.windows(awaited.len()).any(|part| part == awaited));
    if is_match {
        *awaited = None;
    }
    is_match
}

impl Shared {
    async fn delay(&self) {
        let mode = *self.mode.borrow();
        match mode {
            Mode::Delaying(by) => tokio::time::sleep(by).await,
            // The sender lives as long as `self`.
            Mode::Stalled => drop(self.mode.subscribe().wait_for(|mode| *mode != Mode::Stalled).await),
            Mode::Passing | Mode::Blackholed | Mode::CutOff => {}
        }
    }
}
