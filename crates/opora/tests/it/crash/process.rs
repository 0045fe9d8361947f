//! A bot in a process of its own, to be stopped, continued and killed.

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

use super::bots::{Part, WEBHOOK_SECRET};
use super::stage::{PATIENCE, Stage, TOKEN, until};

type Lines = Arc<Mutex<Vec<(Duration, String)>>>;

/// A running bot. Dropping it kills it.
pub struct Process {
    child: Child,
    /// What it told, each line with the time since the start.
    lines: Lines,
    readers: [JoinHandle<()>; 2],
}

impl Process {
    /// The example `registration`, as a user would run it.
    pub fn registration(stage: &Stage, failpoints: &str) -> Self {
        let mut command = Command::new(example());
        command.env("FAILPOINTS", failpoints);
        Self::start(with_settings(command, stage))
    }

    /// The same with an address without a folder, which a variable names.
    pub fn registration_with_folder(stage: &Stage, variable: &str) -> Self {
        let (address, folder) = stage.keeper.apart();
        let mut command = with_settings(Command::new(example()), stage);
        command.env_remove("DATA_DIR").env_remove("RUN_DIR").env("STATE_URL", address).env(variable, folder);
        Self::start(command)
    }

    /// The same, by webhook: it listens at an address, and Telegram calls `url`.
    pub fn by_webhook(stage: &Stage, listen: SocketAddr, url: &str, failpoints: &str) -> Self {
        let mut command = Command::new(example());
        command
            .env("FAILPOINTS", failpoints)
            .env("WEBHOOK_URL", url)
            .env("WEBHOOK_SECRET", WEBHOOK_SECRET)
            .env("WEBHOOK_LISTEN", listen.to_string());
        Self::start(with_settings(command, stage))
    }

    /// The same, started by another program that is given its path.
    pub fn registration_by(stage: &Stage, starter: &[&str]) -> Self {
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(example());
        Self::start(with_settings(command, stage))
    }

    /// This test binary once more, with a part to play.
    pub fn playing(part: &Part) -> Self {
        Self::playing_by("crash::bots::a_child_plays_its_part", part)
    }

    /// The same, by another test.
    pub fn playing_by(test: &str, part: &Part) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(environment::CHILD, serde_json::to_string(part).unwrap());
        Self::start(command)
    }

    /// The same as [`Self::playing`], and writes beyond a limit of its files fail as on a full disk: the signal that comes
    /// with them is ignored.
    pub fn playing_within_limits(part: &Part) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "crash::bots::a_child_plays_its_part", "--nocapture"]);
        command.env(environment::CHILD, serde_json::to_string(part).unwrap());
        Self::start(command)
    }

    /// Lets no file of it grow beyond so many bytes; none is no limit.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.pid().try_into().unwrap());
        prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    }

    /// Any program that runs a bot.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = Arc::default();
        let readers = [note(child.stdout.take().unwrap(), &lines), note(child.stderr.take().unwrap(), &lines)];
        Self { child, lines, readers }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Everything it has printed and logged so far.
    pub fn told(&self) -> Vec<String> {
        self.lines.lock().iter().map(|(_, line)| line.clone()).collect()
    }

    pub fn has_told(&self, words: &str) -> bool {
        self.lines.lock().iter().any(|(_, line)| line.contains(words))
    }

    /// How many lines with these words it has told.
    pub fn count(&self, words: &str) -> usize {
        self.lines.lock().iter().filter(|(_, line)| line.contains(words)).count()
    }

    /// Whether every thread of it is stopped; a signal takes its time.
    pub fn stands_still(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let mut states = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
        states.all(|state| state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    /// Waits for a line with these words.
    pub async fn tells(&self, words: &str) {
        self.until(words, || self.has_told(words).then_some(())).await;
    }

    /// When it began to work as the leader, counted from its start.
    pub fn led_after(&self) -> Option<Duration> {
        let led = |line: &str| line.contains("took over the lease") || line.contains(": holds the lease");
        self.lines.lock().iter().find(|(_, line)| led(line)).map(|(after, _)| *after)
    }

    /// Waits until it works as the leader; gives the time since its start.
    pub async fn leads(&self) -> Duration {
        self.until("that it leads", || self.led_after()).await
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
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(found) => found,
            Err(_) => panic!("it never told `{what}`, but:\n{}", self.told().join("\n")),
        }
    }

    /// Kills it with what cannot be caught.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Kills it while those who would follow it stand still; gives how many messages were in the act. Only these may come
    /// twice: whoever follows on the same machine reads what it has noted.
    pub async fn kill_beside(self, others: &[&Self], stage: &Stage) -> usize {
        // Who stands still may be in the midst of a write, behind which nobody could open it.
        let store = stage.store().await;
        for other in others {
            other.signal(Signal::STOP);
            until("it stands still", || other.stands_still()).await;
        }
        self.kill().await;
        let in_the_act = stage.in_the_act_of(&store).await;
        for other in others {
            other.signal(Signal::CONT);
        }
        store.close().await.unwrap();
        in_the_act
    }

    /// Waits for its end, and for the last of what it tells.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = async {
            let status = self.child.wait().await.unwrap();
            for reader in &mut self.readers {
                reader.await.unwrap();
            }
            status
        };
        match tokio::time::timeout(PATIENCE, ended).await {
            Ok(status) => status,
            Err(_) => panic!("it does not end, but tells:\n{}", self.told().join("\n")),
        }
    }

    /// Stops it kindly, and waits until nothing is left to acknowledge before.
    pub async fn stop(mut self, stage: &Stage) -> Vec<String> {
        until("every update is acknowledged", || stage.unacknowledged() == 0).await;
        self.signal(Signal::TERM);
        let status = self.ended().await;
        let told = self.told();
        assert!(status.success(), "{status}:\n{}", told.join("\n"));
        told
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

fn note(output: impl AsyncRead + Unpin + Send + 'static, lines: &Lines) -> JoinHandle<()> {
    let (lines, mut output, started) = (Arc::clone(lines), BufReader::new(output).lines(), Instant::now());
    tokio::spawn(async move {
        while let Ok(Some(line)) = output.next_line().await {
            lines.lock().push((started.elapsed(), line));
        }
    })
}

/// `target/<profile>/deps/it-…` stands beside `target/<profile>/examples/registration`.
fn example() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().unwrap().with_file_name("examples").join("registration");
    assert!(path.exists(), "{} is missing: cargo build -p opora --examples", path.display());
    path
}
