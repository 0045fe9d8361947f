//! The sent log beside stores on a server: which process uses it, and which ignores it.

use std::path::Path;
use std::sync::Arc;

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, DecisionStore, DomainWrites, Epoch, LeaseAnswer, OutboxId, RedisStore, Settled, Settlement, SqliteStore,
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
struct Fixture {
    server: Server,
    here: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
}

enum Server {
    Redis(RedisServer),
    Postgres(PostgresServer),
}

impl Fixture {
    fn new(server: Server) -> Self {
        Self { server, here: tempfile::tempdir().unwrap(), elsewhere: tempfile::tempdir().unwrap() }
    }

    /// Opens the store like a new process of this machine. A store that is not closed was killed.
    async fn store(&self) -> Arc<dyn Store> {
        self.store_in(self.here.path()).await
    }

    async fn store_in(&self, folder: &Path) -> Arc<dyn Store> {
        opora::store::open(&format!("{}?data={}", self.server.url(), folder.display())).await.unwrap()
    }

    fn sent_logs(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.here.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("-sent-")).collect()
    }

    /// Empties the server, and accepts the loss as an operator.
    async fn empty(&self) {
        match &self.server {
            Server::Redis(server) => drop(server.command(&["FLUSHALL"])),
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

/// Takes the lease over from a dead process.
async fn claim(store: &dyn Store, bot: i64) -> Epoch {
    let seen = store.lease(bot).await.unwrap();
    match store.claim(bot, &holder("next"), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

fn turn(bot: i64, user: i64, from: Version) -> Commit {
    Commit { outgoing: vec![message(user, "said")], ..Commit::new(ConversationKey::private(bot, user), from, NOW) }
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
    the_next_leader_settles_the_sent_log,
    a_settled_message_leaves_the_sent_log,
    the_sent_log_of_an_emptied_server_is_ignored,
    two_bots_in_one_folder_have_separate_sent_logs,
    another_machine_does_not_have_the_sent_log,
    without_a_folder_there_is_no_sent_log,
}

async fn the_next_leader_settles_the_sent_log(server: Server) {
    let fixture = Fixture::new(server);
    let killed = fixture.store().await;
    let epoch = claim(&*killed, BOT).await;
    let (sent, waits) = (say(&*killed, BOT, epoch, 1).await, say(&*killed, BOT, epoch, 2).await);
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    // The next process is killed before anything else, and so is the one after it.
    for _ in 0..2 {
        let next = fixture.store().await;
        claim(&*next, BOT).await;
        assert_eq!(unsent(&*next, BOT).await, [waits]);
    }
    assert_eq!(fixture.sent_logs(), [""; 0]);
}

async fn a_settled_message_leaves_the_sent_log(server: Server) {
    let fixture = Fixture::new(server);
    let store = fixture.store().await;
    let epoch = claim(&*store, BOT).await;
    let sent = say(&*store, BOT, epoch, 1).await;
    store.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    assert_eq!(fixture.sent_logs().len(), 1);
    store.settle(epoch, vec![is_sent(sent)], NOW).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(fixture.sent_logs(), [""; 0]);
}

/// Epochs and ids start again there, so the old sent log names new messages.
async fn the_sent_log_of_an_emptied_server_is_ignored(server: Server) {
    let fixture = Fixture::new(server);
    let killed = fixture.store().await;
    let first = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, first, 1).await;
    killed.log_sent(first, &[is_sent(sent)]).await.unwrap();
    fixture.empty().await;
    let elsewhere = fixture.store_in(fixture.elsewhere.path()).await;
    let epoch = claim(&*elsewhere, BOT).await;
    assert_eq!((epoch, say(&*elsewhere, BOT, epoch, 1).await), (first, sent), "the same number is another message's");
    let next = fixture.store().await;
    claim(&*next, BOT).await;
    assert_eq!(unsent(&*next, BOT).await, [sent]);
    assert_eq!(fixture.sent_logs(), [""; 0], "they are removed");
}

async fn two_bots_in_one_folder_have_separate_sent_logs(server: Server) {
    let fixture = Fixture::new(server);
    let killed = fixture.store().await;
    let (one, other) = (claim(&*killed, BOT).await, claim(&*killed, OTHER_BOT).await);
    let (of_one, of_other) = (say(&*killed, BOT, one, 1).await, say(&*killed, OTHER_BOT, other, 1).await);
    killed.log_sent(one, &[is_sent(of_one)]).await.unwrap();
    killed.log_sent(other, &[is_sent(of_other)]).await.unwrap();
    let next = fixture.store().await;
    claim(&*next, BOT).await;
    assert_eq!((unsent(&*next, BOT).await, unsent(&*next, OTHER_BOT).await), (vec![], vec![of_other]));
    assert_eq!(fixture.sent_logs().len(), 1, "the other bot's lease may be held");
    claim(&*next, OTHER_BOT).await;
    assert_eq!(unsent(&*next, OTHER_BOT).await, []);
}

async fn another_machine_does_not_have_the_sent_log(server: Server) {
    let fixture = Fixture::new(server);
    let killed = fixture.store().await;
    let epoch = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, epoch, 1).await;
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    let elsewhere = fixture.store_in(fixture.elsewhere.path()).await;
    claim(&*elsewhere, BOT).await;
    assert_eq!(unsent(&*elsewhere, BOT).await, [sent]);
    assert_eq!(fixture.sent_logs().len(), 1, "it can only see its own");
}

async fn without_a_folder_there_is_no_sent_log(server: Server) {
    let fixture = Fixture::new(server);
    let killed = opora::store::open(&fixture.server.url()).await.unwrap();
    let epoch = claim(&*killed, BOT).await;
    let sent = say(&*killed, BOT, epoch, 1).await;
    killed.log_sent(epoch, &[is_sent(sent)]).await.unwrap();
    let next = opora::store::open(&fixture.server.url()).await.unwrap();
    claim(&*next, BOT).await;
    assert_eq!(unsent(&*next, BOT).await, [sent]);
}

/// A Redis that lost its last moments gets a turn back from its decision record, but not the messages that were sent.
#[tokio::test]
async fn a_decision_record_restores_no_message_in_the_sent_log() {
    let redis = RedisServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let address = format!("{}?data={}", redis.url(), folder.path().display());
    let open = async || {
        let database = SqliteStore::open(&folder.path().join("tables.db")).await.unwrap();
        DecisionStore::open(RedisStore::open(&address).await.unwrap(), database).await.unwrap()
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
            redis.command(&["DEL", &format!("{{opora:{partition}}}:{BOT}:{list}")]);
        }
    }
    let next = open().await;
    claim(&next, BOT).await;
    assert_eq!(unsent(&next, BOT).await, [waits]);
}

/// An older copy gives the same ids again, to other messages.
#[tokio::test]
async fn the_sent_log_of_an_older_copy_is_ignored() {
    let (server, here) = (PostgresServer::start(&[]), tempfile::tempdir().unwrap());
    query(&server.url(), "CREATE DATABASE bots").await;
    let address = format!("postgres://postgres@127.0.0.1:{}/bots?data={}", server.port(), here.path().display());
    let open = async || opora::store::open(&address).await.unwrap();
    let first = open().await;
    let epoch = claim(&*first, BOT).await;
    first.release(BOT, epoch).await.unwrap();
    first.close().await.unwrap();
    query(&server.url(), "CREATE DATABASE copied TEMPLATE bots").await;
    // Two processes are killed, each with an entry in its sent log.
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
