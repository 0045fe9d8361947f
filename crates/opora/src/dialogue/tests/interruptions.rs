//! Failing handlers, expiry, and states restored by the application.

use std::time::Duration;

use crate::prelude::*;
use crate::testing::chat::Stage;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
enum Form {
    Name,
    Age(Age),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Age {
    name: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Form> {
    if let Some(draft) = turn.draft::<Form>() {
        turn.say(format!("There is a draft at {}.", draft.name()));
    }
    Ok(Next::Go(Form::Name))
}

async fn name(_: &mut Turn, name: String) -> Step<Form> {
    Ok(Next::Go(Form::Age(Age { name })))
}

async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Form> {
    if age.parse::<u32>().is_err() {
        turn.say("This must not be seen.");
    }
    match &*age {
        "panic" => panic!("as asked"),
        "much" => (0..101).for_each(|n| turn.say(format!("{n}"))),
        _ => {}
    }
    let age: u32 = age.parse()?;
    turn.say(format!("{} is {age}.", state.name));
    Ok(Next::End)
}

async fn ask_age(turn: &mut Turn, state: Age) -> Result<(), BoxError> {
    turn.say(format!("How old is {}?", state.name));
    Ok(())
}

fn form() -> Dialogue<Form> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Form::NAME, text(), name)
        .on(Form::AGE, text(), age)
        .ask(Form::AGE, ask_age)
}

async fn at_age(form: Dialogue<Form>) -> (Stage, crate::testing::chat::ChatUser) {
    let stage = Stage::new(form);
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("Anna").await;
    anna.sees("How old is Anna?");
    (stage, anna)
}

#[tokio::test]
async fn after_a_failure_try_again_resumes_the_draft() {
    for failure in ["not a number", "panic", "much"] {
        let (_stage, anna) = at_age(form()).await;
        anna.sends(failure).await;
        assert_eq!(anna.answers(), ["Something went wrong on our side. What you have entered is kept."]);
        anna.sees_button("Cancel");
        assert_eq!(anna.state().await, None);
        anna.sends("33").await;
        anna.sees_button("Try again");
        anna.presses("Try again").await;
        anna.sees("How old is Anna?");
        anna.presses("Try again").await;
        anna.sees_toast("no longer");
        anna.sends("33").await;
        anna.sees("Anna is 33.");
    }
}

#[tokio::test]
async fn a_draft_can_be_dropped_and_read_by_an_entry() {
    let (_stage, anna) = at_age(form()).await;
    anna.sends("x").await;
    anna.presses("Cancel").await;
    anna.sees("Cancelled.");
    anna.sends("hello").await;
    anna.sees_nothing();

    let (_stage, anna) = at_age(form()).await;
    anna.sends("x").await;
    anna.sends("/start").await;
    anna.sees("There is a draft at age.");
    assert_eq!(anna.state().await.as_deref(), Some("form:name"));
}

#[tokio::test]
async fn a_dialogue_may_stay_end_or_handle_its_failures() {
    let (_stage, anna) = at_age(form().on_error(OnError::Stay)).await;
    anna.sends("x").await;
    anna.sees("How old is Anna?");
    assert_eq!(anna.state().await.as_deref(), Some("form:age"));

    let (_stage, anna) = at_age(form().on_error(OnError::End)).await;
    anna.sends("x").await;
    anna.sees("Please try again later.");
    assert_eq!(anna.state().await, None);

    async fn own(turn: &mut Turn, state: Form, failure: Failure) -> Step<Form> {
        turn.say(format!("{} failed: {}", state.name(), failure.reason));
        Ok(Next::Go(Form::Name))
    }
    let (_stage, anna) = at_age(form().on_failed_turn(own)).await;
    anna.sends("x").await;
    anna.sees("age failed: invalid digit found in string");
    assert_eq!(anna.state().await.as_deref(), Some("form:name"));
}

