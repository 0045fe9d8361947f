//! Notes of what was sent, beside stores whose server is elsewhere: who believes them, and who does not.

use std::path::Path;
use std::sync::Arc;

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Commit, DecidedStore, DomainWrites, Epoch, LeaseAnswer, OutboxId, RedisStore, Settled, Settlement, SqliteStore,
    Store, Version,
};
use opora::testing::holder;
use opora_testkit::postgres_server::{PostgresServer, query};
use opora_testkit::redis_server::RedisServer;

use crate::postgres_store::message;

const BOT: i64 = 7;
const OTHER_BOT: i64 = 77;
const NOW: Millis = Millis(1_700_000_000_000);

/// A server that can be emptied, and the data directories of two machines.
struct Bench {
    server: Server,
    here: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
}

enum Server {
    Redis(RedisServer),
    Postgres(PostgresServer),
}

impl Bench {
    fn new(server: Server) -> Self {
        Self { server, here: tempfile::tempdir().unwrap(), elsewhere: tempfile::tempdir().unwrap() }
    }

    /// Opens the store as a new process of this machine would. One that is not closed was killed.
    async fn store(&self) -> Arc<dyn Store> {
        self.store_in(self.here.path()).await
    }

    async fn store_in(&self, folder: &Path) -> Arc<dyn Store> {
        opora::store::open(&format!("{}?data={}", self.server.url(), folder.display())).await.unwrap()
    }

    /// What this machine has noted, as names of files.
    fn notes(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.here.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("-sent-")).collect()
    }

    /// Everything is gone, and an operator has accepted that.
    async fn is_emptied(&self) {
        match &self.server {
            Server::Redis(server) => drop(server.say(&["FLUSHALL"])),
            Server::Postgres(server) => query(&server.url(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public").await,
        }
        for file in std::fs::read_dir(self.here.path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

impl Server {
    fn url(&self) -> String {
        match self {
            Self::Redis(server) => server.url(),
            Self::Postgres(server) => server.url(),
        }
    }
}

/// Takes the lease over from whoever is gone.
async fn claim(store: &dyn Store, bot: i64) -> Epoch {
    let seen = store.lease(bot).await.unwrap();
    match store.claim(bot, &holder("next"), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

/// A turn of somebody's that says one thing.
fn turn(bot: i64, user: i64, from: Version) -> Commit {
    Commit { outgoing: vec![message(user, "said")], ..Commit::new(DialogueKey::private(bot, user), from, NOW) }
}

async fn say(store: &dyn Store, bot: i64, epoch: Epoch, user: i64) -> OutboxId {
    store.commit(epoch, turn(bot, user, Version(0))).await.unwrap().outbox[0]
}

fn is_sent(id: OutboxId) -> Settled {
    Settled { id, outcome: Settlement::Sent { labelled: None } }
}

async fn unsent(store: &dyn Store, bot: i64) -> Vec<OutboxId> {
    store.unsent(bot, OutboxId(0), 99).await.unwrap().iter().map(|row| row.id).collect()
}

macro_rules! on_both_servers {
    ($($name:ident,)*) => {
        mod redis {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Server::Redis(opora_testkit::redis_server::RedisServer::start(&[]))).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Server::Postgres(opora_testkit::postgres_server::PostgresServer::start(&[]))).await;
            })*
        }
    };
}

on_both_servers! {
    what_was_noted_is_settled_by_the_next_holder_and_the_rest_is_not,
    what_was_settled_leaves_no_note,
    notes_of_a_server_that_was_emptied_are_not_believed,
    two_bots_in_one_folder_keep_their_notes_apart,
    another_machine_knows_nothing_of_them,
    without_a_folder_nothing_is_noted,
}

async fn what_was_noted_is_settled_by_the_next_holder_and_the_rest_is_not(server: Server) {
    let bench = Bench::new(server);
    let killed = bench.store().await;
    let epoch = claim(&*killed, BOT).await;
    let (sent, waits) = (say(&*killed, BOT, epoch, 1).await, say(&*killed, BOT, epoch, 2).await);
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    // The next one is killed before anything else, and so is the one after it.
    for _ in 0..2 {
        let next = bench.store().await;
        claim(&*next, BOT).await;
        assert_eq!(unsent(&*next, BOT).await, [waits]);
    }
    assert_eq!(bench.notes(), [""; 0]);
}

async fn what_was_settled_leaves_no_note(server: Server) {
    let bench = Bench::new(server);
    let store = bench.store().await;
    let epoch = claim(&*store, BOT).await;
    let sent = say(&*store, BOT, epoch, 1).await;
    store.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    assert_eq!(bench.notes().len(), 1);
    store.settle(epoch, vec![is_sent(sent)], NOW).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(bench.notes(), [""; 0]);
}

/// Epochs and numbers begin again there, so the old notes name new messages.
async fn notes_of_a_server_that_was_emptied_are_not_believed(server: Server) {
    let bench = Bench::new(server);
    let killed = bench.store().await;
    let first = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, first, 1).await;
    killed.log_sent(first, &[is_sent(sent)]).await.unwrap();
    bench.is_emptied().await;
    let elsewhere = bench.store_in(bench.elsewhere.path()).await;
    let epoch = claim(&*elsewhere, BOT).await;
    assert_eq!((epoch, say(&*elsewhere, BOT, epoch, 1).await), (first, sent), "the same number is another message's");
    let next = bench.store().await;
    claim(&*next, BOT).await;
    assert_eq!(unsent(&*next, BOT).await, [sent]);
    assert_eq!(bench.notes(), [""; 0], "nobody needs them");
}

async fn two_bots_in_one_folder_keep_their_notes_apart(server: Server) {
    let bench = Bench::new(server);
    let killed = bench.store().await;
    let (one, other) = (claim(&*killed, BOT).await, claim(&*killed, OTHER_BOT).await);
    let (of_one, of_other) = (say(&*killed, BOT, one, 1).await, say(&*killed, OTHER_BOT, other, 1).await);
    killed.log_sent(one, &[is_sent(of_one)]).await.unwrap();
    killed.log_sent(other, &[is_sent(of_other)]).await.unwrap();
    let next = bench.store().await;
    claim(&*next, BOT).await;
    assert_eq!((unsent(&*next, BOT).await, unsent(&*next, OTHER_BOT).await), (vec![], vec![of_other]));
    assert_eq!(bench.notes().len(), 1, "the other bot's lease may be held");
    claim(&*next, OTHER_BOT).await;
    assert_eq!(unsent(&*next, OTHER_BOT).await, []);
}

async fn another_machine_knows_nothing_of_them(server: Server) {
    let bench = Bench::new(server);
    let killed = bench.store().await;
    let epoch = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, epoch, 1).await;
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    let elsewhere = bench.store_in(bench.elsewhere.path()).await;
    claim(&*elsewhere, BOT).await;
    assert_eq!(unsent(&*elsewhere, BOT).await, [sent]);
    assert_eq!(bench.notes().len(), 1, "it can only see its own");
}

