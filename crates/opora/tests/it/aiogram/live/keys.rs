//! What a turn reads from aiogram's keys, writes to them, and refuses.

use std::sync::Arc;
use std::time::Duration;

use opora::aiogram::{AiogramLayout, AiogramStore, Mapping};
use opora::clock::Millis;
use opora::dialogue::WrittenState;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, Epoch, LeaseAnswer, Opened, StateChange, Store, StoreError, StoreResult, StoredState, Version,
};
use opora::testing::holder;
use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use super::two_bots::{Counting, PRIVATE, Talk, TwoBots, mapping};
use crate::stage::{BOT, Stage, until};

/// aiogram's keys of one person, and a store on them with the lease.
pub struct Fixture {
    pub store: AiogramStore,
    pub epoch: Epoch,
    pub redis: RedisServer,
}

pub const NOW: Millis = Millis(1_700_000_000_000);

impl Fixture {
    pub async fn new(layout: AiogramLayout) -> Self {
        Self::with(layout, mapping()).await
    }

    async fn with(layout: AiogramLayout, mapping: Mapping<Talk>) -> Self {
        let redis = RedisServer::start(&[]);
        let store = AiogramStore::open_with(&redis.url(), layout, mapping).await.unwrap();
        let epoch = claim(&store, "first").await;
        Self { store, epoch, redis }
    }

    /// The contents of aiogram's keys.
    pub fn has(&self) -> [Option<String>; 2] {
        redis::from_redis_value(self.redis.command(&["MGET", "fsm:5:5:state", "fsm:5:5:data"])).unwrap()
    }

    pub fn aiogram_sets(&self, state: &str, data: &str) {
        self.redis.command(&["MSET", "fsm:5:5:state", state, "fsm:5:5:data", data]);
    }

    pub async fn enters(&self) -> (Version, Option<StoredState>) {
        match Store::open_for_turn(&self.store, self.epoch, &anna(), None, NOW).await.unwrap() {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyProcessed => panic!("opened without a mark"),
        }
    }

    pub async fn commits(&self, from: Version, state: StateChange) -> StoreResult<Committed> {
        Store::commit(&self.store, self.epoch, Commit { state, ..Commit::new(anna(), from, NOW) }).await
    }

