//! The real aiogram and a bot of this library in one conversation: in turn, and at once.

use std::cell::Cell;
use std::time::Duration;

use opora::aiogram::{AiogramLayout, Strategy};
use opora::store::{Opened, Version};
use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use super::python::{AiogramState, Python};
use super::two_bots::{BUSINESS, PRIVATE, Place, TOPIC, TwoBots};
use crate::stage::{Stage, until};

/// Python's special values and escapes, as it writes them.
const RICH: &str = r#"{"big": 1606938044258990275541962092341162602522202993782792835301376, "count": 1, "note": "\u041f\u0440\u0438\u0432\u0435\u0442 \ud83d\ude00", "nan": NaN, "all": [Infinity, -Infinity], "nested": {"a": [1, [2, {}]], "none": null}, "half": "\ud83d", "float": 1e-07}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_bots_take_turns_under_every_strategy() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut python = Python::start(&redis.url()).await;
    for (number, strategy) in Strategy::all().enumerate() {
        let plain = AiogramLayout::new().prefix(format!("fsm{number}")).strategy(strategy);
        let mut both = TwoBots::begin(&stage, &redis, &plain).await;
        by_turns(&mut both, &mut python, &redis, TOPIC).await;
        both.ends().await;
        let options = plain.prefix(format!("shop{number}")).separator("/").with_bot_id().with_destiny();
        let options = options.with_business_connection_id();
        let limited = options.state_ttl(Duration::from_secs(3600)).data_ttl(Duration::from_secs(7200));
        let mut both = TwoBots::begin(&stage, &redis, &limited).await;
        by_turns(&mut both, &mut python, &redis, BUSINESS).await;
        both.ends().await;
    }
}

