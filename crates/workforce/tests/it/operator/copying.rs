//! `opora backup`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opora::store::{Opened, OutboxId, SqliteStore, StateChange, Store, Stored, Transition, Version};

use super::{BOT, Kind, Office, key, message};
use crate::demo::until;

#[tokio::test]
async fn a_backup_is_one_moment_of_a_store_that_is_being_written() {
    let office = Arc::new(Office::empty(Kind::Sqlite).await);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write_until(Arc::clone(&office), Arc::clone(&stop)));
    until("the writer writes", async || (version(&*office.store).await > 20).then_some(())).await;
    let mut copies = Vec::new();
    for number in 0..3 {
        let (before, to) = (version(&*office.store).await, office.path(&format!("copy-{number}.db")));
        let done = office.opora(&["backup", &to]).await.well();
        assert!(done.stdout.contains("KiB in ") && done.stdout.contains(&to), "{}", done.stdout);
        copies.push((to, before, version(&*office.store).await));
    }
    assert!(!writer.is_finished(), "it wrote all the time");
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    for (copy, before, after) in copies {
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let copy = SqliteStore::open(Path::new(&copy)).await.unwrap();
        let copied = version(&copy).await;
        assert!((before..=after).contains(&copied), "{before} {copied} {after}");
        // Every turn said one thing and left one record: a copy of two moments would have them apart.
        let (said, moved) = (copy.unsent(BOT, OutboxId(0), 1 << 20), copy.operator().transitions(BOT, 0, 1 << 20));
        assert_eq!((said.await.unwrap().len(), moved.await.unwrap().len()), (copied, copied));
        copy.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_backup_overwrites_no_file() {
    let office = Office::at_work(Kind::Sqlite).await;
    let file = office.path("mine.db");
    std::fs::write(&file, "mine").unwrap();
    office.opora(&["backup", &file]).await.complains(&["mine.db exists already"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let nowhere = office.path("missing/copy.db");
    office.opora(&["backup", &nowhere]).await.complains(&["cannot copy to", "missing/copy.db"]);
}

#[tokio::test]
async fn where_the_server_has_tools_of_its_own_they_are_named_and_no_file_is_made() {
    for (kind, tool) in [(Kind::Redis, "BGSAVE"), (Kind::Postgres, "pg_dump")] {
        let office = Office::at_work(kind).await;
        let file = office.path("copy");
        office.opora(&["backup", &file]).await.complains(&[tool]);
        assert!(!Path::new(&file).exists());
    }
}

/// Turn after turn of one conversation.
async fn write_until(office: Arc<Office>, stop: Arc<AtomicBool>) {
    let (anna, mut version) = (key("1:5:5"), Version(0));
    while !stop.load(Ordering::SeqCst) {
        let committed = office.commit(&anna, version, |commit| {
            let value = version.0.to_string().into();
            commit.state = StateChange::Set(Stored { value, places: Vec::new(), expires_at: None });
            commit.outgoing = vec![message(5)];
            commit.transition = Some(Transition { from: None, to: None, by: "text".into(), took_us: 1 });
        });
        version = committed.await.version;
    }
}

async fn version(store: &dyn Store) -> usize {
    match store.open(&key("1:5:5"), None).await.unwrap() {
        Opened::At { version, .. } => usize::try_from(version.0).unwrap(),
        Opened::AlreadyTaken => unreachable!("no input was named"),
    }
}
