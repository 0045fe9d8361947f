//! Starting servers for tests: free ports, unique names, and retries.

use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Child;
use std::time::{Duration, Instant};

/// Another program may take the port between its choice and its use.
const START_ATTEMPTS: usize = 5;
const READY_POLL_INTERVAL: Duration = Duration::from_millis(5);
const RESTART_INTERVAL: Duration = Duration::from_millis(50);

/// A port of the loopback interface that no program listens on.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A random number, to make names unique.
pub fn random_number() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Starts a server on a free port. `run` returns none if the server ended by itself.
pub(crate) fn start(name: &str, mut run: impl FnMut(u16) -> Option<Child>) -> (u16, Child) {
    for _ in 0..START_ATTEMPTS {
        let port = free_port();
        if let Some(child) = run(port) {
            return (port, child);
        }
    }
    panic!("{name} ended {START_ATTEMPTS} times at its start");
}

/// Starts a killed server again on its port. Repeats `run` until the deadline: another program's connection, or a
/// process of the killed server, may hold the port for a moment.
pub(crate) fn start_again(name: &str, within: Duration, mut run: impl FnMut() -> Option<Child>) -> Child {
    let began = Instant::now();
    loop {
        match run() {
            Some(child) => return child,
            None => assert!(began.elapsed() < within, "{name} does not start again"),
        }
        std::thread::sleep(RESTART_INTERVAL);
    }
}

/// Waits until a started server is ready. None if it ended by itself.
pub(crate) fn ready(name: &str, mut child: Child, within: Duration, is_ready: impl Fn() -> bool) -> Option<Child> {
    let began = Instant::now();
    while began.elapsed() < within {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if is_ready() {
            return Some(child);
        }
        std::thread::sleep(READY_POLL_INTERVAL);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("{name} does not answer");
}
