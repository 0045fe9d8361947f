//! A bot as a process, which tests stop, pause and kill.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use opora_testkit::environment;
use parking_lot::Mutex;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::bots::{ChildConfig, WEBHOOK_SECRET};
use super::stage::{Stage, TIMEOUT, TOKEN, until};

type Lines = Arc<Mutex<Vec<(Duration, String)>>>;

/// A running bot. Dropping it kills the process.
pub struct Process {
    child: Child,
    /// Its output; each line with the time since the start.
    lines: Lines,
    readers: [JoinHandle<()>; 2],
}

impl Process {
    /// Starts the example `registration`, as a user would.
    pub fn registration(stage: &Stage, failpoints: &str) -> Self {
        let mut command = Command::new(example());
        command.env("FAILPOINTS", failpoints);
        Self::start(with_settings(command, stage))
    }

    /// Starts the example with an address without a folder. The variable names the folder.
    pub fn registration_with_folder(stage: &Stage, variable: &str) -> Self {
        let (address, folder) = stage.backend.address_and_folder();
        let mut command = with_settings(Command::new(example()), stage);
        command.env_remove("DATA_DIR").env_remove("RUN_DIR").env("STATE_URL", address).env(variable, folder);
        Self::start(command)
    }

    /// Starts the example by webhook. It listens at an address, and Telegram calls `url`.
    pub fn by_webhook(stage: &Stage, listen: SocketAddr, url: &str, failpoints: &str) -> Self {
        let mut command = Command::new(example());
        command
            .env("FAILPOINTS", failpoints)
            .env("WEBHOOK_URL", url)
            .env("WEBHOOK_SECRET", WEBHOOK_SECRET)
            .env("WEBHOOK_LISTEN", listen.to_string());
        Self::start(with_settings(command, stage))
    }

    /// Starts the example through another program, which gets its path.
    pub fn registration_started_by(stage: &Stage, starter: &[&str]) -> Self {
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(example());
        Self::start(with_settings(command, stage))
    }

    /// Starts this test binary as a child that runs a bot.
    pub fn child(config: &ChildConfig) -> Self {
        Self::child_test("crash::bots::child_runs_a_bot", config)
    }

    /// Starts this test binary as a child that runs this test.
    pub fn child_test(test: &str, config: &ChildConfig) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(environment::CHILD, serde_json::to_string(config).unwrap());
        Self::start(command)
    }

    /// Like [`Self::child`], with a file size limit: the signal is ignored, so writes beyond the limit fail as on a
    /// full disk.
    pub fn child_with_file_limit(config: &ChildConfig) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "crash::bots::child_runs_a_bot", "--nocapture"]);
        command.env(environment::CHILD, serde_json::to_string(config).unwrap());
        Self::start(command)
    }

    /// Sets the largest size of the process's files. None removes the limit.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.pid().try_into().unwrap());
        prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    }

    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = Arc::default();
        let readers =
            [collect_lines(child.stdout.take().unwrap(), &lines), collect_lines(child.stderr.take().unwrap(), &lines)];
        Self { child, lines, readers }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    pub fn log_lines(&self) -> Vec<String> {
        self.lines.lock().iter().map(|(_, line)| line.clone()).collect()
    }

    pub fn has_logged(&self, words: &str) -> bool {
        self.lines.lock().iter().any(|(_, line)| line.contains(words))
    }

    pub fn count(&self, words: &str) -> usize {
        self.lines.lock().iter().filter(|(_, line)| line.contains(words)).count()
    }

    /// The memory that it has in use.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Whether every thread is stopped. A signal takes a moment.
    pub fn is_paused(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let mut states = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
        states.all(|state| state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    pub async fn wait_for_log(&self, words: &str) {
        self.until(words, || self.has_logged(words).then_some(())).await;
    }

    /// The time from the start until it became leader. None if it does not lead yet.
    pub fn time_to_lead(&self) -> Option<Duration> {
        let led = |line: &str| line.contains("took over the lease") || line.contains(": holds the lease");
        self.lines.lock().iter().find(|(_, line)| led(line)).map(|(after, _)| *after)
    }

    /// Waits until it leads. Returns the time since the start.
    pub async fn wait_until_leading(&self) -> Duration {
        self.until("that it leads", || self.time_to_lead()).await
    }

    async fn until<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let looking = async {
            loop {
                match look() {
                    Some(found) => return found,
                    None => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        match tokio::time::timeout(TIMEOUT, looking).await {
            Ok(found) => found,
            Err(_) => panic!("no log line `{what}`, but:\n{}", self.log_lines().join("\n")),
        }
    }

    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Kills it while the other instances are paused. Returns the number of unrecorded sends. Only those may come
    /// twice: the next leader on this machine reads the sent log.
    pub async fn kill_with_others_paused(self, others: &[&Self], stage: &Stage) -> usize {
        // Opened before the pause: a process paused in the middle of a write may block an open.
        let store = stage.store().await;
        for other in others {
            other.signal(Signal::STOP);
            until("it is paused", || other.is_paused()).await;
        }
        self.kill().await;
        let unrecorded = stage.unrecorded_sends_in(&store).await;
        for other in others {
            other.signal(Signal::CONT);
        }
        store.close().await.unwrap();
        unrecorded
    }

    /// Waits for its end and for the last of its output.
    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        let ended = async {
            let status = self.child.wait().await.unwrap();
            for reader in &mut self.readers {
                reader.await.unwrap();
            }
            status
        };
        match tokio::time::timeout(TIMEOUT, ended).await {
            Ok(status) => status,
            Err(_) => panic!("it does not end, but logs:\n{}", self.log_lines().join("\n")),
        }
    }

    /// Waits until every update is acknowledged, then stops it with SIGTERM. Returns its output.
    pub async fn stop(mut self, stage: &Stage) -> Vec<String> {
        until("every update is acknowledged", || stage.unacknowledged() == 0).await;
        self.signal(Signal::TERM);
        let status = self.wait_for_exit().await;
        let log = self.log_lines();
        assert!(status.success(), "{status}:\n{}", log.join("\n"));
        log
    }
}

fn with_settings(mut command: Command, stage: &Stage) -> Command {
    command
        .env("BOT_TOKEN", TOKEN)
        .env("BOT_API_URL", &stage.base)
        .env("STATE_URL", stage.address())
        .env("SEND_LIMITS", "off")
        .env("RUST_LOG", "opora=info")
        .env("NO_COLOR", "1");
    command
}

fn collect_lines(output: impl AsyncRead + Unpin + Send + 'static, lines: &Lines) -> JoinHandle<()> {
    let (lines, mut output, started) = (Arc::clone(lines), BufReader::new(output).lines(), Instant::now());
    tokio::spawn(async move {
        while let Ok(Some(line)) = output.next_line().await {
            lines.lock().push((started.elapsed(), line));
        }
    })
}

/// The example's path: `target/<profile>/examples/registration`, beside `target/<profile>/deps/it-…`.
fn example() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().unwrap().with_file_name("examples").join("registration");
    assert!(path.exists(), "{} is missing: cargo build -p opora --examples", path.display());
    path
}
