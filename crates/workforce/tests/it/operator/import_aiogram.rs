//! `state import --from aiogram`: conversations that the real aiogram has written into a real Redis.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use opora::key::ConversationKey;
use opora::store::DomainWrites;
use opora_testkit::aiogram_storage::aiogram;
use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};

use super::{BOT, CommandOutput, StoreFixture, StoreKind};

on_every_store! {
    left_out_conversations_fail_the_import_unless_allowed,
    mistakes_in_arguments_or_map_change_nothing,
}

/// Ten batches of the import.
const MANY: u64 = 2_500;

#[tokio::test]
async fn thousands_of_conversations_are_imported_to_sqlite() {
    thousands_of_conversations_are_imported(StoreKind::Sqlite).await;
}

mod all_other_stores {
    use super::{StoreKind, thousands_of_conversations_are_imported};

    #[tokio::test]
    async fn thousands_of_conversations_are_imported_to_redis() {
        thousands_of_conversations_are_imported(StoreKind::Redis).await;
    }

    #[tokio::test]
    async fn thousands_of_conversations_are_imported_to_postgres() {
        thousands_of_conversations_are_imported(StoreKind::Postgres).await;
    }
}

fn map() -> Value {
    let at = |state: &str, fields: Value| json!({"dialogue": "create_order", "state": state, "fields": fields});
    json!({
        "dialogues": {"create_order": {"version": 2, "tag": "at", "rename_all": "snake_case"}},
        "states": {
            "CreateOrderStates:client_name": at("client_name", json!({})),
            "CreateOrderStates:client_phone": at("client_phone", json!({"name": "client_name", "total": "total"})),
            "CreateOrderStates:address": {"dialogue": "create_order", "state": "address"},
        }
    })
}

impl StoreFixture {
    async fn import(&self, server: &RedisServer, map: &Value, more: &[&str]) -> CommandOutput {
        let (file, bot) = (self.path("map.json"), BOT.to_string());
        std::fs::write(&file, map.to_string()).unwrap();
        let url = server.url();
        let fixed = ["state", "import", "--from", "aiogram", "--redis", &url, "--bot", &bot, "--dialogue-map", &file];
        self.run(&[&fixed, more].concat()).await
    }
}

