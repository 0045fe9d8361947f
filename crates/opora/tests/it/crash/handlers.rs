//! Handlers that panic, hang or say too much: their own turn is parked, their person is told, nobody else notices.

use std::time::Duration;

use opora::prelude::*;

use super::inside::{Inside, bot};
use super::stage::{BOT, Stage, until_so};

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
    async fn hear(turn: &mut Turn, text: String) -> Step<Trial> {
        match text.as_str() {
            "panic" => panic!("as it was told"),
            "hang" => std::future::pending::<()>().await,
            "flood" => (0..200).for_each(|number| turn.say(format!("flood {number}"))),
            "fail" => return Err("as it was told".into()),
            _ => turn.say(format!("heard {text}")),
        }
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("start"), start).on(Trial::READY, text(), hear).on_error(OnError::Stay)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_fails_hurts_its_own_turn_alone() {
    let stage = Stage::new().await;
    let running = Inside::run(bot(&stage, stage.store().await).dialogue(trial()).settings(|settings| {
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
        stage.hears(*person, &format!("heard {word}")).await;
    }
    for (person, word) in &people[..4] {
        stage.hears(*person, "Something went wrong").await;
        // Nothing of the turn remains, and the dialogue goes on.
        stage.says(*person, "still there").await;
        stage.hears(*person, "heard still there").await;
        assert!(!stage.transcript(*person).await.iter().any(|text| text.contains("flood")), "{word}");
    }
    running.end_when_quiet(&stage).await;
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
async fn a_parked_turn_is_run_again_when_the_operator_says_so() {
    let stage = Stage::new().await;
    let store = stage.store().await;
    let running = Inside::run(bot(&stage, store.clone()).dialogue(trial()).settings(|settings| {
        settings.turns.attempts = 1;
    }));
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    stage.says(person, "fail").await;
    stage.hears(person, "Something went wrong").await;
    let parked = store.parked(Some(BOT), 100).await.unwrap();
    assert!(store.operator().retry_parked(parked[0].id).await.unwrap());
    until_so("it was tried and parked again", async || {
        let again = store.parked(Some(BOT), 100).await.unwrap();
        again.len() == 1 && again[0].id != parked[0].id
    })
    .await;
    running.end_when_quiet(&stage).await;
}
