//! Redis and PostgreSQL over TLS, with authorities of the test's own: the right one is trusted, and nobody else.

use std::path::{Path, PathBuf};

use opora::key::DialogueKey;
use opora::store::{self, Commit, LeaseAnswer, Opened, Store, Version};
use opora::testing::holder;
use opora_testkit::postgres_server::{PostgresServer, hand_over, query};
use opora_testkit::redis_server::RedisServer;

use self::authority::Authority;

mod authority;
mod postgres;
mod provider;
mod redis;

const BOT: i64 = 7_000_000_001;

/// A folder that others may pass through, with two authorities; the server's certificate is of the first.
struct Papers {
    right: Authority,
    wrong: Authority,
    folder: tempfile::TempDir,
}

impl Papers {
    fn new() -> Self {
        let folder = authority::folder();
        let make = |name: &str| Authority::new(&folder.path().join(name));
        Self { right: make("right"), wrong: make("wrong"), folder }
    }

    /// A path that nobody has.
    fn nowhere(&self) -> PathBuf {
        self.folder.path().join("nowhere.pem")
    }
}

/// Opens it and takes a turn there.
async fn is_used(address: &str) {
    let store = store::open(address).await.unwrap_or_else(|error| panic!("{error}"));
    turns(&*store).await;
    store.close().await.unwrap();
}

async fn turns(store: &dyn Store) {
    let seen = store.lease(BOT).await.unwrap();
    let LeaseAnswer::Granted(epoch) = store.claim(BOT, &holder("token"), seen.as_ref()).await.unwrap() else {
        panic!("somebody holds the lease")
    };
    let key = DialogueKey::private(BOT, 1);
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("nothing is taken") };
    let committed = store.commit(epoch, Commit::new(key, version, opora::clock::Millis(1))).await.unwrap();
    assert_eq!(committed.version, Version(version.0 + 1));
    store.release(BOT, epoch).await.unwrap();
}

/// Refuses it with a sentence that has these words; by a tool that makes nothing, too.
async fn is_refused(address: &str, words: &[&str]) {
    for error in [store::open(address).await.map(drop), store::open_existing(address).await.map(drop)] {
        let told = error.expect_err(address).to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{words:?} in: {told}");
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}
