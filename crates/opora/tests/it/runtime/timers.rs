//! Timers and expiries, with a clock that the test sets, and over restarts.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Clock;
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::Store;
use opora::testing::faulty::{Fault, FaultyStore};
use opora::testing::{NOON, clock_at_noon};

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, memory, until};

const HOUR: Duration = Duration::from_secs(3600);

/// A bot with this clock. The courier checks its lease by the clock, so the lease is renewed soon after a jump.
fn with_clock(bot: Bot, clock: &Clock) -> Bot {
    bot.clock(clock.clone()).settings(|settings| settings.lease.ttl = Duration::from_secs(1))
}

#[tokio::test]
async fn a_dialogue_that_expired_during_a_stop_ends_at_the_start() {
    let (stage, log, clock) = (Stage::new().await, LogCapture::begin(), clock_at_noon());
    let anna = stage.person("Anna").await;
    let bot = Running::start(with_clock(stage.bot(&stage.sqlite().await).dialogue(form().expires_after(HOUR)), &clock));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    bot.stops().await;
    clock.advance(2 * HOUR);
    let store = stage.sqlite().await;
    let bot = Running::start(with_clock(stage.bot(&store).dialogue(form().expires_after(HOUR)), &clock));
    let over = "It has been a while, so I have closed this. Send /start to begin again.";
    anna.receives_exactly(&[NAME, over]).await;
    let (user, gone) = (format!("user={}", anna.id), "FSM State [CHANGED]");
    assert!(log.has(&[gone, &user, "form:name -> none", "timeout"]), "{:#?}", log.lines());
    assert_eq!(store.statistics(None).await.unwrap().active, 0);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME, over, NAME]).await;
    bot.stops().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "shift")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Shift {
    Open { warnings: u32 },
}

async fn open(turn: &mut Turn, _: Command) -> Step<Shift> {
    turn.say("Open.");
    Ok(Next::Go(Shift::Open { warnings: 0 }))
}

async fn text_comes(turn: &mut Turn, _: u32, _: String) -> Step<Shift> {
    turn.say("Noted.");
    Ok(Next::Stay)
}

async fn expired(turn: &mut Turn, shift: Shift) -> Step<Shift> {
    let Shift::Open { warnings } = shift;
    turn.say(format!("Still there? {warnings}"));
    if warnings == 1 { Ok(Next::End) } else { Ok(Next::StayWith(Shift::Open { warnings: warnings + 1 })) }
}

fn shift() -> Dialogue<Shift> {
    Dialogue::new()
        .start(command("start"), open)
        .on(Shift::OPEN, text(), text_comes)
        .expires_after(HOUR)
        .on_expiry(expired)
}

#[tokio::test]
async fn an_expiry_is_handled_and_moves_with_every_input() {
    let (stage, clock, store) = (Stage::new().await, clock_at_noon(), memory());
    let anna = stage.person("Anna").await;
    let bot = Running::start(with_clock(stage.bot(&store).dialogue(shift()), &clock));
    anna.says("/start").await;
    anna.receives_exactly(&["Open."]).await;
    clock.advance(HOUR / 2 + HOUR / 4);
    anna.says("x").await;
    anna.receives_exactly(&["Open.", "Noted."]).await;
    clock.advance(HOUR / 2);
    anna.says("x").await;
    anna.receives_exactly(&["Open.", "Noted.", "Noted."]).await;
    clock.advance(HOUR);
    anna.receives_exactly(&["Open.", "Noted.", "Noted.", "Still there? 0"]).await;
    clock.advance(HOUR);
    anna.receives_exactly(&["Open.", "Noted.", "Noted.", "Still there? 0", "Still there? 1"]).await;
    until("the end", async || store.statistics(None).await.unwrap().active == 0).await;
    bot.stops().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "kitchen")]
enum Kitchen {
    Cooking,
}

async fn cook(turn: &mut Turn, _: Command) -> Step<Kitchen> {
    turn.timer("eggs", HOUR, &"eggs");
    turn.timer("toast", HOUR, &"toast");
    turn.say("Cooking.");
    Ok(Next::Go(Kitchen::Cooking))
}

async fn no_toast(turn: &mut Turn, _: String) -> Step<Kitchen> {
    turn.cancel_timer("toast");
    turn.say("No toast.");
    Ok(Next::Stay)
}

async fn ready(turn: &mut Turn, timer: Timer) -> Step<Kitchen> {
    turn.say(format!("Your {} are ready.", timer.body::<String>()?));
    turn.timer("cold", HOUR, &"eggs");
    Ok(Next::Stay)
}

async fn cold(turn: &mut Turn, timer: Timer) -> Step<Kitchen> {
    turn.say(format!("Your {} are cold.", timer.body::<String>()?));
    Ok(Next::Stay)
}

fn kitchen() -> Dialogue<Kitchen> {
    Dialogue::new()
        .start(command("start"), cook)
        .on(Kitchen::COOKING, text(), no_toast)
        .on(Kitchen::COOKING, timer("eggs"), ready)
        .on(Kitchen::COOKING, timer("toast"), ready)
        .on(Kitchen::COOKING, timer("cold"), cold)
        .expires_after(100 * HOUR)
}

