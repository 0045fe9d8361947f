//! A Telegram that is slow, refuses calls, breaks connections, or reports dead chats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use opora::outbox::SendEvent;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::audit::Audit;
use super::backend::StoreKind;
use super::in_process::{InProcessBot, registration_bot};
use super::people::{Behaviour, Crowd, Scenario};
use super::stage::{BOT, SendCall, Stage, TIMEOUT, until};

on_every_store! {
    refusals_and_broken_connections_lose_nothing,
    a_chat_with_a_retry_delay_delays_no_other,
    dead_chats_and_moved_groups_are_distinguished,
}

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

async fn refusals_and_broken_connections_lose_nothing(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let running = InProcessBot::run(registration_bot(&stage).await);
    let crowd = Crowd::begin(&stage, 20, BEHAVIOUR).await;
    // So few that no message is given up because of lost answers.
    let lost_answers = 2;
    let (refusals, retry_after_s) = (15, 1);
    assert!(stage.sees_messages(30, TIMEOUT).await);
    stage.fault(json!({"method": "sendMessage", "times": refusals, "retry_after": retry_after_s})).await;
    check_retry_delays(&stage, refusals, retry_after_s * 1000).await;
    let faults = [
        json!({"method": "sendMessage", "times": 10, "status": 502}),
        json!({"method": "sendMessage", "times": 2, "cut": "before"}),
        json!({"method": "sendMessage", "times": lost_answers, "cut": "after"}),
        json!({"method": "getUpdates", "times": 2, "status": 500}),
        json!({"method": "getUpdates", "times": 2, "cut": "after"}),
        json!({"method": "answerCallbackQuery", "times": 3, "status": 500}),
    ];
    for fault in faults {
        assert!(stage.sees_messages(30, TIMEOUT).await);
        stage.fault(fault).await;
    }
    let diaries = crowd.finish().await;
    running.stop_when_acknowledged(&stage).await;
    Audit::of(&stage, Scenario::Registration, &diaries, lost_answers).await.assert_clean();
}

/// Waits until every chat with a retry delay has received a message again, and checks that this was not too early.
async fn check_retry_delays(stage: &Stage, refusals: usize, retry_after_ms: i64) {
    // The emulator keeps only the latest calls.
    let calls = Mutex::new(BTreeMap::new());
    let next = |refused: &SendCall| {
        let calls = calls.lock();
        let mut later = calls.range(refused.id + 1..).map(|(_, send): (&u64, &SendCall)| *send);
        later.find(|send| send.chat == refused.chat)
    };
    let refused = || -> Vec<SendCall> { calls.lock().values().filter(|send| send.is_told_to_wait).copied().collect() };
    until("every delayed chat receives a message", || {
        calls.lock().extend(stage.sends().into_iter().map(|send| (send.id, send)));
        let refused = refused();
        refused.len() == refusals && refused.iter().all(|refused| next(refused).is_some())
    })
    .await;
    let chats: BTreeSet<_> = refused().iter().map(|refused| refused.chat).collect();
    assert!(chats.len() > 1, "a storm in one chat is another test: {chats:?}");
    for refused in refused() {
        let next = next(&refused).unwrap();
        assert!(next.at_ms - refused.at_ms >= retry_after_ms, "{next:?} is too early after {refused:?}");
    }
}

async fn a_chat_with_a_retry_delay_delays_no_other(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let running = InProcessBot::run(registration_bot(&stage).await);
    let slow = stage.person("Slow").await;
    let seconds = 3;
    stage.fault(json!({"method": "sendMessage", "chat_id": slow, "retry_after": seconds})).await;
    stage.says(slow, "/start").await;
    until("the refusal", || stage.faults_left() == 0).await;
    let refused = Instant::now();
    let crowd = Crowd::begin(&stage, 5, BEHAVIOUR).await;
    let diaries = crowd.finish().await;
    let others = refused.elapsed();
    assert!(diaries.iter().all(|diary| diary.walks > 0), "{diaries:?}");
    stage.receives(slow, "Choose your language").await;
    let waited = refused.elapsed();
    // The test sees the refusal a moment after it was given.
    assert!(waited > Duration::from_millis(seconds * 1000 - 100), "{waited:?}");
    assert!(others < waited, "the others took {others:?}, the slow one waited {waited:?}");
    running.stop_when_acknowledged(&stage).await;
}

async fn dead_chats_and_moved_groups_are_distinguished(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&events);
    let running = InProcessBot::run(registration_bot(&stage).await.on_event(move |event| received.lock().push(event)));
    until("the bot polls", || stage.polls() > 0).await;
    let (blocking, stranger) = (stage.person("Blocking").await, 987_654_321);
    stage.post(&format!("/chats/{blocking}/block"), json!({"from": blocking})).await;
    let member = stage.person("Member").await;
    let group = stage.post("/chats", json!({"type": "group", "title": "Crew", "members": [member]})).await;
    let old = group["id"].as_i64().unwrap();
    let new = stage.post(&format!("/chats/{old}/migrate"), json!({"from": member})).await["id"].as_i64().unwrap();
    for (once, chat) in [("a", blocking), ("b", stranger), ("c", old), ("d", member)] {
        running.handle.post(once, chat, format!("news for {chat}")).await.unwrap();
        running.handle.post(once, chat, "not again").await.unwrap();
    }
    stage.receives(new, &format!("news for {old}")).await;
    stage.receives(member, &format!("news for {member}")).await;
    let dead = |chat: i64| {
        events
            .lock()
            .iter()
            .any(|event| matches!(event, SendEvent::ChatUnreachable { chat: dead, .. } if *dead == chat))
    };
    until("the dead chats are reported", || dead(blocking) && dead(stranger)).await;
    let moved = SendEvent::Moved { from: old, to: new };
    assert!(events.lock().contains(&moved), "{:?}", events.lock());
    assert!(!dead(old) && !dead(member));
    running.stop_when_acknowledged(&stage).await;
    let store = stage.store().await;
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((numbers.failed, numbers.outbox), (2, 0));
    assert_eq!(stage.transcript(member).await, [format!("news for {member}")]);
    store.close().await.unwrap();
}