async fn without_a_folder_nothing_is_noted(server: Server) {
    let bench = Bench::new(server);
    let killed = opora::store::open(&bench.server.url()).await.unwrap();
    let epoch = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, epoch, 1).await;
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    let next = opora::store::open(&bench.server.url()).await.unwrap();
    claim(&*next, BOT).await;
    assert_eq!(unsent(&*next, BOT).await, [sent]);
}

/// A Redis that has forgotten its last moments gets a turn back from the record of it, but not what was sent of it.
#[tokio::test]
async fn what_was_noted_does_not_come_back_from_the_record_of_a_decision() {
    let redis = RedisServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let address = format!("{}?data={}", redis.url(), folder.path().display());
    let open = async || {
        let database = SqliteStore::open(&folder.path().join("tables.db")).await.unwrap();
        DecidedStore::open(RedisStore::open(&address).await.unwrap(), database).await.unwrap()
    };
    let killed = open().await;
    let epoch = claim(&killed, BOT).await;
    let say = async |user| {
        let writes = Some(DomainWrites::new(|_| Box::pin(async { Ok(()) })));
        killed.commit(epoch, Commit { writes, ..turn(BOT, user, Version(0)) }).await.unwrap().outbox[0]
    };
    let (sent, waits) = (say(1).await, say(2).await);
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    for list in ["conv", "outbox"] {
        for partition in 0..16 {
            redis.say(&["DEL", &format!("{{opora:{partition}}}:{BOT}:{list}")]);
        }
    }
    let next = open().await;
    claim(&next, BOT).await;
    assert_eq!(unsent(&next, BOT).await, [waits]);
}

/// An older copy gives the same numbers again, to other messages.
#[tokio::test]
async fn notes_since_an_older_copy_of_a_database_are_not_believed() {
    let (server, here) = (PostgresServer::start(&[]), tempfile::tempdir().unwrap());
    query(&server.url(), "CREATE DATABASE bots").await;
    let address = format!("postgres://postgres@127.0.0.1:{}/bots?data={}", server.port(), here.path().display());
    let open = async || opora::store::open(&address).await.unwrap();
    let first = open().await;
    let epoch = claim(&*first, BOT).await;
    first.release(BOT, epoch).await.unwrap();
    first.close().await.unwrap();
    query(&server.url(), "CREATE DATABASE copied TEMPLATE bots").await;
    // Two processes are killed, each with a note.
    let mut said = Vec::new();
    for _ in 0..2 {
        let killed = open().await;
        let epoch = claim(&*killed, BOT).await;
        let user = said.len() as i64 + 1;
        said.push((epoch, say(&*killed, BOT, epoch, user).await));
        killed.log_sent(epoch, &[is_sent(said[said.len() - 1].1)]).await.unwrap();
    }
    query(&server.url(), "DROP DATABASE bots WITH (FORCE)").await;
    query(&server.url(), "ALTER DATABASE copied RENAME TO bots").await;
    let next = open().await;
    let again = claim(&*next, BOT).await;
    assert_eq!((again, say(&*next, BOT, again, 1).await), said[0], "the same number is another message's");
    let last = open().await;
    let epoch = claim(&*last, BOT).await;
    assert_eq!((epoch, say(&*last, BOT, epoch, 2).await), said[1]);
    claim(&*open().await, BOT).await;
    assert_eq!(unsent(&*last, BOT).await, [said[0].1, said[1].1]);
}
