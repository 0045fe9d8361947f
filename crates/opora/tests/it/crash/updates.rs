//! Updates that are duplicated, reordered or broken, have restarting ids, or come over a failing webhook.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::WebhookSettings;
use opora::store::Store;
use opora::testing::faulty::{Fault, FaultyStore};
use serde_json::{Value, json};

use super::audit::Audit;
use super::backend::StoreKind;
use super::in_process::{InProcessBot, registration_bot, registration_over};
use super::people::{Behaviour, Crowd, Scenario};
use super::stage::{BOT, Stage, TIMEOUT, until_async};

on_every_store! {
    duplicated_and_late_updates_are_processed_once,
    a_webhook_that_cannot_store_is_called_again,
    lost_answers_of_a_store_cause_no_repeats,
    a_message_and_a_press_at_once_are_two_turns,
    broken_updates_are_parked_and_others_processed,
}

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

async fn duplicated_and_late_updates_are_processed_once(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let running = InProcessBot::run(registration_bot(&stage).await);
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    for round in 0..10 {
        stage.fault(json!({"updates": "duplicate", "times": 5})).await;
        stage.fault(json!({"updates": "duplicate", "times": 5, "delay_ms": 30})).await;
        stage.fault(json!({"updates": "reorder", "times": 3, "delay_ms": 30})).await;
        // Ids that restart more often come so close to each other that an offset matches the wrong ones.
        if round % 5 == 2 {
            stage.fault(json!({"updates": "restart_ids"})).await;
        }
        assert!(stage.sees_messages(30, TIMEOUT).await);
    }
    let diaries = crowd.finish().await;
    running.stop_when_acknowledged(&stage).await;
    Audit::of(&stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

/// A registration bot by webhook.
async fn by_webhook(stage: &Stage, store: Arc<FaultyStore>) -> InProcessBot {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let settings = WebhookSettings::new(url, super::bots::WEBHOOK_SECRET);
    let (bot, webhook) = registration_over(stage, store).await.webhook(settings);
    tokio::spawn(async move { axum::serve(listener, webhook.router("/hook")).await.unwrap() });
    InProcessBot::run(bot)
}

async fn a_webhook_that_cannot_store_is_called_again(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store = Arc::new(FaultyStore::new(stage.store().await));
    let running = by_webhook(&stage, Arc::clone(&store)).await;
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    for fault in [Fault::Before, Fault::After, Fault::Delay(Duration::from_millis(200))] {
        // A store for several instances uses `deliver`.
        let stores = if store.supports_multiple_instances() { "deliver" } else { "receive" };
        store.fail_next(stores, 2, fault);
        assert!(stage.sees_messages(40, TIMEOUT).await);
        // Telegram repeats the call after the requested 5 seconds, by its own clock.
        stage.post("/clock", json!({"advance_seconds": 6})).await;
    }
    let diaries = crowd.finish().await;
    running.stop_when_acknowledged(&stage).await;
    Audit::of(&stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

async fn lost_answers_of_a_store_cause_no_repeats(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store = Arc::new(FaultyStore::new(stage.store().await));
    let running = InProcessBot::run(registration_over(&stage, store.clone()).await);
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    for method in ["receive", "commit", "settle", "open", "unsent"] {
        // Turns meet these faults in parallel. Of the other methods one caller meets all faults, and waits longer after
        // each.
        let times = if ["commit", "open"].contains(&method) { 3 } else { 1 };
        for fault in [Fault::Before, Fault::After] {
            store.fail_next(method, times, fault);
        }
        assert!(stage.sees_messages(40, TIMEOUT).await);
    }
    let diaries = crowd.finish().await;
    running.stop_when_acknowledged(&stage).await;
    Audit::of(&stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

async fn a_message_and_a_press_at_once_are_two_turns(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let store = stage.store().await;
    let running = by_webhook(&stage, Arc::new(FaultyStore::new(Arc::clone(&store)))).await;
    let mut people = Vec::new();
    for number in 0..20 {
        let person = stage.person(&format!("Person {number}")).await;
        stage.says(person, "/start").await;
        stage.receives(person, "Choose your language").await;
        people.push(person);
    }
    let at = &stage;
    let both = people.iter().map(|person| async move {
        let press = json!({"from": person, "message_id": 2, "data": "lang:en"});
        let path = format!("/chats/{person}/press");
        let (pressed, _) = tokio::join!(at.post(&path, press), at.says(*person, "Anna"));
        assert_eq!(pressed["answered"], true);
    });
    futures_util::future::join_all(both).await;
    for person in people {
        // Whichever came first, both were handled completely, one after the other.
        let key = opora::key::ConversationKey::private(BOT, person);
        until_async("both turns", async || {
            matches!(store.open(&key, None).await, Ok(opora::store::Opened::At { version, .. }) if version.0 == 3)
        })
        .await;
        stage.receives(person, "What is your name?").await;
        let said = stage.transcript(person).await;
        let (last, count) = (said.last().unwrap().as_str(), said.len());
        assert!(count == 3 && ["Your phone?", "What is your name?"].contains(&last), "{said:?}");
    }
    running.stop_when_acknowledged(&stage).await;
}

async fn broken_updates_are_parked_and_others_processed(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let running = InProcessBot::run(registration_bot(&stage).await);
    let crowd = Crowd::begin(&stage, 10, BEHAVIOUR).await;
    assert!(stage.sees_messages(20, TIMEOUT).await);
    for (number, content) in broken().into_iter().enumerate() {
        let mut update = json!({"update_id": 1 + number});
        update.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        stage.post("/replay", json!({"update": update})).await;
        assert!(stage.sees_messages(5, TIMEOUT).await);
    }
    let diaries = crowd.finish().await;
    running.stop_when_acknowledged(&stage).await;
    let store = stage.store().await;
    let parked = store.parked(Some(BOT), 100).await.unwrap();
    assert_eq!(parked.len(), UNREADABLE, "{parked:?}");
    for parked in parked {
        assert!(parked.reason.contains("cannot be read"), "{parked:?}");
        assert!(store.drop_parked(parked.id).await.unwrap());
    }
    store.close().await.unwrap();
    Audit::of(&stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

/// How many of the broken updates cannot be read.
const UNREADABLE: usize = 5;

fn broken() -> Vec<Value> {
    let largest = (1_i64 << 52) - 1;
    let long = "x".repeat(300_000);
    let from = json!({"id": largest, "is_bot": false, "first_name": "Anna"});
    let chat = json!({"id": largest, "type": "private"});
    vec![
        // These cannot be read.
        json!({"message": {"message_id": "one", "chat": chat, "date": 0}}),
        json!({"message": {"chat": "nonsense"}}),
        json!({"message": null}),
        json!({"callback_query": {"id": 5}}),
        json!({"message": [[[[]]]]}),
        // These can be read, and no handler waits for them.
        json!({"a_kind_of_next_year": {"from": from, "what": [1, 2, {"deep": {"deeper": null}}]}}),
        json!({}),
        json!({"message": {"message_id": 7, "date": 0, "chat": chat, "from": from, "text": long}}),
        json!({"message": {"message_id": 1, "date": 0, "chat": chat, "from": from, "dice": {"emoji": "🎲", "value": 1}}}),
    ]
}
