//! Messages of turns that Telegram refuses for good: the person gets a plain notice, the operator finds the cause.

use std::sync::Arc;
use std::time::Duration;

use opora::prelude::*;
use opora::store::Store;
use opora::testing::faulty::{Fault, FaultyStore};
use serde_json::json;

use super::log_capture::LogCapture;
use crate::stage::{BOT, Person, Running, Stage, memory, until};

const NOT_SHOWN: &str = "Something went wrong on our side, and I could not show you my answer. Please try again later.";
const REASON: &str = "Bad Request: can't parse entities";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "menu")]
enum Menu {
    Choose,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Menu> {
    turn.say("Here is the menu.");
    turn.say(Say::text("What would you like?").buttons([[Button::new("Tea", "tea")]]));
    Ok(Next::Go(Menu::Choose))
}

async fn choose(turn: &mut Turn, text: String) -> Step<Menu> {
    turn.say(format!("You said {text}."));
    Ok(Next::Stay)
}

fn menu() -> Dialogue<Menu> {
    Dialogue::new().start(command("start"), start).on(Menu::CHOOSE, text(), choose)
}

async fn refuses(stage: &Stage, times: u32) {
    let order = json!({"method": "sendMessage", "status": 400, "description": REASON, "times": times});
    stage.fault(order).await;
}

async fn failed(store: &Arc<dyn Store>) -> usize {
    store.operator().failed(BOT, None, 99).await.unwrap().len()
}

#[tokio::test]
async fn a_refused_question_is_reported_to_person_and_operator() {
    let (stage, store, log) = (Stage::new().await, memory(), LogCapture::begin());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 2).await;
    anna.says("/start").await;
    // Two messages of the turn are refused, and one notice is sent.
    anna.receives_exactly(&[NOT_SHOWN]).await;
    anna.says("tea").await;
    anna.receives_exactly(&[NOT_SHOWN, "You said tea."]).await;
    until("both failures", async || failed(&store).await == 2).await;
    let rows = store.operator().failed(BOT, None, 99).await.unwrap();
    assert!(rows.iter().all(|row| row.reason.contains("can't parse entities")), "{rows:?}");
    assert!(rows[0].outgoing.body.contains("Here is the menu."));
    assert!(log.has(&["a message cannot be sent", REASON]), "{:#?}", log.lines());
    bot.stops().await;
}

#[tokio::test]
async fn the_notice_is_in_the_language_of_the_conversation() {
    let (stage, store) = (Stage::new().await, memory());
    let boris = stage.person_with(json!({"first_name": "Boris", "language_code": "ru"})).await;
    let bot = Running::start(stage.bot(&store).dialogue(menu()));
    refuses(&stage, 2).await;
    boris.says("/start").await;
    boris.receives("не смог показать ответ").await;
    bot.stops().await;
}

#[tokio::test]
async fn a_refused_notice_causes_no_other() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 3).await;
    anna.says("/start").await;
    until("three failures", async || failed(&store).await == 3).await;
    anna.says("tea").await;
    anna.receives_exactly(&["You said tea."]).await;
    bot.stops().await;
    assert_eq!(stage.calls("sendMessage").await.len(), 4);
}

#[tokio::test]
async fn a_refused_post_causes_no_notice() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 1).await;
    until("a post", async || bot.handle.post("news", anna.id, "News.").await.is_ok()).await;
    until("the failure", async || failed(&store).await == 1).await;
    anna.says("/start").await;
    anna.receives_exactly(&["Here is the menu.", "What would you like?"]).await;
    bot.stops().await;
}

async fn edit(turn: &mut Turn, _: Command) -> Step<Menu> {
    turn.edit(Edit::text("no such label", "Changed."));
    Ok(Next::Stay)
}

#[tokio::test]
async fn an_edit_without_its_message_fails() {
    let (stage, store) = (Stage::new().await, memory());
    let bot = Running::start(stage.bot(&store).dialogue(menu().start(command("edit"), edit)));
    let anna = stage.person("Anna").await;
    anna.says("/edit").await;
    until("the failure", async || failed(&store).await == 1).await;
    assert_eq!(&*store.operator().failed(BOT, None, 9).await.unwrap()[0].reason, "no message was sent with this label");
    bot.stops().await;
    anna.receives_exactly(&[]).await;
}

/// The bot stops before it can send its messages.
async fn leave_a_question_unsent(stage: &Stage, anna: &Person<'_>) {
    stage.fault(json!({"method": "sendMessage", "status": 500, "times": 1000})).await;
    let store = stage.sqlite().await;
    let bot = Running::start(stage.bot(&store).dialogue(menu()).settings(|settings| {
        settings.stop.deadline = Duration::from_millis(200);
    }));
    anna.says("/start").await;
    until("an unsent question", async || store.statistics(Some(BOT)).await.unwrap().outbox == 2).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_question_refused_after_a_restart_causes_a_notice() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    leave_a_question_unsent(&stage, &anna).await;
    stage.clear_faults().await;
    refuses(&stage, 2).await;
    let store = stage.sqlite().await;
    let bot = Running::start(stage.bot(&store).dialogue(menu()));
    anna.receives_exactly(&[NOT_SHOWN]).await;
    bot.stops().await;
}

#[tokio::test]
async fn the_notice_is_sent_even_if_the_store_takes_no_posts() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    faulty.fail_until_cleared("post", Fault::Before);
    refuses(&stage, 1).await;
    anna.says("/start").await;
    anna.receives("What would you like?").await;
    anna.receives(NOT_SHOWN).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_notice_whose_post_lost_its_answer_is_sent_once() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    faulty.fail_next("post", 1, Fault::After);
    refuses(&stage, 2).await;
    anna.says("/start").await;
    anna.receives(NOT_SHOWN).await;
    anna.says("tea").await;
    anna.receives_exactly(&[NOT_SHOWN, "You said tea."]).await;
    bot.stops().await;
}