#[tokio::test]
async fn a_timer_fires_once_and_a_cancelled_one_never() {
    let (stage, clock) = (Stage::new().await, clock_at_noon());
    let anna = stage.person("Anna").await;
    let bot = Running::start(with_clock(stage.bot(&stage.sqlite().await).dialogue(kitchen()), &clock));
    anna.says("/start").await;
    anna.says("no toast, please").await;
    anna.receives_exactly(&["Cooking.", "No toast."]).await;
    clock.advance(2 * HOUR);
    anna.receives_exactly(&["Cooking.", "No toast.", "Your eggs are ready."]).await;
    bot.stops().await;
    clock.advance(2 * HOUR);
    let store = stage.sqlite().await;
    let bot = Running::start(with_clock(stage.bot(&store).dialogue(kitchen()), &clock));
    anna.receives_exactly(&["Cooking.", "No toast.", "Your eggs are ready.", "Your eggs are cold."]).await;
    assert_eq!(store.statistics(None).await.unwrap().timers, 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_clock_set_back_between_two_starts_does_no_harm() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let both = |bot: Bot| bot.dialogue(form().expires_after(HOUR)).dialogue(kitchen_on("cook"));
    let bot = Running::start(with_clock(both(stage.bot(&stage.sqlite().await)), &clock_at_noon()));
    let boris = stage.person("Boris").await;
    anna.says("/start").await;
    boris.says("/cook").await;
    anna.receives_exactly(&[NAME]).await;
    boris.receives_exactly(&["Cooking."]).await;
    bot.stops().await;

    let clock = Clock::manual(NOON.minus(HOUR));
    let store = stage.sqlite().await;
    let bot = Running::start(with_clock(both(stage.bot(&store)), &clock));
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    clock.advance(HOUR / 2);
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    boris.receives_exactly(&["Cooking."]).await;
    clock.advance(2 * HOUR);
    boris.receives("Your eggs are ready.").await;
    boris.receives("Your toast are ready.").await;
    bot.stops().await;
}

fn kitchen_on(name: &'static str) -> Dialogue<Kitchen> {
    Dialogue::new()
        .start(command(name), cook)
        .on(Kitchen::COOKING, timer("eggs"), ready)
        .on(Kitchen::COOKING, timer("toast"), ready)
        .on(Kitchen::COOKING, timer("cold"), cold)
        .expires_after(100 * HOUR)
}

#[tokio::test]
async fn a_slow_cleaning_delays_no_timer() {
    let (stage, clock) = (Stage::new().await, clock_at_noon());
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    faulty.fail_until_cleared("clean", Fault::Stall);
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(with_clock(stage.bot(&store).dialogue(kitchen()), &clock));
    until("the cleaning", async || faulty.calls("clean") > 0).await;
    anna.says("/start").await;
    anna.says("no toast, please").await;
    anna.receives_exactly(&["Cooking.", "No toast."]).await;
    clock.advance(HOUR);
    anna.receives_exactly(&["Cooking.", "No toast.", "Your eggs are ready."]).await;
    bot.stops().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "booking")]
enum Booking {
    Asked,
}

async fn remind(turn: &mut Turn, timer: Timer) -> Step<Booking> {
    turn.say(format!("Your table: {}", timer.body::<String>()?));
    Ok(Next::Go(Booking::Asked))
}

async fn comes(turn: &mut Turn, _: String) -> Step<Booking> {
    turn.say("See you.");
    Ok(Next::End)
}

#[tokio::test]
async fn a_timer_of_the_application_fires_after_a_restart() {
    let (stage, clock) = (Stage::new().await, clock_at_noon());
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let booking = || Dialogue::new().start(timer("table"), remind).on(Booking::ASKED, text(), comes);
    let bot = Running::start(with_clock(stage.bot(&stage.sqlite().await).dialogue(booking()), &clock));
    let key = |user| ConversationKey::private(BOT, user);
    let set = async |person| bot.handle.timer(&key(person), "table", HOUR, &"at seven").await;
    until("a leader", async || set(anna.id).await.is_ok()).await;
    set(boris.id).await.unwrap();
    bot.handle.cancel_timer(&key(boris.id), "table").await.unwrap();
    bot.stops().await;
    let bot = Running::start(with_clock(stage.bot(&stage.sqlite().await).dialogue(booking()), &clock));
    clock.advance(HOUR);
    anna.receives_exactly(&["Your table: at seven"]).await;
    anna.says("yes").await;
    anna.receives_exactly(&["Your table: at seven", "See you."]).await;
    until("a timer while it runs", async || {
        bot.handle.timer(&key(anna.id), "table", clock.now(), &"now").await.is_ok()
    })
    .await;
    anna.receives_exactly(&["Your table: at seven", "See you.", "Your table: now"]).await;
    bot.stops().await;
    boris.receives_exactly(&[]).await;
}
