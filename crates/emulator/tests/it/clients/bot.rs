//! A bot in a process of its own: started, ended by its id, its complaints shown where a test fails.

use std::io::Read;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::stage::PATIENCE;

pub struct Bot {
    process: Child,
    /// What it wrote to its standard error so far.
    wrote: Arc<Mutex<Vec<u8>>>,
}

impl Bot {
    pub fn start(command: &mut Command) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).kill_on_drop(true);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let wrote = Arc::<Mutex<Vec<u8>>>::default();
        let kept = wrote.clone();
        thread::spawn(move || keep(reader, &kept));
        Self { process, wrote }
    }

    /// Waits for an end that nobody asked for.
    pub async fn ended(&mut self) -> ExitStatus {
        self.process.wait().await.unwrap()
    }

    /// Asks it to end and gives it time to; a bot that does not is killed with the test's failure.
    pub async fn stop(mut self) {
        let id = self.process.id().expect("the bot ended before it was asked to").to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().await.unwrap();
        assert!(asked.success(), "kill: {asked}");
        let ended = timeout(PATIENCE, self.process.wait()).await.expect("the bot goes on though asked to end");
        let ended = ended.unwrap();
        assert!(ended.success(), "the bot ended with {ended}");
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if thread::panicking() {
            let wrote = self.wrote.lock().unwrap();
            eprintln!("The bot wrote:\n{}", String::from_utf8_lossy(&wrote));
        }
    }
}

/// Reads on while the process writes: a full pipe would hold it up.
fn keep(mut reader: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        kept.lock().unwrap().extend_from_slice(&piece[..length]);
    }
}
