//! The real aiogram and a bot of this library in one conversation: by turns, and at once.

use std::cell::Cell;
use std::time::Duration;

use opora::aiogram::{AiogramLayout, Strategy};
use opora::store::{Opened, Version};
use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use super::both::{BUSINESS, Both, PRIVATE, Place, TOPIC};
use super::python::{Python, Seen};
use crate::stage::{Stage, until};

/// Everything that Python writes and others stumble on, as it writes it.
const RICH: &str = r#"{"big": 1606938044258990275541962092341162602522202993782792835301376, "count": 1, "note": "\u041f\u0440\u0438\u0432\u0435\u0442 \ud83d\ude00", "nan": NaN, "all": [Infinity, -Infinity], "nested": {"a": [1, [2, {}]], "none": null}, "half": "\ud83d", "float": 1e-07}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_goes_on_by_turns_under_every_strategy_and_with_every_option() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut python = Python::start(&redis.url()).await;
    for (number, strategy) in Strategy::all().enumerate() {
        let plain = AiogramLayout::new().prefix(format!("fsm{number}")).strategy(strategy);
        let mut both = Both::begin(&stage, &redis, &plain).await;
        by_turns(&mut both, &mut python, &redis, TOPIC).await;
        both.ends().await;
        let options = plain.prefix(format!("shop{number}")).separator("/").with_bot_id().with_destiny();
        let options = options.with_business_connection_id();
        let limited = options.state_ttl(Duration::from_secs(3600)).data_ttl(Duration::from_secs(7200));
        let mut both = Both::begin(&stage, &redis, &limited).await;
        by_turns(&mut both, &mut python, &redis, BUSINESS).await;
        both.ends().await;
    }
}

/// One conversation in which both bots have a say, several times.
async fn by_turns(both: &mut Both<'_>, python: &mut Python, redis: &RedisServer, place: Place) {
    let mut versions = Vec::new();
    let counted = |count: i64| RICH.replace("\"count\": 1", &format!("\"count\": {count}"));
    let seen = |state: &str, data: String| Seen { state: Some(state.to_owned()), data };
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
    assert_eq!(both.aiogram(python, place, "get").await, Seen { state: None, data: "{}".into() });
    // Data alone is no state; and a new dialogue is written into it.
    assert_eq!(both.aiogram(python, place, "add").await, Seen { state: None, data: r#"{"count": 1}"#.into() });
    both.opora(place, "/start", "started").await;
    assert_eq!(both.aiogram(python, place, "get").await, seen("Talk:counting", r#"{"count": 0, "note": ""}"#.into()));
    both.aiogram(python, place, "clear").await;
    both.opora(place, "/start", "started").await;
    versions.push(version(both, place).await);
    assert!(versions.is_sorted_by(|earlier, later| earlier < later), "{versions:?}");
    assert_eq!(both.store.statistics(None).await.unwrap().parked, 0);
}

async fn version(both: &Both<'_>, place: Place) -> Version {
    let Opened::At { version, .. } = both.store.open(&place.key(), None).await.unwrap() else { panic!("taken") };
    version
}

/// What was written last has the time to live that the layout says.
fn has_ttl(both: &Both<'_>, redis: &RedisServer, place: Place) {
    let [state, data, _] = both.layout.names(&place.key()).unwrap();
    for (name, ttl) in [(state, both.layout.state_ttl), (data, both.layout.data_ttl)] {
        let left: i64 = redis::from_redis_value(redis.say(&["TTL", &name])).unwrap();
        let most = ttl.map_or(-1, |ttl| i64::try_from(ttl.as_secs()).unwrap());
        assert!(left == most || (left > most - 60 && most > 0), "{name} lives for {left} s");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_bots_at_once_lose_nothing() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    let mut python = Python::start(&redis.url()).await;
    let both = Both::begin(&stage, &redis, &AiogramLayout::new()).await;
    let [_, data, lock] = both.layout.names(&PRIVATE.key()).unwrap();
    let count = async || {
        let data: Option<String> = redis::from_redis_value(redis.say(&["GET", &data])).unwrap();
        serde_json::from_str::<serde_json::Value>(&data.unwrap_or_default()).unwrap_or_default()["count"].as_i64()
    };
    both.aiogram(&mut python, PRIVATE, r#"set Talk:counting {"count": 0}"#).await;

    // Many of each side, as they come.
    let is_over = Cell::new(false);
    let theirs = async {
        let mut theirs = 0;
        for _ in 0..5 {
            let many: Vec<_> = (0..6).map(|_| PRIVATE.update("add")).collect();
            theirs += python.hears(&both.layout, &many).await.len();
        }
        is_over.set(true);
        theirs
    };
    let ours = async {
        let mut ours = 0;
        while !is_over.get() {
            ours += usize::from(both.brings(PRIVATE.update("add").to_string()).await);
        }
        ours
    };
    let (theirs, ours) = tokio::join!(theirs, ours);
    let all = i64::try_from(ours + theirs).unwrap();
    println!("{ours} counted here and {theirs} by aiogram");
    assert!(theirs == 30 && ours > 10, "{ours} here and {theirs} there");
    until("every update", async || count().await == Some(all)).await;

    // A slow handler of aiogram's keeps ours waiting.
    let update = PRIVATE.update("slow 0.3");
    let slow = async { python.hears(&both.layout, &[update]).await };
    let ours = async {
        until("the lock", async || redis.say(&["EXISTS", &lock]) == redis::Value::Int(1)).await;
        assert!(both.brings(PRIVATE.update("add").to_string()).await);
    };
    let (seen, ()) = tokio::join!(slow, ours);
    assert!(seen[0].data.contains(&format!("\"count\": {}", all + 1)), "{seen:?}");
    until("both", async || count().await == Some(all + 2)).await;

    // A slow one of ours keeps aiogram waiting, and holds its lock all the while.
    until("no lock", async || redis.say(&["EXISTS", &lock]) == redis::Value::Int(0)).await;
    assert!(both.brings(PRIVATE.update("wait").to_string()).await);
    let left = || redis::from_redis_value::<i64>(redis.say(&["PTTL", &lock])).unwrap();
    until("the lock", async || left() > 0).await;
    let update = PRIVATE.update("add");
    let theirs = async { python.hears(&both.layout, &[update]).await };
    let ours = async {
        let before = Cell::new(i64::MAX);
        until("a longer lock", async || left() > before.replace(left())).await;
        assert_eq!(count().await, Some(all + 2), "aiogram waits");
        both.gate.0.notify_one();
    };
    let (seen, ()) = tokio::join!(theirs, ours);
    assert!(seen[0].data.contains(&format!("\"count\": {}", all + 4)), "{seen:?}");
    assert_eq!(both.store.statistics(None).await.unwrap().parked, 0);
    both.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_goes_to_where_the_update_came_from_also_if_the_state_is_shared() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    for (number, strategy) in Strategy::all().enumerate() {
        let layout = AiogramLayout::new().prefix(format!("fsm{number}")).strategy(strategy);
        let mut both = Both::begin(&stage, &redis, &layout).await;
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
