//! What an operator sees of aiogram's states without a mapping.

use std::sync::Arc;

use opora::aiogram::AiogramLayout;
use opora::key::ConversationKey;
use opora::store::{self, ConversationRow, Filter, Holder, Opened, Store, StoreError};
use opora_testkit::redis_server::RedisServer;

use super::keys::{Fixture, NOW, anna, set};
use crate::stage::BOT;

const OTHER: i64 = 987_654_321;
/// More than one page.
const MANY: i64 = 600;

async fn tool(fixture: &Fixture) -> Arc<dyn Store> {
    store::open_existing(&format!("{}?layout=aiogram", fixture.redis.url())).await.unwrap()
}

async fn all(store: &Arc<dyn Store>, filter: &Filter, page: usize) -> Vec<ConversationRow> {
    let mut rows: Vec<ConversationRow> = Vec::new();
    loop {
        let next = store.list(filter, rows.last().map(|row| &row.key), page).await.unwrap();
        if next.is_empty() {
            return rows;
        }
        rows.extend(next);
    }
}

#[tokio::test]
async fn states_of_unknown_people_are_listed_counted_and_ended() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let (version, _) = fixture.enters().await;
    let version = fixture.commits(version, set(1, version)).await.unwrap().version;
    let mut words = vec!["MSET".to_owned()];
    for user in 100..100 + MANY {
        let state = if user % 2 == 0 { "Survey:age" } else { "plain" };
        words.extend([format!("fsm:{user}:{user}:state"), state.to_owned()]);
    }
    fixture.redis.command(&words.iter().map(|word| &**word).collect::<Vec<_>>());
    fixture.redis.command(&["MSET", "fsm:7:7:data", "{\"a\": 1}", "fsm:8:8:lock", "x", "fsm:x", "y"]);
    let store = tool(&fixture).await;

    let rows = all(&store, &Filter::default(), 250).await;
    assert_eq!(rows.len(), usize::try_from(MANY).unwrap() + 1);
    assert!(rows.is_sorted_by(|one, other| one.key < other.key), "in order, and none twice");
    assert_eq!((&rows[0].key, rows[0].version), (&anna(), version));
    let place = |row: &ConversationRow| row.stored.as_ref().unwrap().states[0].to_string();
    assert_eq!([place(&rows[0]), place(&rows[1]), place(&rows[2])], ["Talk:counting", "Survey:age", "@:plain"]);
    let filter = Filter { dialogue: Some("Survey".into()), state: Some("age".into()), ..Filter::default() };
    assert_eq!(all(&store, &filter, 100).await.len(), usize::try_from(MANY / 2).unwrap());

    let numbers = store.statistics(None).await.unwrap();
    let places: Vec<_> = numbers.by_state.iter().map(|one| (one.state.to_string(), one.conversations)).collect();
    let expected = [("@:plain", MANY / 2), ("Survey:age", MANY / 2), ("Talk:counting", 1)];
    assert_eq!(places, expected.map(|(place, count)| (place.to_owned(), count)));
    assert_eq!(numbers.active, MANY + 1);

    assert!(store.operator().reset(&ConversationKey::private(BOT, 100), NOW).await.unwrap());
    assert!(!store.operator().reset(&ConversationKey::private(BOT, 100), NOW).await.unwrap());
    assert!(!store.operator().reset(&ConversationKey::private(BOT, 7), NOW).await.unwrap(), "data alone is no state");
    assert!(store.operator().reset(&anna(), NOW).await.unwrap());
    assert_eq!(fixture.has(), [None, None]);
    let (later, stored) = fixture.enters().await;
    assert!(later > version && stored.is_none());
    assert_eq!(all(&store, &Filter::default(), 500).await.len(), usize::try_from(MANY).unwrap() - 1);
}

#[tokio::test]
async fn forgetting_a_person_removes_aiograms_keys() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let (version, _) = fixture.enters().await;
    let version = fixture.commits(version, set(1, version)).await.unwrap().version;
    let user = anna().user;
    // In a group, data without a state, and another person in that group.
    let (group, other) = (format!("fsm:-500:{user}:data"), format!("fsm:-500:{}:data", user + 1));
    fixture.redis.command(&["MSET", &group, "{\"name\": \"Anna\"}", &other, "{}"]);
    let store = tool(&fixture).await;
    assert!(store.forget(BOT, user, NOW).await.unwrap() > 0);
    assert_eq!(fixture.has(), [None, None]);
    assert_eq!(fixture.redis.command(&["EXISTS", &group]), redis::Value::Int(0));
    assert_eq!(fixture.redis.command(&["EXISTS", &other]), redis::Value::Int(1));
    let (later, stored) = fixture.enters().await;
    assert!(later > version && stored.is_none());
}

