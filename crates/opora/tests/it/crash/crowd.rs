//! Thousands of people in dialogue at once, and what a handler that hangs does to the others: nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::outbox::SendLimits;
use opora::prelude::*;
use opora::store::Upload;
use opora::telegram::{Api, ApiAnswer, ApiError, Download};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::inside::Inside;
use super::stage::{BOT, Stage, TOKEN, until, until_so};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "greeting")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Greeting {
    Name,
    Age(Age),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Age {
    name: String,
}

/// Lets go on what hangs.
#[derive(Clone, Default)]
struct Release(Arc<Notify>);

fn greeting() -> Dialogue<Greeting> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> {
        turn.say("What is your name?");
        Ok(Next::Go(Greeting::Name))
    }
    async fn name(turn: &mut Turn, name: String) -> Step<Greeting> {
        if name == "hang" {
            turn.context::<Release>().0.notified().await;
        }
        turn.say("How old are you?");
        Ok(Next::Go(Greeting::Age(Age { name })))
    }
    async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Greeting> {
        turn.say(format!("{} is {age}.", state.name));
        Ok(Next::End)
    }
    Dialogue::new().start(command("start"), start).on(Greeting::NAME, text(), name).on(Greeting::AGE, text(), age)
}

/// A Telegram without a network: people say something and wait for the answer.
#[derive(Debug, Default)]
struct Room {
    said: Mutex<Vec<Box<str>>>,
    some: Notify,
    waiting: Mutex<HashMap<i64, oneshot::Sender<String>>>,
    next_id: Mutex<i64>,
}

impl Room {
    /// Says something and gives the answer.
    async fn asks(&self, person: i64, text: &str) -> String {
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(person, sender);
        self.says(person, text);
        tokio::time::timeout(super::stage::PATIENCE, answer).await.expect("an answer in time").unwrap()
    }

    fn says(&self, person: i64, text: &str) {
        let id = {
            let mut next = self.next_id.lock();
            *next += 1;
            *next
        };
        let entities = if text.starts_with('/') {
            json!([{"type": "bot_command", "offset": 0, "length": text.len()}])
        } else {
            json!([])
        };
        let update = json!({"update_id": id, "message": {
            "message_id": id, "date": 1, "text": text, "entities": entities,
            "chat": {"id": person, "type": "private"}, "from": {"id": person, "is_bot": false, "first_name": "Anna"},
        }});
        self.said.lock().push(update.to_string().into());
        self.some.notify_one();
    }

    async fn updates(&self) -> String {
        loop {
            let some = self.some.notified();
            let batch: Vec<_> = {
                let mut said = self.said.lock();
                let count = said.len().min(100);
                said.drain(..count).collect()
            };
            if !batch.is_empty() {
                return format!("[{}]", batch.join(","));
            }
            some.await;
        }
    }

    fn answered(&self, body: &str) -> String {
        let call: Value = serde_json::from_str(body).unwrap();
        if let Some(waiting) = self.waiting.lock().remove(&call["chat_id"].as_i64().unwrap()) {
            // Whoever gave up waiting has failed the test already.
            let _ = waiting.send(call["text"].as_str().unwrap().to_owned());
        }
        json!({"message_id": 1, "date": 1, "chat": {"id": call["chat_id"], "type": "private"}}).to_string()
    }
}

impl Api for Room {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        let answer = match method {
            "getMe" => json!({"id": BOT, "is_bot": true, "first_name": "Bot", "username": "a_bot"}).to_string(),
            "sendMessage" => self.answered(body),
            _ => "true".to_owned(),
        };
        Box::pin(async move { Ok(RawValue::from_string(answer).unwrap()) })
    }

    fn long_call<'a>(&'a self, _: &'a str, _: &'a str, _: Duration) -> ApiAnswer<'a> {
        Box::pin(async move { Ok(RawValue::from_string(self.updates().await).unwrap()) })
    }

    fn download<'a>(&'a self, _: &'a str, _: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        Box::pin(async { Err(ApiError::NotSent("there are no files here".into())) })
    }
}

