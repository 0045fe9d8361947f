//! Telegram's limits on sending: kept, and survived where they are not.

use opora::outbox::SendLimits;
use opora::prelude::*;
use opora_emulator::Limits;

use crate::stage::{Running, Stage, memory};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "chatter")]
enum Chatter {
    Open,
}

async fn talk(turn: &mut Turn, _: Command) -> Step<Chatter> {
    for number in 1..=5 {
        turn.say(number.to_string());
    }
    Ok(Next::Go(Chatter::Open))
}

async fn hello(turn: &mut Turn, _: String) -> Step<Chatter> {
    turn.say("Hello.");
    Ok(Next::Stay)
}

fn chatter() -> Dialogue<Chatter> {
    Dialogue::new().start(command("talk"), talk).start(text(), hello).on(Chatter::OPEN, text(), hello)
}

/// Forty people, and one who gets many messages. Returns how often Telegram has refused.
async fn refusals(limits: SendLimits) -> usize {
    let stage = Stage::with(Limits::Telegram).await;
    let anna = stage.person("Anna").await;
    let mut people = Vec::new();
    for number in 0..40 {
        people.push(stage.person(&format!("Person {number}")).await);
    }
    anna.says("/talk").await;
    for person in &people {
        person.says("hello").await;
    }
    let bot = Running::start(stage.bot(&memory()).dialogue(chatter()).send_limits(limits));
    for person in &people {
        person.receives_exactly(&["Hello."]).await;
    }
    anna.receives_exactly(&["1", "2", "3", "4", "5"]).await;
    bot.stops().await;
    let calls = stage.calls("sendMessage").await;
    calls.iter().filter(|call| call["status"] == 429).count()
}

#[tokio::test]
async fn a_bot_within_telegrams_limits_is_never_refused() {
    assert_eq!(refusals(SendLimits::Telegram).await, 0);
}

#[tokio::test]
async fn a_bot_without_limits_still_delivers_in_order() {
    assert!(refusals(SendLimits::Off).await > 0);
}
