//! `state list`, `state show` and `state stats`.

use serde_json::{Value, json};

use super::{Kind, Office, key};

on_every_store! {
    a_list_says_who_stands_where_and_not_what_was_said,
    filters_narrow_a_list,
    show_tells_everything_of_one_conversation,
    show_asks_back_when_a_person_has_several_conversations_or_none,
    stats_count_what_is_kept_and_what_waits,
}

async fn a_list_says_who_stands_where_and_not_what_was_said(kind: Kind) {
    let office = Office::at_work(kind).await;
    let list = office.opora(&["state", "list"]).await.well().stdout;
    let anna: Vec<_> = list.lines().find(|line| line.starts_with("1:5:5")).unwrap().split_whitespace().collect();
    assert_eq!(anna, ["1:5:5", "registration:phone", "1", "3", "min"]);
    assert_eq!(list.lines().count(), 5, "a head and four that are open: {list}");
    let places: Vec<_> = list.lines().skip(1).map(|line| line.find(['r', 's'])).collect();
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "columns are aligned: {list}");
    let listed = office.json(&["state", "list", "--ended"]).await;
    assert!(!list.contains("Secret") && !listed.to_string().contains("Secret"));
    let place = json!([{"dialogue": "registration", "state": "phone"}]);
    assert_eq!((&listed[1]["key"], &listed[1]["places"], &listed[1]["version"]), (&json!("1:5:5"), &place, &json!(1)));
    assert_eq!(listed[1]["updated_at_ms"], office.now.0 - 200_000);
    assert_eq!((&listed[4]["key"], &listed[4]["ended"]), (&json!("1:8:8"), &json!(true)));
}

async fn filters_narrow_a_list(kind: Kind) {
    let office = Office::at_work(kind).await;
    for (filters, expected) in [
        (vec!["--bot", "2"], vec![]),
        (vec!["--user", "7"], vec!["1:-100:7", "1:7:7"]),
        (vec!["--user", "8"], vec![]),
        (vec!["--user", "8", "--ended"], vec!["1:8:8"]),
        (vec!["--dialogue", "registration"], vec!["1:5:5", "1:6:6"]),
        (vec!["--dialogue", "registration", "--state", "city"], vec!["1:6:6"]),
        (vec!["--limit", "2"], vec!["1:-100:7", "1:5:5"]),
    ] {
        let listed = office.json(&[&["state", "list"], filters.as_slice()].concat()).await;
        let keys: Vec<_> = listed.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
        assert_eq!(keys, expected, "{filters:?}");
    }
    let cut = office.opora(&["state", "list", "--limit", "2"]).await.well();
    assert!(cut.stderr.contains("There are more"), "{}", cut.stderr);
    assert!(office.opora(&["state", "list", "--bot", "2"]).await.well().stdout.contains("No conversations."));
}

async fn show_tells_everything_of_one_conversation(kind: Kind) {
    let office = Office::at_work(kind).await;
    office.receives(&key("1:5:5"), 41).await;
    office.parks(&key("1:5:5"), 42).await;
    office.parks(&key("1:6:6"), 43).await;
    let shown = office.json(&["state", "show", "1:5:5"]).await;
    assert_eq!(shown["state"]["slots"][0]["stack"][0]["state"], json!({"name": "Secret"}));
    assert_eq!((&shown["version"], &shown["ended"]), (&json!(1), &json!(false)));
    assert_eq!(shown["expires_at_ms"], office.now.0 + 7_200_000);
    let moved = &shown["transitions"][0];
    assert_eq!(
        (&moved["from"], &moved["to"]["state"], &moved["by"]),
        (&Value::Null, &json!("phone"), &json!("command"))
    );
    assert_eq!(shown["parked"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["parked"][0]["reason"], "the handler panicked");
    assert_eq!(shown["waiting"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!((&shown["waiting"][0]["kind"], &shown["waiting"][0]["id"]), (&json!("update"), &json!(41)));
    let text = office.opora(&["state", "show", "5"]).await.well().stdout;
    for expected in
        ["registration:phone", "(3 min ago)", "UTC (in 1 h)", "\"name\": \"Secret\"", "Parked turns", "Waiting inputs"]
    {
        assert!(text.contains(expected), "no {expected:?} in: {text}");
    }
}

async fn show_asks_back_when_a_person_has_several_conversations_or_none(kind: Kind) {
    let office = Office::at_work(kind).await;
    office.opora(&["state", "show", "7"]).await.complains(&["several", "1:7:7", "1:-100:7"]);
    office.opora(&["state", "show", "99"]).await.complains(&["user 99 has no conversation"]);
    office.opora(&["state", "show", "5", "--bot", "2"]).await.complains(&["user 5 has no conversation"]);
    office.opora(&["state", "show", "1:9:9"]).await.complains(&["no conversation 1:9:9"]);
    office.opora(&["state", "show", "anna"]).await.complains(&["`anna` is not a dialogue's key"]);
    let vera = office.json(&["state", "show", "1:-100:7"]).await;
    assert_eq!(vera["key"], "1:-100:7");
    let gleb = office.opora(&["state", "show", "8"]).await.well().stdout;
    assert!(gleb.contains("nothing is open"), "{gleb}");
}

async fn stats_count_what_is_kept_and_what_waits(kind: Kind) {
    let office = Office::at_work(kind).await;
    office.receives(&key("1:5:5"), 41).await;
    office.parks(&key("1:5:5"), 42).await;
    let mut stats = office.json(&["state", "stats"]).await;
    let age = stats["outbox_oldest_age_ms"].take().as_i64().unwrap();
    assert!((200_000..260_000).contains(&age), "{age}");
    let expected = json!({
        "active": 4,
        "by_place": [
            {"dialogue": "registration", "state": "city", "conversations": 1},
            {"dialogue": "registration", "state": "phone", "conversations": 1},
            {"dialogue": "support", "state": "open", "conversations": 2},
        ],
        "inbox": 1, "outbox": 5, "outbox_oldest_at_ms": office.now.0 - 200_000, "outbox_oldest_age_ms": null,
        "failed": 0, "timers": 5, "effects": 5, "parked": 1,
    });
    assert_eq!(stats, expected);
    assert_eq!(office.json(&["state", "stats", "--bot", "2"]).await["active"], 0);
    let text = office.opora(&["state", "stats"]).await.well().stdout;
    assert!(text.contains("the oldest for 3 min") && text.contains("  support:open"), "{text}");
}
