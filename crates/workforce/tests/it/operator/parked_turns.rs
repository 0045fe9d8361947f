//! `state parked`.

use serde_json::json;

use super::{StoreFixture, StoreKind, key};

on_every_store! {
    parked_turns_are_listed_without_their_input,
    a_parked_state_can_be_imported,
    a_retry_marks_one_turn_or_all_for_the_bot,
    a_drop_needs_a_yes,
}

async fn with_three_parked_turns(kind: StoreKind) -> StoreFixture {
    let fixture = StoreFixture::with_conversations(kind).await;
    for update_id in 42..45 {
        fixture.park_update(&key("1:5:5"), update_id).await;
    }
    fixture
}

async fn parked_turns_are_listed_without_their_input(kind: StoreKind) {
    let fixture = with_three_parked_turns(kind).await;
    let parked = fixture.json(&["state", "parked", "list"]).await;
    assert_eq!(parked.as_array().unwrap().len(), 3, "{parked}");
    assert_eq!((&parked[0]["key"], &parked[0]["attempts"]), (&json!("1:5:5"), &json!(5)));
    assert!(!parked.to_string().contains("Secret"));
    let table = fixture.run(&["state", "parked", "list"]).await.success().stdout;
    assert!(table.contains("the handler panicked") && !table.contains("Secret"), "{table}");
    let id = parked[0]["id"].to_string();
    let shown = fixture.json(&["state", "parked", "show", &id]).await;
    assert_eq!(shown["body"], json!({"update_id": 42, "text": "Secret"}));
    let text = fixture.run(&["state", "parked", "show", &id]).await.success().stdout;
    assert!(text.contains("\"text\": \"Secret\"") && text.contains("the handler panicked"), "{text}");
    fixture.run(&["state", "parked", "show", "77"]).await.fails_with(&["no parked turn 77"]);
}

async fn a_parked_state_can_be_imported(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let mut row = fixture.rows().await.into_iter().find(|row| row.stored.is_some()).unwrap();
    fixture.park_turn(&row.key, Vec::new(), "state", serde_json::to_string(&row).unwrap()).await;
    assert!(fixture.store.operator().reset(&row.key, fixture.now).await.unwrap());
    let id = fixture.parked().await[0].id.0.to_string();
    let line = fixture.run(&["state", "parked", "show", &id, "--body"]).await.success().stdout;
    let file = fixture.path("state.jsonl");
    std::fs::write(&file, line).unwrap();
    let done = fixture.run(&["state", "import", "--from", &file]).await.success();
    assert!(done.stderr.starts_with("1 conversation imported"), "{}", done.stderr);
    let restored = fixture.rows().await.into_iter().find(|found| found.key == row.key).unwrap();
    assert!(restored.version > row.version, "a running turn notices the change");
    row.version = restored.version;
    assert_eq!(restored, row);
}

async fn a_retry_marks_one_turn_or_all_for_the_bot(kind: StoreKind) {
    let fixture = with_three_parked_turns(kind).await;
    let id = fixture.parked().await[1].id.0.to_string();
    let done = fixture.run(&["state", "parked", "retry", &id]).await.success();
    assert!(done.stdout.starts_with("1 parked turn will be retried"), "{}", done.stdout);
    let marked = |parked: Vec<opora::store::ParkedTurn>| parked.iter().map(|turn| turn.retry).collect::<Vec<_>>();
    assert_eq!(marked(fixture.parked().await), [false, true, false]);
    fixture.run(&["state", "parked", "retry", "--all"]).await.success();
    assert_eq!(marked(fixture.parked().await), [true, true, true]);
    fixture.run(&["state", "parked", "retry", "77"]).await.fails_with(&["no parked turn 77"]);
    let neither = fixture.run(&["state", "parked", "retry"]).await;
    assert_eq!(neither.code, Some(2), "{}", neither.stderr);
}

async fn a_drop_needs_a_yes(kind: StoreKind) {
    let fixture = with_three_parked_turns(kind).await;
    let first = fixture.parked().await[0].id.0.to_string();
    let refused = fixture.run(&["state", "parked", "drop", &first]).await;
    refused.fails_with(&[&format!("Drop the parked turn {first} of 1:5:5 (update)?"), "--yes"]);
    fixture.run(&["state", "parked", "drop", "--all"]).await.fails_with(&["Drop all 3 parked turns?", "--yes"]);
    assert_eq!(fixture.parked().await.len(), 3);
    fixture.run(&["state", "parked", "drop", &first, "--yes"]).await.success();
    assert_eq!(fixture.parked().await.len(), 2);
    let done = fixture.run(&["state", "parked", "drop", "--all", "--yes"]).await.success();
    assert_eq!(done.stdout.trim(), "2 parked turns dropped.");
    assert!(fixture.parked().await.is_empty());
    assert_eq!(fixture.run(&["state", "parked", "list"]).await.success().stdout.trim(), "Nothing is parked.");
}
