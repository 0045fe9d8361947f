//! Stops and restarts.

use std::sync::Arc;
use std::time::Duration;

use opora::dialogue::{Text, Texts};
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{Answer, ConversationRow, Filter, Store, StoreLayer};
use opora::testing::faulty::FaultyStore;
use tokio::sync::Semaphore;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, TOKEN, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "slow")]
enum Slow {
    Open,
}

/// How many handlers may end, and how many have begun.
struct HandlerGate {
    out: Semaphore,
    entered: Semaphore,
}

async fn think(turn: &mut Turn, _: Command) -> Step<Slow> {
    let handler_gate = turn.context::<Arc<HandlerGate>>();
    handler_gate.entered.add_permits(1);
    handler_gate.out.acquire().await?.forget();
    turn.say("Thought.");
    Ok(Next::Go(Slow::Open))
}

async fn text_comes(_: &mut Turn, _: String) -> Step<Slow> {
    Ok(Next::Stay)
}

fn slow() -> Dialogue<Slow> {
    Dialogue::new().start(command("think"), think).on(Slow::OPEN, text(), text_comes)
}

fn handler_gate() -> Arc<HandlerGate> {
    Arc::new(HandlerGate { out: Semaphore::new(0), entered: Semaphore::new(0) })
}

#[tokio::test]
async fn a_stop_is_orderly_and_lets_turns_finish() {
    let (stage, log, handler_gate) = (Stage::new().await, LogCapture::begin(), handler_gate());
    let (anna, store) = (stage.person("Anna").await, memory());
    let bot = Running::start(stage.inbox_first(&store).dialogue(slow()).context(Arc::clone(&handler_gate)));
    anna.says("/think").await;
    handler_gate.entered.acquire().await.unwrap().forget();
    bot.stop.stop();
    until("the stop", async || log.has(&["stopping: no more updates"])).await;
    anna.says("too late for this life").await;
    assert!(!bot.has_ended());
    handler_gate.out.add_permits(1);
    bot.ends().await.unwrap();
    anna.receives_exactly(&["Thought."]).await;
    let steps = ["stopping: ", "input handled", "the courier has stopped", "released the lease", "stopped"];
    let lines = log.lines();
    let order = steps.map(|step| lines.iter().position(|line| line.starts_with(step)).unwrap());
    assert!(order.is_sorted(), "{:#?}", log.lines());
    assert!(store.lease(BOT).await.unwrap().is_none());
    assert_eq!(store.statistics(None).await.unwrap().active, 1);
    assert_eq!(stage.unacknowledged(), 1, "what came later is not taken any more");
}

#[tokio::test]
async fn people_in_a_dialogue_are_told_about_a_restart() {
    let stage = Stage::new().await;
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let polite = |bot: Bot| bot.dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    boris.says("/cancel").await;
    boris.receives_exactly(&["There is nothing to cancel."]).await;
    bot.stops().await;
    let notice = "I will be restarted in a moment. Nothing is lost: we go on right after.";
    assert_eq!(anna.received().await, [NAME, notice]);
    let store = stage.sqlite().await;
    assert_eq!(store.list(&Filter::default(), None, 10).await.unwrap().len(), 1);
    let bot = Running::start(polite(stage.bot(&store)));
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, notice, AGE]).await;
    anna.says("7").await;
    anna.receives_exactly(&[NAME, notice, AGE, "Anna is 7."]).await;
    boris.receives_exactly(&["There is nothing to cancel."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_second_stop_waits_for_nothing_and_loses_nothing() {
    let (stage, log, handler_gate) = (Stage::new().await, LogCapture::begin(), handler_gate());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&handler_gate)));
    anna.says("/think").await;
    handler_gate.entered.acquire().await.unwrap().forget();
    bot.stop.stop();
    until("the stop", async || log.has(&["stopping: no more updates"])).await;
    bot.stop.stop_now();
    bot.ends().await.unwrap();
    assert!(log.has(&["stopped early"]), "{:#?}", log.lines());
    assert_eq!(anna.received().await.len(), 0);

    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&handler_gate)));
    handler_gate.entered.acquire().await.unwrap().forget();
    // The handler of the first run may still wait, without effect: there is a permit for both.
    handler_gate.out.add_permits(2);
    anna.receives_exactly(&["Thought."]).await;
    bot.stops().await;
    anna.receives_exactly(&["Thought."]).await;
}

