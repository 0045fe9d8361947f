//! Messages of turns that Telegram refuses for good: the person hears a plain sentence, the operator finds the cause.

use std::sync::Arc;
use std::time::Duration;

use opora::prelude::*;
use opora::store::Store;
use opora::testing::faulty::{FaultyStore, Trouble};
use serde_json::json;

use super::journal::Journal;
use crate::stage::{BOT, Person, Running, Stage, memory, until};

const NOT_SHOWN: &str = "Something went wrong on our side, and I could not show you my answer. Please try again later.";
const WHY: &str = "Bad Request: can't parse entities";

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
    let order = json!({"method": "sendMessage", "status": 400, "description": WHY, "times": times});
    stage.fault(order).await;
}

async fn failed(store: &Arc<dyn Store>) -> usize {
    store.operator().failed(BOT, None, 99).await.unwrap().len()
}

#[tokio::test]
async fn a_refused_question_is_told_to_its_person_and_the_operator() {
    let (stage, store, journal) = (Stage::new().await, memory(), Journal::begin());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 2).await;
    anna.says("/start").await;
    // Two messages of the turn are refused, and it is told once.
    anna.hears_just(&[NOT_SHOWN]).await;
    anna.says("tea").await;
    anna.hears_just(&[NOT_SHOWN, "You said tea."]).await;
    until("both failures", async || failed(&store).await == 2).await;
    let rows = store.operator().failed(BOT, None, 99).await.unwrap();
    assert!(rows.iter().all(|row| row.reason.contains("can't parse entities")), "{rows:?}");
    assert!(rows[0].outgoing.body.contains("Here is the menu."));
    assert!(journal.has(&["a message cannot be sent", WHY]), "{:#?}", journal.lines());
    bot.stops().await;
}

#[tokio::test]
async fn the_sentence_is_in_the_language_of_the_conversation() {
    let (stage, store) = (Stage::new().await, memory());
    let boris = stage.person_who(json!({"first_name": "Boris", "language_code": "ru"})).await;
    let bot = Running::start(stage.bot(&store).dialogue(menu()));
    refuses(&stage, 2).await;
    boris.says("/start").await;
    boris.hears("не смог показать ответ").await;
    bot.stops().await;
}

#[tokio::test]
async fn a_refused_sentence_about_a_refusal_leads_to_no_other() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 3).await;
    anna.says("/start").await;
    until("three failures", async || failed(&store).await == 3).await;
    anna.says("tea").await;
    anna.hears_just(&["You said tea."]).await;
    bot.stops().await;
    assert_eq!(stage.calls("sendMessage").await.len(), 4);
}

#[tokio::test]
async fn a_refused_post_is_not_told_to_its_person() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    refuses(&stage, 1).await;
    until("a post", async || bot.handle.post("news", anna.id, "News.").await.is_ok()).await;
    until("the failure", async || failed(&store).await == 1).await;
    anna.says("/start").await;
    anna.hears_just(&["Here is the menu.", "What would you like?"]).await;
    bot.stops().await;
}

async fn edit(turn: &mut Turn, _: Command) -> Step<Menu> {
    turn.edit(Edit::text("no such label", "Changed."));
    Ok(Next::Stay)
}

#[tokio::test]
async fn an_edit_without_its_message_is_among_the_failed() {
    let (stage, store) = (Stage::new().await, memory());
    let bot = Running::start(stage.bot(&store).dialogue(menu().start(command("edit"), edit)));
    let anna = stage.person("Anna").await;
    anna.says("/edit").await;
    until("the failure", async || failed(&store).await == 1).await;
    assert_eq!(&*store.operator().failed(BOT, None, 9).await.unwrap()[0].reason, "nothing was sent under this label");
    bot.stops().await;
    anna.hears_just(&[]).await;
}

/// The bot stops before it can send what it has said.
async fn leaves_a_question_unsent(stage: &Stage, anna: &Person<'_>) {
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
async fn a_question_that_is_refused_after_a_restart_is_told() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    leaves_a_question_unsent(&stage, &anna).await;
    stage.http.delete(format!("{}/client/{}/faults", stage.base, crate::stage::TOKEN)).send().await.unwrap();
    refuses(&stage, 2).await;
    let store = stage.sqlite().await;
    let bot = Running::start(stage.bot(&store).dialogue(menu()));
    anna.hears_just(&[NOT_SHOWN]).await;
    bot.stops().await;
}

#[tokio::test]
async fn the_sentence_is_sent_also_if_the_store_takes_no_posts() {
    let stage = Stage::new().await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (anna, bot) = (stage.person("Anna").await, Running::start(stage.bot(&store).dialogue(menu())));
    faulty.fail_until_lifted("post", Trouble::Before);
    refuses(&stage, 1).await;
    anna.says("/start").await;
    anna.hears("What would you like?").await;
    anna.hears(NOT_SHOWN).await;
    bot.stops().await;
}
