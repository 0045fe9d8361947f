//! Several instances that take updates by webhook, in one process.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{Instances, WebhookSettings};
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{Holder, LeaseAnswer, Opened, Seq, Store, Version};
use opora::testing::faulty::{Fault, FaultyStore};
use opora::testing::holder;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::form::{NAME, form};
use crate::stage::{BOT, Running, Stage, memory, until};
use crate::two_instances::{two_in_postgres, two_in_redis};

const SECRET: &str = "a-secret_of-the-fleet_1";

/// One instance and its server.
struct Instance {
    url: String,
    http: reqwest::Client,
    running: Option<Running>,
}

impl Instance {
    async fn start(stage: &Stage, store: &Arc<dyn Store>, most: usize) -> Self {
        Self::start_with(stage, stage.bot(store).dialogue(form()).dialogue(echo()), most).await
    }

    async fn start_with(stage: &Stage, bot: Bot, most: usize) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let settings = WebhookSettings { instances: Instances::All, ..WebhookSettings::new(&url, SECRET) };
        let (bot, webhook) = bot.settings(|settings| settings.mailboxes.max_waiting = most).webhook(settings);
        tokio::spawn(async move { axum::serve(listener, webhook.router("/hook")).await.unwrap() });
        let instance = Self { url, http: stage.http.clone(), running: Some(Running::start(bot)) };
        // Every intake accepts an object without an update.
        until("it takes updates", async || instance.brings("{}").await.status() == StatusCode::OK).await;
        instance
    }

    async fn brings(&self, update: impl ToString) -> Response {
        let call = self.http.post(&self.url).header("X-Telegram-Bot-Api-Secret-Token", SECRET);
        call.body(update.to_string()).send().await.unwrap()
    }

    async fn receives(&self, update: &Value) {
        let answer = self.brings(update).await;
        assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    }

    async fn stops(mut self) {
        self.running.take().unwrap().stops().await;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "echo")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Echo {
    Listening,
}

/// Repeats every text.
fn echo() -> Dialogue<Echo> {
    async fn start(_: &mut Turn, _: Command) -> Step<Echo> {
        Ok(Next::Go(Echo::Listening))
    }
    async fn handle_text(turn: &mut Turn, text: String) -> Step<Echo> {
        turn.say(text);
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("echo"), start).on(Echo::LISTENING, text(), handle_text)
}

fn message(id: i64, person: i64, text: &str) -> Value {
    let entities = if text.starts_with('/') {
        json!([{"type": "bot_command", "offset": 0, "length": text.len()}])
    } else {
        json!([])
    };
    json!({"update_id": id, "message": {
        "message_id": id, "date": 1, "text": text, "entities": entities, "from": from(person),
        "chat": {"id": person, "type": "private", "first_name": "Anna"},
    }})
}

fn press(id: i64, person: i64) -> Value {
    let chat = json!({"id": person, "type": "private", "first_name": "Anna"});
    json!({"update_id": id, "callback_query": {
        "id": id.to_string(), "from": from(person), "chat_instance": "1", "data": "nothing",
        "message": {"message_id": 1, "date": 1, "chat": chat, "text": "x"},
    }})
}

fn from(person: i64) -> Value {
    json!({"id": person, "is_bot": false, "first_name": "Anna"})
}

async fn version(store: &Arc<dyn Store>, person: i64) -> Version {
    match store.open(&ConversationKey::private(BOT, person), None).await.unwrap() {
        Opened::At { version, .. } => version,
        Opened::AlreadyProcessed => panic!("asked without a mark"),
    }
}

/// Claims the lease for another instance, so that no instance here leads.
async fn lead_elsewhere(store: &Arc<dyn Store>) {
    let holder = Holder { ttl_ms: 600_000, ..holder("token") };
    assert!(matches!(store.claim(BOT, &holder, None).await, Ok(LeaseAnswer::Granted(_))));
}

/// Makes a test of each function for each kind of store.
macro_rules! on_both {
    ($($test:ident,)*) => {
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let (_namespace, stores) = super::two_in_redis().await;
                super::$test(stores).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let (_schema, stores) = super::two_in_postgres().await;
                super::$test(stores).await;
            })*
        }
    };
}

on_both! {
    order_holds_across_instances,
    an_update_delivered_to_both_is_processed_once,
    a_message_and_a_press_at_once_are_two_turns,
    updates_are_stored_while_no_instance_leads,
    every_instance_refuses_updates_above_the_limit,
}

const PLENTY: usize = 10_000;

async fn order_holds_across_instances(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    both[0].receives(&message(1, anna.id, "/echo")).await;
    both[1].receives(&message(2, boris.id, "/echo")).await;
    let texts: Vec<_> = (0..40).map(|number| format!("number {number}")).collect();
    for (number, text) in texts.iter().enumerate() {
        let id = 10 + i64::try_from(number).unwrap() * 2;
        // Each is answered before the next is sent.
        both[number % 2].receives(&message(id, anna.id, text)).await;
        both[(number / 2) % 2].receives(&message(id + 1, boris.id, text)).await;
    }
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    anna.receives_exactly(&texts).await;
    boris.receives_exactly(&texts).await;
    for one in both {
        one.stops().await;
    }
}