#[tokio::test]
async fn every_input_restarts_the_expiry_and_its_end_is_told() {
    let (stage, anna) = at_age(form().expires_after(Duration::from_secs(900)).on_error(OnError::Stay)).await;
    stage.advance(Duration::from_secs(899)).await;
    anna.sends("x").await;
    stage.advance(Duration::from_secs(899)).await;
    assert_eq!(anna.state().await.as_deref(), Some("form:age"));
    stage.advance(Duration::from_secs(1)).await;
    anna.sees("It has been a while, so I have closed this. Send /start to begin again.");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_timeout_handler_may_give_another_life() {
    async fn late(turn: &mut Turn, state: Form) -> Step<Form> {
        turn.say(format!("Still there at {}?", state.name()));
        Ok(if state == Form::Name { Next::End } else { Next::Go(Form::Name) })
    }
    let (stage, anna) = at_age(form().on_expiry(late)).await;
    stage.advance(Duration::from_secs(24 * 3600)).await;
    anna.sees("Still there at age?");
    assert_eq!(anna.state().await.as_deref(), Some("form:name"));
    stage.advance(Duration::from_secs(24 * 3600)).await;
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn restore_is_called_only_when_nothing_is_open() {
    async fn hook(turn: &mut Turn, input: Input) -> Step<Form> {
        turn.say("Looked up.");
        Ok(match input {
            Input::Text(text) if text == "stay" => Next::Stay,
            _ => Next::Go(Form::Age(Age { name: "Anna".into() })),
        })
    }
    let stage = Stage::new(form().restore(hook));
    let anna = stage.person("Anna");
    anna.sends("stay").await;
    assert_eq!((anna.answers(), anna.state().await), (vec!["Looked up.".to_owned()], None));
    anna.sends("33").await;
    anna.sees("Anna is 33.");
    anna.sends("/start").await;
    anna.sends("Anna").await;
    assert_eq!(anna.answers(), ["How old is Anna?"]);
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Scales {
    Empty,
    Loaded { kg: f64 },
}

#[tokio::test]
async fn a_new_state_that_cannot_be_read_fails_only_its_turn() {
    async fn start(_: &mut Turn, _: Command) -> Step<Scales> {
        Ok(Next::Go(Scales::Empty))
    }
    async fn load(_: &mut Turn, kg: String) -> Step<Scales> {
        // JSON has no NaN: it is written as null.
        Ok(Next::Go(Scales::Loaded { kg: kg.parse()? }))
    }
    async fn ask(turn: &mut Turn, kg: f64) -> Result<(), BoxError> {
        turn.say(format!("{kg} kg?"));
        Ok(())
    }
    async fn unload(_: &mut Turn, _: f64, _: String) -> Step<Scales> {
        Ok(Next::End)
    }
    let scales = Dialogue::new()
        .start(command("start"), start)
        .on(Scales::EMPTY, text(), load)
        .on(Scales::LOADED, text(), unload)
        .ask(Scales::LOADED, ask)
        .on_error(OnError::Stay);
    let stage = Stage::new(scales);
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("NaN").await;
    assert_eq!(anna.state().await.as_deref(), Some("scales:empty"));
    anna.sends("7").await;
    anna.sees("7 kg?");
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Side {
    Open,
}

#[tokio::test]
async fn a_failing_expiry_handler_fails_its_own_dialogue() {
    async fn start(turn: &mut Turn, _: Command) -> Step<Form> {
        turn.open_track("side", &Side::Open);
        Ok(Next::Go(Form::Name))
    }
    async fn fails(_: &mut Turn, _: Side) -> Step<Side> {
        // Other tasks run in between, so that an endless loop can time out.
        tokio::time::sleep(Duration::from_millis(1)).await;
        Err("a bad day".into())
    }
    async fn heard(_: &mut Turn, _: String) -> Step<Side> {
        Ok(Next::Stay)
    }
    let form = Dialogue::new().start(command("start"), start).on(Form::NAME, text(), name).on(Form::AGE, text(), age);
    let side = Dialogue::new().on(Side::OPEN, text(), heard).expires_after(Duration::from_secs(60)).on_expiry(fails);
    let stage = Stage::new(crate::dialogue::Script::new().dialogue(form).dialogue(side));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    let passes = stage.advance(Duration::from_secs(61));
    tokio::time::timeout(Duration::from_secs(5), passes).await.expect("it fails without end");
    assert_eq!(anna.answers().iter().filter(|text| text.contains("went wrong")).count(), 1);
    assert_eq!(anna.state().await.as_deref(), Some("form:name"), "the other dialogue is not to blame");
}

#[tokio::test]
async fn try_again_works_only_for_the_last_failure() {
    let (_stage, anna) = at_age(form()).await;
    anna.sends("seven").await;
    anna.presses("Try again").await;
    anna.sees("How old is Anna?");
    anna.sends("eight").await;
    for caption in ["Try again", "Cancel"] {
        anna.presses_older(caption, 1).await;
        anna.sees_nothing();
        anna.sees_toast("This button is no longer in use.");
    }
    // After a second offer of the same draft, both offers work.
    anna.sends("hello?").await;
    anna.sees_button("Try again");
    anna.presses_older("Try again", 1).await;
    anna.sees("How old is Anna?");
}
