//! `state failed`.

use opora::store::{Settled, Settlement};
use serde_json::json;

use super::{BOT, StoreFixture, StoreKind, key};

on_every_store! {
    failed_messages_are_listed_without_their_text,
    an_empty_list_says_so,
    long_lists_are_complete,
}

/// Commits messages and settles them as failed.
async fn add_failed_messages(fixture: &StoreFixture, key: &opora::key::ConversationKey, count: usize) {
    let said = fixture.commit(key, opora::store::Version(1), |commit| {
        commit.outgoing = (0..count).map(|_| super::message(key.chat)).collect();
    });
    let reason = || Settlement::Failed("403: Forbidden: bot was blocked by the user".into());
    let settled = said.await.outbox.into_iter().map(|id| Settled { id, outcome: reason() }).collect();
    fixture.store.settle(fixture.bot.epoch, settled, fixture.now).await.unwrap();
}

async fn failed_messages_are_listed_without_their_text(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    add_failed_messages(&fixture, &key("1:5:5"), 1).await;
    add_failed_messages(&fixture, &key("1:-100:7"), 1).await;
    let failed = fixture.json(&["state", "failed", "list"]).await;
    let mut chats: Vec<_> = failed.as_array().unwrap().iter().map(|row| row["chat"].as_i64().unwrap()).collect();
    chats.sort_unstable();
    assert_eq!(chats, [-100, 5], "{failed}");
    assert!(!failed.to_string().contains("Secret"));
    let table = fixture.run(&["state", "failed", "list"]).await.success().stdout;
    assert!(table.contains("bot was blocked by the user") && !table.contains("Secret"), "{table}");
    let id = failed[0]["id"].to_string();
    let shown = fixture.json(&["state", "failed", "show", &id]).await;
    assert_eq!((&shown["id"], &shown["method"]), (&failed[0]["id"], &json!("sendMessage")));
    assert_eq!(shown["body"], json!({"text": "Secret"}));
    let text = fixture.run(&["state", "failed", "show", &id]).await.success().stdout;
    assert!(text.contains("\"text\": \"Secret\"") && text.contains("403: Forbidden"), "{text}");
    fixture.run(&["state", "failed", "show", "77"]).await.fails_with(&["no failed message 77"]);
    assert_eq!(fixture.json(&["state", "failed", "list", "--bot", "2"]).await, json!([]));
}

async fn an_empty_list_says_so(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let done = fixture.run(&["state", "failed", "list"]).await.success();
    assert_eq!(done.stdout.trim(), "Every message was sent, or waits to be.");
    assert_eq!(fixture.store.statistics(Some(BOT)).await.unwrap().failed, 0);
}

async fn long_lists_are_complete(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    // More than two pages, all at the same time.
    add_failed_messages(&fixture, &key("1:5:5"), 1100).await;
    let failed = fixture.json(&["state", "failed", "list"]).await;
    let ids: std::collections::BTreeSet<_> = failed.as_array().unwrap().iter().map(|row| row["id"].as_i64()).collect();
    assert_eq!((ids.len(), failed.as_array().unwrap().len()), (1100, 1100));
    let last = failed[1099]["id"].to_string();
    assert_eq!(fixture.json(&["state", "failed", "show", &last]).await["chat"], 5);
}