async fn thousands_of_conversations_are_imported(kind: StoreKind) {
    let (fixture, server, many) = (StoreFixture::empty(kind).await, RedisServer::start(&[]), MANY);
    aiogram(&["many", &server.url(), &BOT.to_string(), &many.to_string()], "");
    let dry = fixture.import(&server, &map(), &["--with-bot-id", "--dry-run"]).await.success();
    let told = format!("{many} conversations found, {many} would be imported; took");
    assert!(dry.stderr.contains(&told), "{}", dry.stderr);
    assert!(fixture.rows().await.is_empty());
    let done = fixture.import(&server, &map(), &["--with-bot-id", "--json"]).await.success();
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&report["found"], &report["imported"]), (&json!(many), &json!(many)));
    eprintln!("{many} conversations were imported in {} ms", report["took_ms"]);
    let rows = fixture.rows().await;
    assert_eq!(rows.len() as u64, many);
    for row in &rows {
        let (user, stored) = (row.key.user, row.stored.as_ref().unwrap());
        let name = format!(r#"\u041a\u043b\u0438\u0435\u043d\u0442 {user} \ud83d\ude00"#);
        let expected = match user % 3 {
            0 => r#"{"at":"client_name"}"#.to_owned(),
            1 => format!(r#"{{"at":"client_phone","name":"{name}","total":{user}{}}}"#, "0".repeat(18)),
            _ => format!(
                r#"{{"at":"address","client_name":"{name}","tags":["a", "b"],"total":{user}{}}}"#,
                "0".repeat(18)
            ),
        };
        assert!(stored.value.contains(&format!("\"state\":{expected},")), "{} in {}", expected, stored.value);
        assert!(stored.value.contains(r#""dialogue":"create_order","schema":2,"#), "{}", stored.value);
    }
    let again = fixture.import(&server, &map(), &["--with-bot-id"]).await.success();
    assert!(again.stderr.contains(&format!("0 imported, {many} left as they are")), "{}", again.stderr);
}

async fn left_out_conversations_fail_the_import_unless_allowed(kind: StoreKind) {
    let (fixture, server) = (StoreFixture::empty(kind).await, RedisServer::start(&[]));
    server.command(&["SET", "fsm:5:5:state", "CreateOrderStates:client_name"]);
    server.command(&["SET", "fsm:6:6:state", "SurveyStates:age"]);
    server.command(&["SET", "fsm:7:7:state", "CreateOrderStates:client_phone"]);
    server.command(&["SET", "fsm:7:7:data", "{\"client_name\""]);
    server.command(&["SET", "fsm:8:8:data", "{\"a\": 1}"]);
    server.command(&["SET", "fsm:9:9:lock", "x"]);
    let words = [
        "in the state SurveyStates:age",
        "no state, only data",
        "fsm:7:7: its data is not JSON",
        "3 conversations left out",
    ];
    let failed = fixture.import(&server, &map(), &[]).await;
    failed.fails_with(&words);
    assert!(failed.stderr.contains("an aiogram bot is running"), "{}", failed.stderr);
    assert_eq!(fixture.rows().await.len(), 1, "the rest is imported");
    let allowed = fixture.import(&server, &map(), &["--allow-missing", "--json", "--replace"]).await.success();
    let report: Value = serde_json::from_str(&allowed.stdout).unwrap();
    assert_eq!(report["unmapped"], json!({"": 1, "SurveyStates:age": 1}));
    assert_eq!(report["left_out"][0]["key"], json!("fsm:7:7"));
    assert_eq!((&report["found"], &report["imported"], &report["locks"]), (&json!(4), &json!(1), &json!(1)));
}

async fn mistakes_in_arguments_or_map_change_nothing(kind: StoreKind) {
    let (fixture, server) = (StoreFixture::empty(kind).await, RedisServer::start(&[]));
    server.command(&["SET", "fsm:5:5:state", "CreateOrderStates:client_name"]);
    fixture.import(&server, &json!({"states": {"A:b": {}}}), &[]).await.fails_with(&["map.json is not a dialogue map"]);
    let from_file = ["state", "import", "--from", "x.jsonl", "--bot", "1"];
    fixture.run(&from_file).await.fails_with(&["belong to `--from aiogram`"]);
    let from = ["state", "import", "--from", "aiogram"];
    fixture.run(&from).await.fails_with(&["--bot is missing"]);
    fixture.run(&[&from[..], &["--bot", "1"]].concat()).await.fails_with(&["--dialogue-map is missing"]);
    let file = fixture.path("map.json");
    std::fs::write(&file, map().to_string()).unwrap();
    let with_map = [&from[..], &["--bot", "1", "--dialogue-map", &file]].concat();
    let away = fixture.run(&[&with_map[..], &["--redis", "redis://:s3cret@127.0.0.1:1/0"]].concat()).await;
    away.fails_with(&["cannot open aiogram's Redis"]);
    assert!(!away.stderr.contains("s3cret"), "{}", away.stderr);
    assert!(fixture.rows().await.is_empty());
}

/// A key that the real aiogram wrote, with its options.
#[derive(Clone, Debug, serde::Deserialize)]
struct AiogramKey {
    options: BTreeMap<String, Value>,
    strategy: String,
    chat: i64,
    user: i64,
    thread: i64,
    destiny: String,
    state: String,
}

/// The bot of `aiogram_storage.py matrix`.
const AIOGRAM_BOT: i64 = 42;

impl AiogramKey {
    fn option(&self, name: &str) -> &str {
        self.options[name].as_str().unwrap()
    }

    fn has(&self, flag: &str) -> bool {
        self.options[flag] == json!(true)
    }

    /// The conversation that is imported for this key; none if it is left out.
    fn imported_key(&self) -> Option<ConversationKey> {
        let is_shared = ["CHAT", "CHAT_TOPIC"].contains(&&*self.strategy);
        if self.state.is_empty() || self.destiny != "default" || (is_shared && self.chat < 0) {
            return None;
        }
        let (chat, thread) = match &*self.strategy {
            "GLOBAL_USER" => (self.user, 0),
            "USER_IN_TOPIC" => (self.chat, self.thread),
            _ => (self.chat, 0),
        };
        Some(ConversationKey { chat, thread, ..ConversationKey::private(AIOGRAM_BOT, self.user) })
    }

    /// The command-line options for this key builder.
    fn command_line_options(&self) -> Vec<String> {
        let mut said = vec!["--prefix".to_owned(), self.option("prefix").to_owned()];
        said.extend(["--separator".to_owned(), self.option("separator").to_owned()]);
        said.extend(["--strategy".to_owned(), self.strategy.to_lowercase().replace('_', "-")]);
        let flags = ["with_bot_id", "with_business_connection_id", "with_destiny"];
        let flags = flags.into_iter().filter(|flag| self.has(flag));
        said.extend(flags.map(|flag| format!("--{}", flag.replace('_', "-"))));
        said
    }
}

/// Every strategy, with no option of the key builder, with each one, and with all of them.
#[tokio::test]
async fn every_strategy_and_key_builder_option_is_supported() {
    let server = RedisServer::start(&[]);
    let lines = aiogram(&["matrix", &server.url()], "");
    let keys: Vec<AiogramKey> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut by_prefix: BTreeMap<&str, Vec<&AiogramKey>> = BTreeMap::new();
    for one in keys.iter().filter(|one| one.option("separator") == "/") {
        by_prefix.entry(one.option("prefix")).or_default().push(one);
    }
    let state = |name: &str| json!({"dialogue": "form", "state": name, "fields": {}});
    let steps = ["step_0", "step_1", "step_2"].map(|name| (format!("Form:{name}"), state(name)));
    let map = json!({"states": steps.into_iter().collect::<serde_json::Map<_, _>>()});
    let mut strategies = BTreeSet::new();
    for all in by_prefix.values() {
        let flags = ["with_bot_id", "with_business_connection_id", "with_destiny"].map(|flag| all[0].has(flag));
        if flags.iter().filter(|flag| **flag).count() == 2 {
            continue;
        }
        strategies.insert(&all[0].strategy);
        let (fixture, url, bot) = (StoreFixture::empty(StoreKind::Sqlite).await, server.url(), AIOGRAM_BOT.to_string());
        let file = fixture.path("map.json");
        std::fs::write(&file, map.to_string()).unwrap();
        let fixed = ["state", "import", "--from", "aiogram", "--redis", &url, "--bot", &bot, "--dialogue-map", &file];
        let (said, more) = (all[0].command_line_options(), ["--allow-missing", "--json"]);
        let said: Vec<_> = said.iter().map(String::as_str).collect();
        let done = fixture.run(&[&fixed[..], &said[..], &more[..]].concat()).await.success();
        let expected: BTreeSet<_> = all.iter().filter_map(|one| one.imported_key()).collect();
        let found: BTreeSet<_> = fixture.rows().await.into_iter().map(|row| row.key).collect();
        assert_eq!(found, expected, "{said:?}: {}", done.stdout);
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(report["imported"], json!(expected.len()), "{said:?}");
        let is_told = |words: &str| report["left_out"].to_string().contains(words);
        assert_eq!(is_told("its destiny is `menu:main`"), all[0].has("with_destiny"), "{said:?}: {report}");
        let is_shared = ["CHAT", "CHAT_TOPIC"].contains(&&*all[0].strategy);
        assert_eq!(is_told("it belongs to a whole group"), is_shared, "{said:?}: {report}");
        // With another prefix these keys are not recognised.
        let other = fixture.run(&[&fixed[..], &["--prefix", "other"], &more[..]].concat()).await.success();
        let other: Value = serde_json::from_str(&other.stdout).unwrap();
        assert_eq!(other["found"], json!(0), "{said:?}: {other}");
    }
    assert_eq!(strategies.len(), 5, "{strategies:?}");
}

#[tokio::test]
async fn business_connections_in_keys_are_imported() {
    let (fixture, server) = (StoreFixture::empty(StoreKind::Sqlite).await, RedisServer::start(&[]));
    server.command(&["SET", "fsm:bc_AbC-1:11:11:state", "CreateOrderStates:client_name"]);
    server.command(&["SET", "fsm:12:12:state", "CreateOrderStates:client_name"]);
    let plain = fixture.import(&server, &map(), &["--dry-run"]).await;
    plain.fails_with(&["fsm:bc_AbC-1:11:11"]);
    fixture.import(&server, &map(), &["--with-business-connection-id"]).await.success();
    let keys: Vec<_> = fixture.rows().await.into_iter().map(|row| row.key).collect();
    let business = ConversationKey { business: "bc_AbC-1".into(), ..ConversationKey::private(BOT, 11) };
    assert!(keys.contains(&business) && keys.contains(&ConversationKey::private(BOT, 12)), "{keys:?}");
    assert_eq!(keys.len(), 2);
}

/// The target store is busy for a while, like a large one.
#[tokio::test]
async fn a_slow_import_shows_its_progress() {
    let (fixture, server) = (StoreFixture::empty(StoreKind::Sqlite).await, RedisServer::start(&[]));
    server.command(&["SET", "fsm:5:5:state", "CreateOrderStates:client_name"]);
    // The delay until the import begins depends on the machine.
    for hold in [2, 4, 6, 8] {
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let writes = DomainWrites::new(move |_| {
            Box::pin(async move {
                begun.send(()).unwrap();
                tokio::time::sleep(Duration::from_secs(hold)).await;
                Ok(())
            })
        });
        let store = Arc::clone(&fixture.store);
        let holding = tokio::spawn(async move { store.write(writes).await });
        has_begun.await.unwrap();
        let done = fixture.import(&server, &map(), &["--replace"]).await.success();
        holding.await.unwrap().unwrap();
        assert!(done.stderr.contains("1 conversation found, 1 imported; took"), "{}", done.stderr);
        if done.stderr.contains("1 found, 1 imported so far") {
            return;
        }
    }
    panic!("the import never showed its progress");
}
