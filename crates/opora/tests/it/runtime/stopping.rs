//! The end of a bot's life, and the beginning of the next.

use std::sync::Arc;
use std::time::Duration;

use opora::dialogue::{Text, Texts};
use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::{Answer, ConversationRow, Filter, Store, StoreLayer};
use opora::testing::faulty::FaultyStore;
use tokio::sync::Semaphore;

use super::form::{AGE, NAME, form};
use super::journal::Journal;
use crate::stage::{BOT, Running, Stage, TOKEN, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "slow")]
enum Slow {
    Open,
}

/// How many handlers may end, and how many have begun.
struct Doors {
    out: Semaphore,
    entered: Semaphore,
}

async fn think(turn: &mut Turn, _: Command) -> Step<Slow> {
    let doors = turn.context::<Arc<Doors>>();
    doors.entered.add_permits(1);
    doors.out.acquire().await?.forget();
    turn.say("Thought.");
    Ok(Next::Go(Slow::Open))
}

async fn text_comes(_: &mut Turn, _: String) -> Step<Slow> {
    Ok(Next::Stay)
}

fn slow() -> Dialogue<Slow> {
    Dialogue::new().start(command("think"), think).on(Slow::OPEN, text(), text_comes)
}

fn doors() -> Arc<Doors> {
    Arc::new(Doors { out: Semaphore::new(0), entered: Semaphore::new(0) })
}

#[tokio::test]
async fn a_stop_goes_in_order_and_lets_the_turns_under_way_finish() {
    let (stage, journal, doors) = (Stage::new().await, Journal::begin(), doors());
    let (anna, store) = (stage.person("Anna").await, memory());
    let bot = Running::start(stage.inbox_first(&store).dialogue(slow()).context(Arc::clone(&doors)));
    anna.says("/think").await;
    doors.entered.acquire().await.unwrap().forget();
    bot.told.stop();
    until("the stop", async || journal.has(&["stopping: no more updates"])).await;
    anna.says("too late for this life").await;
    assert!(!bot.has_ended());
    doors.out.add_permits(1);
    bot.ends().await.unwrap();
    anna.hears_just(&["Thought."]).await;
    let steps = ["stopping: ", "input handled", "the courier has stopped", "released the lease", "stopped"];
    let lines = journal.lines();
    let order = steps.map(|step| lines.iter().position(|line| line.starts_with(step)).unwrap());
    assert!(order.is_sorted(), "{:#?}", journal.lines());
    assert!(store.lease(BOT).await.unwrap().is_none());
    assert_eq!(store.statistics(None).await.unwrap().active, 1);
    assert_eq!(stage.unacknowledged(), 1, "what came later is not taken any more");
}

#[tokio::test]
async fn people_in_the_middle_of_a_dialogue_are_told_and_go_on_after_the_restart() {
    let stage = Stage::new().await;
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let polite = |bot: Bot| bot.dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    boris.says("/cancel").await;
    boris.hears_just(&["There is nothing to cancel."]).await;
    bot.stops().await;
    let notice = "I will be restarted in a moment. Nothing is lost: we go on right after.";
    assert_eq!(anna.heard().await, [NAME, notice]);
    let store = stage.sqlite().await;
    assert_eq!(store.list(&Filter::default(), None, 10).await.unwrap().len(), 1);
    let bot = Running::start(polite(stage.bot(&store)));
    anna.says("Anna").await;
    anna.hears_just(&[NAME, notice, AGE]).await;
    anna.says("7").await;
    anna.hears_just(&[NAME, notice, AGE, "Anna is 7."]).await;
    boris.hears_just(&["There is nothing to cancel."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_second_stop_waits_for_nothing_and_loses_nothing() {
    let (stage, journal, doors) = (Stage::new().await, Journal::begin(), doors());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&doors)));
    anna.says("/think").await;
    doors.entered.acquire().await.unwrap().forget();
    bot.told.stop();
    until("the stop", async || journal.has(&["stopping: no more updates"])).await;
    bot.told.cut_short();
    bot.ends().await.unwrap();
    assert!(journal.has(&["cut short"]), "{:#?}", journal.lines());
    assert_eq!(anna.heard().await.len(), 0);

    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&doors)));
    doors.entered.acquire().await.unwrap().forget();
    // The handler of the first life may still wait, and come to nothing: there is a door for both.
    doors.out.add_permits(2);
    anna.hears_just(&["Thought."]).await;
    bot.stops().await;
    anna.hears_just(&["Thought."]).await;
}

