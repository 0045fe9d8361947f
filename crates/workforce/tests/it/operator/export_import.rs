//! `state export` and `state import`.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{StoreFixture, StoreKind};

on_every_store! {
    exported_conversations_are_equal_after_an_import,
    an_export_has_a_json_line_per_filtered_conversation,
    an_export_overwrites_no_file,
    a_broken_line_is_named_and_the_others_are_imported,
    only_replace_overwrites_open_conversations,
    a_missing_file_cannot_be_imported,
}

async fn exported_conversations_are_equal_after_an_import(kind: StoreKind) {
    let (fixture, other) = (StoreFixture::with_conversations(kind).await, StoreFixture::empty(kind).await);
    let file = fixture.path("all.jsonl");
    let exported = fixture.run(&["state", "export", "--ended", "--to", &file]).await.success();
    assert!(exported.stderr.contains("5 conversations exported."), "{}", exported.stderr);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let imported = other.run(&["state", "import", "--from", &file]).await.success();
    assert!(imported.stderr.contains("5 conversations imported."), "{}", imported.stderr);
    assert_eq!(other.rows().await, fixture.rows().await);
    // A second import leaves everything as it is.
    let again = other.run(&["state", "import", "--from", &file]).await.success();
    assert!(again.stderr.contains("4 left as they are"), "{}", again.stderr);
}

#[tokio::test]
async fn conversations_move_between_stores_unchanged() {
    let first = StoreFixture::with_conversations(StoreKind::Sqlite).await;
    let mut file = first.path("all.jsonl");
    first.run(&["state", "export", "--ended", "--to", &file]).await.success();
    let mut offices = Vec::new();
    for kind in [StoreKind::Redis, StoreKind::Postgres, StoreKind::Sqlite] {
        let next = StoreFixture::empty(kind).await;
        next.run(&["state", "import", "--from", &file]).await.success();
        assert_eq!(next.rows().await, first.rows().await, "{kind:?}");
        file = next.path("all.jsonl");
        next.run(&["state", "export", "--ended", "--to", &file]).await.success();
        offices.push(next);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), std::fs::read_to_string(first.path("all.jsonl")).unwrap());
}

async fn an_export_has_a_json_line_per_filtered_conversation(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let exported = fixture.run(&["state", "export", "--dialogue", "registration"]).await.success();
    let rows: Vec<Value> = exported.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(|row| &row["key"]).collect::<Vec<_>>(), [&json!("1:5:5"), &json!("1:6:6")]);
    assert!(rows[0]["stored"]["value"].as_str().unwrap().contains("Secret"));
}

async fn an_export_overwrites_no_file(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let file = fixture.path("mine.txt");
    std::fs::write(&file, "mine").unwrap();
    fixture.run(&["state", "export", "--to", &file]).await.fails_with(&["mine.txt exists already"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

async fn a_broken_line_is_named_and_the_others_are_imported(kind: StoreKind) {
    let (fixture, other) = (StoreFixture::with_conversations(kind).await, StoreFixture::empty(kind).await);
    let good = fixture.run(&["state", "export"]).await.success().stdout;
    let mut lines: Vec<Vec<u8>> = good.lines().map(|line| line.as_bytes().to_vec()).collect();
    let no_json = good.lines().next().unwrap().replace("{\\\"tracks", "{\\\"tracks\\\"").into_bytes();
    let negative = good.lines().next().unwrap().replace("\"version\":1", "\"version\":-1").into_bytes();
    lines.insert(1, b"{\"key\": \"1:5".to_vec());
    lines.insert(2, vec![0xff, 0xfe]);
    lines.insert(3, Vec::new());
    lines.insert(4, no_json);
    lines.insert(5, negative);
    let file = other.path("broken.jsonl");
    std::fs::write(&file, lines.join(&b'\n')).unwrap();
    for arguments in [&["--dry-run"][..], &[]] {
        let done = other.run(&[&["state", "import", "--from", &file], arguments].concat()).await;
        done.fails_with(&[
            "line 2: ",
            "line 3: ",
            "line 5: ",
            "not JSON",
            "line 6: ",
            "4 conversations",
            "4 bad lines",
        ]);
        assert!(!done.stderr.contains("line 4"), "an empty line is ignored: {}", done.stderr);
        let expected = if arguments.is_empty() { 4 } else { 0 };
        assert_eq!(other.rows().await.len(), expected, "{arguments:?}");
    }
}

async fn only_replace_overwrites_open_conversations(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let exported = fixture.run(&["state", "export", "--user", "5"]).await.success().stdout;
    let file = fixture.path("anna.jsonl");
    std::fs::write(&file, exported.replace("phone", "email")).unwrap();
    let before = fixture.rows().await;
    let kept = fixture.run(&["state", "import", "--from", &file]).await.success();
    assert!(kept.stderr.contains("0 conversations imported, 1 left as they are"), "{}", kept.stderr);
    let dry = fixture.run(&["state", "import", "--from", &file, "--replace", "--dry-run"]).await.success();
    assert!(dry.stderr.contains("1 conversation would be imported."), "{}", dry.stderr);
    assert_eq!(fixture.rows().await, before);
    fixture.run(&["state", "import", "--from", &file, "--replace"]).await.success();
    let anna = fixture.json(&["state", "show", "5"]).await;
    assert_eq!((&anna["states"][0]["state"], &anna["version"]), (&json!("email"), &json!(2)));
}

async fn a_missing_file_cannot_be_imported(kind: StoreKind) {
    let fixture = StoreFixture::empty(kind).await;
    fixture.run(&["state", "import", "--from", "nowhere.jsonl"]).await.fails_with(&["cannot read nowhere.jsonl"]);
}