async fn running(stage: &Stage, release: &Release) -> (Inside, Arc<Room>) {
    let room = Arc::new(Room::default());
    let bot = Bot::new(TOKEN).api(room.clone()).store(stage.store().await).send_limits(SendLimits::Off);
    (Inside::run(bot.dialogue(greeting()).context(release.clone())), room)
}

/// Everybody says something at once; gives the answers' times.
async fn everybody(
    room: &Arc<Room>,
    people: std::ops::Range<i64>,
    says: &'static str,
    hears: &'static str,
) -> Vec<Duration> {
    let (sender, mut times) = mpsc::unbounded_channel();
    for person in people {
        let (room, sender) = (Arc::clone(room), sender.clone());
        tokio::spawn(async move {
            let said = Instant::now();
            assert_eq!(room.asks(person, says).await, hears);
            sender.send(said.elapsed()).unwrap();
        });
    }
    drop(sender);
    let mut all = Vec::new();
    while let Some(time) = times.recv().await {
        all.push(time);
    }
    all
}

/// More than the engine keeps in its cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_people_are_in_dialogue_at_once() {
    are_in_dialogue_at_once(5_000).await;
}

mod all_of_ten_thousand {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn people_are_in_dialogue_at_once() {
        super::are_in_dialogue_at_once(10_000).await;
    }
}

async fn are_in_dialogue_at_once(people: i64) {
    let all = usize::try_from(people).unwrap();
    let stage = Stage::new().await;
    let (running, room) = running(&stage, &Release::default()).await;
    let store = stage.store().await;
    assert_eq!(everybody(&room, 1..people + 1, "/start", "What is your name?").await.len(), all);
    assert_eq!(store.statistics(Some(BOT)).await.unwrap().active, people);
    assert_eq!(everybody(&room, 1..people + 1, "Anna", "How old are you?").await.len(), all);
    assert_eq!(everybody(&room, 1..people + 1, "30", "Anna is 30.").await.len(), all);
    until_so("everything is settled", async || {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        (numbers.active, numbers.inbox, numbers.outbox, numbers.parked) == (0, 0, 0, 0)
    })
    .await;
    running.end().await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_hang_delay_nobody_else() {
    let (stage, release) = (Stage::new().await, Release::default());
    let (running, room) = running(&stage, &release).await;
    everybody(&room, 1..1000, "/start", "What is your name?").await;
    // In turns, so that whatever else the machine does hits both alike.
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        without.push(p99(&room).await);
        let hanging = tokio::spawn({
            let room = Arc::clone(&room);
            async move { everybody(&room, 900..920, "hang", "How old are you?").await.len() }
        });
        with.push(p99(&room).await);
        assert!(!hanging.is_finished());
        until("nobody hangs any more", || {
            release.0.notify_waiters();
            hanging.is_finished()
        })
        .await;
        everybody(&room, 900..920, "/start", "What is your name?").await;
    }
    without.sort();
    with.sort();
    let (without, with) = (without[1], with[1]);
    println!("p99 of an answer: {without:?} without handlers that hang, {with:?} with them");
    // A handler that holds up others holds them up until it is let go on, which is after the measurement.
    let slack = Duration::from_secs(1);
    assert!(
        with < without * 2 + slack,
        "p99 of the others: {without:?} without handlers that hang, {with:?} with them"
    );
    running.end().await;
}

/// The time in which 99 of 100 answers come, 50 people talking at once.
async fn p99(room: &Arc<Room>) -> Duration {
    let mut times = Vec::new();
    for group in 0..7 {
        let people = 1 + group * 50..51 + group * 50;
        for (says, hears) in [("Anna", "How old are you?"), ("30", "Anna is 30."), ("/start", "What is your name?")] {
            times.extend(everybody(room, people.clone(), says, hears).await);
        }
    }
    times.sort();
    times[times.len() * 99 / 100]
}
