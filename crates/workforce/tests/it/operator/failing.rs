//! `state failed`.

use opora::store::{Settled, Settlement};
use serde_json::json;

use super::{BOT, Kind, Office, key};

on_every_store! {
    failed_messages_are_listed_without_and_shown_with_what_they_say,
    where_nothing_failed_that_is_said,
    long_lists_are_read_to_their_end,
}

/// Says something in a conversation that cannot be sent.
async fn fails(office: &Office, key: &opora::key::DialogueKey, count: usize) {
    let said = office.commit(key, opora::store::Version(1), |commit| {
        commit.outgoing = (0..count).map(|_| super::message(key.chat)).collect();
    });
    let reason = || Settlement::Failed("403: Forbidden: bot was blocked by the user".into());
    let settled = said.await.outbox.into_iter().map(|id| Settled { id, outcome: reason() }).collect();
    office.store.settle(office.bot.epoch, settled, office.now).await.unwrap();
}

async fn failed_messages_are_listed_without_and_shown_with_what_they_say(kind: Kind) {
    let office = Office::at_work(kind).await;
    fails(&office, &key("1:5:5"), 1).await;
    fails(&office, &key("1:-100:7"), 1).await;
    let failed = office.json(&["state", "failed", "list"]).await;
    let mut chats: Vec<_> = failed.as_array().unwrap().iter().map(|row| row["chat"].as_i64().unwrap()).collect();
    chats.sort_unstable();
    assert_eq!(chats, [-100, 5], "{failed}");
    assert!(!failed.to_string().contains("Secret"));
    let table = office.opora(&["state", "failed", "list"]).await.well().stdout;
    assert!(table.contains("bot was blocked by the user") && !table.contains("Secret"), "{table}");
    let id = failed[0]["id"].to_string();
    let shown = office.json(&["state", "failed", "show", &id]).await;
    assert_eq!((&shown["id"], &shown["method"]), (&failed[0]["id"], &json!("sendMessage")));
    assert_eq!(shown["body"], json!({"text": "Secret"}));
    let text = office.opora(&["state", "failed", "show", &id]).await.well().stdout;
    assert!(text.contains("\"text\": \"Secret\"") && text.contains("403: Forbidden"), "{text}");
    office.opora(&["state", "failed", "show", "77"]).await.complains(&["no failed message 77"]);
    assert_eq!(office.json(&["state", "failed", "list", "--bot", "2"]).await, json!([]));
}

async fn where_nothing_failed_that_is_said(kind: Kind) {
    let office = Office::at_work(kind).await;
    let done = office.opora(&["state", "failed", "list"]).await.well();
    assert_eq!(done.stdout.trim(), "Every message was sent, or waits to be.");
    assert_eq!(office.store.statistics(Some(BOT)).await.unwrap().failed, 0);
}

async fn long_lists_are_read_to_their_end(kind: Kind) {
    let office = Office::at_work(kind).await;
    // Two pages and a bit, all said at one moment.
    fails(&office, &key("1:5:5"), 1100).await;
    let failed = office.json(&["state", "failed", "list"]).await;
    let ids: std::collections::BTreeSet<_> = failed.as_array().unwrap().iter().map(|row| row["id"].as_i64()).collect();
    assert_eq!((ids.len(), failed.as_array().unwrap().len()), (1100, 1100));
    let last = failed[1099]["id"].to_string();
    assert_eq!(office.json(&["state", "failed", "show", &last]).await["chat"], 5);
}
