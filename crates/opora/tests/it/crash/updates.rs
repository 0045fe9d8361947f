//! Updates that come twice, in another order, with ids that restart, over a webhook that fails, or broken.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::WebhookSettings;
use opora::store::Store;
use opora::testing::faulty::{FaultyStore, Trouble};
use serde_json::{Value, json};

use super::account::Account;
use super::inside::{Inside, registration_bot, registration_over};
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::stage::{BOT, PATIENCE, Stage, until_so};

on_every_store! {
    updates_that_come_again_or_late_are_taken_once,
    a_webhook_that_cannot_store_is_called_again_and_nothing_is_taken_twice,
    a_store_whose_answers_get_lost_is_asked_again_and_nothing_happens_twice,
    a_message_and_a_press_at_once_are_two_turns,
    broken_updates_are_parked_and_the_rest_goes_on,
}

const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };

async fn updates_that_come_again_or_late_are_taken_once(kind: Kind) {
    let stage = Stage::on(kind).await;
    let running = Inside::run(registration_bot(&stage).await);
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    for round in 0..10 {
        stage.fault(json!({"updates": "duplicate", "times": 5})).await;
        stage.fault(json!({"updates": "duplicate", "times": 5, "delay_ms": 30})).await;
        stage.fault(json!({"updates": "reorder", "times": 3, "delay_ms": 30})).await;
        // Ids that restart again and again come so close to each other that an offset means the wrong ones.
        if round % 5 == 2 {
            stage.fault(json!({"updates": "restart_ids"})).await;
        }
        assert!(stage.goes_on(30, PATIENCE).await);
    }
    let diaries = crowd.finish().await;
    running.end_when_quiet(&stage).await;
    Account::of(&stage, Story::Registration, &diaries, 0).await.is_clean();
}

/// A bot that takes its updates by a webhook of the stage's.
async fn by_webhook(stage: &Stage, store: Arc<FaultyStore>) -> Inside {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let settings = WebhookSettings::new(url, super::bots::WEBHOOK_SECRET);
    let (bot, webhook) = registration_over(stage, store).await.webhook(settings);
    tokio::spawn(async move { axum::serve(listener, webhook.router("/hook")).await.unwrap() });
    Inside::run(bot)
}

async fn a_webhook_that_cannot_store_is_called_again_and_nothing_is_taken_twice(kind: Kind) {
    let stage = Stage::on(kind).await;
    let store = Arc::new(FaultyStore::new(stage.store().await));
    let running = by_webhook(&stage, Arc::clone(&store)).await;
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    for trouble in [Trouble::Before, Trouble::After, Trouble::Delay(Duration::from_millis(200))] {
        // Where several instances may take updates, they deliver them.
        let stores = if store.supports_multiple_instances() { "deliver" } else { "receive" };
        store.fail_next(stores, 2, trouble);
        assert!(stage.goes_on(40, PATIENCE).await);
        // Telegram comes again when it was asked to: 5 seconds later by its own clock.
        stage.post("/clock", json!({"advance_seconds": 6})).await;
    }
    let diaries = crowd.finish().await;
    running.end_when_quiet(&stage).await;
    Account::of(&stage, Story::Registration, &diaries, 0).await.is_clean();
}

async fn a_store_whose_answers_get_lost_is_asked_again_and_nothing_happens_twice(kind: Kind) {
    let stage = Stage::on(kind).await;
    let store = Arc::new(FaultyStore::new(stage.store().await));
    let running = Inside::run(registration_over(&stage, store.clone()).await);
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    for method in ["receive", "commit", "settle", "open", "unsent"] {
        // Turns meet these side by side. Of the other methods one caller meets all failures, and waits longer after each.
        let times = if ["commit", "open"].contains(&method) { 3 } else { 1 };
        for trouble in [Trouble::Before, Trouble::After] {
            store.fail_next(method, times, trouble);
        }
        assert!(stage.goes_on(40, PATIENCE).await);
    }
    let diaries = crowd.finish().await;
    running.end_when_quiet(&stage).await;
    Account::of(&stage, Story::Registration, &diaries, 0).await.is_clean();
}

async fn a_message_and_a_press_at_once_are_two_turns(kind: Kind) {
    let stage = Stage::on(kind).await;
    let store = stage.store().await;
    let running = by_webhook(&stage, Arc::new(FaultyStore::new(Arc::clone(&store)))).await;
    let mut people = Vec::new();
    for number in 0..20 {
        let person = stage.person(&format!("Person {number}")).await;
        stage.says(person, "/start").await;
        stage.hears(person, "Choose your language").await;
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
        // Whichever came first, both were heard in full, one after the other.
        let key = opora::key::DialogueKey::private(BOT, person);
        until_so("both turns", async || {
            matches!(store.open(&key, None).await, Ok(opora::store::Opened::At { version, .. }) if version.0 == 3)
        })
        .await;
        stage.hears(person, "What is your name?").await;
        let said = stage.transcript(person).await;
        let (last, count) = (said.last().unwrap().as_str(), said.len());
        assert!(count == 3 && ["Your phone?", "What is your name?"].contains(&last), "{said:?}");
    }
    running.end_when_quiet(&stage).await;
}

async fn broken_updates_are_parked_and_the_rest_goes_on(kind: Kind) {
    let stage = Stage::on(kind).await;
    let running = Inside::run(registration_bot(&stage).await);
    let crowd = Crowd::begin(&stage, 10, MANNER).await;
    assert!(stage.goes_on(20, PATIENCE).await);
    for (number, content) in broken().into_iter().enumerate() {
        let mut update = json!({"update_id": 1 + number});
        update.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        stage.post("/replay", json!({"update": update})).await;
        assert!(stage.goes_on(5, PATIENCE).await);
    }
    let diaries = crowd.finish().await;
    running.end_when_quiet(&stage).await;
    let store = stage.store().await;
    let parked = store.parked(Some(BOT), 100).await.unwrap();
    assert_eq!(parked.len(), UNREADABLE, "{parked:?}");
    for parked in parked {
        assert!(parked.reason.contains("cannot be read"), "{parked:?}");
        assert!(store.drop_parked(parked.id).await.unwrap());
    }
    store.close().await.unwrap();
    Account::of(&stage, Story::Registration, &diaries, 0).await.is_clean();
}

/// How many of the broken updates cannot be read at all.
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
        // These can, and nobody waits for them.
        json!({"a_kind_of_next_year": {"from": from, "what": [1, 2, {"deep": {"deeper": null}}]}}),
        json!({}),
        json!({"message": {"message_id": 7, "date": 0, "chat": chat, "from": from, "text": long}}),
        json!({"message": {"message_id": 1, "date": 0, "chat": chat, "from": from, "dice": {"emoji": "🎲", "value": 1}}}),
    ]
}
