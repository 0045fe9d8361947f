//! Stored states are upgraded by upcasts; unreadable ones end with a text.

use serde_json::{Value, json};

use crate::clock::Millis;
use crate::prelude::*;
use crate::store::{ConversationRow, MemoryStore, StateName, Store, StoredState, Version};
use crate::testing::chat::Stage;
use crate::turn::Context;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "form", version = 3)]
#[serde(tag = "at", rename_all = "snake_case")]
enum Form {
    Name,
    Age(Age),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Age {
    full_name: String,
    notes: Vec<String>,
}

/// Waits for a text, and says what is in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "look")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Look {
    Around,
}

async fn around(turn: &mut Turn, _: String) -> Step<Look> {
    let draft = turn.draft::<Form>();
    turn.say(format!("There is {draft:?}."));
    Ok(Next::Stay)
}

async fn start(turn: &mut Turn, _: Command) -> Step<Form> {
    let draft = turn.draft::<Form>();
    turn.say(format!("There is {draft:?}."));
    Ok(Next::Go(draft.unwrap_or(Form::Name)))
}

async fn name(_: &mut Turn, full_name: String) -> Step<Form> {
    Ok(Next::Go(Form::Age(Age { full_name, notes: vec![] })))
}

async fn age(turn: &mut Turn, Age { full_name, notes }: Age, age: String) -> Step<Form> {
    turn.say(format!("{full_name} {notes:?} {age}"));
    Ok(Next::Back)
}

fn form() -> Dialogue<Form> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Form::NAME, text(), name)
        .on(Form::AGE, text(), age)
        .upcast(1, |mut value| {
            value["at"] = match value["at"].as_str() {
                Some("enter_age") => "age".into(),
                _ => value["at"].take(),
            };
            if let Some(name) = value.as_object_mut().and_then(|state| state.remove("name")) {
                value["full_name"] = name;
            }
            Ok(value)
        })
        .upcast(2, |mut value| {
            if value["at"] == "age" {
                value["notes"] = json!([]);
            }
            Ok(value)
        })
}

#[test]
fn a_struct_is_stored_as_a_variant_with_the_same_fields() {
    #[derive(Serialize)]
    #[serde(tag = "at", rename_all = "snake_case")]
    enum Tagged {
        Age { full_name: String, notes: Vec<String> },
    }
    #[derive(Serialize)]
    enum Named {
        Age { full_name: String, notes: Vec<String> },
    }
    #[derive(Serialize)]
    enum NamedStruct {
        Age(Age),
    }
    let full_name = String::from("Anna");
    let notes = vec![String::from("tall")];
    let age = Age { full_name: full_name.clone(), notes: notes.clone() };
    let tagged = Tagged::Age { full_name: full_name.clone(), notes: notes.clone() };
    assert_eq!(serde_json::to_string(&Form::Age(age.clone())).unwrap(), serde_json::to_string(&tagged).unwrap());
    let named = Named::Age { full_name, notes };
    assert_eq!(serde_json::to_string(&NamedStruct::Age(age)).unwrap(), serde_json::to_string(&named).unwrap());
}

async fn stage_with(stored: Value) -> Stage {
    let clock = crate::clock::Clock::manual(Millis(1_000_000));
    let store = Arc::new(MemoryStore::new());
    let look = Dialogue::new().on(Look::AROUND, text(), around);
    let script = Script::new().dialogue(form()).dialogue(look);
    let stage = Stage::on(script, Context::new(), store.clone(), clock);
    let key = stage.person("Anna").key();
    let states = vec![StateName { dialogue: "form".into(), state: "enter_age".into() }];
    let stored = StoredState { value: stored.to_string().into(), states, expires_at: None };
    let row = ConversationRow { key, version: Version(5), stored: Some(stored), updated_at: Millis(0) };
    assert!(store.operator().import(&row, false).await.unwrap());
    stage
}

fn frame(schema: u32) -> Value {
    let state = json!({"at": "enter_age", "name": "Anna"});
    let history = json!([{"at": "name", "state": {"at": "name"}}]);
    json!({"dialogue": "form", "schema": schema, "at": "enter_age", "state": state, "entry": 5, "history": history})
}

fn conversation(schema: u32) -> Value {
    json!({"tracks": [{"stack": [frame(schema)]}], "from_the_future": true})
}

/// The fields of the first version of the form.
const BROUGHT_UP: &str = r#"There is Some(Age(Age { full_name: "Anna", notes: [] }))."#;

#[tokio::test]
async fn an_old_state_is_upgraded_with_its_history() {
    let stage = stage_with(conversation(1)).await;
    let anna = crate::testing::chat::ChatUser::first(&stage);
    anna.sends("33").await;
    anna.sees("Anna [] 33");
    assert_eq!(anna.state().await.as_deref(), Some("form:name"));
}

#[tokio::test]
async fn an_unknown_or_newer_state_ends_with_a_text() {
    let strange = json!({"tracks": "none"});
    let unknown =
        json!({"tracks": [{"stack": [{"dialogue": "gone", "schema": 1, "at": "x", "state": 1, "entry": 5}]}]});
    for stored in [conversation(4), conversation(2), strange, unknown] {
        let stage = stage_with(stored).await;
        let anna = crate::testing::chat::ChatUser::first(&stage);
        anna.sends("33").await;
        anna.sees("cannot go on from where we were. Send /start to begin again.");
        assert_eq!(anna.state().await, None);
        anna.sends("/start").await;
        assert_eq!(anna.state().await.as_deref(), Some("form:name"));
    }
}

#[tokio::test]
async fn an_entry_reads_an_upgraded_draft() {
    let stage = stage_with(json!({"tracks": [{"kept": [frame(1)], "kept_since": 5}]})).await;
    let anna = crate::testing::chat::ChatUser::first(&stage);
    anna.sends("/start").await;
    anna.sees(BROUGHT_UP);
    assert_eq!(anna.state().await.as_deref(), Some("form:age"));
}

#[tokio::test]
async fn waiting_and_background_dialogues_are_upgraded() {
    let look = json!({"dialogue": "look", "schema": 1, "at": "around", "state": {"at": "around"}, "entry": 5});
    let below = json!({"tracks": [{"stack": [frame(1), look]}]});
    let beside = json!({"tracks": [{"name": "form", "stack": [frame(1)]}, {"stack": [look]}]});
    for stored in [below, beside] {
        let stage = stage_with(stored).await;
        let anna = crate::testing::chat::ChatUser::first(&stage);
        anna.sends("what is there?").await;
        anna.sees(BROUGHT_UP);
        assert_eq!(anna.state().await.as_deref(), Some("look:around"));
    }
}

#[tokio::test]
async fn a_draft_that_cannot_be_upgraded_does_not_block() {
    let mut strange = frame(1);
    // The upcast panics on this.
    strange["state"] = json!([1]);
    let gone = json!({"dialogue": "gone", "schema": 1, "at": "x", "state": 1, "entry": 5});
    for kept in [frame(2), frame(4), strange, gone] {
        let stage = stage_with(json!({"tracks": [{"kept": [kept], "kept_since": 5}]})).await;
        let anna = crate::testing::chat::ChatUser::first(&stage);
        anna.sends("/start").await;
        anna.sees("There is None.");
        assert_eq!(anna.state().await.as_deref(), Some("form:name"));
    }
}