async fn an_update_delivered_to_both_is_processed_once(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    both[0].receives(&message(1, anna.id, "/echo")).await;
    let texts: Vec<_> = (0..20).map(|number| format!("number {number}")).collect();
    for (id, text) in (10..).zip(&texts) {
        let update = message(id, anna.id, text);
        let answers = tokio::join!(both[0].brings(&update), both[1].brings(&update), both[0].brings(&update));
        assert!([&answers.0, &answers.1, &answers.2].iter().all(|answer| answer.status() == 200), "{answers:?}");
    }
    anna.receives_exactly(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    until("nothing waits", async || stores[0].backlog(BOT, 9).await.unwrap() == 0).await;
    assert_eq!(version(&stores[0], anna.id).await, Version(21));
    for one in both {
        one.stops().await;
    }
}

async fn a_message_and_a_press_at_once_are_two_turns(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    both[1].receives(&message(1, anna.id, "/echo")).await;
    for round in 0..10 {
        let (said, pressed) = (message(10 + 2 * round, anna.id, "hello"), press(11 + 2 * round, anna.id));
        tokio::join!(both[0].receives(&said), both[1].receives(&pressed));
        until("both turns", async || version(&stores[0], anna.id).await == Version(3 + 2 * round)).await;
    }
    for one in both {
        one.stops().await;
    }
}

async fn updates_are_stored_while_no_instance_leads(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    lead_elsewhere(&stores[0]).await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    both[0].receives(&message(1, anna.id, "/echo")).await;
    both[1].receives(&message(2, anna.id, "one")).await;
    both[0].receives(&message(3, anna.id, "two")).await;
    assert_eq!(stores[1].backlog(BOT, 9).await.unwrap(), 3);
    assert!(stage.calls("setWebhook").await.is_empty());
    stores[0].operator().clear_lease(BOT).await.unwrap();
    anna.receives_exactly(&["one", "two"]).await;
    let [first, second] = both;
    // The leader stops, and the other one takes over.
    first.stops().await;
    second.receives(&message(4, anna.id, "three")).await;
    anna.receives_exactly(&["one", "two", "three"]).await;
    second.stops().await;
}

async fn every_instance_refuses_updates_above_the_limit(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    lead_elsewhere(&stores[0]).await;
    let both = [Instance::start(&stage, &stores[0], 3).await, Instance::start(&stage, &stores[1], 3).await];
    let anna = stage.person("Anna").await;
    for (id, text) in [(1, "/echo"), (2, "one"), (3, "two")] {
        both[0].receives(&message(id, anna.id, text)).await;
    }
    comes_again(&both[0].brings(message(4, anna.id, "three")).await);
    // The other instance counts once a second.
    until("the other one knows", async || {
        both[1].brings(message(3, anna.id, "two")).await.status() == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    stores[0].operator().clear_lease(BOT).await.unwrap();
    anna.receives_exactly(&["one", "two"]).await;
    for (one, id) in both.iter().zip(4..) {
        until("updates are accepted again", async || one.brings(message(id, anna.id, "more")).await.status() == 200)
            .await;
    }
    anna.receives_exactly(&["one", "two", "more", "more"]).await;
    for one in both {
        one.stops().await;
    }
}

#[track_caller]
fn comes_again(answer: &Response) {
    let seconds = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
    assert!(answer.status() == StatusCode::SERVICE_UNAVAILABLE && seconds > Some(0), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_finds_updates_stored_by_another_process() {
    let stage = Stage::new().await;
    let stores = [stage.sqlite().await, stage.sqlite().await];
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    for (one, id) in both.iter().zip(1..) {
        one.receives(&message(id, anna.id, "/start")).await;
    }
    anna.receives_exactly(&[NAME, NAME]).await;
    for one in both {
        one.stops().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_instance_refuses_new_calls() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let instance = Instance::start(&stage, &store, PLENTY).await;
    faulty.fail_next("deliver", 1, Fault::Stall);
    let instance = Arc::new(instance);
    let under_way = tokio::spawn({
        let instance = Arc::clone(&instance);
        async move { instance.brings(message(1, 77, "/start")).await.status() }
    });
    until("the store to be asked", async || faulty.calls("deliver") == 1).await;
    instance.running.as_ref().unwrap().stop.stop();
    until("new calls are sent back", async || {
        // A call that came a moment too early waits for the store, too.
        let brought = tokio::time::timeout(Duration::from_millis(100), instance.brings(message(2, 77, "Anna"))).await;
        brought.is_ok_and(|answer| answer.status() == StatusCode::SERVICE_UNAVAILABLE)
    })
    .await;
    assert!(!under_way.is_finished());
    faulty.clear_faults("deliver");
    assert_eq!(under_way.await.unwrap(), StatusCode::OK);
    Arc::into_inner(instance).unwrap().stops().await;
    let rows = store.waiting(BOT, Seq(i64::MIN), 9).await.unwrap();
    assert!(rows[0].incoming.body.contains("/start"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_without_its_store_asks_for_a_retry() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let instance = Instance::start(&stage, &store, PLENTY).await;
    let anna = stage.person("Anna").await;
    for (id, fault) in [(1, Fault::Before), (2, Fault::After)] {
        let update = message(id, anna.id, "/start");
        faulty.fail_next("deliver", 1, fault);
        comes_again(&instance.brings(&update).await);
        instance.receives(&update).await;
    }
    // An update stored without an answer was not announced. It is found all the same.
    anna.receives_exactly(&[NAME, NAME]).await;
    assert_eq!(version(&store, anna.id).await, Version(2));
    instance.stops().await;
}
