//! `opora state`, `opora backup` and `opora restore`: the real program beside a store that a bot has filled and still holds open.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::instance::{Leadership, LeaseSettings, lead};
use opora::key::DialogueKey;
use opora::store::{
    Commit, Committed, ConversationRow, Effect, Filter, IfUnsure, Incoming, Mark, Origin, Outgoing, Parked, ParkedId,
    Place, StateChange, Store, Stored, Taken, TimerChange, Transition, Version,
};
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::kit::demo::{PATIENCE, program};

/// Runs tests over every store that an operator may meet; each is a function of the [`Kind`].
macro_rules! on_every_store {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::Kind::Sqlite).await;
            })*
        }
        mod redis {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::Kind::Redis).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::operator::Kind::Postgres).await;
            })*
        }
    };
}

mod accepting;
mod aiogram_live;
mod asking;
mod choosing;
mod copying;
pub mod doctor;
mod failing;
mod from_aiogram;
mod leases;
mod moving;
mod office;
mod parking;
mod reading;
mod restoring;
mod tidying;
mod unreachable;

const BOT: i64 = 1;

/// Which kind of store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Redis,
    Postgres,
}

/// Where it is kept. It goes with the test.
enum Keeper {
    File(String),
    Redis(RedisSpace),
    Postgres(PostgresSpace),
}

/// A store with a few conversations, as a bot that runs has it open.
struct Office {
    store: Arc<dyn Store>,
    bot: Leadership,
    now: Millis,
    // Dropped last.
    keeper: Keeper,
    folder: TempDir,
}

/// What the program did.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Office {
    async fn empty(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keeper = match kind {
            Kind::Sqlite => Keeper::File(format!("sqlite:{}/opora.db", folder.path().display())),
            Kind::Redis => Keeper::Redis(RedisSpace::new()),
            Kind::Postgres => Keeper::Postgres(PostgresSpace::new().await),
        };
        let store = opora::store::open(keeper.address()).await.unwrap();
        let (clock, stop) = (Clock::machine(), CancellationToken::new());
        let bot = lead(&store, BOT, &LeaseSettings::default(), &clock, &stop).await.unwrap();
        Self { store, bot, now: clock.now(), keeper, folder }
    }

    /// Anna is asked for her phone and has written twice, Boris for his city, Vera talks in two chats, Gleb is done.
    async fn at_work(kind: Kind) -> Self {
        let office = Self::empty(kind).await;
        office.stands(&key("1:5:5"), "registration", "phone").await;
        office.stands(&key("1:6:6"), "registration", "city").await;
        office.stands(&key("1:7:7"), "support", "open").await;
        office.stands(&key("1:-100:7"), "support", "open").await;
        let gleb = office.stands(&key("1:8:8"), "support", "open").await;
        office.commit(&key("1:8:8"), gleb.version, |commit| commit.state = StateChange::Clear).await;
        office
    }

    /// A conversation's first turn, 200 seconds ago: it says something, sets a timer, asks for an effect.
    async fn stands(&self, key: &DialogueKey, dialogue: &str, state: &str) -> Committed {
        let place = Place { dialogue: dialogue.into(), state: state.into() };
        let value = json!({"slots": [{"stack": [{"dialogue": dialogue, "at": state, "state": {"name": "Secret"}}]}]});
        let expires_at = Some(self.now.plus(Duration::from_secs(7200)));
        self.commit(key, Version(0), |commit| {
            commit.transition =
                Some(Transition { from: None, to: Some(place.clone()), by: "command".into(), took_us: 70 });
            commit.state =
                StateChange::Set(Stored { value: value.to_string().into(), places: vec![place], expires_at });
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

    async fn commit(&self, key: &DialogueKey, from: Version, change: impl FnOnce(&mut Commit)) -> Committed {
        let mut commit = Commit::new(key.clone(), from, self.now.minus(Duration::from_secs(200)));
        change(&mut commit);
        self.store.commit(self.bot.epoch, commit).await.unwrap()
    }

    /// An update arrives and waits.
    async fn receives(&self, key: &DialogueKey, update_id: i64) -> (opora::store::Seq, Mark) {
        let mark = Mark { bot: BOT, update_id, identity: format!("m{update_id}").into() };
        let body = json!({"update_id": update_id}).to_string().into();
        let incoming = Incoming { key: key.clone(), origin: Origin::Update(mark.clone()), body, at: self.now };
        self.store.receive(self.bot.epoch, vec![incoming]).await.unwrap();
        let waiting = self.store.waiting_for(key, opora::store::Seq(0), 100).await.unwrap();
        (waiting.last().unwrap().seq, mark)
    }

    /// An update arrives and fails for good.
    async fn parks(&self, key: &DialogueKey, update_id: i64) {
        let (seq, mark) = self.receives(key, update_id).await;
        let body = json!({"update_id": update_id, "text": "Secret"}).to_string();
        self.sets_aside(key, vec![Taken::Update { seq, mark }], "update", body).await;
    }

    async fn sets_aside(&self, key: &DialogueKey, taken: Vec<Taken>, kind: &str, body: String) {
        let parked = Parked {
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
        self.keeper.address()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs `opora` on this store; there is no terminal.
    async fn opora(&self, arguments: &[&str]) -> Done {
        run(&[], &[arguments, &["--store", self.address()]].concat()).await
    }

    /// Runs a reading command that must do well, with `--json`.
    async fn json(&self, arguments: &[&str]) -> Value {
        let done = self.opora(&[arguments, &["--json"]].concat()).await.well();
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error} in: {}", done.stdout))
    }

    /// All conversations as the store has them.
    async fn rows(&self) -> Vec<ConversationRow> {
        let all = Filter { ended: true, ..Filter::default() };
        self.store.list(&all, None, 10_000).await.unwrap()
    }

    async fn parked(&self) -> Vec<Parked> {
        self.store.parked(None, 100).await.unwrap()
    }
}

impl Keeper {
    /// The address, as the program takes it.
    fn address(&self) -> &str {
        match self {
            Self::File(address) => address,
            Self::Redis(space) => &space.url,
            Self::Postgres(space) => &space.url,
        }
    }
}

impl Done {
    /// It ended as it should.
    #[track_caller]
    pub fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// It ended with a complaint that has all these words, and no panic.
    #[track_caller]
    pub fn complains(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        let complains = self.stderr.contains("opora: ") && words.iter().all(|word| self.stderr.contains(word));
        assert!(complains && !self.stderr.contains("panicked"), "{words:?} in: {}", self.stderr);
    }
}

/// Runs `opora` with nothing of the environment but these variables deciding the store.
pub async fn run(variables: &[(&str, &str)], arguments: &[&str]) -> Done {
    let mut command = Command::new(program());
    for decides in ["STATE_URL", "REDIS_URL", "DATABASE_URL", "DATA_DIR"] {
        command.env_remove(decides);
    }
    command.args(arguments).envs(variables.iter().copied());
    // Not in the crate's folder, where somebody may have a `data` of their own.
    let output = command.current_dir("/").stdin(Stdio::null()).kill_on_drop(true).output();
    let Output { status, stdout, stderr } = timeout(PATIENCE, output).await.expect("it should end by itself").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

fn key(text: &str) -> DialogueKey {
    text.parse().unwrap()
}

fn message(chat: i64) -> Outgoing {
    Outgoing {
        chat: Some(chat),
        method: "sendMessage".into(),
        body: json!({"text": "Secret"}).to_string().into(),
        uploads: Vec::new(),
        if_unsure: IfUnsure::Resend,
        label: None,
        edits_label: None,
        secret: false,
    }
}
