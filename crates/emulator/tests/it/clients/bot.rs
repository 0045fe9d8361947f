//! A bot as a process: started, stopped by its process id, its output shown if the test fails.

use std::io::Read;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::stage::TIMEOUT;

pub struct Bot {
    process: Child,
    /// Its standard error so far.
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl Bot {
    pub fn start(command: &mut Command) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).kill_on_drop(true);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stderr = Arc::<Mutex<Vec<u8>>>::default();
        let copy = stderr.clone();
        thread::spawn(move || read_all(reader, &copy));
        Self { process, stderr }
    }

    /// Waits until the bot ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        self.process.wait().await.unwrap()
    }

    /// Asks the bot to end and waits for it. A bot that does not end fails the test and is killed.
    pub async fn stop(mut self) {
        let id = self.process.id().expect("the bot ended before it was asked to").to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().await.unwrap();
        assert!(asked.success(), "kill: {asked}");
        let ended = timeout(TIMEOUT, self.process.wait()).await.expect("the bot goes on though asked to end");
        let ended = ended.unwrap();
        assert!(ended.success(), "the bot ended with {ended}");
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if thread::panicking() {
            let stderr = self.stderr.lock().unwrap();
            eprintln!("The bot wrote:\n{}", String::from_utf8_lossy(&stderr));
        }
    }
}

/// Reads while the process writes: a full pipe would block it.
fn read_all(mut reader: impl Read, output: &Mutex<Vec<u8>>) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        output.lock().unwrap().extend_from_slice(&piece[..length]);
    }
}
