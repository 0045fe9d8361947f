//! `state parked`.

use serde_json::json;

use super::{Kind, Office, key};

on_every_store! {
    parked_turns_are_listed_without_and_shown_with_their_input,
    a_state_that_was_set_aside_can_be_imported,
    a_retry_marks_one_turn_or_all_for_the_bot,
    a_drop_needs_a_yes,
}

async fn with_three_parked(kind: Kind) -> Office {
    let office = Office::at_work(kind).await;
    for update_id in 42..45 {
        office.parks(&key("1:5:5"), update_id).await;
    }
    office
}

async fn parked_turns_are_listed_without_and_shown_with_their_input(kind: Kind) {
    let office = with_three_parked(kind).await;
    let parked = office.json(&["state", "parked", "list"]).await;
    assert_eq!(parked.as_array().unwrap().len(), 3, "{parked}");
    assert_eq!((&parked[0]["key"], &parked[0]["attempts"]), (&json!("1:5:5"), &json!(5)));
    assert!(!parked.to_string().contains("Secret"));
    let table = office.opora(&["state", "parked", "list"]).await.well().stdout;
    assert!(table.contains("the handler panicked") && !table.contains("Secret"), "{table}");
    let id = parked[0]["id"].to_string();
    let shown = office.json(&["state", "parked", "show", &id]).await;
    assert_eq!(shown["body"], json!({"update_id": 42, "text": "Secret"}));
    let text = office.opora(&["state", "parked", "show", &id]).await.well().stdout;
    assert!(text.contains("\"text\": \"Secret\"") && text.contains("the handler panicked"), "{text}");
    office.opora(&["state", "parked", "show", "77"]).await.complains(&["no parked turn 77"]);
}

async fn a_state_that_was_set_aside_can_be_imported(kind: Kind) {
    let office = Office::at_work(kind).await;
    let mut row = office.rows().await.into_iter().find(|row| row.stored.is_some()).unwrap();
    office.sets_aside(&row.key, Vec::new(), "state", serde_json::to_string(&row).unwrap()).await;
    assert!(office.store.operator().reset(&row.key, office.now).await.unwrap());
    let id = office.parked().await[0].id.0.to_string();
    let line = office.opora(&["state", "parked", "show", &id, "--body"]).await.well().stdout;
    let file = office.path("state.jsonl");
    std::fs::write(&file, line).unwrap();
    let done = office.opora(&["state", "import", "--from", &file]).await.well();
    assert!(done.stderr.starts_with("1 conversation imported"), "{}", done.stderr);
    let restored = office.rows().await.into_iter().find(|found| found.key == row.key).unwrap();
    assert!(restored.version > row.version, "a turn under way notices");
    row.version = restored.version;
    assert_eq!(restored, row);
}

async fn a_retry_marks_one_turn_or_all_for_the_bot(kind: Kind) {
    let office = with_three_parked(kind).await;
    let id = office.parked().await[1].id.0.to_string();
    let done = office.opora(&["state", "parked", "retry", &id]).await.well();
    assert!(done.stdout.starts_with("1 parked turn will run again"), "{}", done.stdout);
    let marked = |parked: Vec<opora::store::Parked>| parked.iter().map(|turn| turn.retry).collect::<Vec<_>>();
    assert_eq!(marked(office.parked().await), [false, true, false]);
    office.opora(&["state", "parked", "retry", "--all"]).await.well();
    assert_eq!(marked(office.parked().await), [true, true, true]);
    office.opora(&["state", "parked", "retry", "77"]).await.complains(&["no parked turn 77"]);
    let neither = office.opora(&["state", "parked", "retry"]).await;
    assert_eq!(neither.code, Some(2), "{}", neither.stderr);
}

async fn a_drop_needs_a_yes(kind: Kind) {
    let office = with_three_parked(kind).await;
    let first = office.parked().await[0].id.0.to_string();
    let refused = office.opora(&["state", "parked", "drop", &first]).await;
    refused.complains(&[&format!("Drop the parked turn {first} of 1:5:5 (update)?"), "--yes"]);
    office.opora(&["state", "parked", "drop", "--all"]).await.complains(&["Drop all 3 parked turns?", "--yes"]);
    assert_eq!(office.parked().await.len(), 3);
    office.opora(&["state", "parked", "drop", &first, "--yes"]).await.well();
    assert_eq!(office.parked().await.len(), 2);
    let done = office.opora(&["state", "parked", "drop", "--all", "--yes"]).await.well();
    assert_eq!(done.stdout.trim(), "2 parked turns dropped.");
    assert!(office.parked().await.is_empty());
    assert_eq!(office.opora(&["state", "parked", "list"]).await.well().stdout.trim(), "Nothing is parked.");
}
