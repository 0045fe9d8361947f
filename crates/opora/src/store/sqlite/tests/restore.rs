//! Restoring a backup.

use std::path::{Path, PathBuf};

use super::*;
use crate::store::{OutboxId, Restored, StoreError};

/// The files of a bench as a killed process would leave them, copied to a folder.
async fn killed(bench: &Bench) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap()) {
        if file.file_name().to_string_lossy().starts_with("opora.db") {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
    }
    let database = folder.path().join("opora.db");
    (folder, database)
}

/// A backup after Anna's first turn. Then Anna has two more turns, Boris starts, and another instance takes over.
async fn bench_with_a_backup() -> (Bench, PathBuf) {
    let mut bench = Bench::new().await;
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    let backup = bench.path("backup.db");
    bench.store.operator().backup(&backup).await.unwrap();
    bench.store.release(BOT, bench.epoch).await.unwrap();
    bench.epoch = claim(&bench.store, BOT).await;
    for (user, version) in [(1, 1), (1, 2), (2, 0)] {
        let committed = bench.commit(full_turn(user, Version(version), vec![])).await.unwrap();
        bench.store.log_sent(bench.epoch, &sent(&committed.outbox)).await.unwrap();
    }
    (bench, backup)
}

async fn is_sound(path: &Path) -> bool {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
    let found: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    found == "ok"
}

#[tokio::test]
async fn a_backup_replaces_the_files_of_a_killed_process() {
    let (bench, backup) = bench_with_a_backup().await;
    let (folder, database) = killed(&bench).await;
    assert_eq!(names(&folder), ["opora.db", "opora.db-sent-7.0.2", "opora.db-shm", "opora.db-wal"]);
    let kept = folder.path().join("opora.db.before-restore");
    let restored = SqliteStore::restore(&backup, &database).await.unwrap();
    assert_eq!(restored, Restored { old_file: Some(kept.clone()), was_readable: true });
    assert_eq!(names(&folder), ["opora.db", "opora.db.before-restore", "opora.db.before-restore-sent-7.0.2"]);
    assert!(is_sound(&database).await && is_sound(&kept).await);
    let store = reopened(&database).await;
    assert_eq!(store.lease(BOT).await.unwrap(), None, "a copy has no leader");
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((numbers.active, numbers.outbox, numbers.effects), (1, 2, 1), "as it was in the backup");
    store.close().await.unwrap();
    assert_eq!(reopened(&kept).await.statistics(Some(BOT)).await.unwrap().active, 2, "as it was before");
}

#[tokio::test]
async fn restoring_repeats_no_number_given_since_the_backup() {
    let (bench, backup) = bench_with_a_backup().await;
    let (_folder, database) = killed(&bench).await;
    SqliteStore::restore(&backup, &database).await.unwrap();
    let store = reopened(&database).await;
    let version = async |user| match store.open(&ConversationKey::private(BOT, user), None).await.unwrap() {
        Opened::At { version, .. } => version,
        Opened::AlreadyProcessed => panic!("asked without a mark"),
    };
    assert_eq!(version(1).await, Version(3), "a button of the lost turns is older than the next question");
    assert!(version(2).await >= Version(1));
    assert!(claim(&store, BOT).await > bench.epoch);
}

#[tokio::test]
async fn an_open_database_is_not_replaced() {
    let (bench, backup) = bench_with_a_backup().await;
    let database = bench.path("opora.db");
    let error = SqliteStore::restore(&backup, &database).await.unwrap_err().to_string();
    assert!(error.contains("another process has it open"), "{error}");
    bench.commit(full_turn(1, Version(3), vec![])).await.unwrap();
    assert!(names(&bench.folder).iter().all(|name| !name.contains("restor")), "{:?}", names(&bench.folder));
}

#[tokio::test]
async fn only_a_backup_can_be_restored() {
    let (bench, _) = bench_with_a_backup().await;
    let (folder, database) = killed(&bench).await;
    let before = names(&folder);
    let text = bench.path("letter.txt");
    std::fs::write(&text, "Dear operator, this is a letter and not a database at all. ".repeat(99)).unwrap();
    let error = SqliteStore::restore(&text, &database).await.unwrap_err().to_string();
    assert!(error.contains("letter.txt: file is not a database"), "{error}");
    let foreign = bench.path("foreign.db");
    std::fs::write(&foreign, "").unwrap();
    let error = SqliteStore::restore(&foreign, &database).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(why) if why.contains("not a bot's store")), "{error}");
    assert_eq!(names(&folder), before);
}

#[tokio::test]
async fn a_backup_replaces_an_unreadable_database() {
    let (bench, backup) = bench_with_a_backup().await;
    let (folder, database) = killed(&bench).await;
    let rubble = "no database any more ".repeat(999);
    for file in ["opora.db", "opora.db-wal"] {
        std::fs::write(folder.path().join(file), &rubble).unwrap();
    }
    let restored = SqliteStore::restore(&backup, &database).await.unwrap();
    assert!(!restored.was_readable && restored.old_file.is_some(), "{restored:?}");
    let store = reopened(&database).await;
    assert_eq!(store.unsent(BOT, OutboxId(0), 9).await.unwrap().len(), 2);
    assert!(claim(&store, BOT).await > Epoch(1000), "so many epochs may have been given");
    let kept = std::fs::read_to_string(restored.old_file.unwrap()).unwrap();
    assert_eq!(kept, rubble, "the old file is kept unchanged");
}

#[tokio::test]
async fn a_backup_can_be_restored_to_a_new_path() {
    let (bench, backup) = bench_with_a_backup().await;
    let database = bench.path("new.db");
    let restored = SqliteStore::restore(&backup, &database).await.unwrap();
    assert_eq!(restored, Restored { old_file: None, was_readable: true });
    assert_eq!(reopened(&database).await.statistics(Some(BOT)).await.unwrap().active, 1);
}