#[tokio::test]
async fn turns_beyond_the_stop_deadline_run_after_the_restart() {
    let (stage, log, handler_gate) = (Stage::new().await, LogCapture::begin(), handler_gate());
    let anna = stage.person("Anna").await;
    let hasty = |bot: Bot| bot.settings(|settings| settings.stop.deadline = Duration::from_millis(100));
    let bot = stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&handler_gate));
    let bot = Running::start(hasty(bot));
    anna.says("/think").await;
    handler_gate.entered.acquire().await.unwrap().forget();
    bot.stops().await;
    assert!(log.has(&["some turns did not finish in time"]), "{:#?}", log.lines());
    handler_gate.out.add_permits(2);
    let bot = stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&handler_gate));
    let bot = Running::start(bot);
    anna.receives_exactly(&["Thought."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn rapid_restarts_process_every_update_once() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for (number, text) in ["/start", "Anna", "7"].iter().enumerate() {
        let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
        anna.says(text).await;
        // It stops in the middle of its work.
        until("a poll", async || stage.unacknowledged() == 0 || number == 1).await;
        bot.stops().await;
    }
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    bot.stops().await;
}

/// A store that only the bot holds, in front of one that the test holds too.
#[derive(Debug)]
struct OwnedLayer(Arc<FaultyStore>);

impl StoreLayer for OwnedLayer {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }
}

#[tokio::test]
async fn a_bot_closes_only_a_store_of_its_own() {
    let stage = Stage::new().await;
    let counts = || Arc::new(FaultyStore::new(memory()));
    let (own, shared) = (counts(), counts());
    let bot = |store: Arc<dyn Store>| Bot::new(TOKEN).api_url(&stage.base).store(store).dialogue(form());
    Running::start(bot(Arc::new(OwnedLayer(Arc::clone(&own))))).stops().await;
    assert_eq!(own.calls("close"), 1);
    let store: Arc<dyn Store> = Arc::clone(&shared) as _;
    Running::start(bot(store)).stops().await;
    assert_eq!(shared.calls("close"), 0);
}

#[tokio::test]
async fn a_restart_notice_that_is_late_is_never_sent() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let polite = |bot: Bot| bot.dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    stage.fault(serde_json::json!({"method": "sendMessage", "status": 500, "times": 1})).await;
    bot.stops().await;
    assert_eq!(stage.calls("sendMessage").await.len(), 2);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    bot.stops().await;
}

struct PanickingTexts;

impl Texts for PanickingTexts {
    fn planned_restart(&self, _: &str) -> Text {
        panic!("at a loss for words")
    }
}

#[tokio::test]
async fn a_panic_of_the_application_does_not_block_a_stop() {
    let stage = Stage::new().await;
    let (anna, store) = (stage.person("Anna").await, memory());
    let script = Script::from(form()).texts(PanickingTexts).languages(|_, people| {
        assert!(people.is_empty(), "before anything is waited for");
        async { std::collections::HashMap::new() }
    });
    let bot = stage.bot(&store).script(script).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    bot.stops().await;
    anna.receives_exactly(&[NAME, "I will be restarted in a moment. Nothing is lost: we go on right after."]).await;
    assert!(store.lease(BOT).await.unwrap().is_none());
}

#[derive(Debug)]
struct PanickingList(Arc<dyn Store>);

impl StoreLayer for PanickingList {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn list<'a>(&'a self, _: &'a Filter, _: Option<&'a ConversationKey>, _: usize) -> Answer<'a, Vec<ConversationRow>> {
        panic!("it sees nothing")
    }
}

#[tokio::test]
async fn the_lease_is_released_despite_a_panic_during_a_stop() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let store: Arc<dyn Store> = Arc::new(PanickingList(memory()));
    let bot = stage.bot(&store).dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(bot);
    until("the lease", async || store.lease(BOT).await.unwrap().is_some()).await;
    bot.stops().await;
    assert!(log.has(&["panic during the stop"]), "{:#?}", log.lines());
    assert!(store.lease(BOT).await.unwrap().is_none());
}
