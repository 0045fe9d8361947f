//! The operator's commands on a store with aiogram's own keys.

use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};

use super::{CommandOutput, run};

/// A Redis with two people of an aiogram bot. No bot of this library has run on it.
struct AiogramStore(RedisServer);

impl AiogramStore {
    async fn new() -> Self {
        let store = Self(RedisServer::start(&[]));
        opora::store::open(&store.address()).await.unwrap().close().await.unwrap();
        let data = r#"{"client_name": "Secret", "total": 123456789012345678901234567890}"#;
        store.0.command(&["MSET", "fsm:5:5:state", "CreateOrderStates:client_phone", "fsm:5:5:data", data]);
        store.0.command(&["SET", "fsm:6:6:state", "SurveyStates:age"]);
        store
    }

    fn address(&self) -> String {
        format!("{}?layout=aiogram", self.0.url())
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run(&[("STATE_URL", &self.address())], &[&["state"], arguments].concat()).await.success()
    }
}

#[tokio::test]
async fn aiogram_states_can_be_operated() {
    let store = AiogramStore::new().await;
    let listed: Value = serde_json::from_str(&store.run(&["list", "--bot", "1", "--json"]).await.stdout).unwrap();
    let place = |row: usize| (&listed[row]["key"], &listed[row]["states"][0]);
    let phone = json!({"dialogue": "CreateOrderStates", "state": "client_phone"});
    assert_eq!(place(0), (&json!("1:5:5"), &phone));
    assert_eq!(place(1), (&json!("1:6:6"), &json!({"dialogue": "SurveyStates", "state": "age"})));
    let table = store.run(&["list", "--bot", "1", "--dialogue", "SurveyStates"]).await.stdout;
    assert!(table.contains("1:6:6") && table.contains("SurveyStates:age") && !table.contains("1:5:5"), "{table}");
    let shown = store.run(&["show", "1:5:5"]).await.stdout;
    assert!(
        shown.contains("CreateOrderStates:client_phone") && shown.contains("\"client_name\": \"Secret\""),
        "{shown}"
    );
    let counted: Value = serde_json::from_str(&store.run(&["stats", "--bot", "1", "--json"]).await.stdout).unwrap();
    assert_eq!(counted["active"], json!(2), "{counted}");

    let exported = store.run(&["export", "--bot", "1"]).await.stdout;
    assert_eq!(exported.lines().count(), 2);
    store.run(&["reset", "1:5:5", "--yes"]).await;
    assert_eq!(store.0.command(&["EXISTS", "fsm:5:5:state", "fsm:5:5:data"]), redis::Value::Int(0));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exported.jsonl");
    std::fs::write(&file, &exported).unwrap();
    store.run(&["import", "--from", &file.display().to_string()]).await;
    let data: String = redis::from_redis_value(store.0.command(&["GET", "fsm:5:5:data"])).unwrap();
    assert_eq!(data, r#"{"client_name": "Secret", "total": 123456789012345678901234567890}"#);
}
