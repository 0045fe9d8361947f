//! Which store the commands use, and their errors when there is none.

use super::{StoreFixture, StoreKind, run};

#[tokio::test]
async fn the_store_is_named_by_the_option_else_by_the_environment() {
    let fixture = StoreFixture::with_conversations(StoreKind::Sqlite).await;
    let (address, folder) = (fixture.address(), fixture.folder.path().to_str().unwrap());
    let nowhere = "sqlite:nowhere.db";
    for (variables, arguments) in [
        (vec![("STATE_URL", nowhere)], vec!["--store", address]),
        (vec![("STATE_URL", address), ("DATA_DIR", "nowhere")], vec![]),
        (vec![("DATA_DIR", folder)], vec![]),
        (vec![("STATE_URL", ""), ("DATA_DIR", folder)], vec![]),
    ] {
        let listed = run(&variables, &[&["state", "list"], arguments.as_slice()].concat()).await.success();
        assert!(listed.stdout.contains("1:5:5"), "{variables:?}: {}", listed.stdout);
    }
    run(&[], &["state", "list"]).await.fails_with(&["there is no store at data/opora.db"]);
}

#[tokio::test]
async fn a_missing_store_is_reported_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mistyped.db");
    let address = format!("sqlite:{}", path.display());
    let copy = folder.path().join("copy.db");
    for arguments in [
        vec!["state", "list"],
        vec!["state", "stats"],
        vec!["state", "import", "--from", "-"],
        vec!["state", "reset", "1:5:5", "--yes"],
        vec!["backup", copy.to_str().unwrap()],
    ] {
        let done = run(&[], &[arguments.as_slice(), &["--store", &address]].concat()).await;
        done.fails_with(&["there is no store at", "mistyped.db", "STATE_URL"]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_refused_with_the_reason() {
    let memory = run(&[("STATE_URL", "memory:")], &["state", "list"]).await;
    memory.fails_with(&["a memory store lives inside the bot's process"]);
    let unknown = run(&[], &["state", "list", "--store", "mongodb://me:password@host"]).await;
    unknown.fails_with(&["mongodb", "names no store"]);
    assert!(!unknown.stderr.contains("password"), "{}", unknown.stderr);
    let folder = tempfile::tempdir().unwrap();
    let (text, empty) = (folder.path().join("notes.txt"), folder.path().join("empty.db"));
    std::fs::write(&text, "This is no database, and long enough to be seen as none. ".repeat(40)).unwrap();
    std::fs::write(&empty, "").unwrap();
    for (path, reason) in
        [(text.as_path(), "not a database"), (&empty, "an empty file"), (folder.path(), "a directory")]
    {
        run(&[], &["state", "list", "--store", &format!("sqlite:{}", path.display())]).await.fails_with(&[reason]);
    }
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0);
}
