//! Buttons work once, and only while their state is open.

use std::time::Duration;

use crate::prelude::*;
use crate::store::Filter;
use crate::testing::chat::Stage;

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Quiz {
    Question(Question),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Question {
    number: u32,
    notes: u32,
}

fn question(number: u32) -> Say {
    Say::text(format!("Question {number}?")).buttons([
        vec![Button::new("Yes", "yes"), Button::new("No", "no")],
        vec![Button::new("Note", "note"), Button::new("Hint", "hint").repeatable(), Button::new("Skip", "skip")],
    ])
}

async fn start(turn: &mut Turn, _: Command) -> Step<Quiz> {
    turn.say(question(1));
    Ok(Next::Go(Quiz::Question(Question { number: 1, notes: 0 })))
}

async fn menu(turn: &mut Turn, _: Press) -> Step<Quiz> {
    turn.say("The menu.");
    Ok(Next::Stay)
}

async fn answer(turn: &mut Turn, Question { number, notes }: Question, press: Press) -> Step<Quiz> {
    match &*press.data {
        "note" => {
            turn.toast("Noted.");
            return Ok(Next::StayWith(Quiz::Question(Question { number, notes: notes + 1 })));
        }
        "hint" => {
            turn.alert("Think!");
            return Ok(Next::Stay);
        }
        "skip" => return turn.refuse("Not this one."),
        _ => {}
    }
    if number == 2 {
        turn.say(Say::text(format!("Done with {notes} notes.")).buttons([[Button::new("Menu", "menu")]]));
        return Ok(Next::End);
    }
    turn.say(question(number + 1));
    Ok(Next::Go(Quiz::Question(Question { number: number + 1, notes })))
}

fn quiz() -> Dialogue<Quiz> {
    Dialogue::new().start(command("start"), start).start(button("menu"), menu).on(Quiz::QUESTION, any_button(), answer)
}

#[tokio::test]
async fn a_button_of_an_earlier_question_is_stale() {
    let stage = Stage::new(quiz());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.presses("Yes").await;
    anna.sees("Question 2?");
    for caption in ["Yes", "No"] {
        anna.presses_older(caption, 1).await;
        anna.sees_nothing();
        anna.sees_toast("This button is no longer in use.");
    }
    anna.presses("No").await;
    anna.sees("Done with 0 notes.");
}

#[tokio::test]
async fn a_double_press_acts_once_unless_repeatable_or_refused() {
    let stage = Stage::new(quiz());
    let anna = stage.person("Anna").speaking("ru-RU");
    anna.sends("/start").await;
    anna.presses("Note").await;
    anna.sees_toast("Noted.");
    anna.presses("Note").await;
    anna.sees_toast("Эта кнопка больше не действует.");
    for _ in 0..2 {
        anna.presses("Hint").await;
        anna.sees_toast("Think!");
        anna.presses("Skip").await;
        anna.sees_toast("Not this one.");
    }
    anna.presses("Yes").await;
    anna.presses("Yes").await;
    anna.sees("Done with 1 notes.");
}

#[tokio::test]
async fn a_button_of_an_entry_works_after_its_dialogue_has_ended() {
    let stage = Stage::new(quiz());
    let anna = stage.person("Anna");
    for text in ["/start", "Yes", "Yes"] {
        if text.starts_with('/') { anna.sends(text).await } else { anna.presses(text).await }
    }
    anna.presses("Menu").await;
    anna.sees("The menu.");
    anna.sends("/start").await;
    anna.presses("Menu").await;
    anna.sees("The menu.");
    anna.presses("Menu").await;
    anna.sees_nothing();
}

#[tokio::test]
async fn an_untagged_button_works_if_the_state_handles_it() {
    let stage = Stage::new(quiz());
    let anna = stage.person("Anna");
    anna.presses_data("yes").await;
    anna.sees_nothing();
    anna.sends("/start").await;
    anna.presses_data("yes").await;
    anna.sees("Question 2?");
    anna.presses_data("yes").await;
    anna.sees("Done with 0 notes.");
}

/// At the end of the quiz, with nothing open and a button for the menu.
async fn at_the_end() -> (Stage, crate::testing::chat::ChatUser) {
    let stage = Stage::new(quiz());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.presses("Yes").await;
    anna.presses("Yes").await;
    assert_eq!(anna.state().await, None);
    (stage, anna)
}

#[tokio::test]
async fn a_double_tap_on_an_entry_acts_once_across_a_restart() {
    let (stage, anna) = at_the_end().await;
    anna.presses("Menu").await;
    anna.sees("The menu.");
    anna.presses("Menu").await;
    anna.sees_nothing();
    anna.sees_toast("This button is no longer in use.");
    assert_eq!(anna.state().await, None);
    let anna = anna.on(&stage.restart().await);
    anna.presses("Menu").await;
    anna.sees_nothing();
}

#[tokio::test]
async fn an_entry_button_works_again_later() {
    let (stage, anna) = at_the_end().await;
    anna.presses("Menu").await;
    anna.sends("hello").await;
    anna.presses("Menu").await;
    anna.sees("The menu.");
    stage.advance(Duration::from_secs(3601)).await;
    let kept = stage.store().list(&Filter::default(), None, 10).await.unwrap();
    assert!(kept.is_empty(), "nothing is remembered for ever: {kept:?}");
    anna.presses("Menu").await;
    anna.sees("The menu.");
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Shop {
    Open { visits: u32 },
}

async fn enter(turn: &mut Turn, _: Command) -> Step<Shop> {
    turn.say(Say::text("Come in.").buttons([[Button::new("Out", "out"), Button::new("On", "on")]]));
    Ok(Next::Go(Shop::Open { visits: 0 }))
}

async fn go_out(turn: &mut Turn, _: u32, _: Press) -> Step<Shop> {
    turn.say("Bye.");
    Ok(Next::End)
}

async fn go_on(turn: &mut Turn, visits: u32, _: Press) -> Step<Shop> {
    turn.say("On.");
    Ok(Next::Go(Shop::Open { visits: visits + 1 }))
}

async fn pressed_outside(turn: &mut Turn, _: Press) -> Step<Shop> {
    turn.say("You are outside.");
    Ok(Next::Stay)
}

#[tokio::test]
async fn an_entry_does_not_get_the_second_tap_of_a_state() {
    let shop = Dialogue::new()
        .start(command("start"), enter)
        .start(button("o"), pressed_outside)
        .on(Shop::OPEN, button("out"), go_out)
        .on(Shop::OPEN, button("on"), go_on);
    let stage = Stage::new(shop);
    let anna = stage.person("Anna");
    for (caption, answer) in [("On", "On."), ("Out", "Bye.")] {
        anna.sends("/start").await;
        anna.presses(caption).await;
        anna.sees(answer);
        anna.presses(caption).await;
        anna.sees_nothing();
    }
}
