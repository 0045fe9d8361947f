//! Effects: retried until they succeed or fail for good; the dialogue that asked gets the outcome.

use std::sync::Arc;

use opora::effects::{EffectError, EffectRequest};
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
    match outcome.result::<String>() {
        Ok(receipt) => turn.say(format!("Paid: {receipt}.")),
        Err(reason) => turn.say(format!("Not paid: {reason}.")),
    }
    Ok(Next::End)
}

async fn too_late(turn: &mut Turn, outcome: Outcome) -> Step<Purchase> {
    turn.say(format!("Paid too late: {}.", outcome.result::<String>()?));
    Ok(Next::Stay)
}

pub fn purchase() -> Dialogue<Purchase> {
    Dialogue::new()
        .start(command("buy"), buy)
        .on(Purchase::PAYING, outcome("charge"), charged)
        .on_late_outcome(too_late)
}

/// Every attempt so far: its key and its number.
pub type Attempts = Arc<Mutex<Vec<(String, u32)>>>;

/// A bank that behaves as the card's name says.
async fn charge(asked: EffectRequest, attempts: Attempts) -> Result<Value, EffectError> {
    #[derive(Deserialize)]
    struct Charge {
        card: String,
    }
    let Charge { card } = asked.read()?;
    attempts.lock().push((asked.key.clone(), asked.attempt));
    match (&*card, asked.attempt) {
        ("moody", 1) => Err(std::io::Error::other("the bank is closed").into()),
        ("moody", 2) => panic!("the bank is on fire"),
        ("empty", _) => Err(EffectError::Final("the card is empty".to_owned())),
        ("broken", _) => Err(std::io::Error::other("the line is dead").into()),
        _ => Ok(json!(card)),
    }
}

fn bank(bot: Bot, attempts: &Attempts) -> Bot {
    let attempts = Arc::clone(attempts);
    bot.effect("charge", move |asked| charge(asked, Arc::clone(&attempts)))
        .settings(|settings| settings.effects.attempts = 4)
}

#[tokio::test]
async fn an_effect_is_retried_with_one_key() {
    let (stage, attempts) = (Stage::new().await, Attempts::default());
    let anna = stage.person("Anna").await;
    let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &attempts));
    anna.says("/buy moody").await;
    anna.receives_exactly(&["Paid: moody."]).await;
    let made = attempts.lock().clone();
    assert_eq!(made.iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(made.iter().all(|(key, _)| *key == made[0].0), "{made:?}");
    bot.stops().await;
}

#[tokio::test]
async fn effects_of_two_empty_stores_have_different_keys() {
    let (stage, attempts) = (Stage::new().await, Attempts::default());
    let anna = stage.person("Anna").await;
    for expected in [&["Paid: cash."][..], &["Paid: cash.", "Paid: cash."]] {
        let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &attempts));
        anna.says("/buy cash").await;
        anna.receives_exactly(expected).await;
        bot.stops().await;
    }
    let made = attempts.lock().clone();
    assert_ne!(made[0].0, made[1].0);
}

#[tokio::test]
async fn a_final_failure_is_an_outcome() {
    let (stage, attempts) = (Stage::new().await, Attempts::default());
    let anna = stage.person("Anna").await;
    let bot = Running::start(bank(stage.bot(&memory()).dialogue(purchase()), &attempts));
    anna.says("/buy empty").await;
    anna.receives_exactly(&["Not paid: the card is empty."]).await;
    assert_eq!(attempts.lock().len(), 1);
    anna.says("/buy broken").await;
    anna.receives_exactly(&["Not paid: the card is empty.", "Not paid: the line is dead."]).await;
    assert_eq!(attempts.lock().len(), 5);
    bot.stops().await;
}

/// A bot whose bank answers only with a permit.
pub fn slow_bank(bot: Bot, attempts: &Attempts, permits: &Arc<Semaphore>) -> Bot {
    let (attempts, permits) = (Arc::clone(attempts), Arc::clone(permits));
    bot.effect("charge", move |asked| {
        let (attempts, permits) = (Arc::clone(&attempts), Arc::clone(&permits));
        async move {
            attempts.lock().push((asked.key.clone(), asked.attempt));
            let permit = permits.acquire().await;
            permit.map(|permit| permit.forget())?;
            Ok(json!("cash"))
        }
    })
}

#[tokio::test]
async fn an_outcome_after_cancel_goes_to_the_late_handler() {
    let (stage, attempts, permits) = (Stage::new().await, Attempts::default(), Arc::new(Semaphore::new(0)));
    let anna = stage.person("Anna").await;
    let bot = Running::start(slow_bank(stage.bot(&memory()).dialogue(purchase()), &attempts, &permits));
    anna.says("/buy x").await;
    anna.says("/cancel").await;
    anna.receives_exactly(&["Cancelled."]).await;
    permits.add_permits(1);
    anna.receives_exactly(&["Cancelled.", "Paid too late: cash."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_effect_interrupted_by_a_stop_runs_after_the_restart() {
    let (stage, attempts, permits) = (Stage::new().await, Attempts::default(), Arc::new(Semaphore::new(0)));
    let anna = stage.person("Anna").await;
    let bot = Running::start(slow_bank(stage.bot(&stage.sqlite().await).dialogue(purchase()), &attempts, &permits));
    anna.says("/buy x").await;
    until("the first try", async || attempts.lock().len() == 1).await;
    bot.stops().await;
    let bot = Running::start(slow_bank(stage.bot(&stage.sqlite().await).dialogue(purchase()), &attempts, &permits));
    until("the second try", async || attempts.lock().len() == 2).await;
    // One permit for one attempt: if the first still waited, it would take it.
    permits.add_permits(1);
    anna.receives_exactly(&["Paid: cash."]).await;
    let made = attempts.lock().clone();
    assert_eq!(made[0], made[1]);
    bot.stops().await;
}

#[tokio::test]
async fn an_unknown_effect_fails_for_good() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(purchase()));
    anna.says("/buy x").await;
    anna.receives_exactly(&["Not paid: no runner is registered for `charge`."]).await;
    bot.stops().await;
}
