//! `opora state`, `opora backup` and `opora restore`: the real program, on a store that a bot has filled and still
//! holds open.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::instance::{Leadership, LeaseSettings, lead};
use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, ConversationRow, Effect, Filter, Incoming, InputRef, Mark, Origin, Outgoing, ParkedId,
    ParkedTurn, StateChange, StateName, Store, StoredState, TimerChange, Transition, Version,
};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::kit::demo::{TIMEOUT, program};

/// Makes each test function, which takes a [`StoreKind`], a test per store.
macro_rules! on_every_store {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::StoreKind::Sqlite).await;
            })*
        }
        mod redis {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::StoreKind::Redis).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::StoreKind::Postgres).await;
            })*
        }
    };
}

mod accept_loss;
mod aiogram_live;
mod backup;
pub mod doctor;
mod export_import;
mod failed_messages;
mod import_aiogram;
mod import_orders;
mod leases;
mod list_show_stats;
mod parked_turns;
mod people_and_settings;
mod reset;
mod restore;
mod store_choice;
mod tidy;
mod unreachable;

const BOT: i64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreKind {
    Sqlite,
    Redis,
    Postgres,
}

/// Where the store is. It is removed with the test.
enum StoreLocation {
    File(String),
    Redis(RedisNamespace),
    Postgres(PostgresSchema),
}

/// A store with a few conversations that a bot still holds open.
struct StoreFixture {
    store: Arc<dyn Store>,
    bot: Leadership,
    now: Millis,
    // Dropped last.
    location: StoreLocation,
    folder: TempDir,
}

