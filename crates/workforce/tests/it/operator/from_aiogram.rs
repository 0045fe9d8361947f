//! `state import --from aiogram`: conversations that the real aiogram has written into a real Redis.

use serde_json::{Value, json};

use super::{BOT, Done, Kind, Office};
use crate::aiogram_storage::aiogram;
use crate::redis_server::RedisServer;

on_every_store! {
    thousands_of_conversations_come_along_without_loss,
    what_is_left_out_is_listed_and_a_failure_unless_it_is_allowed,
    a_mistake_on_the_command_line_or_in_the_map_changes_nothing,
}

const MANY: u64 = 10_000;

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

impl Office {
    async fn imports(&self, server: &RedisServer, map: &Value, more: &[&str]) -> Done {
        let (file, bot) = (self.path("map.json"), BOT.to_string());
        std::fs::write(&file, map.to_string()).unwrap();
        let url = server.url();
        let fixed = ["state", "import", "--from", "aiogram", "--redis", &url, "--bot", &bot, "--dialogue-map", &file];
        self.opora(&[&fixed, more].concat()).await
    }
}

async fn thousands_of_conversations_come_along_without_loss(kind: Kind) {
    let (office, server, many) = (Office::empty(kind).await, RedisServer::start(&[]), MANY);
    aiogram(&["many", &server.url(), &BOT.to_string(), &many.to_string()], "");
    let dry = office.imports(&server, &map(), &["--with-bot-id", "--dry-run"]).await.well();
    let told = format!("{many} conversations found, {many} would be imported; took");
    assert!(dry.stderr.contains(&told), "{}", dry.stderr);
    assert!(office.rows().await.is_empty());
    let done = office.imports(&server, &map(), &["--with-bot-id", "--json"]).await.well();
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&report["found"], &report["imported"]), (&json!(many), &json!(many)));
    eprintln!("{many} conversations were imported in {} ms", report["took_ms"]);
    let rows = office.rows().await;
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
    let again = office.imports(&server, &map(), &["--with-bot-id"]).await.well();
    assert!(again.stderr.contains(&format!("0 imported, {many} left as they are")), "{}", again.stderr);
}

async fn what_is_left_out_is_listed_and_a_failure_unless_it_is_allowed(kind: Kind) {
    let (office, server) = (Office::empty(kind).await, RedisServer::start(&[]));
    server.say(&["SET", "fsm:5:5:state", "CreateOrderStates:client_name"]);
    server.say(&["SET", "fsm:6:6:state", "SurveyStates:age"]);
    server.say(&["SET", "fsm:7:7:state", "CreateOrderStates:client_phone"]);
    server.say(&["SET", "fsm:7:7:data", "{\"client_name\""]);
    server.say(&["SET", "fsm:8:8:data", "{\"a\": 1}"]);
    server.say(&["SET", "fsm:9:9:lock", "x"]);
    let words = [
        "in the state SurveyStates:age",
        "no state, only data",
        "fsm:7:7: its data is not JSON",
        "3 conversations left out",
    ];
    let failed = office.imports(&server, &map(), &[]).await;
    failed.complains(&words);
    assert!(failed.stderr.contains("an aiogram bot is at work"), "{}", failed.stderr);
    assert_eq!(office.rows().await.len(), 1, "the rest is imported all the same");
    let allowed = office.imports(&server, &map(), &["--allow-missing", "--json", "--replace"]).await.well();
    let report: Value = serde_json::from_str(&allowed.stdout).unwrap();
    assert_eq!(report["unmapped"], json!({"": 1, "SurveyStates:age": 1}));
    assert_eq!(report["left_out"][0]["key"], json!("fsm:7:7"));
    assert_eq!((&report["found"], &report["imported"], &report["locks"]), (&json!(4), &json!(1), &json!(1)));
}

async fn a_mistake_on_the_command_line_or_in_the_map_changes_nothing(kind: Kind) {
    let (office, server) = (Office::empty(kind).await, RedisServer::start(&[]));
    server.say(&["SET", "fsm:5:5:state", "CreateOrderStates:client_name"]);
    office.imports(&server, &json!({"states": {"A:b": {}}}), &[]).await.complains(&["map.json is no dialogue map"]);
    let from_file = ["state", "import", "--from", "x.jsonl", "--bot", "1"];
    office.opora(&from_file).await.complains(&["belong to `--from aiogram`"]);
    let from = ["state", "import", "--from", "aiogram"];
    office.opora(&from).await.complains(&["--bot is missing"]);
    office.opora(&[&from[..], &["--bot", "1"]].concat()).await.complains(&["--dialogue-map is missing"]);
    let file = office.path("map.json");
    std::fs::write(&file, map().to_string()).unwrap();
    let with_map = [&from[..], &["--bot", "1", "--dialogue-map", &file]].concat();
    let away = office.opora(&[&with_map[..], &["--redis", "redis://:s3cret@127.0.0.1:1/0"]].concat()).await;
    away.complains(&["cannot open aiogram's Redis"]);
    assert!(!away.stderr.contains("s3cret"), "{}", away.stderr);
    assert!(office.rows().await.is_empty());
}
