//! Several instances that take updates by webhook, in one process.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{Instances, WebhookSettings};
use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::{Holder, LeaseAnswer, Opened, Seq, Store, Version};
use opora::testing::faulty::{FaultyStore, Trouble};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::form::{NAME, form};
use crate::deliveries::{two_in_postgres, two_in_redis};
use crate::lease_holder::holder;
use crate::stage::{BOT, Running, Stage, memory, until};

const SECRET: &str = "a-secret_of-the-fleet_1";

/// One of several, and its own server.
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
        let settings = WebhookSettings { instances: Instances::Several, ..WebhookSettings::new(&url, SECRET) };
        let (bot, webhook) = bot.settings(|settings| settings.mailboxes.in_all = most).webhook(settings);
        tokio::spawn(async move { axum::serve(listener, webhook.router("/hook")).await.unwrap() });
        let instance = Self { url, http: stage.http.clone(), running: Some(Running::start(bot)) };
        // What is no update is taken by whoever takes any.
        until("it takes updates", async || instance.brings("{}").await.status() == StatusCode::OK).await;
        instance
    }

    async fn brings(&self, update: impl ToString) -> Response {
        let call = self.http.post(&self.url).header("X-Telegram-Bot-Api-Secret-Token", SECRET);
        call.body(update.to_string()).send().await.unwrap()
    }

    async fn takes(&self, update: &Value) {
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

/// Says everything once more.
fn echo() -> Dialogue<Echo> {
    async fn start(_: &mut Turn, _: Command) -> Step<Echo> {
        Ok(Next::Go(Echo::Listening))
    }
    async fn hear(turn: &mut Turn, text: String) -> Step<Echo> {
        turn.say(text);
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("echo"), start).on(Echo::LISTENING, text(), hear)
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
    match store.open(&DialogueKey::private(BOT, person), None).await.unwrap() {
        Opened::At { version, .. } => version,
        Opened::AlreadyTaken => panic!("asked without a mark"),
    }
}

/// Somebody else holds the lease, so that nobody works.
async fn held_by_nobody_here(store: &Arc<dyn Store>) {
    let holder = Holder { ttl_ms: 600_000, ..holder("token") };
    assert!(matches!(store.claim(BOT, &holder, None).await, Ok(LeaseAnswer::Granted(_))));
}

/// Makes a test of each promise for each kind of store.
macro_rules! on_both {
    ($($redis:ident $postgres:ident: $promise:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $redis() {
            let (_space, stores) = two_in_redis().await;
            $promise(stores).await;
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $postgres() {
            let (_space, stores) = two_in_postgres().await;
            $promise(stores).await;
        })*
    };
}

on_both! {
    on_redis_order_holds_across_instances on_postgres_order_holds_across_instances: order_holds_across_instances,
    on_redis_an_update_that_comes_to_both_instances_acts_once on_postgres_an_update_that_comes_to_both_instances_acts_once:
        an_update_that_comes_to_both_instances_acts_once,
    on_redis_a_message_and_a_press_at_once_are_two_turns on_postgres_a_message_and_a_press_at_once_are_two_turns:
        a_message_and_a_press_at_once_are_two_turns,
    on_redis_updates_are_taken_while_nobody_leads on_postgres_updates_are_taken_while_nobody_leads:
        updates_are_taken_while_nobody_leads,
    on_redis_what_is_too_much_is_sent_back_by_every_instance on_postgres_what_is_too_much_is_sent_back_by_every_instance:
        what_is_too_much_is_sent_back_by_every_instance,
}

const PLENTY: usize = 10_000;

async fn order_holds_across_instances(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    both[0].takes(&message(1, anna.id, "/echo")).await;
    both[1].takes(&message(2, boris.id, "/echo")).await;
    let texts: Vec<_> = (0..40).map(|number| format!("number {number}")).collect();
    for (number, text) in texts.iter().enumerate() {
        let id = 10 + i64::try_from(number).unwrap() * 2;
        // Each is answered before the next is sent.
        both[number % 2].takes(&message(id, anna.id, text)).await;
        both[(number / 2) % 2].takes(&message(id + 1, boris.id, text)).await;
    }
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    anna.hears_just(&texts).await;
    boris.hears_just(&texts).await;
    for one in both {
        one.stops().await;
    }
}

async fn an_update_that_comes_to_both_instances_acts_once(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    both[0].takes(&message(1, anna.id, "/echo")).await;
    let texts: Vec<_> = (0..20).map(|number| format!("number {number}")).collect();
    for (id, text) in (10..).zip(&texts) {
        let update = message(id, anna.id, text);
        let answers = tokio::join!(both[0].brings(&update), both[1].brings(&update), both[0].brings(&update));
        assert!([&answers.0, &answers.1, &answers.2].iter().all(|answer| answer.status() == 200), "{answers:?}");
    }
    anna.hears_just(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
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
    both[1].takes(&message(1, anna.id, "/echo")).await;
    for round in 0..10 {
        let (said, pressed) = (message(10 + 2 * round, anna.id, "hello"), press(11 + 2 * round, anna.id));
        tokio::join!(both[0].takes(&said), both[1].takes(&pressed));
        until("both turns", async || version(&stores[0], anna.id).await == Version(3 + 2 * round)).await;
    }
    for one in both {
        one.stops().await;
    }
}

async fn updates_are_taken_while_nobody_leads(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    held_by_nobody_here(&stores[0]).await;
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    both[0].takes(&message(1, anna.id, "/echo")).await;
    both[1].takes(&message(2, anna.id, "one")).await;
    both[0].takes(&message(3, anna.id, "two")).await;
    assert_eq!(stores[1].backlog(BOT, 9).await.unwrap(), 3);
    assert!(stage.calls("setWebhook").await.is_empty());
    stores[0].operator().clear_lease(BOT).await.unwrap();
    anna.hears_just(&["one", "two"]).await;
    let [first, second] = both;
    // Whoever of them leads goes, and the other one goes on.
    first.stops().await;
    second.takes(&message(4, anna.id, "three")).await;
    anna.hears_just(&["one", "two", "three"]).await;
    second.stops().await;
}

async fn what_is_too_much_is_sent_back_by_every_instance(stores: [Arc<dyn Store>; 2]) {
    let stage = Stage::new().await;
    held_by_nobody_here(&stores[0]).await;
    let both = [Instance::start(&stage, &stores[0], 3).await, Instance::start(&stage, &stores[1], 3).await];
    let anna = stage.person("Anna").await;
    for (id, text) in [(1, "/echo"), (2, "one"), (3, "two")] {
        both[0].takes(&message(id, anna.id, text)).await;
    }
    comes_again(&both[0].brings(message(4, anna.id, "three")).await);
    // The other one counts once a second.
    until("the other one knows", async || {
        both[1].brings(message(3, anna.id, "two")).await.status() == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    stores[0].operator().clear_lease(BOT).await.unwrap();
    anna.hears_just(&["one", "two"]).await;
    for (one, id) in both.iter().zip(4..) {
        until("there is room again", async || one.brings(message(id, anna.id, "more")).await.status() == 200).await;
    }
    anna.hears_just(&["one", "two", "more", "more"]).await;
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
async fn what_another_process_stored_in_the_same_file_is_found_by_the_one_that_works() {
    let stage = Stage::new().await;
    let stores = [stage.sqlite().await, stage.sqlite().await];
    let both = [Instance::start(&stage, &stores[0], PLENTY).await, Instance::start(&stage, &stores[1], PLENTY).await];
    let anna = stage.person("Anna").await;
    for (one, id) in both.iter().zip(1..) {
        one.takes(&message(id, anna.id, "/start")).await;
    }
    anna.hears_just(&[NAME, NAME]).await;
    for one in both {
        one.stops().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_stops_sends_new_calls_back_and_finishes_those_under_way() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let instance = Instance::start(&stage, &store, PLENTY).await;
    faulty.fail_next("deliver", 1, Trouble::Stall);
    let instance = Arc::new(instance);
    let under_way = tokio::spawn({
        let instance = Arc::clone(&instance);
        async move { instance.brings(message(1, 77, "/start")).await.status() }
    });
    until("the store to be asked", async || faulty.calls("deliver") == 1).await;
    instance.running.as_ref().unwrap().told.stop();
    until("new calls are sent back", async || {
        // One that came a moment too early waits for the store, too.
        let brought = tokio::time::timeout(Duration::from_millis(100), instance.brings(message(2, 77, "Anna"))).await;
        brought.is_ok_and(|answer| answer.status() == StatusCode::SERVICE_UNAVAILABLE)
    })
    .await;
    assert!(!under_way.is_finished());
    faulty.lift("deliver");
    assert_eq!(under_way.await.unwrap(), StatusCode::OK);
    Arc::into_inner(instance).unwrap().stops().await;
    let rows = store.waiting(BOT, Seq(i64::MIN), 9).await.unwrap();
    assert!(rows[0].incoming.body.contains("/start"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_whose_store_is_away_asks_to_come_again_and_nothing_happens_twice() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let instance = Instance::start(&stage, &store, PLENTY).await;
    let anna = stage.person("Anna").await;
    for (id, trouble) in [(1, Trouble::Before), (2, Trouble::After)] {
        let update = message(id, anna.id, "/start");
        faulty.fail_next("deliver", 1, trouble);
        comes_again(&instance.brings(&update).await);
        instance.takes(&update).await;
    }
    // Of what was stored without an answer nobody was told: it is found all the same.
    anna.hears_just(&[NAME, NAME]).await;
    assert_eq!(version(&store, anna.id).await, Version(2));
    instance.stops().await;
}