/// One conversation in which both bots act several times.
async fn by_turns(both: &mut TwoBots<'_>, python: &mut Python, redis: &RedisServer, place: Place) {
    let mut versions = Vec::new();
    let counted = |count: i64| RICH.replace("\"count\": 1", &format!("\"count\": {count}"));
    let seen = |state: &str, data: String| AiogramState { state: Some(state.to_owned()), data };
    both.aiogram(python, place, &format!("set Talk:counting {RICH}")).await;
    both.opora(place, "add", "add 2 Привет 😀").await;
    versions.push(version(both, place).await);
    assert_eq!(both.aiogram(python, place, "get").await, seen("Talk:counting", counted(2)));
    has_ttl(both, redis, place);
    assert_eq!(both.aiogram(python, place, "add").await, seen("Talk:counting", counted(3)));
    both.opora(place, "add", "add 4 Привет 😀").await;
    both.opora(place, "pause", "pause 5 Привет 😀").await;
    versions.push(version(both, place).await);
    assert_eq!(both.aiogram(python, place, "get").await, seen("Talk:paused", counted(5)));
    both.aiogram(python, place, r#"set Talk:counting {"count": 10}"#).await;
    both.opora(place, "add", "add 11").await;
    assert_eq!(both.aiogram(python, place, "get").await.data, r#"{"count": 11, "note": ""}"#);
    both.opora(place, "end", "end 12").await;
    versions.push(version(both, place).await);
    assert_eq!(both.aiogram(python, place, "get").await, AiogramState { state: None, data: "{}".into() });
    // Data alone is no state, and a new dialogue is written into it.
    assert_eq!(both.aiogram(python, place, "add").await, AiogramState { state: None, data: r#"{"count": 1}"#.into() });
    both.opora(place, "/start", "started").await;
    assert_eq!(both.aiogram(python, place, "get").await, seen("Talk:counting", r#"{"count": 0, "note": ""}"#.into()));
    both.aiogram(python, place, "clear").await;
    both.opora(place, "/start", "started").await;
    versions.push(version(both, place).await);
    assert!(versions.is_sorted_by(|earlier, later| earlier < later), "{versions:?}");
    assert_eq!(both.store.statistics(None).await.unwrap().parked, 0);
}

async fn version(both: &TwoBots<'_>, place: Place) -> Version {
    let Opened::At { version, .. } = both.store.open(&place.key(), None).await.unwrap() else { panic!("taken") };
    version
}

/// The keys written last have the time to live of the layout.
fn has_ttl(both: &TwoBots<'_>, redis: &RedisServer, place: Place) {
    let [state, data, _] = both.layout.names(&place.key()).unwrap();
    for (name, ttl) in [(state, both.layout.state_ttl), (data, both.layout.data_ttl)] {
        let left: i64 = redis::from_redis_value(redis.command(&["TTL", &name])).unwrap();
        let most = ttl.map_or(-1, |ttl| i64::try_from(ttl.as_secs()).unwrap());
        assert!(left == most || (left > most - 60 && most > 0), "{name} lives for {left} s");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_bots_at_once_lose_nothing() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut python = Python::start(&redis.url()).await;
    let both = TwoBots::begin(&stage, &redis, &AiogramLayout::new()).await;
    let [_, data, lock] = both.layout.names(&PRIVATE.key()).unwrap();
    let count = async || {
        let data: Option<String> = redis::from_redis_value(redis.command(&["GET", &data])).unwrap();
        serde_json::from_str::<serde_json::Value>(&data.unwrap_or_default()).unwrap_or_default()["count"].as_i64()
    };
    both.aiogram(&mut python, PRIVATE, r#"set Talk:counting {"count": 0}"#).await;

    // Many updates to each side, as they come.
    let is_over = Cell::new(false);
    let by_aiogram = async {
        let mut by_aiogram = 0;
        for _ in 0..5 {
            let many: Vec<_> = (0..6).map(|_| PRIVATE.update("add")).collect();
            by_aiogram += python.receives(&both.layout, &many).await.len();
        }
        is_over.set(true);
        by_aiogram
    };
    let ours = async {
        let mut ours = 0;
        while !is_over.get() {
            ours += usize::from(both.brings(PRIVATE.update("add").to_string()).await);
        }
        ours
    };
    let (by_aiogram, ours) = tokio::join!(by_aiogram, ours);
    let all = i64::try_from(ours + by_aiogram).unwrap();
    println!("{ours} counted here and {by_aiogram} by aiogram");
    assert!(by_aiogram == 30 && ours > 10, "{ours} here and {by_aiogram} there");
    until("every update", async || count().await == Some(all)).await;

    // A slow handler of aiogram makes ours wait.
    let update = PRIVATE.update("slow 0.3");
    let slow = async { python.receives(&both.layout, &[update]).await };
    let ours = async {
        until("the lock", async || redis.command(&["EXISTS", &lock]) == redis::Value::Int(1)).await;
        assert!(both.brings(PRIVATE.update("add").to_string()).await);
    };
    let (seen, ()) = tokio::join!(slow, ours);
    assert!(seen[0].data.contains(&format!("\"count\": {}", all + 1)), "{seen:?}");
    until("both", async || count().await == Some(all + 2)).await;

    // A slow handler of ours makes aiogram wait, and holds its lock all the time.
    until("no lock", async || redis.command(&["EXISTS", &lock]) == redis::Value::Int(0)).await;
    assert!(both.brings(PRIVATE.update("wait").to_string()).await);
    let left = || redis::from_redis_value::<i64>(redis.command(&["PTTL", &lock])).unwrap();
    until("the lock", async || left() > 0).await;
    let update = PRIVATE.update("add");
    let by_aiogram = async { python.receives(&both.layout, &[update]).await };
    let ours = async {
        let before = Cell::new(i64::MAX);
        until("a longer lock", async || left() > before.replace(left())).await;
        assert_eq!(count().await, Some(all + 2), "aiogram waits");
        both.gate.0.notify_one();
    };
    let (seen, ()) = tokio::join!(by_aiogram, ours);
    assert!(seen[0].data.contains(&format!("\"count\": {}", all + 4)), "{seen:?}");
    assert_eq!(both.store.statistics(None).await.unwrap().parked, 0);
    both.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_goes_to_the_chat_of_its_update() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    for (number, strategy) in Strategy::all().enumerate() {
        let layout = AiogramLayout::new().prefix(format!("fsm{number}")).strategy(strategy);
        let mut both = TwoBots::begin(&stage, &redis, &layout).await;
        both.opora(TOPIC, "/start", "started").await;
        both.opora(TOPIC, "here", "here 1").await;
        // Another person under a strategy of chats, another chat under that of people: the same state.
        let others = match strategy {
            Strategy::Chat | Strategy::ChatTopic => vec![Place { user: 8, ..TOPIC }],
            Strategy::GlobalUser => vec![Place { chat: -1_009, thread: None, ..TOPIC }],
            Strategy::UserInChat => vec![Place { thread: Some(10), ..TOPIC }],
            Strategy::UserInTopic => Vec::new(),
        };
        for other in others {
            both.opora(other, "add", "add 1").await;
            both.opora(TOPIC, "add", "add 2").await;
        }
        both.ends().await;
        let calls = stage.calls("sendMessage").await;
        let here = calls.iter().rfind(|call| call["parameters"]["text"] == json!("here")).unwrap();
        let place = (here["parameters"]["chat_id"].to_string(), here["parameters"]["message_thread_id"].to_string());
        assert_eq!((place.0.trim_matches('"'), place.1.trim_matches('"')), ("-1001234567890", "9"), "{strategy}");
    }
}
