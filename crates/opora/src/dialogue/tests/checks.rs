//! The check finds all mistakes of a script.

use crate::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Form {
    Name,
    Age(Age),
    Waiting,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Age {
    name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
#[states(version = 4)]
enum Other {
    Only,
}

async fn enter<I>(_: &mut Turn, _: I) -> Step<Form> {
    Ok(Next::Go(Form::Name))
}

async fn age<I>(_: &mut Turn, _: Age, _: I) -> Step<Form> {
    Ok(Next::End)
}

async fn other<I>(_: &mut Turn, _: I) -> Step<Other> {
    Ok(Next::End)
}

fn mistakes(script: impl Into<Script>) -> Vec<String> {
    script.into().check().unwrap_err()
}

#[test]
fn a_sound_script_has_none() {
    let form = Dialogue::new()
        .start(command("start"), enter)
        .on(Form::NAME, button("a:b"), enter)
        .on(Form::NAME, button("a"), enter)
        .on(Form::NAME, text().filter(|text| text.len() > 2), enter)
        .on(Form::NAME, text(), enter)
        .on(Form::NAME, any(), enter)
        .on(Form::AGE, text(), age)
        .on(Form::WAITING, timer("wake"), enter);
    assert_eq!(Script::from(form).check(), Ok(()));
}

#[test]
fn every_state_needs_a_handler() {
    let form = Dialogue::new().start(command("start"), enter).on(Form::NAME, text(), enter);
    assert_eq!(
        mistakes(form),
        ["state `age` of dialogue `form` has no handler", "state `waiting` of dialogue `form` has no handler"]
    );
}

#[test]
fn every_state_needs_a_way_out() {
    let form = Dialogue::new()
        .on(Form::NAME, text(), enter)
        .on(Form::AGE, text(), age)
        .on(Form::WAITING, timer("wake"), enter)
        .never_expires();
    let found = mistakes(Script::new().without_cancel().dialogue(form));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("state `waiting` of dialogue `form` has no way out"), "{found:?}");
}

#[test]
fn no_handler_shadows_another() {
    let form = Dialogue::new()
        .start(command("start"), enter)
        .start(command("start"), enter)
        .on(Form::NAME, any(), enter)
        .on(Form::NAME, text(), enter)
        .on(Form::AGE, button("a"), age)
        .on(Form::AGE, button("ab"), age)
        .on(Form::AGE, image(), age)
        .on(Form::AGE, photo(), age)
        .on(Form::WAITING, timer("wake"), enter)
        .on(Form::WAITING, timer("wake"), enter);
    let never = |state, what, by| {
        format!(
            "state `{state}` of dialogue `form`: the handler of {what} is never reached, because {by} before it takes its inputs"
        )
    };
    assert_eq!(
        mistakes(form),
        [
            "dialogue `form`: the start by command(\"start\") is never reached, because command(\"start\") before it takes its inputs".to_owned(),
            never("name", "text()", "any()"),
            never("age", "button(\"ab\")", "button(\"a\")"),
            never("age", "photo()", "image()"),
            never("waiting", "timer(\"wake\")", "timer(\"wake\")"),
        ]
    );
}

#[test]
fn dialogues_are_checked_together() {
    let form = || {
        Dialogue::new().start(command("start"), enter).on(Form::NAME, text(), enter).on(Form::AGE, text(), age).on(
            Form::WAITING,
            text(),
            enter,
        )
    };
    let only = || Dialogue::new().start(command("start"), other).on(Other::ONLY, text(), other);
    let script = Script::new().dialogue(form()).dialogue(only().upcast(1, Ok).upcast(3, Ok));
    assert_eq!(
        mistakes(script),
        [
            "the dialogues `form` and `other` both start by command(\"start\")",
            "dialogue `other` has no upcast from version 2 to the next"
        ]
    );
    assert_eq!(
        mistakes(form().calls::<Other>()),
        ["dialogue `form` calls `other`, which is not registered; add it to the bot"]
    );
    let twice = Script::new().dialogue(form()).dialogue(form());
    assert_eq!(mistakes(twice)[0], "two dialogues are called `form`; their stored states could not be told apart");
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Swapped {
    Age { name: String },
    Place { street: String, house: std::string::String },
}

#[test]
fn no_handler_takes_two_values_of_one_type() {
    async fn age(_: &mut Turn, _: String, _: String) -> Step<Swapped> {
        Ok(Next::End)
    }
    async fn pressed(_: &mut Turn, _: String, _: Press) -> Step<Swapped> {
        Ok(Next::End)
    }
    async fn place(_: &mut Turn, _: String, _: String, _: Press) -> Step<Swapped> {
        Ok(Next::End)
    }
    async fn ask_place(_: &mut Turn, _: String, _: String) -> Result<(), BoxError> {
        Ok(())
    }
    let swapped = Dialogue::new()
        .on(Swapped::AGE, text(), age)
        .on(Swapped::AGE, any_button(), pressed)
        .ask(Swapped::PLACE, ask_place)
        .on(Swapped::PLACE, any_button(), place);
    let mistake = |state, handler| {
        format!(
            "state `{state}` of dialogue `swapped`: {handler} takes two values of the type `alloc::string::String`, \
             which could be swapped by mistake; put the fields of the state into a struct"
        )
    };
    assert_eq!(
        mistakes(swapped),
        [
            mistake("age", "the handler of text()"),
            mistake("place", "the question"),
            mistake("place", "the handler of any_button()"),
        ]
    );
}
