//! What a turn reads from aiogram's keys and writes to them, and what it refuses.

use std::sync::Arc;
use std::time::Duration;

use opora::aiogram::{AiogramLayout, AiogramStore, Mapping};
use opora::clock::Millis;
use opora::dialogue::WrittenState;
use opora::key::DialogueKey;
use opora::store::{
    Commit, Committed, Epoch, LeaseAnswer, Opened, StateChange, Store, StoreError, StoreResult, Stored, Version,
};
use opora::testing::holder;
use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use super::both::{Both, Counting, PRIVATE, Talk, mapping};
use crate::stage::{BOT, Stage, until};

/// Aiogram's keys of one person, and a store on them whose instance holds the lease.
pub struct Bench {
    pub store: AiogramStore,
    pub epoch: Epoch,
    pub redis: RedisServer,
}

pub const NOW: Millis = Millis(1_700_000_000_000);

impl Bench {
    pub async fn new(layout: AiogramLayout) -> Self {
        Self::with(layout, mapping()).await
    }

    async fn with(layout: AiogramLayout, mapping: Mapping<Talk>) -> Self {
        let redis = RedisServer::start(&[]);
        let store = AiogramStore::open_with(&redis.url(), layout, mapping).await.unwrap();
        let epoch = claim(&store, "first").await;
        Self { store, epoch, redis }
    }

    /// What aiogram's keys hold.
    pub fn has(&self) -> [Option<String>; 2] {
        redis::from_redis_value(self.redis.say(&["MGET", "fsm:5:5:state", "fsm:5:5:data"])).unwrap()
    }

    pub fn aiogram_sets(&self, state: &str, data: &str) {
        self.redis.say(&["MSET", "fsm:5:5:state", state, "fsm:5:5:data", data]);
    }

    pub async fn enters(&self) -> (Version, Option<Stored>) {
        match Store::open_for_turn(&self.store, self.epoch, &anna(), None, NOW).await.unwrap() {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyTaken => panic!("without a mark nothing is taken"),
        }
    }

    pub async fn commits(&self, from: Version, state: StateChange) -> StoreResult<Committed> {
        Store::commit(&self.store, self.epoch, Commit { state, ..Commit::new(anna(), from, NOW) }).await
    }

    fn ttl(&self, part: &str) -> i64 {
        redis::from_redis_value(self.redis.say(&["TTL", &format!("fsm:5:5:{part}")])).unwrap()
    }
}

