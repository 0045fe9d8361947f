//! The whole program against an emulator: state and data over a restart, and a session whose state is lost in between.

use serde_json::json;

use crate::demo::{ANNA, BORIS, Demo};
use crate::firm::{Ground, Kind, on_every_database};
use crate::operator;
use crate::product::{Run, silent_emulator};

on_every_database! {
    a_session_goes_on_over_restarts_and_without_its_state,
}

/// Presses the last button of this caption in a person's own chat.
async fn presses(demo: &Demo, person: i64, caption: &str) {
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

async fn a_session_goes_on_over_restarts_and_without_its_state(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let database = ground.database.url();
    for (person, role, name) in [("1001", "employee", "Anna"), ("1002", "manager", "Boris")] {
        let grant = ["people", "grant", person, role, "--name", name, "--language", "en"];
        operator::run(&[("DATABASE_URL", &database)], &grant).await.well();
    }
    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "📝 Questionnaire").await;
    presses(&emulator, ANNA, "I agree").await;
    emulator.hears(ANNA, "1/8").await;
    emulator.says(ANNA, "Annie the painter").await;
    emulator.hears(ANNA, "2/8").await;
    let log = run.stops().await;
    assert!(log.iter().any(|line| line.contains("FSM State [CHANGED]") && line.contains("OnboardingStates:question")));

    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "4").await;
    emulator.hears(ANNA, "3/8").await;
    run.stops().await;

    let bot = emulator.token.split(':').next().unwrap();
    let key = format!("{bot}:{ANNA}:{ANNA}");
    let store = [("STATE_URL", ground.state.as_str()), ("DATABASE_URL", database.as_str())];
    let listed = operator::run(&store, &["state", "list"]).await.well().stdout;
    let key = listed.split_whitespace().find(|word| word.contains("1001")).unwrap_or(&key).to_owned();
    operator::run(&store, &["state", "reset", &key, "--yes"]).await.well();

    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "are you there?").await;
    emulator.hears(ANNA, "Let us go on where we were.").await;
    run.logs("the session is restored from the database").await;
    presses(&emulator, ANNA, "Weekends").await;
    emulator.hears(ANNA, "4/8").await;
    presses(&emulator, ANNA, "⏸ Pause").await;
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "💬 Ask a question").await;
    emulator.hears(ANNA, "Write your question").await;
    emulator.says(ANNA, "Where is my uniform?").await;
    emulator.hears(BORIS, "Anna asks:\n\nWhere is my uniform?").await;
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
