//! Handlers that panic, hang or send too much: their turn is parked, its person is told, and no other person notices.

use std::time::Duration;

use opora::prelude::*;

use super::in_process::{InProcessBot, bot};
use super::stage::{BOT, Stage, until_async};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "trial")]
#[serde(rename_all = "snake_case")]
enum Trial {
    Ready,
}

fn trial() -> Dialogue<Trial> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Trial> {
        turn.say("ready");
        Ok(Next::Go(Trial::Ready))
    }
    async fn handle_text(turn: &mut Turn, text: String) -> Step<Trial> {
        match text.as_str() {
            "panic" => panic!("on purpose"),
            "hang" => std::future::pending::<()>().await,
            "flood" => (0..200).for_each(|number| turn.say(format!("flood {number}"))),
            "fail" => return Err("on purpose".into()),
            _ => turn.say(format!("received {text}")),
        }
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("start"), start).on(Trial::READY, text(), handle_text).on_error(OnError::Stay)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_handler_affects_only_its_own_turn() {
    let stage = Stage::new().await;
    let running = InProcessBot::run(bot(&stage, stage.store().await).dialogue(trial()).settings(|settings| {
        settings.turns.deadline = Duration::from_millis(500);
        settings.turns.attempts = 2;
        settings.turns.backoff = Duration::from_millis(10);
    }));
    let mut people = Vec::new();
    for word in ["panic", "hang", "flood", "fail", "one", "two", "three"] {
        let person = stage.person(word).await;
        stage.says(person, "/start").await;
        stage.says(person, word).await;
        people.push((person, word));
    }
    for (person, word) in &people[4..] {
        stage.receives(*person, &format!("received {word}")).await;
    }
    for (person, word) in &people[..4] {
        stage.receives(*person, "Something went wrong").await;
        // Nothing of the failed turn remains, and the dialogue continues.
        stage.says(*person, "still there").await;
        stage.receives(*person, "received still there").await;
        assert!(!stage.transcript(*person).await.iter().any(|text| text.contains("flood")), "{word}");
    }
    running.stop_when_acknowledged(&stage).await;
    let store = stage.store().await;
    let parked = store.parked(Some(BOT), 100).await.unwrap();
    let of = |person: i64| {
        parked.iter().filter(|parked| parked.key.user == person).map(|parked| parked.attempts).collect::<Vec<_>>()
    };
    for (person, word) in people {
        assert_eq!(
            of(person),
            if ["panic", "hang", "flood", "fail"].contains(&word) { vec![2] } else { vec![] },
            "{word}"
        );
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_retries_a_parked_turn() {
    let stage = Stage::new().await;
    let store = stage.store().await;
    let running = InProcessBot::run(bot(&stage, store.clone()).dialogue(trial()).settings(|settings| {
        settings.turns.attempts = 1;
    }));
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    stage.says(person, "fail").await;
    stage.receives(person, "Something went wrong").await;
    let parked = store.parked(Some(BOT), 100).await.unwrap();
    assert!(store.operator().retry_parked(parked[0].id).await.unwrap());
    until_async("it was tried and parked again", async || {
        let again = store.parked(Some(BOT), 100).await.unwrap();
        again.len() == 1 && again[0].id != parked[0].id
    })
    .await;
    running.stop_when_acknowledged(&stage).await;
}
