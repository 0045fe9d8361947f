//! Imports into a store, and the dialogue that continues.

use std::sync::Arc;

use opora::aiogram::{
    ImportOptions, ImportReport, KeyBuilder, Layout, Mapping, SkippedKey, Storage, Strategy, Translate, import,
};
use opora::clock::{Clock, Millis};
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{Filter, MemoryStore, Store};
use opora::testing::chat::Stage;
use opora::turn::Context;
use opora_testkit::redis_server::RedisServer;

const NOW: Millis = Millis(1_700_000_000_000);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
enum Order {
    Name,
    Phone(Phone),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Phone {
    name: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Order> {
    turn.say("Who is it?");
    Ok(Next::Go(Order::Name))
}

async fn name(_: &mut Turn, name: String) -> Step<Order> {
    Ok(Next::Go(Order::Phone(Phone { name })))
}

async fn phone(turn: &mut Turn, state: Phone, phone: String) -> Step<Order> {
    turn.say(format!("{}: {phone}", state.name));
    Ok(Next::End)
}

fn order() -> Dialogue<Order> {
    let order = Dialogue::new().start(command("start"), start);
    order.on(Order::NAME, text(), name).on(Order::PHONE, text(), phone)
}

fn mapping() -> Mapping<Order> {
    Mapping::new()
        .state("CreateOrderStates:client_name", |_| Ok(Order::Name))
        .state("CreateOrderStates:client_phone", |data| Ok(Order::Phone(Phone { name: data.read("client_name")? })))
}

/// aiogram's keys of one bot, and the store for the import.
struct Migration {
    server: RedisServer,
    store: Arc<MemoryStore>,
    clock: Clock,
    layout: Layout,
}

impl Migration {
    fn of(bot: i64) -> Self {
        let layout = Layout { keys: KeyBuilder::default(), strategy: Strategy::default(), bot };
        let (server, store) = (RedisServer::start(&[]), Arc::new(MemoryStore::new()));
        Self { server, store, clock: Clock::manual(NOW), layout }
    }

    fn aiogram_sets(&self, key: &ConversationKey, state: &str, data: &str) {
        let prefix = format!("fsm:{}:{}", key.chat, key.user);
        self.server.command(&["SET", &format!("{prefix}:state"), state]);
        self.server.command(&["SET", &format!("{prefix}:data"), data]);
    }

    async fn import(&self, mapping: &dyn Translate, options: ImportOptions) -> ImportReport {
        let from = Storage::open(&self.server.url(), self.layout.clone()).await.unwrap();
        let report = import(&from, mapping, &*self.store, options, &self.clock, |_| {}).await.unwrap();
        let unmapped: u64 = report.unmapped.values().sum();
        let sum = report.imported + report.already_there + unmapped + report.left_out.len() as u64;
        assert_eq!(report.found, sum, "{report:?}");
        report
    }

    /// All of aiogram's keys of Anna.
    fn source(&self) -> [redis::Value; 3] {
        let keys = ["fsm:5:5:state", "fsm:5:5:data"];
        [["MGET", keys[0], keys[1]].as_slice(), &["PTTL", keys[0]], &["DBSIZE"]].map(|words| self.server.command(words))
    }

    async fn rows(&self) -> Vec<opora::store::ConversationRow> {
        self.store.list(&Filter::default(), None, 100).await.unwrap()
    }
}

#[tokio::test]
async fn a_dialogue_continues_where_aiogram_left_it() {
    let clock = Clock::manual(NOW);
    let stage = |store: &Arc<MemoryStore>| Stage::on(order(), Context::new(), store.clone(), clock.clone());
    let anna = stage(&Arc::new(MemoryStore::new())).person("Anna").key();
    let migration = Migration::of(anna.bot);
    migration.aiogram_sets(
        &anna,
        "CreateOrderStates:client_phone",
        r#"{"client_name": "\u0410\u043d\u043d\u0430 \ud83d\ude00"}"#,
    );
    let report = migration.import(&mapping(), ImportOptions::default()).await;
    assert_eq!((report.found, report.imported, report.is_complete()), (1, 1, true));
    let stage = stage(&migration.store);
    let anna = stage.person("Anna");
    assert_eq!(anna.state().await.as_deref(), Some("order:phone"));
    anna.sends("+7 900").await;
    anna.sees("Анна 😀: +7 900");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn only_replace_overwrites_existing_conversations() {
    let migration = Migration::of(1);
    let anna = ConversationKey::private(1, 5);
    migration.aiogram_sets(&anna, "CreateOrderStates:client_name", "{}");
    let before = migration.source();
    let dry = migration.import(&mapping(), ImportOptions { dry_run: true, replace: false }).await;
    assert_eq!((dry.imported, migration.rows().await.len()), (1, 0));
    migration.import(&mapping(), ImportOptions::default()).await;
    let first = migration.rows().await;
    let again = migration.import(&mapping(), ImportOptions::default()).await;
    assert_eq!((again.imported, again.already_there, migration.rows().await), (0, 1, first.clone()));
    assert_eq!(migration.source(), before, "the source is only read");
    migration.aiogram_sets(&anna, "CreateOrderStates:client_phone", r#"{"client_name": "A"}"#);
    let dry = migration.import(&mapping(), ImportOptions { dry_run: true, replace: true }).await;
    assert_eq!((dry.imported, migration.rows().await), (1, first));
    migration.import(&mapping(), ImportOptions { dry_run: false, replace: true }).await;
    let row = migration.rows().await.pop().unwrap();
    let stored = row.stored.unwrap();
    assert_eq!(&*stored.states[0].state, "phone");
    assert!(stored.value.contains(&format!("\"entry\":{}", row.version.0)), "{}", stored.value);
}

#[tokio::test]
async fn what_cannot_be_imported_is_reported_with_a_reason() {
    let migration = Migration::of(1);
    let say = |words: &[&str]| migration.server.command(words);
    migration.aiogram_sets(&ConversationKey::private(1, 1), "CreateOrderStates:client_phone", "{}");
    migration.aiogram_sets(&ConversationKey::private(1, 2), "CreateOrderStates:client_name", "{\"a\": ");
    migration.aiogram_sets(&ConversationKey::private(1, 3), "SurveyStates:age", r#"{"client_name": "Secret"}"#);
    say(&["SET", "fsm:4:4:data", r#"{"only": "data"}"#]);
    say(&["HSET", "fsm:5:5:state", "a", "b"]);
    say(&["SET", "fsm:6:6:state", "CreateOrderStates:client_name"]);
    say(&["RPUSH", "fsm:6:6:data", "x"]);
    say(&["SET", "fsm:shop:7:state", "x"]);
    say(&["SET", "fsm:8:8:lock", "x"]);
    say(&["SET", "fsmx:9:9:state", "x"]);
    migration.aiogram_sets(
        &ConversationKey::private(1, 10),
        "CreateOrderStates:client_phone",
        r#"{"client_name": NaN}"#,
    );
    let report = migration.import(&mapping(), ImportOptions::default()).await;
    assert_eq!((report.found, report.imported, report.locks), (8, 0, 1));
    let unmapped: Vec<_> = report.unmapped.iter().map(|(state, number)| (&**state, *number)).collect();
    assert_eq!(unmapped, [("", 1), ("SurveyStates:age", 1)]);
    let expected = [
        ("fsm:10:10", "NaN"),
        ("fsm:1:1", "there is no `client_name`"),
        ("fsm:2:2", "not JSON"),
        ("fsm:5:5", "a hash"),
        ("fsm:6:6", "a list"),
        ("fsm:shop:7:state", "not built by these options"),
    ];
    assert_eq!(report.left_out.len(), expected.len(), "{:?}", report.left_out);
    for (SkippedKey { key, reason }, (name, why)) in report.left_out.iter().zip(expected) {
        assert!(key == name && reason.contains(why), "{key}: {reason}");
    }
    assert!(migration.rows().await.is_empty());
}

#[tokio::test]
async fn states_of_other_bots_stay_and_a_ttl_becomes_an_expiry() {
    let mut migration = Migration::of(1);
    migration.layout.keys.with_bot_id = true;
    for bot in ["1", "2"] {
        migration.server.command(&[
            "SET",
            &format!("fsm:{bot}:5:5:state"),
            "CreateOrderStates:client_name",
            "EX",
            "600",
        ]);
    }
    let all: Vec<Box<dyn Translate>> = vec![Box::new(Mapping::<Order>::new()), Box::new(mapping())];
    let report = migration.import(&all, ImportOptions::default()).await;
    assert_eq!((report.found, report.imported, report.of_other_bots), (1, 1, 1));
    let until = migration.rows().await[0].stored.as_ref().unwrap().expires_at.unwrap();
    let left_ms = until.0 - NOW.0;
    assert!((500_000..=600_000).contains(&left_ms), "{left_ms}");
}
