//! Which dialogue gets a timer, an alarm or an outcome while others are open.

use std::time::Duration;

use serde_json::json;

use crate::prelude::*;
use crate::testing::chat::Stage;

const MINUTE: Duration = Duration::from_secs(60);

/// The dialogue that asks for timers and effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "booking")]
enum Booking {
    Table,
    Guests,
}

/// Another dialogue, which handles every timer and outcome that it gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order")]
enum Order {
    Dish,
    Side,
}

async fn remind(turn: &mut Turn, command: Command) -> Step<Booking> {
    turn.timer("reminder", MINUTE, &command.argument);
    Ok(Next::Stay)
}

async fn forget(turn: &mut Turn, _: Command) -> Step<Booking> {
    turn.cancel_timer("reminder");
    Ok(Next::Stay)
}

async fn table(_: &mut Turn, _: Command) -> Step<Booking> {
    Ok(Next::Go(Booking::Table))
}

async fn charge(turn: &mut Turn, command: Command) -> Step<Booking> {
    turn.effect("charge", &command.argument);
    Ok(Next::Stay)
}

async fn entry_reminds(turn: &mut Turn, timer: Timer) -> Step<Booking> {
    turn.say(format!("The entry reminds of {}.", timer.body::<String>()?));
    Ok(Next::Stay)
}

async fn table_reminds(turn: &mut Turn, timer: Timer) -> Step<Booking> {
    turn.say(format!("The table reminds of {}.", timer.body::<String>()?));
    Ok(Next::Stay)
}

async fn table_text(turn: &mut Turn, text: String) -> Step<Booking> {
    Ok(match &*text {
        "child" => {
            turn.timer("reminder", MINUTE, &"the table");
            Next::call(Order::Dish)
        }
        "beside" => {
            turn.open_track("kitchen", &Order::Dish);
            Next::Stay
        }
        _ => Next::Go(Booking::Guests),
    })
}

async fn table_paid(turn: &mut Turn, outcome: Outcome) -> Step<Booking> {
    turn.say(format!("The table has paid {}.", outcome.result::<String>()?));
    Ok(Next::Stay)
}

async fn paid_late(turn: &mut Turn, outcome: Outcome) -> Step<Booking> {
    turn.say(format!("Booking has paid {}.", outcome.result::<String>()?));
    Ok(Next::Stay)
}

async fn order(_: &mut Turn, _: Command) -> Step<Order> {
    Ok(Next::Go(Order::Dish))
}

async fn dish_text(turn: &mut Turn, text: String) -> Step<Order> {
    if text == "end" {
        turn.timer("tip", MINUTE, &());
        turn.set_return_value(&"soup");
        return Ok(Next::End);
    }
    Ok(Next::Go(Order::Side))
}

async fn order_hears_timer(turn: &mut Turn, _: Order, timer: Timer) -> Step<Order> {
    turn.say(format!("The order hears {}.", timer.name));
    Ok(Next::Stay)
}

async fn order_hears_outcome(turn: &mut Turn, _: Order, _: Outcome) -> Step<Order> {
    turn.say("The order hears an outcome.");
    Ok(Next::Stay)
}

async fn order_late(turn: &mut Turn, _: Outcome) -> Step<Order> {
    turn.say("The order hears a late outcome.");
    Ok(Next::Stay)
}

async fn tip(turn: &mut Turn, _: Timer) -> Step<Order> {
    turn.say("A tip?");
    Ok(Next::Stay)
}

fn booking() -> Dialogue<Booking> {
    Dialogue::new()
        .start(command("remind"), remind)
        .start(command("forget"), forget)
        .start(command("table"), table)
        .start(command("charge"), charge)
        .on(Booking::TABLE, text(), table_text)
        .on(Booking::TABLE, timer("reminder"), table_reminds)
        .on(Booking::TABLE, outcome("charge"), table_paid)
        .on(Booking::GUESTS, text(), table_text)
}

fn with(booking: Dialogue<Booking>) -> Stage {
    let order = Dialogue::new()
        .start(command("order"), order)
        .start(timer("tip"), tip)
        .on(Order::DISH, text(), dish_text)
        .on(Order::SIDE, text(), dish_text)
        .on_any_state(timer("reminder"), order_hears_timer)
        .on_any_state(outcome("charge"), order_hears_outcome)
        .on_late_outcome(order_late);
    Stage::new(Script::new().dialogue(booking).dialogue(order))
}

#[tokio::test]
async fn a_timer_is_not_bound_to_another_dialogues_state() {
    let stage = with(booking().start(timer("reminder"), entry_reminds));
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/remind tea").await;
    anna.sends("soup").await;
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["The entry reminds of tea."]);
    assert_eq!(anna.state().await.as_deref(), Some("order:side"));
    assert!(stage.unhandled().await.is_empty());
}

#[tokio::test]
async fn an_entry_cancels_its_timer_while_another_is_open() {
    let stage = with(booking().start(timer("reminder"), entry_reminds));
    let anna = stage.person("Anna");
    anna.sends("/remind tea").await;
    anna.sends("/order").await;
    anna.sends("/forget").await;
    stage.advance(MINUTE).await;
    anna.sees_nothing();
}

#[tokio::test]
async fn a_timer_of_an_entry_is_bound_to_its_own_open_state() {
    let stage = with(booking().start(timer("reminder"), entry_reminds));
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("/remind tea").await;
    stage.advance(MINUTE).await;
    anna.sees("The table reminds of tea.");
}

#[tokio::test]
async fn a_timer_that_is_set_with_a_call_reaches_the_parent() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("child").await;
    assert_eq!(anna.state().await.as_deref(), Some("order:dish"));
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["The table reminds of the table."]);
}

