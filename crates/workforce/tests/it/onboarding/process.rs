//! The program with an emulator: sessions over restarts, and a session whose state was reset.

use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{StorageKind, TestStorage, on_every_database};
use crate::operator;

on_every_database! {
    a_session_survives_restarts_and_a_state_reset,
}

/// Presses the last button with this caption in a person's private chat.
pub async fn presses(demo: &Demo, person: i64, caption: &str) {
    let what = format!("[{caption}] is offered to {person}");
    let (message_id, data) = demo
        .until(&what, async |demo| {
            let messages = demo.get(&format!("/chats/{person}/messages?after=0&wait=0")).await;
            messages.as_array()?.iter().rev().find_map(|message| {
                let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
                let button = rows.iter().flat_map(|row| row.as_array()).flatten();
                let data = button.clone().find(|button| button["text"] == caption)?["callback_data"].clone();
                Some((message["message_id"].clone(), data))
            })
        })
        .await;
    demo.post(&format!("/chats/{person}/press"), json!({"from": person, "message_id": message_id, "data": data})).await;
}

/// Anna is an employee, Boris a manager.
pub async fn hire(storage: &TestStorage) {
    let database = storage.database.url();
    for (person, role, name) in [("1001", "employee", "Anna"), ("1002", "manager", "Boris")] {
        let grant = ["people", "grant", person, role, "--name", name, "--language", "en"];
        operator::run(&[("DATABASE_URL", &database)], &grant).await.success();
    }
}

async fn begins(emulator: &Demo) {
    emulator.says(ANNA, "/start").await;
    presses(emulator, ANNA, "📝 Questionnaire").await;
    presses(emulator, ANNA, "I agree").await;
}

async fn a_session_survives_restarts_and_a_state_reset(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let database = storage.database.url();
    hire(&storage).await;
    let process = AppProcess::start(&storage, &emulator, &[]);
    begins(&emulator).await;
    emulator.receives(ANNA, "1/8").await;
    emulator.says(ANNA, "Annie the painter").await;
    emulator.receives(ANNA, "2/8").await;
    let log = process.stop().await;
    assert!(log.iter().any(|line| line.contains("FSM State [CHANGED]") && line.contains("OnboardingStates:question")));

    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "4").await;
    emulator.receives(ANNA, "3/8").await;
    process.stop().await;

    let store = [("STATE_URL", storage.state.as_str()), ("DATABASE_URL", database.as_str())];
    let listed = operator::run(&store, &["state", "list"]).await.success().stdout;
    let key = listed.split_whitespace().find(|word| word.contains("1001")).expect("Anna's conversation is listed");
    operator::run(&store, &["state", "reset", key, "--yes"]).await.success();

    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "are you there?").await;
    emulator.receives(ANNA, "Let's continue where we left off.").await;
    process.wait_for_log("the session is restored from the database").await;
    // The buttons of the lost state are stale. Only those of the repeated question count.
    let asked =
        async |demo: &Demo| demo.texts(ANNA).await.iter().filter(|text| text.starts_with("3/8")).nth(1).map(drop);
    emulator.until("the third question is asked again", asked).await;
    presses(&emulator, ANNA, "Weekends").await;
    emulator.receives(ANNA, "4/8").await;
    presses(&emulator, ANNA, "⏸ Pause").await;
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "💬 Ask a question").await;
    emulator.receives(ANNA, "Write your question").await;
    emulator.says(ANNA, "Where is my uniform?").await;
    emulator.receives(BORIS, "Anna writes:\n\nWhere is my uniform?").await;
    presses(&emulator, BORIS, "Reply").await;
    emulator.receives(BORIS, "Write your answer to Anna.").await;
    emulator.says(BORIS, "On the second shelf").await;
    emulator.receives(ANNA, "Boris answers:\n\nOn the second shelf").await;
    let log = process.stop().await.join("\n");
    for text in ["are you there", "uniform", "second shelf"] {
        assert!(!log.contains(text), "{text:?} is in the log");
    }
    emulator.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_logged_and_the_last_good_one_stays() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    hire(&storage).await;
    let file = storage.folder.path().join("questionnaire.toml");
    let good = "[[questions]]\nid = \"car\"\nkind = \"text\"\nru = \"Машина?\"\nen = \"Which car?\"\n";
    std::fs::write(&file, good).unwrap();
    let process = AppProcess::start(&storage, &emulator, &[]);
    // It is stored although no session has begun.
    process.wait_for_log("new questionnaire in use").await;
    process.stop().await;
    std::fs::write(&file, good.replace("text", "guess")).unwrap();
    let process = AppProcess::start(&storage, &emulator, &[]);
    let told = process.wait_for_log("the last good one stays in use").await;
    assert!(told.contains("question 1 (car): its kind is none of text, choice, number, scale"), "{told}");
    begins(&emulator).await;
    emulator.receives(ANNA, "1/1\nWhich car?").await;
    let log = process.stop().await;
    let complaints = log.iter().filter(|line| line.contains("the last good one stays")).count();
    assert_eq!(complaints, 1, "{log:#?}");
    emulator.stop().await;
}

#[tokio::test]
async fn states_of_an_aiogram_bot_are_imported() {
    let (storage, emulator, redis) =
        (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await, RedisServer::start(&[]));
    hire(&storage).await;
    let process = AppProcess::start(&storage, &emulator, &[]);
    begins(&emulator).await;
    emulator.receives(ANNA, "1/8").await;
    presses(&emulator, ANNA, "⏸ Pause").await;
    emulator.receives(ANNA, "Paused.").await;
    process.stop().await;
    let mut connection = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    for (person, state) in [(ANNA, "OnboardingStates:answering"), (BORIS, "ChatStates:active")] {
        let key = format!("fsm:{person}:{person}:state");
        redis::cmd("SET").arg(key).arg(state).exec(&mut connection).unwrap();
    }
    let shape = json!({"tag": "at", "rename_all": "snake_case"});
    let map = json!({
        "dialogues": {"OnboardingStates": shape, "ChatStates": shape},
        "states": {
            "OnboardingStates:answering": {"dialogue": "OnboardingStates", "state": "returning", "fields": {}},
            "ChatStates:active": {"dialogue": "ChatStates", "state": "active", "fields": {}},
        }
    });
    let file = storage.folder.path().join("map.json");
    std::fs::write(&file, map.to_string()).unwrap();
    let (from, bot) = (redis.url(), emulator.token.split(':').next().unwrap());
    let import = ["state", "import", "--from", "aiogram", "--redis", &from, "--bot", bot];
    let store = [("STATE_URL", storage.state.as_str())];
    operator::run(&store, &[&import[..], &["--dialogue-map", file.to_str().unwrap()]].concat()).await.success();
    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "where were we?").await;
    emulator.receives(ANNA, "Let's continue where we left off.").await;
    let log = process.stop().await;
    let moved = "OnboardingStates:returning -> OnboardingStates:question";
    assert!(log.iter().any(|line| line.contains(moved)), "{log:#?}");
    emulator.stop().await;
}
