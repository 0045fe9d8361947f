//! Transitions, Back, children and tracks.

use crate::prelude::*;
use crate::testing::chat::Stage;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order")]
enum Order {
    Item,
    Count(Count),
    Place { count: u32 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Count {
    before: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "address")]
enum Address {
    Street,
    House(House),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct House {
    street: String,
}

async fn start(_: &mut Turn, _: Command) -> Step<Order> {
    Ok(Next::Go(Order::Item))
}

async fn ask_item(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say("Which item?");
    Ok(())
}

async fn ask_count(turn: &mut Turn, state: Count) -> Result<(), BoxError> {
    turn.say(format!("How many? {} so far.", state.before));
    Ok(())
}

async fn item(_: &mut Turn, _: String) -> Step<Order> {
    Ok(Next::Go(Order::Count(Count { before: 0 })))
}

async fn count(_: &mut Turn, Count { before }: Count, more: u32) -> Step<Order> {
    Ok(match more {
        0 => Next::go_and_call(Order::Place { count: before }, Address::Street),
        _ => Next::Go(Order::Count(Count { before: before + more })),
    })
}

async fn back(_: &mut Turn, _: Order, _: String) -> Step<Order> {
    Ok(Next::Back)
}

async fn placed(turn: &mut Turn, count: u32, address: Returned) -> Step<Order> {
    let address: Option<String> = address.value()?;
    turn.say(format!("{count} to {}", address.unwrap_or_else(|| "nowhere".into())));
    Ok(Next::End)
}

async fn street(turn: &mut Turn, street: String) -> Step<Address> {
    turn.say("Which house?");
    Ok(Next::Go(Address::House(House { street })))
}

async fn house(turn: &mut Turn, state: House, house: String) -> Step<Address> {
    turn.set_return_value(&format!("{} {house}", state.street));
    Ok(Next::End)
}

async fn leave(_: &mut Turn, _: Address, _: String) -> Step<Address> {
    Ok(Next::Back)
}

async fn ask_street(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say("Which street?");
    Ok(())
}

fn script() -> Script {
    let order = Dialogue::new()
        .start(command("start"), start)
        .ask(Order::ITEM, ask_item)
        .ask(Order::COUNT, ask_count)
        .on(Order::ITEM, text(), item)
        .on(Order::COUNT, text().parse::<u32>(), count)
        .on_returned(Order::PLACE, placed)
        .on_any_state(exactly("back"), back)
        .calls::<Address>()
        .history(3);
    let address = Dialogue::new()
        .ask(Address::STREET, ask_street)
        .on(Address::STREET, text(), street)
        .on(Address::HOUSE, text(), house)
        .on_any_state(exactly("back"), leave);
    Script::new().dialogue(order).dialogue(address)
}

#[tokio::test]
async fn a_question_is_asked_however_its_state_is_entered() {
    let stage = Stage::new(script());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sees("Which item?");
    anna.sends("tea").await;
    anna.sees("0 so far");
    anna.sends("a few").await;
    anna.sees("does not fit");
    anna.sees("0 so far");
    anna.sends("back").await;
    anna.sees("Which item?");
    assert_eq!(anna.state().await.as_deref(), Some("order:item"));
    anna.sends("back").await;
    anna.sees("Which item?");
}

#[tokio::test]
async fn back_goes_as_far_as_history_reaches() {
    let stage = Stage::new(script());
    let anna = stage.person("Anna");
    for text in ["/start", "tea", "1", "2", "3", "4"] {
        anna.sends(text).await;
    }
    for so_far in [6, 3, 1, 1] {
        anna.sends("back").await;
        anna.sees(&format!("{so_far} so far"));
    }
}

#[tokio::test]
async fn a_child_returns_what_it_gives_back() {
    let stage = Stage::new(script());
    let anna = stage.person("Anna");
    for text in ["/start", "tea", "2", "0"] {
        anna.sends(text).await;
    }
    anna.sees("Which street?");
    assert_eq!(anna.state().await.as_deref(), Some("address:street"));
    let stage = stage.restart().await;
    let anna = anna.on(&stage);
    anna.sends("Elm Street").await;
    anna.sends("7").await;
    anna.sees("2 to Elm Street 7");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn back_from_the_first_state_of_a_child_returns_to_its_parent() {
    let stage = Stage::new(script());
    let anna = stage.person("Anna");
    for text in ["/start", "tea", "2", "0", "back"] {
        anna.sends(text).await;
    }
    anna.sees("2 to nowhere");
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Lamp {
    Off { pressed: u32 },
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Talk {
    Going,
}

async fn begin(turn: &mut Turn, _: Command) -> Step<Talk> {
    turn.open_track("lamp", &Lamp::Off { pressed: 0 });
    turn.say("Let us talk.");
    Ok(Next::Go(Talk::Going))
}

async fn talk(turn: &mut Turn, text: String) -> Step<Talk> {
    turn.say(format!("You said {text}."));
    if text == "lamp" {
        assert!(turn.bring_to_front("lamp"));
    }
    Ok(if text == "bye" { Next::End } else { Next::Stay })
}

async fn show(turn: &mut Turn, pressed: u32) -> Result<(), BoxError> {
    turn.say(Say::text(format!("Pressed {pressed}.")).buttons([[Button::new("Switch", "switch")]]));
    Ok(())
}

async fn switch(_: &mut Turn, pressed: u32, _: Press) -> Step<Lamp> {
    Ok(Next::Go(Lamp::Off { pressed: pressed + 1 }))
}

async fn dark(turn: &mut Turn, _: u32, text: String) -> Step<Lamp> {
    turn.say(format!("The lamp hears {text}."));
    Ok(if text == "out" { Next::End } else { Next::Stay })
}

#[tokio::test]
async fn the_foreground_gets_texts_and_each_track_its_buttons() {
    let lamp = Dialogue::new().ask(Lamp::OFF, show).on(Lamp::OFF, button("switch"), switch).on(Lamp::OFF, text(), dark);
    let talking = Dialogue::new().start(command("start"), begin).on(Talk::GOING, text(), talk);
    let stage = Stage::new(Script::new().dialogue(talking).dialogue(lamp));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sees("Pressed 0.");
    anna.sends("hello").await;
    anna.sees("You said hello.");
    anna.presses("Switch").await;
    anna.sees("Pressed 1.");
    anna.presses_older("Switch", 1).await;
    anna.sees_nothing();
    anna.sees_toast("no longer");
    assert_eq!(anna.state().await.as_deref(), Some("talk:going"));
    anna.sends("lamp").await;
    anna.sends("hello").await;
    anna.sees("The lamp hears hello.");
    anna.sends("out").await;
    anna.sends("bye").await;
    anna.sees("You said bye.");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_short_handler_can_be_a_closure() {
    let talking = Dialogue::new()
        .start(command("start"), async |turn: &mut Turn, _: Command| -> Step<Talk> {
            turn.say("Let us talk.");
            Ok(Next::Go(Talk::Going))
        })
        .on(Talk::GOING, text(), async |turn: &mut Turn, text: String| turn.refuse(text));
    let stage = Stage::new(talking);
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("echo").await;
    assert_eq!(anna.answers(), ["echo"]);
}

/// A dialogue that asks for a reminder and then calls a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "parcel")]
enum Parcel {
    Waiting,
}

async fn send_parcel(turn: &mut Turn, _: Command) -> Step<Parcel> {
    turn.timer("reminder", std::time::Duration::from_secs(600), &());
    Ok(Next::Go(Parcel::Waiting))
}

async fn ask_address(_: &mut Turn, _: String) -> Step<Parcel> {
    Ok(Next::call(Address::Street))
}

async fn remind(turn: &mut Turn, _: Timer) -> Step<Parcel> {
    turn.say("Your parcel still waits.");
    Ok(Next::Stay)
}

async fn addressed(turn: &mut Turn, _: Returned) -> Step<Parcel> {
    turn.say("Thanks.");
    Ok(Next::Stay)
}

#[tokio::test]
async fn a_timer_set_before_a_child_fires_after_its_return() {
    let parcel = Dialogue::new()
        .start(command("parcel"), send_parcel)
        .calls::<Address>()
        .on(Parcel::WAITING, text(), ask_address)
        .on(Parcel::WAITING, timer("reminder"), remind)
        .on_returned(Parcel::WAITING, addressed);
    let address = Dialogue::new().ask(Address::STREET, ask_street).on(Address::STREET, text(), street).on(
        Address::HOUSE,
        text(),
        house,
    );
    let stage = Stage::new(Script::new().dialogue(parcel).dialogue(address));
    let anna = stage.person("Anna");
    for text in ["/parcel", "go on", "Lime Street", "7"] {
        anna.sends(text).await;
    }
    anna.sees("Thanks.");
    stage.advance(std::time::Duration::from_secs(601)).await;
    anna.sees("Your parcel still waits.");
}