    fn ttl(&self, part: &str) -> i64 {
        redis::from_redis_value(self.redis.command(&["TTL", &format!("fsm:5:5:{part}")])).unwrap()
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

pub fn anna() -> ConversationKey {
    ConversationKey::private(BOT, 5)
}

pub fn set(count: i64, entry: Version) -> StateChange {
    let talk = Talk::Counting(Counting { count, note: "n".into() });
    StateChange::Set(WrittenState::from_state(&talk).unwrap().stored(entry, None).unwrap())
}

#[tokio::test]
async fn a_commit_is_refused_if_aiogram_changed_the_keys() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let changes: [&[&str]; 4] = [
        &["SET", "fsm:5:5:data", r#"{"count": 70, "theirs": 1}"#],
        &["SET", "fsm:5:5:state", "Talk:paused"],
        &["DEL", "fsm:5:5:state"],
        &["DEL", "fsm:5:5:data", "fsm:5:5:state"],
    ];
    let mut last = Version(0);
    for change in changes {
        fixture.aiogram_sets("Talk:counting", r#"{"count": 7}"#);
        let (version, stored) = fixture.enters().await;
        assert!(version > last && stored.is_some());
        fixture.redis.command(change);
        let aiogram_data = fixture.has();
        for state in [set(8, version), StateChange::Keep, StateChange::Clear] {
            let refused = fixture.commits(version, state).await;
            assert!(matches!(refused, Err(StoreError::Overtaken(_))), "{change:?}: {refused:?}");
            assert_eq!(fixture.has(), aiogram_data);
        }
        // The next turn sees aiogram's change, and its commit counts.
        let (again, stored) = fixture.enters().await;
        assert!(again > version);
        assert_eq!(stored.is_some(), aiogram_data[0].is_some());
        last = fixture.commits(again, set(9, again)).await.unwrap().version;
        assert_eq!(fixture.has()[0].as_deref(), Some("Talk:counting"));
        let kept =
            if aiogram_data[1].as_deref().is_some_and(|data| data.contains("theirs")) { ", \"theirs\": 1" } else { "" };
        assert_eq!(fixture.has()[1].as_deref(), Some(&*format!(r#"{{"count": 9{kept}, "note": "n"}}"#)));
        assert_eq!(fixture.enters().await.0, last, "our own write is no change of aiogram's");
    }
}

#[tokio::test]
async fn an_expired_state_is_gone_and_the_version_continues() {
    let layout = AiogramLayout::new().state_ttl(Duration::from_secs(100)).data_ttl(Duration::from_secs(200));
    let fixture = Fixture::new(layout).await;
    let (version, _) = fixture.enters().await;
    let version = fixture.commits(version, set(1, version)).await.unwrap().version;
    assert!((90..=100).contains(&fixture.ttl("state")) && (190..=200).contains(&fixture.ttl("data")));
    fixture.redis.command(&["PEXPIRE", "fsm:5:5:state", "1"]);
    until("the end of the state", async || fixture.has()[0].is_none()).await;
    let (later, stored) = fixture.enters().await;
    assert!(later > version && stored.is_none());
    let last = fixture.commits(later, set(2, later)).await.unwrap().version;
    assert_eq!(last, Version(later.0 + 1));
    assert!((90..=100).contains(&fixture.ttl("state")), "what is written again lives as long again");
}

#[tokio::test]
async fn without_a_ttl_of_our_own_aiograms_ttl_stays() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    fixture.redis.command(&["SET", "fsm:5:5:state", "Talk:counting", "EX", "500"]);
    fixture.redis.command(&["SET", "fsm:5:5:data", r#"{"count": 1}"#]);
    let (version, _) = fixture.enters().await;
    fixture.commits(version, set(2, version)).await.unwrap();
    assert!((400..=500).contains(&fixture.ttl("state")));
    assert_eq!(fixture.ttl("data"), -1);
}

#[tokio::test]
async fn the_end_removes_all_data_or_what_the_mapping_removes() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    fixture.aiogram_sets("Talk:counting", r#"{"count": 1, "lang": "ru"}"#);
    let (version, _) = fixture.enters().await;
    fixture.commits(version, StateChange::Clear).await.unwrap();
    assert_eq!(fixture.has(), [None, None]);
    let keeps = mapping().on_end(|data| {
        data.remove("count");
    });
    let fixture = Fixture::with(AiogramLayout::new(), keeps).await;
    fixture.aiogram_sets("Talk:counting", r#"{"count": 1, "lang": "ru"}"#);
    let (version, _) = fixture.enters().await;
    let version = fixture.commits(version, StateChange::Clear).await.unwrap().version;
    assert_eq!(fixture.has(), [None, Some(r#"{"lang": "ru"}"#.to_owned())]);
    assert_eq!(fixture.enters().await, (version, None));
}

#[tokio::test]
async fn unreadable_keys_fail_only_their_own_conversation() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    for damage in [
        &["SET", "fsm:5:5:data", "{\"a\": "][..],
        &["SET", "fsm:5:5:state", "Survey:age"],
        &["HSET", "fsm:5:5:data", "a", "b"],
    ] {
        fixture.redis.command(&["DEL", "fsm:5:5:data"]);
        fixture.redis.command(&["SET", "fsm:5:5:state", "Talk:counting"]);
        fixture.redis.command(damage);
        let entered = Store::open_for_turn(&fixture.store, fixture.epoch, &anna(), None, NOW).await;
        assert!(matches!(entered, Err(StoreError::Unreadable { .. })), "{damage:?}: {entered:?}");
        Store::abandon_turn(&fixture.store, fixture.epoch, &anna()).await.unwrap();
        assert_eq!(fixture.redis.command(&["EXISTS", "fsm:5:5:lock"]), redis::Value::Int(0));
    }
    assert!(
        Store::open_for_turn(&fixture.store, fixture.epoch, &ConversationKey::private(BOT, 6), None, NOW).await.is_ok()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_in_an_unmapped_state_is_parked() {
    let (stage, redis) = (Stage::new().await, RedisServer::start(&[]));
    redis.command(&["MSET", "fsm:5:5:state", "Survey:age", "fsm:5:5:data", r#"{"age": 7}"#]);
    let both = TwoBots::begin(&stage, &redis, &AiogramLayout::new()).await;
    assert!(both.brings(PRIVATE.update("add").to_string()).await);
    let store: &Arc<dyn Store> = &both.store;
    until("the parked turn", async || store.parked(Some(BOT), 9).await.unwrap().len() == 1).await;
    assert!(store.parked(Some(BOT), 9).await.unwrap()[0].reason.contains("`Survey:age` is not mapped"));
    until("no lock", async || redis.command(&["EXISTS", "fsm:5:5:lock"]) == redis::Value::Int(0)).await;
    let kept: [String; 2] = redis::from_redis_value(redis.command(&["MGET", "fsm:5:5:state", "fsm:5:5:data"])).unwrap();
    assert_eq!(kept, ["Survey:age".to_owned(), json!({"age": 7}).to_string().replace(':', ": ")]);
    both.ends().await;
}
