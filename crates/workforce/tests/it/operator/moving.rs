//! `state export` and `state import`.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Kind, Office};

on_every_store! {
    what_was_exported_is_equal_after_an_import_elsewhere,
    an_export_is_a_line_of_json_for_each_conversation_that_the_filters_let_through,
    an_export_overwrites_no_file,
    a_broken_line_is_named_and_the_others_are_imported,
    only_replace_overwrites_what_is_open,
    a_file_that_is_not_there_cannot_be_imported,
}

async fn what_was_exported_is_equal_after_an_import_elsewhere(kind: Kind) {
    let (office, other) = (Office::at_work(kind).await, Office::empty(kind).await);
    let file = office.path("all.jsonl");
    let exported = office.opora(&["state", "export", "--ended", "--to", &file]).await.well();
    assert!(exported.stderr.contains("5 conversations exported."), "{}", exported.stderr);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let imported = other.opora(&["state", "import", "--from", &file]).await.well();
    assert!(imported.stderr.contains("5 conversations imported."), "{}", imported.stderr);
    assert_eq!(other.rows().await, office.rows().await);
    // The running bot would be told of nothing: a second import leaves all as it is.
    let again = other.opora(&["state", "import", "--from", &file]).await.well();
    assert!(again.stderr.contains("4 left as they are"), "{}", again.stderr);
}

#[tokio::test]
async fn conversations_move_from_each_store_to_the_next_and_are_as_they_were() {
    let first = Office::at_work(Kind::Sqlite).await;
    let mut file = first.path("all.jsonl");
    first.opora(&["state", "export", "--ended", "--to", &file]).await.well();
    let mut offices = Vec::new();
    for kind in [Kind::Redis, Kind::Postgres, Kind::Sqlite] {
        let next = Office::empty(kind).await;
        next.opora(&["state", "import", "--from", &file]).await.well();
        assert_eq!(next.rows().await, first.rows().await, "{kind:?}");
        file = next.path("all.jsonl");
        next.opora(&["state", "export", "--ended", "--to", &file]).await.well();
        offices.push(next);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), std::fs::read_to_string(first.path("all.jsonl")).unwrap());
}

async fn an_export_is_a_line_of_json_for_each_conversation_that_the_filters_let_through(kind: Kind) {
    let office = Office::at_work(kind).await;
    let exported = office.opora(&["state", "export", "--dialogue", "registration"]).await.well();
    let rows: Vec<Value> = exported.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(|row| &row["key"]).collect::<Vec<_>>(), [&json!("1:5:5"), &json!("1:6:6")]);
    assert!(rows[0]["stored"]["value"].as_str().unwrap().contains("Secret"));
}

async fn an_export_overwrites_no_file(kind: Kind) {
    let office = Office::at_work(kind).await;
    let file = office.path("mine.txt");
    std::fs::write(&file, "mine").unwrap();
    office.opora(&["state", "export", "--to", &file]).await.complains(&["mine.txt exists already"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

async fn a_broken_line_is_named_and_the_others_are_imported(kind: Kind) {
    let (office, other) = (Office::at_work(kind).await, Office::empty(kind).await);
    let good = office.opora(&["state", "export"]).await.well().stdout;
    let mut lines: Vec<Vec<u8>> = good.lines().map(|line| line.as_bytes().to_vec()).collect();
    let no_json = good.lines().next().unwrap().replace("{\\\"slots", "{\\\"slots\\\"").into_bytes();
    let negative = good.lines().next().unwrap().replace("\"version\":1", "\"version\":-1").into_bytes();
    lines.insert(1, b"{\"key\": \"1:5".to_vec());
    lines.insert(2, vec![0xff, 0xfe]);
    lines.insert(3, Vec::new());
    lines.insert(4, no_json);
    lines.insert(5, negative);
    let file = other.path("broken.jsonl");
    std::fs::write(&file, lines.join(&b'\n')).unwrap();
    for arguments in [&["--dry-run"][..], &[]] {
        let done = other.opora(&[&["state", "import", "--from", &file], arguments].concat()).await;
        done.complains(&["line 2: ", "line 3: ", "line 5: ", "not JSON", "line 6: ", "4 conversations", "4 bad lines"]);
        assert!(!done.stderr.contains("line 4"), "an empty line is none: {}", done.stderr);
        let expected = if arguments.is_empty() { 4 } else { 0 };
        assert_eq!(other.rows().await.len(), expected, "{arguments:?}");
    }
}

async fn only_replace_overwrites_what_is_open(kind: Kind) {
    let office = Office::at_work(kind).await;
    let exported = office.opora(&["state", "export", "--user", "5"]).await.well().stdout;
    let file = office.path("anna.jsonl");
    std::fs::write(&file, exported.replace("phone", "email")).unwrap();
    let before = office.rows().await;
    let kept = office.opora(&["state", "import", "--from", &file]).await.well();
    assert!(kept.stderr.contains("0 conversations imported, 1 left as they are"), "{}", kept.stderr);
    let dry = office.opora(&["state", "import", "--from", &file, "--replace", "--dry-run"]).await.well();
    assert!(dry.stderr.contains("1 conversation would be imported."), "{}", dry.stderr);
    assert_eq!(office.rows().await, before);
    office.opora(&["state", "import", "--from", &file, "--replace"]).await.well();
    let anna = office.json(&["state", "show", "5"]).await;
    assert_eq!((&anna["places"][0]["state"], &anna["version"]), (&json!("email"), &json!(2)));
}

async fn a_file_that_is_not_there_cannot_be_imported(kind: Kind) {
    let office = Office::empty(kind).await;
    office.opora(&["state", "import", "--from", "nowhere.jsonl"]).await.complains(&["cannot read nowhere.jsonl"]);
}
