//! The emulator against a machine-readable description of the Bot API, where `BOTAPI_SCHEMA` names one.
//!
//! Names of methods and parameters must be the same on both sides, and every answer and update of the cases in
//! [`crate::read_back`] must fit the description. Without the variable these tests print a line and pass: the
//! description is not part of this repository.

mod description;

use std::collections::BTreeSet;

use opora_emulator::bot_api::{methods, not_emulated};
use opora_testkit::environment;
use serde_json::{Value, json};

use self::description::Description;
use crate::read_back::scene::{RecordedCall, Scene};
use crate::read_back::{ANSWERS, UPDATES};

/// The description, if there is one.
fn description() -> Option<Description> {
    let path = environment::botapi_schema();
    if path.is_none() {
        eprintln!("skipped: BOTAPI_SCHEMA names no description of the Bot API");
    }
    path.map(|path| Description::read(&path))
}

#[test]
fn every_method_is_emulated_or_known_not_to_be() {
    let Some(description) = description() else { return };
    let emulated: BTreeSet<&str> = methods::all().iter().map(|method| method.name).collect();
    let known: BTreeSet<&str> = not_emulated::KNOWN.iter().copied().collect();
    assert_eq!(emulated.len(), methods::all().len(), "a method is emulated twice");
    assert_eq!(known.len(), not_emulated::KNOWN.len(), "a method is known twice");
    let both: Vec<_> = emulated.intersection(&known).collect();
    assert!(both.is_empty(), "emulated, and said not to be: {both:?}");
    let ours: BTreeSet<&str> = emulated.union(&known).copied().collect();
    let theirs: BTreeSet<&str> = description.methods().collect();
    let (extra, missing) = (&ours - &theirs, &theirs - &ours);
    assert!(extra.is_empty() && missing.is_empty(), "not in the Bot API: {extra:?}; unknown here: {missing:?}");
}

#[test]
fn every_method_has_the_parameters_of_the_bot_api() {
    let Some(description) = description() else { return };
    let mut differences = Vec::new();
    for method in methods::all() {
        let names = method.parameter_names();
        let ours: BTreeSet<&str> = names.iter().copied().collect();
        let theirs: BTreeSet<&str> = description.parameters(method.name).collect();
        if ours.len() != names.len() {
            differences.push(format!("{}: a parameter is named twice", method.name));
        }
        if ours != theirs {
            differences.push(format!("{}: extra {:?}, missing {:?}", method.name, &ours - &theirs, &theirs - &ours));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn every_answer_is_what_the_bot_api_promises() {
    let Some(description) = description() else { return };
    let mut complaints = BTreeSet::new();
    for case in ANSWERS {
        for RecordedCall { method, result, .. } in played(case.play).await {
            description.check_answer(&method, &result, &mut complaints);
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[tokio::test]
async fn every_update_is_what_the_bot_api_promises() {
    let Some(description) = description() else { return };
    let mut complaints = BTreeSet::new();
    for case in UPDATES {
        for call in played(case.play).await {
            for update in call.updates() {
                description.check("Update", update, &mut complaints);
                assert_eq!(update.as_object().unwrap().len(), 2, "an id and one object: {update}");
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

async fn played(play: for<'a> fn(&'a Scene) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>) -> Vec<RecordedCall> {
    let scene = Scene::new().await;
    play(&scene).await;
    scene.calls()
}

/// Needs no description from outside: it brings a small one.
#[test]
fn a_wrong_answer_is_reported() {
    let field =
        |name: &str, types: &[&str], required: bool| json!({"name": name, "types": types, "required": required});
    let description = Description::new(json!({
        "methods": {"get": {"returns": ["Cat", "Boolean"], "fields": []}},
        "types": {
            "Cat": {"fields": [field("lives", &["Integer"], true), field("kittens", &["Array of Cat"], false)]},
            "Dog": {"fields": [field("name", &["String"], true)]},
            "Pet": {"subtypes": ["Cat", "Dog"]},
            "Home": {"fields": [field("pet", &["Pet"], true), field("size", &["Float"], false)]},
        },
    }));
    let told = |kind: &str, value: Value| {
        let mut complaints = BTreeSet::new();
        description.check(kind, &value, &mut complaints);
        complaints.into_iter().collect::<Vec<_>>()
    };
    assert!(told("Home", json!({"pet": {"lives": 9, "kittens": [{"lives": 9}]}, "size": 1})).is_empty());
    assert!(told("Home", json!({"pet": {"name": "Rex"}})).is_empty());
    assert_eq!(told("Cat", json!({})), ["Cat.lives is missing"]);
    assert_eq!(told("Cat", json!({"lives": 9, "claws": 18})), ["Cat.claws is unknown"]);
    assert_eq!(told("Cat", json!({"lives": 9.5})), ["Cat.lives is not Integer: 9.5"]);
    assert_eq!(told("Cat", json!({"lives": 9, "kittens": [{}]})), ["Cat.kittens[].lives is missing"]);
    assert_eq!(told("Home", json!({"pet": {"name": 1}})), [r#"Home.pet is not Pet: {"name":1}"#]);
    let mut complaints = BTreeSet::new();
    description.check_answer("get", &json!(true), &mut complaints);
    assert!(complaints.is_empty());
    description.check_answer("get", &json!("true"), &mut complaints);
    assert_eq!(complaints.into_iter().collect::<Vec<_>>(), [r#"get is not Cat or Boolean: "true""#]);
}
