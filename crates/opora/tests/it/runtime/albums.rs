//! Albums: several messages, one input.

use std::time::Duration;

use opora::prelude::*;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};

use crate::stage::{Running, Stage, file, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "papers")]
enum Papers {
    Waiting,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Papers> {
    turn.say("Send them.");
    Ok(Next::Go(Papers::Waiting))
}

async fn papers_come(turn: &mut Turn, album: Album) -> Step<Papers> {
    let late = if album.late { " late" } else { "" };
    turn.say(format!("{}{late}", album.items.len()));
    Ok(Next::Stay)
}

fn papers() -> Dialogue<Papers> {
    Dialogue::new().start(command("start"), start).on(Papers::WAITING, album(), papers_come)
}

fn album_of(items: usize) -> Value {
    json!({"album": vec![file(PIXEL_PNG); items]})
}

#[tokio::test]
async fn an_album_is_one_input() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(papers()));
    anna.says("/start").await;
    anna.sends(album_of(10)).await;
    anna.sends(album_of(3)).await;
    anna.receives_exactly(&["Send them.", "10", "3"]).await;
    bot.stops().await;
}

#[tokio::test]
async fn items_that_come_after_their_album_are_not_lost() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(papers()));
    anna.says("/start").await;
    anna.receives_exactly(&["Send them."]).await;
    stage.fault(json!({"updates": "delay", "delay_ms": 60_000, "times": 2})).await;
    anna.sends(album_of(5)).await;
    anna.receives_exactly(&["Send them.", "3"]).await;
    stage.advance_telegram_clock(60).await;
    anna.receives_exactly(&["Send them.", "3", "2 late"]).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_album_is_one_input_over_a_restart() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let patient =
        |bot: Bot, quiet| bot.settings(|settings| settings.mailboxes.album_quiet = Duration::from_secs(quiet));
    let store = stage.sqlite().await;
    let bot = Running::start(patient(stage.bot(&store).dialogue(papers()), 60));
    anna.says("/start").await;
    anna.receives_exactly(&["Send them."]).await;
    stage.fault(json!({"updates": "delay", "delay_ms": 60_000, "times": 2})).await;
    anna.sends(album_of(5)).await;
    until("three of five items", async || store.statistics(None).await.unwrap().inbox == 3).await;
    until("their acknowledgement", async || stage.unacknowledged() == 2).await;
    bot.stops().await;
    stage.advance_telegram_clock(60).await;
    let bot = Running::start(patient(stage.bot(&stage.sqlite().await).dialogue(papers()), 1));
    anna.receives_exactly(&["Send them.", "5"]).await;
    bot.stops().await;
}