/// Without a known bot these states belong to no bot.
async fn check_bot_is_unknown(store: &Arc<dyn Store>) {
    for refused in [
        store.list(&Filter::default(), None, 9).await.unwrap_err(),
        store.statistics(None).await.unwrap_err(),
        store.list(&Filter { user: Some(100), ..Filter::default() }, None, 9).await.unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::Unsupported(_)), "{refused:?}");
        assert!(refused.to_string().contains("say --bot"), "{refused}");
    }
    for bot in [BOT, OTHER] {
        let rows = all(store, &Filter { bot: Some(bot), user: Some(100), ..Filter::default() }, 9).await;
        assert_eq!(rows.iter().map(|row| &row.key).collect::<Vec<_>>(), [&ConversationKey::private(bot, 100)]);
        assert_eq!(store.statistics(Some(bot)).await.unwrap().active, 1);
    }
}

#[tokio::test]
async fn keys_without_a_bot_belong_to_no_unknown_bot() {
    let redis = RedisServer::start(&[]);
    redis.command(&["SET", "fsm:100:100:state", "Survey:age"]);
    let store = store::open(&format!("{}?layout=aiogram", redis.url())).await.unwrap();
    check_bot_is_unknown(&store).await;
    // A key with a bot id belongs to that bot.
    redis.command(&["SET", &format!("fsm:{BOT}:100:100:state"), "Survey:age"]);
    redis.command(&["DEL", "fsm:100:100:state"]);
    let store = store::open_existing(&format!("{}?layout=aiogram&with_bot_id=1", redis.url())).await.unwrap();
    let rows = all(&store, &Filter::default(), 9).await;
    assert_eq!(rows.iter().map(|row| &row.key).collect::<Vec<_>>(), [&ConversationKey::private(BOT, 100)]);
}

#[tokio::test]
async fn keys_without_a_bot_belong_to_none_of_two_bots() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    let other = Holder { token: "other".into(), ..fixture.store.lease(BOT).await.unwrap().unwrap().holder };
    fixture.store.claim(OTHER, &other, None).await.unwrap();
    fixture.redis.command(&["SET", "fsm:100:100:state", "Survey:age"]);
    check_bot_is_unknown(&tool(&fixture).await).await;
}

#[tokio::test]
async fn a_raw_export_can_be_imported() {
    let fixture = Fixture::new(AiogramLayout::new()).await;
    fixture.aiogram_sets("Talk:counting", r#"{"count": 3, "nan": NaN, "\u0430": 1}"#);
    let (store, was) = (tool(&fixture).await, fixture.has());
    let row = all(&store, &Filter::default(), 9).await.pop().unwrap();
    let exported = serde_json::to_string(&row).unwrap();
    assert!(!store.operator().import(&row, false).await.unwrap(), "it is open");
    store.operator().reset(&anna(), NOW).await.unwrap();
    assert!(store.operator().import(&serde_json::from_str(&exported).unwrap(), false).await.unwrap());
    assert_eq!(fixture.has(), was);
    let (version, stored) = fixture.enters().await;
    assert_eq!(stored.unwrap().states[0].to_string(), "talk:counting");
    fixture.commits(version, set(4, version)).await.unwrap();
    assert_eq!(fixture.has()[1].as_deref(), Some(r#"{"count": 4, "nan": NaN, "\u0430": 1, "note": "n"}"#));
    // Without a mapping nothing is guessed.
    let Opened::At { version, .. } = store.open(&anna(), None).await.unwrap() else { panic!("taken") };
    let here = ConversationRow { version, stored: Some(stored_of(4)), key: anna(), updated_at: NOW };
    assert!(store.operator().import(&here, true).await.unwrap_err().to_string().contains("mapping"));
}

fn stored_of(count: i64) -> opora::store::StoredState {
    let opora::store::StateChange::Set(stored) = set(count, opora::store::Version(1)) else { panic!("set") };
    stored
}
