//! Work outside: tried until it works or never will, and told to the dialogue that asked.

use std::sync::Arc;

use opora::effects::{Asked, EffectError};
use opora::prelude::*;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::stage::{Running, Stage, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "purchase")]
pub enum Purchase {
    Paying,
}

async fn buy(turn: &mut Turn, command: Command) -> Step<Purchase> {
    turn.effect("charge", &json!({"card": command.argument}));
    Ok(Next::Go(Purchase::Paying))
}

async fn charged(turn: &mut Turn, outcome: Outcome) -> Step<Purchase> {
    match outcome.read::<String>() {
        Ok(receipt) => turn.say(format!("Paid: {receipt}.")),
        Err(reason) => turn.say(format!("Not paid: {reason}.")),
    }
    Ok(Next::End)
}

async fn too_late(turn: &mut Turn, outcome: Outcome) -> Step<Purchase> {
    turn.say(format!("Paid too late: {}.", outcome.read::<String>()?));
    Ok(Next::Stay)
}

pub fn purchase() -> Dialogue<Purchase> {
    Dialogue::new().start(command("buy"), buy).on(Purchase::PAYING, outcome("charge"), charged).late(too_late)
}

/// Every try so far: its key and its number.
pub type Tries = Arc<Mutex<Vec<(String, u32)>>>;

/// A bank that has its whims by the card's name.
async fn charge(asked: Asked, tries: Tries) -> Result<Value, EffectError> {
    #[derive(Deserialize)]
    struct Wish {
        card: String,
    }
    let Wish { card } = asked.read()?;
    tries.lock().push((asked.key.clone(), asked.attempt));
    match (&*card, asked.attempt) {
        ("moody", 1) => Err(std::io::Error::other("the bank is closed").into()),
        ("moody", 2) => panic!("the bank is on fire"),
        ("empty", _) => Err(EffectError::Final("the card is empty".to_owned())),
        ("broken", _) => Err(std::io::Error::other("the line is dead").into()),
        _ => Ok(json!(card)),
    }
}

fn bank(bot: Bot, tries: &Tries) -> Bot {
    let tries = Arc::clone(tries);
    bot.effect("charge", move |asked| charge(asked, Arc::clone(&tries)))
        .settings(|settings| settings.effects.attempts = 4)
}

#[tokio::test]
async fn work_is_tried_again_under_one_key_and_its_outcome_is_told() {
    let (stage, tries) = (Stage::new().await, Tries::default());
    let anna = stage.person("Anna").await;
    let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &tries));
    anna.says("/buy moody").await;
    anna.hears_just(&["Paid: moody."]).await;
    let made = tries.lock().clone();
    assert_eq!(made.iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(made.iter().all(|(key, _)| *key == made[0].0), "{made:?}");
    bot.stops().await;
}

#[tokio::test]
async fn wishes_on_stores_that_begin_anew_have_keys_of_their_own() {
    let (stage, tries) = (Stage::new().await, Tries::default());
    let anna = stage.person("Anna").await;
    for told in [&["Paid: cash."][..], &["Paid: cash.", "Paid: cash."]] {
        let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &tries));
        anna.says("/buy cash").await;
        anna.hears_just(told).await;
        bot.stops().await;
    }
    let made = tries.lock().clone();
    assert_ne!(made[0].0, made[1].0);
}

#[tokio::test]
async fn a_failure_for_good_is_told_to_the_dialogue() {
    let (stage, tries) = (Stage::new().await, Tries::default());
    let anna = stage.person("Anna").await;
    let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &tries));
    anna.says("/buy empty").await;
    anna.hears_just(&["Not paid: the card is empty."]).await;
    assert_eq!(tries.lock().len(), 1);
    anna.says("/buy broken").await;
    anna.hears_just(&["Not paid: the card is empty.", "Not paid: the line is dead."]).await;
    assert_eq!(tries.lock().len(), 5);
    bot.stops().await;
}

/// A bot whose bank answers only when it is let.
pub fn slow_bank(bot: Bot, tries: &Tries, doors: &Arc<Semaphore>) -> Bot {
    let (tries, doors) = (Arc::clone(tries), Arc::clone(doors));
    bot.effect("charge", move |asked| {
        let (tries, doors) = (Arc::clone(&tries), Arc::clone(&doors));
        async move {
            tries.lock().push((asked.key.clone(), asked.attempt));
            let door = doors.acquire().await;
            door.map(|door| door.forget())?;
            Ok(json!("cash"))
        }
    })
}

#[tokio::test]
async fn an_outcome_after_cancel_goes_to_the_handler_for_late_ones() {
    let (stage, tries, doors) = (Stage::new().await, Tries::default(), Arc::new(Semaphore::new(0)));
    let anna = stage.person("Anna").await;
    let bot = Running::start(slow_bank(stage.bot(&memory()).dialogue(purchase()), &tries, &doors));
    anna.says("/buy x").await;
    anna.says("/cancel").await;
    anna.hears_just(&["Cancelled."]).await;
    doors.add_permits(1);
    anna.hears_just(&["Cancelled.", "Paid too late: cash."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn work_under_way_at_a_stop_ends_there_and_is_done_after_the_next_start() {
    let (stage, tries, doors) = (Stage::new().await, Tries::default(), Arc::new(Semaphore::new(0)));
    let anna = stage.person("Anna").await;
    let bot = Running::start(slow_bank(stage.bot(&stage.sqlite().await).dialogue(purchase()), &tries, &doors));
    anna.says("/buy x").await;
    until("the first try", async || tries.lock().len() == 1).await;
    bot.stops().await;
    let bot = Running::start(slow_bank(stage.bot(&stage.sqlite().await).dialogue(purchase()), &tries, &doors));
    until("the second try", async || tries.lock().len() == 2).await;
    // One door for one try: if the first still waited, it would take it.
    doors.add_permits(1);
    anna.hears_just(&["Paid: cash."]).await;
    let made = tries.lock().clone();
    assert_eq!(made[0], made[1]);
    bot.stops().await;
}

#[tokio::test]
async fn work_that_nobody_knows_is_a_failure_for_good() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(purchase()));
    anna.says("/buy x").await;
    anna.hears_just(&["Not paid: nobody carries out `charge`."]).await;
    bot.stops().await;
}