#[tokio::test]
async fn a_timer_of_an_ended_child_goes_to_an_entry() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("child").await;
    anna.sends("end").await;
    assert_eq!(anna.state().await.as_deref(), Some("booking:table"));
    stage.advance(MINUTE).await;
    anna.sees("A tip?");
}

#[tokio::test]
async fn an_unexpected_return_value_is_ignored() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("end").await;
    anna.sees_nothing();
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_track_does_not_get_timers_of_the_foreground() {
    let stage = with(booking().start(timer("reminder"), entry_reminds));
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("beside").await;
    anna.sends("/remind tea").await;
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["The table reminds of tea."]);
}

#[tokio::test]
async fn an_unhandled_timer_is_kept_for_the_operator() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/remind tea").await;
    stage.advance(MINUTE).await;
    anna.sees_nothing();
    assert_eq!(stage.unhandled().await, ["no entry for the timer `reminder` of dialogue `booking`"]);
}

#[tokio::test]
async fn a_timer_whose_state_is_over_leaves_no_row() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("/remind tea").await;
    anna.sends("on").await;
    stage.advance(MINUTE).await;
    anna.sees_nothing();
    assert!(stage.unhandled().await.is_empty());
}

#[tokio::test]
async fn an_outcome_belongs_to_the_dialogue_that_asked() {
    let stage = with(booking().on_late_outcome(paid_late));
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/charge tea").await;
    stage.finish_effect("charge", json!("5")).await;
    assert_eq!(anna.answers(), ["Booking has paid 5."]);
    assert_eq!(anna.state().await.as_deref(), Some("order:dish"));
}

#[tokio::test]
async fn an_outcome_reaches_its_open_state_below_a_child() {
    let stage = with(booking().on_late_outcome(paid_late));
    let anna = stage.person("Anna");
    anna.sends("/table").await;
    anna.sends("child").await;
    anna.sends("/charge tea").await;
    stage.finish_effect("charge", json!("5")).await;
    assert_eq!(anna.answers(), ["The table has paid 5."]);
}

#[tokio::test]
async fn an_entry_handles_an_outcome_without_a_state() {
    let stage = with(booking().start(outcome("charge"), paid_late));
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/charge tea").await;
    stage.finish_effect("charge", json!("5")).await;
    assert_eq!(anna.answers(), ["Booking has paid 5."]);
}

#[tokio::test]
async fn an_unhandled_outcome_is_kept_for_the_operator() {
    let stage = with(booking());
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/charge tea").await;
    stage.finish_effect("charge", json!("5")).await;
    anna.sees_nothing();
    assert_eq!(stage.unhandled().await, ["no handler of dialogue `booking` handles the outcome of `charge`"]);
}

async fn inform(turn: &mut Turn, _: Command) -> Step<Booking> {
    turn.effect_without_outcome("inform", &());
    Ok(Next::Stay)
}

#[tokio::test]
async fn effect_without_outcome_reports_only_failures() {
    let stage = with(booking().start(command("inform"), inform));
    let anna = stage.person("Anna");
    anna.sends("/inform").await;
    stage.finish_effect("inform", json!(null)).await;
    assert!(stage.unhandled().await.is_empty());
    anna.sends("/inform").await;
    stage.fail_effect("inform", "no line").await;
    assert_eq!(stage.unhandled().await, ["no handler of dialogue `booking` handles the outcome of `inform`"]);
}

async fn alarm_me(turn: &mut Turn, command: Command) -> Step<Booking> {
    turn.alarm(format!("reminder:{}", command.argument), MINUTE, &command.argument);
    Ok(Next::Stay)
}

async fn no_alarm(turn: &mut Turn, command: Command) -> Step<Booking> {
    turn.cancel_alarm(format!("reminder:{}", command.argument));
    Ok(Next::Stay)
}

async fn goes_off(turn: &mut Turn, alarm: Alarm) -> Step<Booking> {
    turn.say(format!("{}: {}", alarm.rest, alarm.body::<String>()?));
    Ok(Next::Stay)
}

async fn goes_off_for_tea(turn: &mut Turn, alarm: Alarm) -> Step<Booking> {
    turn.say(format!("Tea! ({})", alarm.name));
    Ok(Next::Stay)
}

fn alarms() -> Dialogue<Booking> {
    booking().start(command("alarm"), alarm_me).start(command("off"), no_alarm)
}

#[tokio::test]
async fn an_alarm_outlives_states_and_matches_by_prefix() {
    let stage = with(alarms().start(alarm("reminder:"), goes_off));
    let anna = stage.person("Anna");
    anna.sends("/order").await;
    anna.sends("/alarm 17").await;
    anna.sends("/alarm 18").await;
    anna.sends("/off 18").await;
    anna.sends("soup").await;
    anna.sends("/cancel").await;
    let stage = stage.restart().await;
    let anna = anna.on(&stage);
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["Cancelled.", "17: 17"]);
}

#[tokio::test]
async fn of_two_alarm_prefixes_the_longer_one_hears() {
    let stage = with(alarms().start(alarm("reminder:tea"), goes_off_for_tea).start(alarm("reminder:"), goes_off));
    let anna = stage.person("Anna");
    anna.sends("/alarm tea").await;
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["Tea! (reminder:tea)"]);
}

#[tokio::test]
async fn an_unhandled_alarm_is_kept_for_the_operator() {
    let stage = with(alarms());
    let anna = stage.person("Anna");
    anna.sends("/alarm tea").await;
    stage.advance(MINUTE).await;
    anna.sees_nothing();
    assert_eq!(stage.unhandled().await, ["no entry handles the alarm `reminder:tea`"]);
}
