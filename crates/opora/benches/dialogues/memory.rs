//! The memory of a bot's process for cached conversations.
//!
//! A real bot on an SQLite file, with a fake Telegram in the same process: many people send two messages each. The
//! memory is compared between a bot that caches many states and one that caches none, each in its own process.

use std::process::Command as Program;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::outbox::SendLimits;
use opora::prelude::*;
use opora::store::{SqliteStore, Upload};
use opora::telegram::{Api, ApiAnswer, ApiError, Download};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::process::resident_bytes;

const PEOPLE: i64 = 100_000;
const CACHED: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Registration {
    Name,
    Phone(Phone),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Phone {
    name: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Registration> {
    turn.say("What is your name?");
    Ok(Next::Go(Registration::Name))
}

async fn name(turn: &mut Turn, name: String) -> Step<Registration> {
    turn.say("Your phone?");
    Ok(Next::Go(Registration::Phone(Phone { name })))
}

async fn phone(turn: &mut Turn, _: Phone, _phone: String) -> Step<Registration> {
    turn.say("Thank you");
    Ok(Next::End)
}

/// Prints the memory of a bot that caches many states, and of one that caches none.
pub(crate) fn compare() {
    let program = std::env::current_exe().unwrap();
    let taken = |cached: usize| -> f64 {
        let words = ["room".to_owned(), cached.to_string(), PEOPLE.to_string()];
        let said = Program::new(&program).args(words).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
    };
    let (without, with) = (taken(0), taken(CACHED));
    println!(
        "\nthe process: {:.1} MB after {PEOPLE} people without cached states, {:.1} MB with {CACHED}: {:.0} bytes \
         for each",
        without / 1e6,
        with / 1e6,
        (with - without) / CACHED as f64
    );
}

/// Runs a bot that caches so many states, and prints its memory.
#[tokio::main]
pub(crate) async fn measure(cached: usize, people: i64) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("state.db")).await.unwrap());
    let telegram = Arc::new(FakeTelegram { people, next: AtomicI64::new(0), sent: AtomicUsize::new(0) });
    let dialogue = Dialogue::new().start(command("start"), start).on(Registration::NAME, text(), name);
    let dialogue = dialogue.on(Registration::PHONE, text(), phone);
    let bot = Bot::new("7:bench").api(Arc::clone(&telegram) as Arc<dyn Api>).store(store).dialogue(dialogue);
    let bot = bot.files(folder.path().join("files")).send_limits(SendLimits::Off);
    let bot = bot.settings(|settings| settings.turns.cached = cached);
    let running = tokio::spawn(bot.run());
    while telegram.sent.load(Ordering::Relaxed) < 2 * people as usize {
        assert!(!running.is_finished(), "the bot ended: {:?}", running.await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    println!("{}", resident_bytes());
}

/// All people send /start, and then all send a name.
#[derive(Debug)]
struct FakeTelegram {
    people: i64,
    next: AtomicI64,
    sent: AtomicUsize,
}

impl FakeTelegram {
    fn updates(&self) -> Vec<serde_json::Value> {
        let first = self.next.fetch_add(100, Ordering::Relaxed);
        let most = (2 * self.people).min(first + 100);
        (first..most).map(|number| self.update(number)).collect()
    }

    fn update(&self, number: i64) -> serde_json::Value {
        let user = 1 + number % self.people;
        let (text, entities) = if number < self.people {
            ("/start".to_owned(), json!([{"type": "bot_command", "offset": 0, "length": 6}]))
        } else {
            (format!("Person {user}"), json!([]))
        };
        json!({"update_id": number, "message": {
            "message_id": number, "date": 1_800_000_000, "text": text, "entities": entities,
            "chat": {"id": user, "type": "private", "first_name": "P"},
            "from": {"id": user, "is_bot": false, "first_name": "P"},
        }})
    }

    fn answer(&self, method: &str) -> Box<RawValue> {
        let answer = match method {
            "getMe" => json!({"id": 7, "is_bot": true, "first_name": "Bench", "username": "bench_bot"}),
            "sendMessage" => {
                self.sent.fetch_add(1, Ordering::Relaxed);
                json!({"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}})
            }
            _ => json!(true),
        };
        to_raw_value(&answer).unwrap()
    }
}

impl Api for FakeTelegram {
    fn call<'a>(&'a self, method: &'a str, _: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        Box::pin(async { Ok(self.answer(method)) })
    }

    fn long_call<'a>(&'a self, _: &'a str, _: &'a str, _: Duration) -> ApiAnswer<'a> {
        Box::pin(async {
            let updates = self.updates();
            if updates.is_empty() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(to_raw_value(&updates).unwrap())
        })
    }

    fn download<'a>(&'a self, _: &'a str, _: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        Box::pin(async { Err(ApiError::Unsure("there are no files".into())) })
    }
}
