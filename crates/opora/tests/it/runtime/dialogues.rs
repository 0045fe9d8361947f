//! Dialogues from end to end: Back, children, tracks, and cancel.

use std::sync::Arc;

use opora::prelude::*;
use opora::store::Store;

use super::form::{NAME, form};
use crate::stage::{Running, Stage, memory};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Order {
    Drink,
    Size { drink: String },
    Delivery(Delivery),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Delivery {
    drink: String,
    size: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "address")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Address {
    Street,
    House(House),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct House {
    street: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "survey")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Survey {
    Mood,
}

async fn begin(_: &mut Turn, _: Command) -> Step<Order> {
    Ok(Next::Go(Order::Drink))
}

async fn ask_drink(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say("What do you drink?");
    Ok(())
}

async fn drink(_: &mut Turn, drink: String) -> Step<Order> {
    Ok(Next::Go(Order::Size { drink }))
}

async fn ask_size(turn: &mut Turn, drink: String) -> Result<(), BoxError> {
    let sizes = [Button::new("Small", "size:small"), Button::new("Large", "size:large"), Button::new("Back", "back")];
    turn.say(Say::text(format!("How large a {drink}?")).buttons([sizes]));
    Ok(())
}

async fn back(_: &mut Turn, _: Order, _: Press) -> Step<Order> {
    Ok(Next::Back)
}

async fn size(_: &mut Turn, drink: String, press: Press) -> Step<Order> {
    Ok(Next::go_and_call(Order::Delivery(Delivery { drink, size: press.rest }), Address::Street))
}

async fn delivered(turn: &mut Turn, Delivery { drink, size }: Delivery, returned: Returned) -> Step<Order> {
    let place: Option<String> = returned.value()?;
    turn.say(format!("A {size} {drink} to {}.", place.unwrap_or_default()));
    Ok(Next::End)
}

async fn ask_street(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say("Which street?");
    Ok(())
}

async fn street(turn: &mut Turn, street: String) -> Step<Address> {
    turn.say("Which house?");
    Ok(Next::Go(Address::House(House { street })))
}

async fn house(turn: &mut Turn, state: House, house: String) -> Step<Address> {
    turn.set_return_value(&format!("{} {house}", state.street));
    Ok(Next::End)
}

async fn wait_for_address(_: &mut Turn, _: Delivery, _: String) -> Step<Order> {
    Ok(Next::Stay)
}

async fn survey(turn: &mut Turn, _: Order, _: Command) -> Step<Order> {
    turn.open_track("survey", &Survey::Mood);
    Ok(Next::Stay)
}

async fn ask_mood(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say(Say::text("How are you?").buttons([[Button::new("Fine", "fine")]]));
    Ok(())
}

async fn fine(turn: &mut Turn, _: Press) -> Step<Survey> {
    turn.say("Glad to hear it.");
    Ok(Next::End)
}

fn shop() -> Script {
    let order = Dialogue::new()
        .start(command("start"), begin)
        .ask(Order::DRINK, ask_drink)
        .on(Order::DRINK, text(), drink)
        .ask(Order::SIZE, ask_size)
        .on(Order::SIZE, button("size:"), size)
        .on(Order::DELIVERY, text(), wait_for_address)
        .on_returned(Order::DELIVERY, delivered)
        .on_any_state(button("back"), back)
        .on_any_state(command("survey"), survey)
        .calls::<Address>();
    let address = Dialogue::new().ask(Address::STREET, ask_street).on(Address::STREET, text(), street).on(
        Address::HOUSE,
        text(),
        house,
    );
    let survey = Dialogue::new().ask(Survey::MOOD, ask_mood).on(Survey::MOOD, button("fine"), fine);
    Script::new().dialogue(order).dialogue(address).dialogue(survey)
}

/// Completes an order. The bot is restarted between any two steps.
async fn complete_an_order(stage: &Stage, store: impl AsyncFn() -> Arc<dyn Store>) {
    let anna = stage.person("Anna").await;
    let restarted = async |bot: Option<Running>| {
        if let Some(bot) = bot {
            bot.stops().await;
        }
        Running::start(stage.bot(&store().await).script(shop()))
    };
    let bot = restarted(None).await;
    anna.says("/start").await;
    anna.says("tee").await;
    let bot = restarted(Some(bot)).await;
    anna.presses("Back").await;
    anna.receives_exactly(&["What do you drink?", "How large a tee?", "What do you drink?"]).await;
    anna.says("tea").await;
    anna.receives("How large a tea?").await;
    let bot = restarted(Some(bot)).await;
    anna.says("/survey").await;
    anna.receives("How are you?").await;
    anna.presses("Large").await;
    anna.receives("Which street?").await;
    let bot = restarted(Some(bot)).await;
    anna.says("High Street").await;
    anna.receives("Which house?").await;
    anna.presses("Fine").await;
    anna.receives("Glad to hear it.").await;
    let bot = restarted(Some(bot)).await;
    anna.says("7").await;
    anna.receives_exactly(&[
        "What do you drink?",
        "How large a tee?",
        "What do you drink?",
        "How large a tea?",
        "How are you?",
        "Which street?",
        "Which house?",
        "Glad to hear it.",
        "A large tea to High Street 7.",
    ])
    .await;
    bot.stops().await;
}

#[tokio::test]
async fn back_children_and_tracks_work_in_memory() {
    let (stage, store) = (Stage::new().await, memory());
    complete_an_order(&stage, async || Arc::clone(&store)).await;
}

#[tokio::test]
async fn back_children_and_tracks_survive_restarts_in_sqlite() {
    let stage = Stage::new().await;
    complete_an_order(&stage, async || stage.sqlite().await).await;
}

#[tokio::test]
async fn cancel_ends_every_state() {
    let stage = Stage::new().await;
    let (anna, store) = (stage.person("Anna").await, memory());
    let bot = Running::start(stage.bot(&store).script(shop()));
    anna.says("/start").await;
    anna.says("tea").await;
    anna.presses("Small").await;
    anna.says("/cancel").await;
    anna.receives("Cancelled.").await;
    assert_eq!(store.statistics(None).await.unwrap().active, 0);
    anna.says("/cancel").await;
    anna.receives("There is nothing to cancel.").await;
    bot.stops().await;
}

#[tokio::test]
async fn concurrent_conversations_do_not_mix() {
    let stage = Stage::new().await;
    let mut people = Vec::new();
    for number in 0..20 {
        people.push(stage.person(&format!("Person {number}")).await);
    }
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
    let talks = people.iter().enumerate().map(|(number, person)| async move {
        // All at once, like a fast typist: the person's order must be kept.
        person.says("/start").await;
        person.says(&format!("Name {number}")).await;
        person.says("7").await;
        let end = format!("Name {number} is 7.");
        person.receives_exactly(&[NAME, super::form::AGE, &end]).await;
    });
    futures_util::future::join_all(talks).await;
    bot.stops().await;
}
