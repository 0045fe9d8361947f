//! A TCP proxy before a server: it counts the ways there and back, and cuts connections when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes everything on to a port.
pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Where connections lead.
    server: AtomicU16,
    /// What is to be cut when it has been passed on to the server.
    cut_after: Mutex<Option<Vec<u8>>>,
    has_cut: AtomicBool,
    ways: AtomicUsize,
    /// Nothing is passed on.
    is_cut_off: watch::Sender<bool>,
}

impl Proxy {
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
        self.shared.is_cut_off.send_replace(is_cut_off);
    }

    /// New connections lead to another server; those that are there stay where they are.
    pub fn lead_to(&self, server: u16) {
        self.shared.server.store(server, Ordering::Release);
    }

    pub fn has_cut(&self) -> bool {
        self.shared.has_cut.load(Ordering::Acquire)
    }

    /// How often somebody asked and waited for an answer, over all connections so far.
    pub fn ways(&self) -> usize {
        self.shared.ways.load(Ordering::Acquire)
    }
}

async fn pass(client: TcpStream, shared: Arc<Shared>) {
    let mut is_cut_off = shared.is_cut_off.subscribe();
    tokio::select! {
        _ = is_cut_off.wait_for(|is_cut_off| *is_cut_off) => {}
        () = pass_on(client, Arc::clone(&shared)) => {}
    }
}

async fn pass_on(mut client: TcpStream, shared: Arc<Shared>) {
    let server = shared.server.load(Ordering::Acquire);
    let mut server = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], server))).await.unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut is_asking = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                if !is_asking {
                    shared.ways.fetch_add(1, Ordering::AcqRel);
                }
                is_asking = true;
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
                if shared.is_cut(&asked[..length]) {
                    // The answer shows that the server has done it.
                    let _ = server.read(&mut answered).await;
                    shared.has_cut.store(true, Ordering::Release);
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                is_asking = false;
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

impl Shared {
    fn is_cut(&self, said: &[u8]) -> bool {
        let mut cut_after = self.cut_after.lock();
        let is_cut = cut_after.as_ref().is_some_and(|cut| said.windows(cut.len()).any(|part| part == cut));
        if is_cut {
            *cut_after = None;
        }
        is_cut
    }
}
