//! Tests of SQLite only; the conformance suite tests what all stores promise.

use std::path::{Path, PathBuf};

use super::SqliteStore;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, DomainWrites, Effect, Epoch, Incoming, InputRef, LeaseAnswer, Mark, Opened, Origin, OutboxId,
    Outgoing, OutgoingExtras, Receipt, Settled, Settlement, StateChange, StateName, Store, StoreResult, StoredState,
    TimerChange, Transition, Version,
};
use crate::testing::conformance::fixture::message;
use crate::testing::holder;

mod file;
mod group;
mod keep;
mod restore;

const BOT: i64 = 7;
const NOW: Millis = Millis(1_000_000);

/// A store in a folder of its own.
struct Bench {
    folder: tempfile::TempDir,
    store: SqliteStore,
    epoch: Epoch,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("opora.db")).await.unwrap();
        let epoch = claim(&store, BOT).await;
        Self { folder, store, epoch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn receive(&self, user: i64, update_id: i64) -> InputRef {
        let mark = mark(update_id);
        let incoming = Incoming {
            key: ConversationKey::private(BOT, user),
            origin: Origin::Update(mark.clone()),
            body: r#"{"text":"hello"}"#.into(),
            at: NOW,
        };
        match self.store.receive(self.epoch, vec![incoming]).await.unwrap()[..] {
            [Receipt::New(seq)] => InputRef::Update { seq, mark },
            ref other => panic!("{other:?}"),
        }
    }

    async fn commit(&self, commit: Commit) -> StoreResult<Committed> {
        self.store.commit(self.epoch, commit).await
    }

    async fn version(&self, user: i64) -> Version {
        match self.store.open(&ConversationKey::private(BOT, user), None).await.unwrap() {
            Opened::At { version, .. } => version,
            Opened::AlreadyProcessed => panic!("asked without a mark"),
        }
    }

    async fn count(&self, table: &'static str) -> i64 {
        let (send, receive) = tokio::sync::oneshot::channel();
        let count = DomainWrites::new(move |db| {
            Box::pin(async move {
                let query = match table {
                    "notes" => "SELECT count(*) FROM notes",
                    _ => "SELECT count(*) FROM opora_marks",
                };
                let (count,): (i64,) = sqlx::query_as(query).fetch_one(db.sqlite()).await?;
                send.send(count).unwrap();
                Ok(())
            })
        });
        self.store.write(count).await.unwrap();
        receive.await.unwrap()
    }
}

async fn claim(store: &SqliteStore, bot: i64) -> Epoch {
    match store.claim(bot, &holder("a"), None).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?}"),
    }
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: "message:1".into() }
}

fn stored(value: &str) -> StoredState {
    let name = StateName { dialogue: "closing".into(), state: value.into() };
    StoredState {
        value: format!(r#"{{"at":"{value}"}}"#).into(),
        states: vec![name],
        expires_at: Some(Millis(9_000_000)),
    }
}

fn say(text: &str) -> Outgoing {
    message(1, text)
}

/// A turn with every kind of change.
fn full_turn(user: i64, from: Version, processed: Vec<InputRef>) -> Commit {
    Commit {
        processed,
        state: StateChange::Set(stored("hours")),
        outgoing: vec![
            say("how many?"),
            say("menu").with(OutgoingExtras { label: Some("menu".into()), ..OutgoingExtras::default() }),
        ],
        timers: vec![TimerChange::Set { name: "remind".into(), due_at: Millis(2_000_000), body: "{}".into() }],
        effects: vec![Effect { kind: "download".into(), body: "{}".into() }],
        transition: Some(Transition { from: None, to: stored("hours").states.pop(), by: "text".into(), took_us: 12 }),
        ..Commit::new(ConversationKey::private(BOT, user), from, NOW)
    }
}

/// The sorted names of the files in a folder.
fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn sent(ids: &[OutboxId]) -> Vec<Settled> {
    ids.iter().map(|id| Settled { id: *id, outcome: Settlement::Sent { labelled: None } }).collect()
}

fn note(text: &'static str) -> DomainWrites {
    DomainWrites::new(move |db| {
        Box::pin(async move {
            sqlx::query("INSERT INTO notes VALUES (?1)").bind(text).execute(db.sqlite()).await?;
            Ok(())
        })
    })
}

/// Application writes of one statement.
fn writes(statement: &'static str) -> DomainWrites {
    DomainWrites::new(move |db| {
        Box::pin(async move {
            sqlx::query(statement).execute(db.sqlite()).await?;
            Ok(())
        })
    })
}

async fn with_notes(bench: &Bench) {
    bench.store.write(writes("CREATE TABLE notes (text TEXT)")).await.unwrap();
}

/// All data of a store, as text.
async fn everything(store: &SqliteStore) -> String {
    let after = Default::default();
    let all = crate::store::Filter { ended: true, ..Default::default() };
    format!(
        "{:#?}",
        (
            store.list(&all, None, 1000).await.unwrap(),
            store.waiting(BOT, after, 1000).await.unwrap(),
            store.unsent(BOT, Default::default(), 1000).await.unwrap(),
            store.effects(BOT, Default::default(), 1000).await.unwrap(),
            store.due_timers(BOT, Millis(i64::MAX), 1000).await.unwrap(),
            store.operator().transitions(BOT, 0, 1000).await.unwrap(),
            store.parked(None, 1000).await.unwrap(),
            store.statistics(None).await.unwrap(),
            store.lease(BOT).await.unwrap(),
        )
    )
}

async fn reopened(path: &Path) -> SqliteStore {
    SqliteStore::open(path).await.unwrap()
}
