//! `opora backup`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opora::store::{Opened, OutboxId, SqliteStore, StateChange, Store, StoredState, Transition, Version};

use super::{BOT, StoreFixture, StoreKind, key, message};
use crate::kit::demo::until;

#[tokio::test]
async fn a_backup_during_writes_is_consistent() {
    let fixture = Arc::new(StoreFixture::empty(StoreKind::Sqlite).await);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write_until(Arc::clone(&fixture), Arc::clone(&stop)));
    until("the writer writes", async || (version(&*fixture.store).await > 20).then_some(())).await;
    let mut copies = Vec::new();
    for number in 0..3 {
        let (before, to) = (version(&*fixture.store).await, fixture.path(&format!("copy-{number}.db")));
        let done = fixture.run(&["backup", &to]).await.success();
        assert!(done.stdout.contains("KiB in ") && done.stdout.contains(&to), "{}", done.stdout);
        copies.push((to, before, version(&*fixture.store).await));
    }
    assert!(!writer.is_finished(), "the writer stopped early");
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    for (copy, before, after) in copies {
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let copy = SqliteStore::open(Path::new(&copy)).await.unwrap();
        let copied = version(&copy).await;
        assert!((before..=after).contains(&copied), "{before} {copied} {after}");
        // Every turn sent one message and left one transition. In an inconsistent copy the numbers would differ.
        let (said, moved) = (copy.unsent(BOT, OutboxId(0), 1 << 20), copy.operator().transitions(BOT, 0, 1 << 20));
        assert_eq!((said.await.unwrap().len(), moved.await.unwrap().len()), (copied, copied));
        copy.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_backup_overwrites_no_file() {
    let fixture = StoreFixture::with_conversations(StoreKind::Sqlite).await;
    let file = fixture.path("mine.db");
    std::fs::write(&file, "mine").unwrap();
    fixture.run(&["backup", &file]).await.fails_with(&["mine.db exists already"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let nowhere = fixture.path("missing/copy.db");
    fixture.run(&["backup", &nowhere]).await.fails_with(&["cannot copy to", "missing/copy.db"]);
}

#[tokio::test]
async fn a_backup_of_a_server_names_its_own_tool() {
    for (kind, tool) in [(StoreKind::Redis, "BGSAVE"), (StoreKind::Postgres, "pg_dump")] {
        let fixture = StoreFixture::with_conversations(kind).await;
        let file = fixture.path("copy");
        fixture.run(&["backup", &file]).await.fails_with(&[tool]);
        assert!(!Path::new(&file).exists());
    }
}

/// Commits one turn after another in one conversation.
async fn write_until(fixture: Arc<StoreFixture>, stop: Arc<AtomicBool>) {
    let (anna, mut version) = (key("1:5:5"), Version(0));
    while !stop.load(Ordering::SeqCst) {
        let committed = fixture.commit(&anna, version, |commit| {
            let value = version.0.to_string().into();
            commit.state = StateChange::Set(StoredState { value, states: Vec::new(), expires_at: None });
            commit.outgoing = vec![message(5)];
            commit.transition = Some(Transition { from: None, to: None, by: "text".into(), took_us: 1 });
        });
        version = committed.await.version;
    }
}

async fn version(store: &dyn Store) -> usize {
    match store.open(&key("1:5:5"), None).await.unwrap() {
        Opened::At { version, .. } => usize::try_from(version.0).unwrap(),
        Opened::AlreadyProcessed => unreachable!("no input was named"),
    }
}