#[tokio::test]
async fn turns_that_take_longer_than_a_stop_may_are_done_after_the_next_start() {
    let (stage, journal, doors) = (Stage::new().await, Journal::begin(), doors());
    let anna = stage.person("Anna").await;
    let hasty = |bot: Bot| bot.settings(|settings| settings.stop.deadline = Duration::from_millis(100));
    let bot = stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&doors));
    let bot = Running::start(hasty(bot));
    anna.says("/think").await;
    doors.entered.acquire().await.unwrap().forget();
    bot.stops().await;
    assert!(journal.has(&["some turns did not finish in time"]), "{:#?}", journal.lines());
    doors.out.add_permits(2);
    let bot = stage.bot(&stage.sqlite().await).dialogue(slow()).context(Arc::clone(&doors));
    let bot = Running::start(bot);
    anna.hears_just(&["Thought."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_bot_that_starts_at_once_again_and_again_hears_everything_once() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for (number, text) in ["/start", "Anna", "7"].iter().enumerate() {
        let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
        anna.says(text).await;
        // It stops somewhere in the middle of what it does.
        until("a poll", async || stage.unacknowledged() == 0 || number == 1).await;
        bot.stops().await;
    }
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
    anna.hears_just(&[NAME, AGE, "Anna is 7."]).await;
    bot.stops().await;
}

/// A store that only the bot holds, before one that the test holds too.
#[derive(Debug)]
struct Before(Arc<FaultyStore>);

impl StoreLayer for Before {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }
}

#[tokio::test]
async fn a_bot_closes_a_store_of_its_own_and_leaves_one_open_that_others_hold() {
    let stage = Stage::new().await;
    let counts = || Arc::new(FaultyStore::new(memory()));
    let (own, shared) = (counts(), counts());
    let bot = |store: Arc<dyn Store>| Bot::new(TOKEN).api_url(&stage.base).store(store).dialogue(form());
    Running::start(bot(Arc::new(Before(Arc::clone(&own))))).stops().await;
    assert_eq!(own.calls("close"), 1);
    let store: Arc<dyn Store> = Arc::clone(&shared) as _;
    Running::start(bot(store)).stops().await;
    assert_eq!(shared.calls("close"), 0);
}

#[tokio::test]
async fn a_notice_of_a_stop_that_does_not_leave_in_time_never_does() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let polite = |bot: Bot| bot.dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    stage.fault(serde_json::json!({"method": "sendMessage", "status": 500, "times": 1})).await;
    bot.stops().await;
    assert_eq!(stage.calls("sendMessage").await.len(), 2);
    let bot = Running::start(polite(stage.bot(&stage.sqlite().await)));
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    bot.stops().await;
}

/// Sentences that cannot be said.
struct Mute;

impl Texts for Mute {
    fn restart(&self, _: &str) -> Text {
        panic!("at a loss for words")
    }
}

#[tokio::test]
async fn an_application_that_panics_during_a_stop_holds_neither_it_nor_the_lease_up() {
    let stage = Stage::new().await;
    let (anna, store) = (stage.person("Anna").await, memory());
    let script = Script::from(form()).texts(Mute).languages(|_, people| {
        assert!(people.is_empty(), "before anything is waited for");
        async { std::collections::HashMap::new() }
    });
    let bot = stage.bot(&store).script(script).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    bot.stops().await;
    anna.hears_just(&[NAME, "I will be restarted in a moment. Nothing is lost: we go on right after."]).await;
    assert!(store.lease(BOT).await.unwrap().is_none());
}

/// A store that panics when it is looked through.
#[derive(Debug)]
struct Blind(Arc<dyn Store>);

impl StoreLayer for Blind {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn list<'a>(&'a self, _: &'a Filter, _: Option<&'a DialogueKey>, _: usize) -> Answer<'a, Vec<ConversationRow>> {
        panic!("it sees nothing")
    }
}

#[tokio::test]
async fn whatever_panics_during_a_stop_the_lease_is_given_back() {
    let (stage, journal) = (Stage::new().await, Journal::begin());
    let store: Arc<dyn Store> = Arc::new(Blind(memory()));
    let bot = stage.bot(&store).dialogue(form()).settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(bot);
    until("the lease", async || store.lease(BOT).await.unwrap().is_some()).await;
    bot.stops().await;
    assert!(journal.has(&["something panicked during the stop"]), "{:#?}", journal.lines());
    assert!(store.lease(BOT).await.unwrap().is_none());
}
