//! The file: permissions, schema version, copies.

use super::*;
use crate::store::StoreError;

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new().await;
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    bench.store.operator().backup(&bench.path("copy.db")).await.unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(bench.folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        seen += 1;
    }
    assert_eq!(seen, 4, "database, log, shared memory, copy");
}

#[tokio::test]
async fn the_folder_of_a_new_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/opora.db");
    SqliteStore::open(&path).await.unwrap();
    assert!(path.exists());
}

#[tokio::test]
async fn an_open_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(folder.path()).await.unwrap_err().to_string();
    assert!(error.contains(&format!("cannot open {}: it is a directory", folder.path().display())), "{error}");

    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "this is a text and not a database at all").unwrap();
    let error = SqliteStore::open(&file).await.unwrap_err().to_string();
    assert!(error.contains("notes.txt: file is not a database"), "{error}");

    let error = SqliteStore::open(&file.join("opora.db")).await.unwrap_err().to_string();
    assert!(error.contains("cannot create"), "{error}");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let bench = Bench::new().await;
    bench.store.write(writes("INSERT INTO opora_schema VALUES (1000)")).await.unwrap();
    bench.store.close().await.unwrap();
    let error = SqliteStore::open(&bench.path("opora.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(why) if why.contains("newer version")));
}

#[tokio::test]
async fn a_tool_opens_existing_files_only() {
    let bench = Bench::new().await;
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    let tool = SqliteStore::open_existing(&bench.path("opora.db")).await.unwrap();
    assert_eq!(everything(&tool).await, everything(&bench.store).await);

    let missing = bench.path("missing.db");
    let error = SqliteStore::open_existing(&missing).await.unwrap_err().to_string();
    assert!(error.contains("missing.db: No such file"), "{error}");
    assert!(!missing.exists());

    let foreign = bench.path("foreign.db");
    std::fs::write(&foreign, "").unwrap();
    let error = SqliteStore::open_existing(&foreign).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(why) if why.contains("not a bot's store")), "{error}");
}

#[tokio::test]
async fn a_backup_is_whole_while_writes_go_on() {
    let bench = Bench::new().await;
    for user in 1..=50 {
        bench.commit(full_turn(user, Version(0), vec![])).await.unwrap();
    }
    let copy = bench.path("copy.db");
    let writes = async {
        for user in 51..=150 {
            bench.commit(full_turn(user, Version(0), vec![])).await.unwrap();
        }
    };
    let (copied, ()) = tokio::join!(bench.store.operator().backup(&copy), writes);
    copied.unwrap();
    let statistics = reopened(&copy).await.statistics(None).await.unwrap();
    assert!(statistics.active >= 50);
    // Every turn is copied whole or not at all.
    assert_eq!(statistics.outbox, 2 * statistics.active);
    assert_eq!((statistics.timers, statistics.effects), (statistics.active, statistics.active));

    let quiet = bench.path("quiet.db");
    bench.store.operator().backup(&quiet).await.unwrap();
    assert_eq!(everything(&reopened(&quiet).await).await, everything(&bench.store).await);
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let bench = Bench::new().await;
    let there = bench.path("there.db");
    std::fs::write(&there, "").unwrap();
    let error = bench.store.operator().backup(&there).await.unwrap_err().to_string();
    assert!(error.contains("there.db: File exists"), "{error}");
    assert_eq!(std::fs::read(&there).unwrap(), b"");
}

#[tokio::test]
async fn a_standby_reads_the_lease_without_a_lock() {
    let bench = Bench::new().await;
    let standby = reopened(&bench.path("opora.db")).await;
    // The leader, or another standby, is paused in the middle of a write.
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(bench.path("opora.db"));
    let mut writing = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut writing).await.unwrap();
    let looks = async {
        for _ in 0..20 {
            let answer = standby.claim(BOT, &holder("standby"), None).await.unwrap();
            assert!(matches!(answer, LeaseAnswer::Held(_)), "{answer:?}");
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(4), looks).await.expect("it waits for the writer");
    sqlx::query("ROLLBACK").execute(&mut writing).await.unwrap();
    let seen = standby.lease(BOT).await.unwrap();
    let answer = standby.claim(BOT, &holder("standby"), seen.as_ref()).await.unwrap();
    assert!(matches!(answer, LeaseAnswer::Granted(epoch) if epoch > bench.epoch), "{answer:?}");
}

#[tokio::test]
async fn an_operator_in_another_process_works_beside_the_bot() {
    let bench = Bench::new().await;
    let tool = reopened(&bench.path("opora.db")).await;
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    let key = ConversationKey::private(BOT, 1);
    assert!(tool.operator().reset(&key, NOW).await.unwrap());
    assert!(!tool.operator().reset(&key, NOW).await.unwrap());
    assert!(matches!(bench.commit(full_turn(1, Version(1), vec![])).await, Err(StoreError::Overtaken(_))));
    bench.commit(full_turn(1, Version(2), vec![])).await.unwrap();
    tool.operator().clear_lease(BOT).await.unwrap();
    let fenced = bench.commit(full_turn(1, Version(3), vec![])).await.unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced { .. }), "{fenced}");
}
