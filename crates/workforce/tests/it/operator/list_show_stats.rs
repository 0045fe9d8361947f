//! `state list`, `state show` and `state stats`.

use serde_json::{Value, json};

use super::{StoreFixture, StoreKind, key};

on_every_store! {
    a_list_shows_states_and_no_texts,
    filters_narrow_a_list,
    show_prints_everything_about_a_conversation,
    show_needs_a_unique_conversation,
    stats_count_conversations_and_queues,
}

async fn a_list_shows_states_and_no_texts(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let list = fixture.run(&["state", "list"]).await.success().stdout;
    let anna: Vec<_> = list.lines().find(|line| line.starts_with("1:5:5")).unwrap().split_whitespace().collect();
    assert_eq!(anna, ["1:5:5", "registration:phone", "1", "3", "min"]);
    assert_eq!(list.lines().count(), 5, "a header and four open conversations: {list}");
    let places: Vec<_> = list.lines().skip(1).map(|line| line.find(['r', 's'])).collect();
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "columns are aligned: {list}");
    let listed = fixture.json(&["state", "list", "--ended"]).await;
    assert!(!list.contains("Secret") && !listed.to_string().contains("Secret"));
    let place = json!([{"dialogue": "registration", "state": "phone"}]);
    assert_eq!((&listed[1]["key"], &listed[1]["states"], &listed[1]["version"]), (&json!("1:5:5"), &place, &json!(1)));
    assert_eq!(listed[1]["updated_at_ms"], fixture.now.0 - 200_000);
    assert_eq!((&listed[4]["key"], &listed[4]["ended"]), (&json!("1:8:8"), &json!(true)));
}

async fn filters_narrow_a_list(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    for (filters, expected) in [
        (vec!["--bot", "2"], vec![]),
        (vec!["--user", "7"], vec!["1:-100:7", "1:7:7"]),
        (vec!["--user", "8"], vec![]),
        (vec!["--user", "8", "--ended"], vec!["1:8:8"]),
        (vec!["--dialogue", "registration"], vec!["1:5:5", "1:6:6"]),
        (vec!["--dialogue", "registration", "--state", "city"], vec!["1:6:6"]),
        (vec!["--limit", "2"], vec!["1:-100:7", "1:5:5"]),
    ] {
        let listed = fixture.json(&[&["state", "list"], filters.as_slice()].concat()).await;
        let keys: Vec<_> = listed.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
        assert_eq!(keys, expected, "{filters:?}");
    }
    let cut = fixture.run(&["state", "list", "--limit", "2"]).await.success();
    assert!(cut.stderr.contains("There are more"), "{}", cut.stderr);
    assert!(fixture.run(&["state", "list", "--bot", "2"]).await.success().stdout.contains("No conversations."));
}

async fn show_prints_everything_about_a_conversation(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    fixture.receive_update(&key("1:5:5"), 41).await;
    fixture.park_update(&key("1:5:5"), 42).await;
    fixture.park_update(&key("1:6:6"), 43).await;
    let shown = fixture.json(&["state", "show", "1:5:5"]).await;
    assert_eq!(shown["state"]["tracks"][0]["stack"][0]["state"], json!({"name": "Secret"}));
    assert_eq!((&shown["version"], &shown["ended"]), (&json!(1), &json!(false)));
    assert_eq!(shown["expires_at_ms"], fixture.now.0 + 7_200_000);
    let moved = &shown["transitions"][0];
    assert_eq!(
        (&moved["from"], &moved["to"]["state"], &moved["by"]),
        (&Value::Null, &json!("phone"), &json!("command"))
    );
    assert_eq!(shown["parked"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["parked"][0]["reason"], "the handler panicked");
    assert_eq!(shown["waiting"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!((&shown["waiting"][0]["kind"], &shown["waiting"][0]["id"]), (&json!("update"), &json!(41)));
    let text = fixture.run(&["state", "show", "5"]).await.success().stdout;
    for expected in
        ["registration:phone", "(3 min ago)", "UTC (in 1 h)", "\"name\": \"Secret\"", "Parked turns", "Waiting inputs"]
    {
        assert!(text.contains(expected), "no {expected:?} in: {text}");
    }
}

async fn show_needs_a_unique_conversation(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    fixture.run(&["state", "show", "7"]).await.fails_with(&["several", "1:7:7", "1:-100:7"]);
    fixture.run(&["state", "show", "99"]).await.fails_with(&["user 99 has no conversation"]);
    fixture.run(&["state", "show", "5", "--bot", "2"]).await.fails_with(&["user 5 has no conversation"]);
    fixture.run(&["state", "show", "1:9:9"]).await.fails_with(&["no conversation 1:9:9"]);
    fixture.run(&["state", "show", "anna"]).await.fails_with(&["`anna` is not a conversation key"]);
    let vera = fixture.json(&["state", "show", "1:-100:7"]).await;
    assert_eq!(vera["key"], "1:-100:7");
    let gleb = fixture.run(&["state", "show", "8"]).await.success().stdout;
    assert!(gleb.contains("nothing is open"), "{gleb}");
}

async fn stats_count_conversations_and_queues(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    fixture.receive_update(&key("1:5:5"), 41).await;
    fixture.park_update(&key("1:5:5"), 42).await;
    let mut stats = fixture.json(&["state", "stats"]).await;
    let age = stats["outbox_oldest_age_ms"].take().as_i64().unwrap();
    assert!((200_000..260_000).contains(&age), "{age}");
    let expected = json!({
        "active": 4,
        "by_state": [
            {"dialogue": "registration", "state": "city", "conversations": 1},
            {"dialogue": "registration", "state": "phone", "conversations": 1},
            {"dialogue": "support", "state": "open", "conversations": 2},
        ],
        "inbox": 1, "outbox": 5, "outbox_oldest_at_ms": fixture.now.0 - 200_000, "outbox_oldest_age_ms": null,
        "failed": 0, "timers": 5, "effects": 5, "parked": 1,
    });
    assert_eq!(stats, expected);
    assert_eq!(fixture.json(&["state", "stats", "--bot", "2"]).await["active"], 0);
    let text = fixture.run(&["state", "stats"]).await.success().stdout;
    assert!(text.contains("the oldest for 3 min") && text.contains("  support:open"), "{text}");
}
