//! A store whose states are in aiogram's own keys, as an operator sees it.

use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};

use super::{Done, run};

/// Redis with two people of an aiogram bot whom no bot of this library has met.
struct Shared(RedisServer);

impl Shared {
    async fn new() -> Self {
        let shared = Self(RedisServer::start(&[]));
        opora::store::open(&shared.address()).await.unwrap().close().await.unwrap();
        let data = r#"{"client_name": "Secret", "total": 123456789012345678901234567890}"#;
        shared.0.say(&["MSET", "fsm:5:5:state", "CreateOrderStates:client_phone", "fsm:5:5:data", data]);
        shared.0.say(&["SET", "fsm:6:6:state", "SurveyStates:age"]);
        shared
    }

    fn address(&self) -> String {
        format!("{}?layout=aiogram", self.0.url())
    }

    async fn opora(&self, arguments: &[&str]) -> Done {
        run(&[("STATE_URL", &self.address())], &[&["state"], arguments].concat()).await.well()
    }
}

#[tokio::test]
async fn aiograms_states_are_listed_shown_counted_exported_and_reset() {
    let shared = Shared::new().await;
    let listed: Value = serde_json::from_str(&shared.opora(&["list", "--bot", "1", "--json"]).await.stdout).unwrap();
    let place = |row: usize| (&listed[row]["key"], &listed[row]["places"][0]);
    let phone = json!({"dialogue": "CreateOrderStates", "state": "client_phone"});
    assert_eq!(place(0), (&json!("1:5:5"), &phone));
    assert_eq!(place(1), (&json!("1:6:6"), &json!({"dialogue": "SurveyStates", "state": "age"})));
    let table = shared.opora(&["list", "--bot", "1", "--dialogue", "SurveyStates"]).await.stdout;
    assert!(table.contains("1:6:6") && table.contains("SurveyStates:age") && !table.contains("1:5:5"), "{table}");
    let shown = shared.opora(&["show", "1:5:5"]).await.stdout;
    assert!(
        shown.contains("CreateOrderStates:client_phone") && shown.contains("\"client_name\": \"Secret\""),
        "{shown}"
    );
    let counted: Value = serde_json::from_str(&shared.opora(&["stats", "--bot", "1", "--json"]).await.stdout).unwrap();
    assert_eq!(counted["active"], json!(2), "{counted}");

    let exported = shared.opora(&["export", "--bot", "1"]).await.stdout;
    assert_eq!(exported.lines().count(), 2);
    shared.opora(&["reset", "1:5:5", "--yes"]).await;
    assert_eq!(shared.0.say(&["EXISTS", "fsm:5:5:state", "fsm:5:5:data"]), redis::Value::Int(0));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exported.jsonl");
    std::fs::write(&file, &exported).unwrap();
    shared.opora(&["import", "--from", &file.display().to_string()]).await;
    let data: String = redis::from_redis_value(shared.0.say(&["GET", "fsm:5:5:data"])).unwrap();
    assert_eq!(data, r#"{"client_name": "Secret", "total": 123456789012345678901234567890}"#);
}
