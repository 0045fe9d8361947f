//! `opora restore`.

use std::path::Path;

use opora::store::Opened;
use tempfile::TempDir;

use super::{StoreFixture, StoreKind, key, run};
use crate::kit::demo::{ANNA, Demo, TIMEOUT};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_killed_product_continues_from_a_backup() {
    let folder = TempDir::new().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let database = folder.path().join("opora.db");
    let store = format!("sqlite:{}", database.display());
    let backup = folder.path().join("backup").display().to_string();
    run(&[], &["backup", &backup, "--store", &store]).await.success();
    let before = std::fs::read(&backup).unwrap();
    let newest = store_version(&store).await;
    demo.says(ANNA, "/help").await;
    demo.until("her turn is stored", async |_| (store_version(&store).await > newest).then_some(())).await;
    let lost = store_version(&store).await;
    demo.signal("KILL");
    assert_eq!(demo.ended(TIMEOUT).await, None);
    assert!(folder.path().join("opora.db-wal").exists(), "{:?}", names(folder.path()));

    let done = run(&[], &["restore", &backup, "--to", &store, "--yes"]).await.success();
    assert!(done.stdout.contains("opora.db.before-restore"), "{}", done.stdout);
    assert_eq!(std::fs::read(&backup).unwrap(), before, "a backup stays as it is");
    let left: Vec<_> = names(folder.path()).into_iter().filter(|name| name.starts_with("opora.db-")).collect();
    assert_eq!(left, Vec::<String>::new());
    let kept = format!("sqlite:{}.before-restore", database.display());
    assert!(store_version(&kept).await >= lost, "the replaced store is complete");

    let before = names(folder.path());
    run(&[], &["restore", &backup, "--to", &store]).await.fails_with(&["Replace ", "--yes"]);
    assert_eq!(names(folder.path()), before);

    let demo = Demo::product(&folder, &[]).await;
    let restored = store_version(&store).await;
    demo.says(ANNA, "/help").await;
    demo.until("the bot answers", async |_| (store_version(&store).await > restored).then_some(())).await;
    demo.stop().await;
}

/// The sum of the versions of all conversations: the number of turns.
async fn store_version(address: &str) -> i64 {
    let store = opora::store::open_existing(address).await.unwrap();
    let all = opora::store::Filter { ended: true, ..Default::default() };
    let rows = store.list(&all, None, 10_000).await.unwrap();
    store.close().await.unwrap();
    rows.iter().map(|row| row.version.0).sum()
}

#[tokio::test]
async fn a_store_in_use_is_not_replaced() {
    let fixture = StoreFixture::with_conversations(StoreKind::Sqlite).await;
    let backup = fixture.path("copy.db");
    fixture.run(&["backup", &backup]).await.success();
    let me = format!("process {} on", std::process::id());
    let restore = ["restore", &backup, "--to", fixture.address(), "--yes"];
    run(&[], &restore).await.fails_with(&[&me, "runs bot 1", "stop it first"]);
    // A standby holds no lease, but has the file open.
    fixture.store.operator().clear_lease(super::BOT).await.unwrap();
    run(&[], &restore).await.fails_with(&["opora.db", "another process has it open"]);
    assert!(matches!(fixture.store.open(&key("1:5:5"), None).await.unwrap(), Opened::At { stored: Some(_), .. }));
    assert!(names(fixture.folder.path()).iter().all(|name| !name.contains("restor")));
}

#[tokio::test]
async fn only_a_backup_is_restored_and_only_to_a_file() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let store = format!("sqlite:{}", path("opora.db"));
    run(&[], &["restore", &path("missing"), "--to", &store, "--yes"]).await.fails_with(&["cannot read", "missing"]);
    std::fs::write(path("letter"), "not a database ".repeat(99)).unwrap();
    let restore = ["restore", &path("letter"), "--to", &store, "--yes"];
    run(&[], &restore).await.fails_with(&["cannot read", "letter", "not a database"]);
    for server in ["redis://127.0.0.1:1", "postgres://127.0.0.1:1/x"] {
        let restore = ["restore", &path("letter"), "--to", server, "--yes"];
        run(&[], &restore).await.fails_with(&["by their own tools"]);
    }
    assert_eq!(names(folder.path()), ["letter"]);
}
