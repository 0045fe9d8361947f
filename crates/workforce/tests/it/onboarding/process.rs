//! The whole program against an emulator: state and data over a restart, and a session whose state is lost in between.

use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{Ground, Kind, on_every_database};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;

on_every_database! {
    a_session_goes_on_over_restarts_and_without_its_state,
}

/// Presses the last button of this caption in a person's own chat.
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

/// Anna works here, and Boris is in charge.
pub async fn hire(ground: &Ground) {
    let database = ground.database.url();
    for (person, role, name) in [("1001", "employee", "Anna"), ("1002", "manager", "Boris")] {
        let grant = ["people", "grant", person, role, "--name", name, "--language", "en"];
        operator::run(&[("DATABASE_URL", &database)], &grant).await.well();
    }
}

async fn begins(emulator: &Demo) {
    emulator.says(ANNA, "/start").await;
    presses(emulator, ANNA, "📝 Questionnaire").await;
    presses(emulator, ANNA, "I agree").await;
}

async fn a_session_goes_on_over_restarts_and_without_its_state(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let database = ground.database.url();
    hire(&ground).await;
    let run = Run::start(&ground, &emulator, &[]);
    begins(&emulator).await;
    emulator.hears(ANNA, "1/8").await;
    emulator.says(ANNA, "Annie the painter").await;
    emulator.hears(ANNA, "2/8").await;
    let log = run.stops().await;
    assert!(log.iter().any(|line| line.contains("FSM State [CHANGED]") && line.contains("OnboardingStates:question")));

    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "4").await;
    emulator.hears(ANNA, "3/8").await;
    run.stops().await;

    let store = [("STATE_URL", ground.state.as_str()), ("DATABASE_URL", database.as_str())];
    let listed = operator::run(&store, &["state", "list"]).await.well().stdout;
    let key = listed.split_whitespace().find(|word| word.contains("1001")).expect("Anna's conversation is listed");
    operator::run(&store, &["state", "reset", key, "--yes"]).await.well();

    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "are you there?").await;
    emulator.hears(ANNA, "Let us go on where we were.").await;
    run.logs("the session is restored from the database").await;
    // The buttons of the lost state are stale: only those of the question that was asked again count.
    let asked =
        async |demo: &Demo| demo.texts(ANNA).await.iter().filter(|text| text.starts_with("3/8")).nth(1).map(drop);
    emulator.until("the third question is asked again", asked).await;
    presses(&emulator, ANNA, "Weekends").await;
    emulator.hears(ANNA, "4/8").await;
    presses(&emulator, ANNA, "⏸ Pause").await;
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "💬 Ask a question").await;
    emulator.hears(ANNA, "Write your question").await;
    emulator.says(ANNA, "Where is my uniform?").await;
    emulator.hears(BORIS, "Anna writes:\n\nWhere is my uniform?").await;
    presses(&emulator, BORIS, "Reply").await;
    emulator.hears(BORIS, "Write your answer to Anna.").await;
    emulator.says(BORIS, "On the second shelf").await;
    emulator.hears(ANNA, "Boris answers:\n\nOn the second shelf").await;
    let log = run.stops().await.join("\n");
    for text in ["are you there", "uniform", "second shelf"] {
        assert!(!log.contains(text), "{text:?} is in the log");
    }
    emulator.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_told_in_the_log_and_the_last_good_one_stays_over_restarts() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    hire(&ground).await;
    let file = ground.folder.path().join("questionnaire.toml");
    let good = "[[questions]]\nid = \"car\"\nkind = \"text\"\nru = \"Машина?\"\nen = \"Which car?\"\n";
    std::fs::write(&file, good).unwrap();
    let run = Run::start(&ground, &emulator, &[]);
    // Nobody has begun: it is noted all the same.
    run.logs("a questionnaire is in force from now on").await;
    run.stops().await;
    std::fs::write(&file, good.replace("text", "guess")).unwrap();
    let run = Run::start(&ground, &emulator, &[]);
    let told = run.logs("the last good one stays in force").await;
    assert!(told.contains("question 1 (car): its kind is none of text, choice, number, scale"), "{told}");
    begins(&emulator).await;
    emulator.hears(ANNA, "1/1\nWhich car?").await;
    let log = run.stops().await;
    let complaints = log.iter().filter(|line| line.contains("the last good one stays")).count();
    assert_eq!(complaints, 1, "{log:#?}");
    emulator.stop().await;
}

#[tokio::test]
async fn the_states_of_an_aiogram_bot_come_along_by_their_names() {
    let (ground, emulator, redis) = (Ground::new(Kind::Sqlite).await, silent_emulator().await, RedisServer::start(&[]));
    hire(&ground).await;
    let run = Run::start(&ground, &emulator, &[]);
    begins(&emulator).await;
    emulator.hears(ANNA, "1/8").await;
    presses(&emulator, ANNA, "⏸ Pause").await;
    emulator.hears(ANNA, "Paused.").await;
    run.stops().await;
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
    let file = ground.folder.path().join("map.json");
    std::fs::write(&file, map.to_string()).unwrap();
    let (from, bot) = (redis.url(), emulator.token.split(':').next().unwrap());
    let import = ["state", "import", "--from", "aiogram", "--redis", &from, "--bot", bot];
    let store = [("STATE_URL", ground.state.as_str())];
    operator::run(&store, &[&import[..], &["--dialogue-map", file.to_str().unwrap()]].concat()).await.well();
    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "where were we?").await;
    emulator.hears(ANNA, "Let us go on where we were.").await;
    let log = run.stops().await;
    let moved = "OnboardingStates:returning -> OnboardingStates:question";
    assert!(log.iter().any(|line| line.contains(moved)), "{log:#?}");
    emulator.stop().await;
}