pub async fn claim(store: &AiogramStore, token: &str) -> Epoch {
    let holder = holder(token);
    let seen = Store::lease(store, BOT).await.unwrap();
    match Store::claim(store, BOT, &holder, seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

pub fn anna() -> DialogueKey {
    DialogueKey::private(BOT, 5)
}

pub fn set(count: i64, entry: Version) -> StateChange {
    let talk = Talk::Counting(Counting { count, note: "n".into() });
    StateChange::Set(WrittenState::of(&talk).unwrap().stored(entry, None).unwrap())
}

#[tokio::test]
async fn a_commit_is_refused_if_somebody_changed_aiograms_keys_meanwhile() {
    let bench = Bench::new(AiogramLayout::new()).await;
    let changes: [&[&str]; 4] = [
        &["SET", "fsm:5:5:data", r#"{"count": 70, "theirs": 1}"#],
        &["SET", "fsm:5:5:state", "Talk:paused"],
        &["DEL", "fsm:5:5:state"],
        &["DEL", "fsm:5:5:data", "fsm:5:5:state"],
    ];
    let mut last = Version(0);
    for change in changes {
        bench.aiogram_sets("Talk:counting", r#"{"count": 7}"#);
        let (version, stored) = bench.enters().await;
        assert!(version > last && stored.is_some());
        bench.redis.say(change);
        let theirs = bench.has();
        for state in [set(8, version), StateChange::Keep, StateChange::Clear] {
            let refused = bench.commits(version, state).await;
            assert!(matches!(refused, Err(StoreError::Overtaken(_))), "{change:?}: {refused:?}");
            assert_eq!(bench.has(), theirs);
        }
        // The next turn sees what they did, and its commit counts.
        let (again, stored) = bench.enters().await;
        assert!(again > version);
        assert_eq!(stored.is_some(), theirs[0].is_some());
        last = bench.commits(again, set(9, again)).await.unwrap().version;
        assert_eq!(bench.has()[0].as_deref(), Some("Talk:counting"));
        let kept =
            if theirs[1].as_deref().is_some_and(|data| data.contains("theirs")) { ", \"theirs\": 1" } else { "" };
        assert_eq!(bench.has()[1].as_deref(), Some(&*format!(r#"{{"count": 9{kept}, "note": "n"}}"#)));
        assert_eq!(bench.enters().await.0, last, "what was written here is no change of theirs");
    }
}

#[tokio::test]
async fn what_ran_out_is_no_state_and_the_version_goes_on() {
    let layout = AiogramLayout::new().state_ttl(Duration::from_secs(100)).data_ttl(Duration::from_secs(200));
    let bench = Bench::new(layout).await;
    let (version, _) = bench.enters().await;
    let version = bench.commits(version, set(1, version)).await.unwrap().version;
    assert!((90..=100).contains(&bench.ttl("state")) && (190..=200).contains(&bench.ttl("data")));
    bench.redis.say(&["PEXPIRE", "fsm:5:5:state", "1"]);
    until("the end of the state", async || bench.has()[0].is_none()).await;
    let (later, stored) = bench.enters().await;
    assert!(later > version && stored.is_none());
    let last = bench.commits(later, set(2, later)).await.unwrap().version;
    assert_eq!(last, Version(later.0 + 1));
    assert!((90..=100).contains(&bench.ttl("state")), "what is written again lives as long again");
}

#[tokio::test]
async fn without_a_time_to_live_of_our_own_that_of_aiogram_stays() {
    let bench = Bench::new(AiogramLayout::new()).await;
    bench.redis.say(&["SET", "fsm:5:5:state", "Talk:counting", "EX", "500"]);
    bench.redis.say(&["SET", "fsm:5:5:data", r#"{"count": 1}"#]);
    let (version, _) = bench.enters().await;
    bench.commits(version, set(2, version)).await.unwrap();
    assert!((400..=500).contains(&bench.ttl("state")));
    assert_eq!(bench.ttl("data"), -1);
}

#[tokio::test]
async fn at_the_end_all_data_goes_or_what_the_mapping_takes_out() {
    let bench = Bench::new(AiogramLayout::new()).await;
    bench.aiogram_sets("Talk:counting", r#"{"count": 1, "lang": "ru"}"#);
    let (version, _) = bench.enters().await;
    bench.commits(version, StateChange::Clear).await.unwrap();
    assert_eq!(bench.has(), [None, None]);
    let keeps = mapping().end(|data| {
        data.remove("count");
    });
    let bench = Bench::with(AiogramLayout::new(), keeps).await;
    bench.aiogram_sets("Talk:counting", r#"{"count": 1, "lang": "ru"}"#);
    let (version, _) = bench.enters().await;
    let version = bench.commits(version, StateChange::Clear).await.unwrap().version;
    assert_eq!(bench.has(), [None, Some(r#"{"lang": "ru"}"#.to_owned())]);
    assert_eq!(bench.enters().await, (version, None));
}

#[tokio::test]
async fn bytes_that_are_no_text_and_keys_of_other_kinds_are_errors_of_their_conversation_only() {
    let bench = Bench::new(AiogramLayout::new()).await;
    for damage in [
        &["SET", "fsm:5:5:data", "{\"a\": "][..],
        &["SET", "fsm:5:5:state", "Survey:age"],
        &["HSET", "fsm:5:5:data", "a", "b"],
    ] {
        bench.redis.say(&["DEL", "fsm:5:5:data"]);
        bench.redis.say(&["SET", "fsm:5:5:state", "Talk:counting"]);
        bench.redis.say(damage);
        let entered = Store::open_for_turn(&bench.store, bench.epoch, &anna(), None, NOW).await;
        assert!(matches!(entered, Err(StoreError::Unreadable { .. })), "{damage:?}: {entered:?}");
        Store::abandon_turn(&bench.store, bench.epoch, &anna()).await.unwrap();
        assert_eq!(bench.redis.say(&["EXISTS", "fsm:5:5:lock"]), redis::Value::Int(0));
    }
    assert!(Store::open_for_turn(&bench.store, bench.epoch, &DialogueKey::private(BOT, 6), None, NOW).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_in_a_state_that_nobody_mapped_is_parked_and_the_state_stays() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    redis.say(&["MSET", "fsm:5:5:state", "Survey:age", "fsm:5:5:data", r#"{"age": 7}"#]);
    let both = Both::begin(&stage, &redis, &AiogramLayout::new()).await;
    assert!(both.brings(PRIVATE.update("add").to_string()).await);
    let store: &Arc<dyn Store> = &both.store;
    until("the parked turn", async || store.parked(Some(BOT), 9).await.unwrap().len() == 1).await;
    assert!(store.parked(Some(BOT), 9).await.unwrap()[0].reason.contains("`Survey:age` is not mapped"));
    until("no lock", async || redis.say(&["EXISTS", "fsm:5:5:lock"]) == redis::Value::Int(0)).await;
    let kept: [String; 2] = redis::from_redis_value(redis.say(&["MGET", "fsm:5:5:state", "fsm:5:5:data"])).unwrap();
    assert_eq!(kept, ["Survey:age".to_owned(), json!({"age": 7}).to_string().replace(':', ": ")]);
    both.ends().await;
}
