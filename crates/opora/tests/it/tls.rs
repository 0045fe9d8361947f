//! Redis and PostgreSQL over TLS, with authorities of the test's own: only the right one is trusted.

use std::path::{Path, PathBuf};

use opora::key::ConversationKey;
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

/// A folder that other users may enter, with two authorities. The server's certificate is of the first.
struct Certificates {
    right: Authority,
    wrong: Authority,
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = authority::folder();
        let make = |name: &str| Authority::new(&folder.path().join(name));
        Self { right: make("right"), wrong: make("wrong"), folder }
    }

    fn missing_file(&self) -> PathBuf {
        self.folder.path().join("missing_file.pem")
    }
}

async fn assert_usable(address: &str) {
    let store = store::open(address).await.unwrap_or_else(|error| panic!("{error}"));
    turns(&*store).await;
    store.close().await.unwrap();
}

async fn turns(store: &dyn Store) {
    let seen = store.lease(BOT).await.unwrap();
    let LeaseAnswer::Granted(epoch) = store.claim(BOT, &holder("token"), seen.as_ref()).await.unwrap() else {
        panic!("the lease is held")
    };
    let key = ConversationKey::private(BOT, 1);
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("nothing is taken") };
    let committed = store.commit(epoch, Commit::new(key, version, opora::clock::Millis(1))).await.unwrap();
    assert_eq!(committed.version, Version(version.0 + 1));
    store.release(BOT, epoch).await.unwrap();
}

/// The store is refused with an error that contains these words; also for a tool.
async fn assert_refused(address: &str, words: &[&str]) {
    for error in [store::open(address).await.map(drop), store::open_existing(address).await.map(drop)] {
        let message = error.expect_err(address).to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{words:?} in: {message}");
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}