/// Exit code and output of the program.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl StoreFixture {
    async fn empty(kind: StoreKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = match kind {
            StoreKind::Sqlite => StoreLocation::File(format!("sqlite:{}/opora.db", folder.path().display())),
            StoreKind::Redis => StoreLocation::Redis(RedisNamespace::new()),
            StoreKind::Postgres => StoreLocation::Postgres(PostgresSchema::new().await),
        };
        let store = opora::store::open(location.address()).await.unwrap();
        let (clock, stop) = (Clock::machine(), CancellationToken::new());
        let bot = lead(&store, BOT, &LeaseSettings::default(), &clock, &stop).await.unwrap();
        Self { store, bot, now: clock.now(), location, folder }
    }

    /// Anna is asked for her phone number, Boris for his city, Vera has conversations in two chats, Gleb's has ended.
    async fn with_conversations(kind: StoreKind) -> Self {
        let fixture = Self::empty(kind).await;
        fixture.add_conversation(&key("1:5:5"), "registration", "phone").await;
        fixture.add_conversation(&key("1:6:6"), "registration", "city").await;
        fixture.add_conversation(&key("1:7:7"), "support", "open").await;
        fixture.add_conversation(&key("1:-100:7"), "support", "open").await;
        let gleb = fixture.add_conversation(&key("1:8:8"), "support", "open").await;
        fixture.commit(&key("1:8:8"), gleb.version, |commit| commit.state = StateChange::Clear).await;
        fixture
    }

    /// A conversation's first turn, 200 seconds ago. It sends a message, sets a timer and asks for an effect.
    async fn add_conversation(&self, key: &ConversationKey, dialogue: &str, state: &str) -> Committed {
        let place = StateName { dialogue: dialogue.into(), state: state.into() };
        let value = json!({"tracks": [{"stack": [{"dialogue": dialogue, "at": state, "state": {"name": "Secret"}}]}]});
        let expires_at = Some(self.now.plus(Duration::from_secs(7200)));
        self.commit(key, Version(0), |commit| {
            commit.transition =
                Some(Transition { from: None, to: Some(place.clone()), by: "command".into(), took_us: 70 });
            commit.state =
                StateChange::Set(StoredState { value: value.to_string().into(), states: vec![place], expires_at });
            commit.outgoing = vec![message(key.chat)];
            commit.timers = vec![TimerChange::Set {
                name: "nudge".into(),
                due_at: self.now.plus(Duration::from_secs(600)),
                body: "{}".into(),
            }];
            commit.effects = vec![Effect { kind: "score".into(), body: "{}".into() }];
        })
        .await
    }

    async fn commit(&self, key: &ConversationKey, from: Version, change: impl FnOnce(&mut Commit)) -> Committed {
        let mut commit = Commit::new(key.clone(), from, self.now.minus(Duration::from_secs(200)));
        change(&mut commit);
        self.store.commit(self.bot.epoch, commit).await.unwrap()
    }

    /// An update arrives and waits in the inbox.
    async fn receive_update(&self, key: &ConversationKey, update_id: i64) -> (opora::store::Seq, Mark) {
        let mark = Mark { bot: BOT, update_id, identity: format!("m{update_id}").into() };
        let body = json!({"update_id": update_id}).to_string().into();
        let incoming = Incoming { key: key.clone(), origin: Origin::Update(mark.clone()), body, at: self.now };
        self.store.receive(self.bot.epoch, vec![incoming]).await.unwrap();
        let waiting = self.store.waiting_for(key, opora::store::Seq(0), 100).await.unwrap();
        (waiting.last().unwrap().seq, mark)
    }

    /// An update arrives and is parked.
    async fn park_update(&self, key: &ConversationKey, update_id: i64) {
        let (seq, mark) = self.receive_update(key, update_id).await;
        let body = json!({"update_id": update_id, "text": "Secret"}).to_string();
        self.park_turn(key, vec![InputRef::Update { seq, mark }], "update", body).await;
    }

    async fn park_turn(&self, key: &ConversationKey, taken: Vec<InputRef>, kind: &str, body: String) {
        let parked = ParkedTurn {
            id: ParkedId(0),
            key: key.clone(),
            kind: kind.into(),
            body,
            reason: "the handler panicked".into(),
            attempts: 5,
            at: self.now,
            retry: false,
        };
        self.store.park(self.bot.epoch, taken, parked, Vec::new()).await.unwrap();
    }

    fn address(&self) -> &str {
        self.location.address()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs `opora` on this store, without a terminal.
    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run(&[], &[arguments, &["--store", self.address()]].concat()).await
    }

    /// Runs a command with `--json` and parses its output.
    async fn json(&self, arguments: &[&str]) -> Value {
        let done = self.run(&[arguments, &["--json"]].concat()).await.success();
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error} in: {}", done.stdout))
    }

    /// All conversations of the store.
    async fn rows(&self) -> Vec<ConversationRow> {
        let all = Filter { ended: true, ..Filter::default() };
        self.store.list(&all, None, 10_000).await.unwrap()
    }

    async fn parked(&self) -> Vec<ParkedTurn> {
        self.store.parked(None, 100).await.unwrap()
    }
}

impl StoreLocation {
    /// The address that the program takes.
    fn address(&self) -> &str {
        match self {
            Self::File(address) => address,
            Self::Redis(space) => &space.url,
            Self::Postgres(space) => &space.url,
        }
    }
}

impl CommandOutput {
    /// Asserts exit code 0.
    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Asserts exit code 1 and an error message with all these words, and no panic.
    #[track_caller]
    pub fn fails_with(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        let complains = self.stderr.contains("opora: ") && words.iter().all(|word| self.stderr.contains(word));
        assert!(complains && !self.stderr.contains("panicked"), "{words:?} in: {}", self.stderr);
    }
}

/// Runs `opora`. Only these variables decide which store it uses.
pub async fn run(variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(program());
    for decides in ["STATE_URL", "REDIS_URL", "DATABASE_URL", "DATA_DIR"] {
        command.env_remove(decides);
    }
    command.args(arguments).envs(variables.iter().copied());
    // Not in the crate's folder: a developer may have a `data` folder there.
    let output = command.current_dir("/").stdin(Stdio::null()).kill_on_drop(true).output();
    let Output { status, stdout, stderr } = timeout(TIMEOUT, output).await.expect("it should end by itself").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

fn key(text: &str) -> ConversationKey {
    text.parse().unwrap()
}

fn message(chat: i64) -> Outgoing {
    Outgoing::new(Some(chat), "sendMessage", json!({"text": "Secret"}).to_string())
}
