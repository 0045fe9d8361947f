//! Buttons: each press acts at most once, and every press is answered.

use opora::prelude::*;

use crate::stage::{Running, Stage, memory};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "counter")]
enum Counter {
    First,
    Second,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Counter> {
    turn.say(Say::text("Which?").buttons([[
        Button::new("Count", "count"),
        Button::new("On", "on"),
        Button::new("Fail", "fail"),
    ]]));
    Ok(Next::Go(Counter::First))
}

async fn count(turn: &mut Turn, _: Press) -> Step<Counter> {
    turn.say("Counted.");
    Ok(Next::Stay)
}

async fn on(turn: &mut Turn, _: Press) -> Step<Counter> {
    turn.toast("On we go.");
    Ok(Next::Go(Counter::Second))
}

async fn fails(_: &mut Turn, _: Press) -> Step<Counter> {
    Err("it always fails".into())
}

async fn text_comes(_: &mut Turn, _: String) -> Step<Counter> {
    Ok(Next::Stay)
}

fn counter() -> Dialogue<Counter> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Counter::FIRST, button("count"), count)
        .on(Counter::FIRST, button("on"), on)
        .on(Counter::FIRST, button("fail"), fails)
        .on(Counter::SECOND, text(), text_comes)
}

const STALE: &str = "This button is no longer in use.";

#[tokio::test]
async fn a_double_tap_acts_once_and_both_taps_are_answered() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(counter()));
    anna.says("/start").await;
    let button = anna.button("Count").await;
    let (first, second, third) =
        tokio::join!(anna.presses_this(&button), anna.presses_this(&button), anna.presses_this(&button));
    let stale = [first, second, third].iter().filter(|answer| answer["text"] == STALE).count();
    assert_eq!(stale, 2);
    anna.receives_exactly(&["Which?", "Counted."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_button_of_an_earlier_step_is_answered_and_does_nothing() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(counter()));
    anna.says("/start").await;
    let count = anna.button("Count").await;
    assert_eq!(anna.presses("On").await["text"], "On we go.");
    assert_eq!(anna.presses_this(&count).await["text"], STALE);
    anna.says("/start").await;
    anna.receives_exactly(&["Which?", "Which?"]).await;
    assert_eq!(anna.presses_this(&count).await["text"], STALE);
    anna.presses("Count").await;
    anna.receives_exactly(&["Which?", "Which?", "Counted."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_press_of_an_unknown_button_is_answered() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(counter()));
    anna.says("/start").await;
    let (message, _) = anna.button("On").await;
    for data in ["whatever", "~7~whatever", "~x~", "~", "~99999999999999999999~on", "opora:again", "~1~opora:again"] {
        anna.presses_this(&(message, data.to_owned())).await;
    }
    anna.says("/cancel").await;
    anna.receives("Cancelled.").await;
    anna.presses_this(&(message, "on".to_owned())).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_press_whose_turn_fails_for_good_is_answered_once() {
    let stage = Stage::new().await;
    let (anna, store) = (stage.person("Anna").await, memory());
    let bot = Running::start(stage.bot(&store).dialogue(counter()));
    anna.says("/start").await;
    anna.presses("Fail").await;
    anna.receives("Something went wrong on our side.").await;
    assert_eq!(store.parked(None, 10).await.unwrap().len(), 1);
    bot.stops().await;
    assert_eq!(stage.calls("answerCallbackQuery").await.len(), 1);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "balance")]
enum Balance {
    Shown,
}

async fn offer(turn: &mut Turn, _: Command) -> Step<Balance> {
    turn.say(Say::text("Hello.").buttons([[Button::new("Balance", "balance")]]));
    Ok(Next::End)
}

async fn balance(turn: &mut Turn, _: Press) -> Step<Balance> {
    turn.say("Your balance.");
    Ok(Next::End)
}

async fn shown(_: &mut Turn, _: String) -> Step<Balance> {
    Ok(Next::End)
}

#[tokio::test]
async fn a_double_tap_on_a_one_step_dialogue_acts_once() {
    let stage = Stage::new().await;
    let (anna, store) = (stage.person("Anna").await, stage.sqlite().await);
    let dialogue = Dialogue::new().start(command("start"), offer).start(button("balance"), balance).on(
        Balance::SHOWN,
        text(),
        shown,
    );
    let polite = |settings: &mut opora::bot::Settings| settings.stop.tell_people = true;
    let bot = Running::start(stage.bot(&store).dialogue(dialogue).settings(polite));
    anna.says("/start").await;
    let button = anna.button("Balance").await;
    let (first, second) = tokio::join!(anna.presses_this(&button), anna.presses_this(&button));
    let stale = [first, second].iter().filter(|answer| answer["text"] == STALE).count();
    assert_eq!(stale, 1);
    anna.receives_exactly(&["Hello.", "Your balance."]).await;
    bot.stops().await;
    // Nothing is open, so no person is told about the stop.
    anna.receives_exactly(&["Hello.", "Your balance."]).await;
}

/// A month of two days with a gap between them, as calendars show it.
fn calendar() -> Dialogue<Counter> {
    async fn show(turn: &mut Turn, _: Command) -> Step<Counter> {
        turn.say(Say::text("Which day?").buttons([[Button::new("1", "on"), Button::new(" ", "count")]]));
        Ok(Next::Go(Counter::First))
    }
    Dialogue::new()
        .start(command("start"), show)
        .on(Counter::FIRST, button("count"), count)
        .on(Counter::FIRST, button("on"), on)
        .on(Counter::SECOND, text(), text_comes)
}

#[tokio::test]
async fn a_spacer_button_works_here_and_in_chat_tests() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(calendar()));
    anna.says("/start").await;
    anna.presses(" ").await;
    anna.receives_exactly(&["Which day?", "Counted."]).await;
    bot.stops().await;

    let stage = opora::testing::chat::Stage::new(calendar());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.presses(" ").await;
    anna.sees("Counted.");
}
