//! A TCP proxy before a server: it counts the ways there and back, and delays, swallows or cuts what it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes everything on to a port.
#[derive(Debug)]
pub struct Proxy {
    /// Where it listens itself.
    pub port: u16,
    shared: Arc<Shared>,
}

/// What becomes of what is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Passing,
    /// Everything comes so much later.
    Delaying(Duration),
    /// Everything waits until the way is free again, and comes then.
    Holding,
    /// Connections are taken and everything said on them, and nothing comes of it.
    Swallowing,
    /// All connections end, and none come about.
    CutOff,
}

#[derive(Debug, Default)]
struct Shared {
    /// Where connections lead.
    server: AtomicU16,
    /// What is to be cut when it has been passed on to the server.
    cut_after: Mutex<Option<Vec<u8>>>,
    /// What is swallowed, and from then on everything.
    swallow_from: Mutex<Option<Vec<u8>>>,
    has_cut: AtomicBool,
    ways: AtomicUsize,
    mode: watch::Sender<Mode>,
}

/// What both directions of a connection know.
#[derive(Default)]
struct Line {
    /// Somebody has asked and waits for an answer.
    is_asking: AtomicBool,
    /// The next answer is not passed on, and the connection ends.
    is_cut: AtomicBool,
}

impl Proxy {
    /// One before the server at this port of the loopback interface.
    pub async fn before(server: u16) -> Self {
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

    /// Ends the next connection that says this, once the server has heard it, so that its answer is lost.
    pub fn cut_after(&self, said: &[u8]) {
        *self.shared.cut_after.lock() = Some(said.to_vec());
    }

    /// Ends all connections and lets none come, or lets them come again.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.shared.mode.send_replace(if is_cut_off { Mode::CutOff } else { Mode::Passing });
    }

    /// From now on everything comes so much later.
    pub fn delay(&self, by: Duration) {
        self.shared.mode.send_replace(Mode::Delaying(by));
    }

    /// From now on everything is held up, as by a server that has stalled; when the way is free again, it comes through.
    pub fn hold(&self) {
        self.shared.mode.send_replace(Mode::Holding);
    }

    /// From now on nothing comes through and nobody is told. Connections that are there, or come about meanwhile, stay dead
    /// when the way is free again, and the server holds its end of them.
    pub fn swallow(&self) {
        self.shared.mode.send_replace(Mode::Swallowing);
    }

    /// The same from the moment at which somebody says this, which the server does not hear.
    pub fn swallow_from(&self, said: &[u8]) {
        *self.shared.swallow_from.lock() = Some(said.to_vec());
    }

    /// The way is free again.
    pub fn let_pass(&self) {
        self.shared.mode.send_replace(Mode::Passing);
    }

    /// New connections lead to another server; those that are there stay where they are.
    pub fn lead_to(&self, server: u16) {
        self.shared.server.store(server, Ordering::Release);
    }

    /// Whether [`Self::cut_after`] has ended a connection.
    pub fn has_cut(&self) -> bool {
        self.shared.has_cut.load(Ordering::Acquire)
    }

    /// How often somebody asked and waited for an answer, over all connections so far.
    pub fn ways(&self) -> usize {
        self.shared.ways.load(Ordering::Acquire)
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
        _ = dies.wait_for(|mode| *mode == Mode::Swallowing) => {}
        () = pass_on(&mut client, &mut server, &shared) => return,
    }
    let swallowing = async {
        let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
        // The server never hears that the client has given up.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = &mut ends => {}
        () = swallowing => {}
    }
}

async fn pass_on(client: &mut TcpStream, server: &mut Option<TcpStream>, shared: &Shared) {
    let port = shared.server.load(Ordering::Acquire);
    let connected = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
    let server = server.insert(connected);
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let line = Line::default();
    tokio::select! {
        () = there(from_client, to_server, shared, &line) => {}
        () = back(from_server, to_client, shared, &line) => {}
    }
}

async fn there(mut client: ReadHalf<'_>, mut server: WriteHalf<'_>, shared: &Shared, line: &Line) {
    let mut asked = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut asked).await {
        if !line.is_asking.swap(true, Ordering::AcqRel) {
            shared.ways.fetch_add(1, Ordering::AcqRel);
        }
        shared.delays().await;
        if is_said(&mut shared.swallow_from.lock(), &asked[..length]) {
            shared.mode.send_replace(Mode::Swallowing);
        }
        if *shared.mode.borrow() == Mode::Swallowing {
            std::future::pending::<()>().await;
        }
        let is_cut = is_said(&mut shared.cut_after.lock(), &asked[..length]);
        line.is_cut.store(is_cut, Ordering::Release);
        if server.write_all(&asked[..length]).await.is_err() {
            return;
        }
        if is_cut {
            // The answer shows that the server has done it, and ends this.
            std::future::pending::<()>().await;
        }
    }
}

async fn back(mut server: ReadHalf<'_>, mut client: WriteHalf<'_>, shared: &Shared, line: &Line) {
    let mut answered = vec![0; 1 << 16];
    while let Ok(length @ 1..) = server.read(&mut answered).await {
        line.is_asking.store(false, Ordering::Release);
        if line.is_cut.load(Ordering::Acquire) {
            shared.has_cut.store(true, Ordering::Release);
            return;
        }
        shared.delays().await;
        if client.write_all(&answered[..length]).await.is_err() {
            return;
        }
    }
}

/// Whether it is what was waited for; then it is waited for no more.
fn is_said(awaited: &mut Option<Vec<u8>>, said: &[u8]) -> bool {
    let is_said = awaited.as_ref().is_some_and(|awaited| said.windows(awaited.len()).any(|part| part == awaited));
    if is_said {
        *awaited = None;
    }
    is_said
}

impl Shared {
    async fn delays(&self) {
        let mode = *self.mode.borrow();
        match mode {
            Mode::Delaying(by) => tokio::time::sleep(by).await,
            // The sender lives as long as this.
            Mode::Holding => drop(self.mode.subscribe().wait_for(|mode| *mode != Mode::Holding).await),
            Mode::Passing | Mode::Swallowing | Mode::CutOff => {}
        }
    }
}
