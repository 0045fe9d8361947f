//! Thousands of people in dialogue at once. A handler that hangs does not delay other people.

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

use super::in_process::InProcessBot;
use super::stage::{BOT, Stage, TOKEN, until, until_async};

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

/// A Telegram without a network. People send a text and wait for the answer.
#[derive(Debug, Default)]
struct FakeTelegram {
    said: Mutex<Vec<Box<str>>>,
    some: Notify,
    waiting: Mutex<HashMap<i64, oneshot::Sender<String>>>,
    next_id: Mutex<i64>,
}

impl FakeTelegram {
    async fn asks(&self, person: i64, text: &str) -> String {
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(person, sender);
        self.says(person, text);
        tokio::time::timeout(super::stage::TIMEOUT, answer).await.expect("an answer in time").unwrap()
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
            // If the receiver is gone, the test has failed already.
            let _ = waiting.send(call["text"].as_str().unwrap().to_owned());
        }
        json!({"message_id": 1, "date": 1, "chat": {"id": call["chat_id"], "type": "private"}}).to_string()
    }
}

impl Api for FakeTelegram {
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

async fn running(stage: &Stage, release: &Release) -> (InProcessBot, Arc<FakeTelegram>) {
    let telegram = Arc::new(FakeTelegram::default());
    let bot = Bot::new(TOKEN).api(telegram.clone()).store(stage.store().await).send_limits(SendLimits::Off);
    (InProcessBot::run(bot.dialogue(greeting()).context(release.clone())), telegram)
}

/// All people send a text at once. Returns the latencies of the answers.
async fn all_say(
    telegram: &Arc<FakeTelegram>,
    people: std::ops::Range<i64>,
    says: &'static str,
    answer: &'static str,
) -> Vec<Duration> {
    let (sender, mut times) = mpsc::unbounded_channel();
    for person in people {
        let (telegram, sender) = (Arc::clone(telegram), sender.clone());
        tokio::spawn(async move {
            let said = Instant::now();
            assert_eq!(telegram.asks(person, says).await, answer);
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

/// More conversations than the engine's cache holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_people_talk_at_once() {
    talk_at_once(5_000).await;
}

mod all_of_ten_thousand {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn people_talk_at_once() {
        super::talk_at_once(10_000).await;
    }
}

async fn talk_at_once(people: i64) {
    let all = usize::try_from(people).unwrap();
    let stage = Stage::new().await;
    let (running, telegram) = running(&stage, &Release::default()).await;
    let store = stage.store().await;
    assert_eq!(all_say(&telegram, 1..people + 1, "/start", "What is your name?").await.len(), all);
    assert_eq!(store.statistics(Some(BOT)).await.unwrap().active, people);
    assert_eq!(all_say(&telegram, 1..people + 1, "Anna", "How old are you?").await.len(), all);
    assert_eq!(all_say(&telegram, 1..people + 1, "30", "Anna is 30.").await.len(), all);
    until_async("everything is settled", async || {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        (numbers.active, numbers.inbox, numbers.outbox, numbers.parked) == (0, 0, 0, 0)
    })
    .await;
    running.stop().await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_hang_delay_no_other_person() {
    let (stage, release) = (Stage::new().await, Release::default());
    let (running, telegram) = running(&stage, &release).await;
    all_say(&telegram, 1..1000, "/start", "What is your name?").await;
    // Alternating, so that other load on the machine affects both alike.
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        without.push(p99(&telegram).await);
        let hanging = tokio::spawn({
            let telegram = Arc::clone(&telegram);
            async move { all_say(&telegram, 900..920, "hang", "How old are you?").await.len() }
        });
        with.push(p99(&telegram).await);
        assert!(!hanging.is_finished());
        until("no handler hangs", || {
            release.0.notify_waiters();
            hanging.is_finished()
        })
        .await;
        all_say(&telegram, 900..920, "/start", "What is your name?").await;
    }
    without.sort();
    with.sort();
    let (without, with) = (without[1], with[1]);
    println!("p99 of an answer: {without:?} without handlers that hang, {with:?} with them");
    // A handler that delayed others would delay them until its release, which is after the measurement.
    let slack = Duration::from_secs(1);
    assert!(
        with < without * 2 + slack,
        "p99 of the others: {without:?} without handlers that hang, {with:?} with them"
    );
    running.stop().await;
}

/// The 99th percentile of answer latencies with 50 people at once.
async fn p99(telegram: &Arc<FakeTelegram>) -> Duration {
    let mut times = Vec::new();
    for group in 0..7 {
        let people = 1 + group * 50..51 + group * 50;
        for (says, answer) in [("Anna", "How old are you?"), ("30", "Anna is 30."), ("/start", "What is your name?")] {
            times.extend(all_say(telegram, people.clone(), says, answer).await);
        }
    }
    times.sort();
    times[times.len() * 99 / 100]
}
