//! A store that is away for a while: nothing is lost, nothing happens twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use opora::prelude::*;
use opora::store::Store;
use opora::testing::clock_at_noon;
use opora::testing::faulty::{ANY_METHOD, Fault, FaultyStore};
use opora_testkit::postgres_server::PostgresServer;
use serde_json::json;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{Running, Stage, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "errand")]
enum Errand {
    Running,
    Waiting,
    Failing,
}

async fn run(turn: &mut Turn, _: Command) -> Step<Errand> {
    turn.effect("run", &json!({}));
    turn.say("Running.");
    Ok(Next::Go(Errand::Running))
}

async fn ran(turn: &mut Turn, _: Outcome) -> Step<Errand> {
    turn.timer("rest", Duration::from_millis(1), &());
    turn.say("Ran.");
    Ok(Next::Go(Errand::Waiting))
}

async fn rested(turn: &mut Turn, _: Timer) -> Step<Errand> {
    turn.say("Rested.");
    Ok(Next::Go(Errand::Failing))
}

async fn fails(_: &mut Turn, _: String) -> Step<Errand> {
    Err("a bad day".into())
}

fn errand() -> Dialogue<Errand> {
    Dialogue::new()
        .start(command("run"), run)
        .on(Errand::RUNNING, outcome("run"), ran)
        .on(Errand::WAITING, timer("rest"), rested)
        .on(Errand::FAILING, text(), fails)
}

fn bot(stage: &Stage, store: &Arc<dyn Store>) -> Bot {
    let bot = stage.bot(store).dialogue(errand()).dialogue(form());
    bot.effect("run", |_| async { Ok(json!({})) })
}

fn faulty(inner: Arc<dyn Store>) -> (Arc<FaultyStore>, Arc<dyn Store>) {
    let faulty = Arc::new(FaultyStore::new(inner));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    (faulty, store)
}

const SORRY: &str = "Something went wrong on our side. What you have entered is kept.";

/// A method fails a few times, wherever it is called next.
async fn one_method_fails(inner: Arc<dyn Store>, method: &'static str, fault: Fault) {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(inner));
    let running = Running::start(bot(&stage, &store));
    let expected = ["Running.", "Ran.", "Rested.", SORRY];
    for (received, says) in [(0, "/run"), (3, "fail")] {
        anna.receives_exactly(&expected[..received]).await;
        faulty.fail_next(method, 1, fault);
        anna.says(says).await;
    }
    anna.receives_exactly(&expected).await;
    until("a settled outbox", async || store.statistics(None).await.unwrap().outbox == 0).await;
    running.stops().await;
    anna.receives_exactly(&expected).await;
    assert_eq!(faulty.inner().statistics(None).await.unwrap().parked, 1, "{method} {fault:?}");
}

#[tokio::test]
async fn each_method_may_fail_before_it_happens() {
    let cases = ["receive", "open", "commit", "settle", "park", "finish_effect", "due_timers"];
    let runs = cases.map(|method| one_method_fails(memory(), method, Fault::Before));
    futures_util::future::join_all(runs).await;
}

#[tokio::test]
async fn each_method_may_lose_its_answer() {
    let cases = ["receive", "commit", "settle", "park", "finish_effect"];
    let runs = cases.map(|method| one_method_fails(memory(), method, Fault::After));
    futures_util::future::join_all(runs).await;
}

#[tokio::test]
async fn methods_may_fail_in_sqlite() {
    for (method, fault) in [("receive", Fault::After), ("commit", Fault::After), ("settle", Fault::After)] {
        let files = Stage::new().await;
        let stage = Stage::new().await;
        let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(files.sqlite().await));
        let running = Running::start(bot(&stage, &store));
        for (number, text) in ["/start", "Anna", "7"].iter().enumerate() {
            faulty.fail_next(method, 1, fault);
            anna.says(text).await;
            anna.receives_exactly(&[NAME, AGE, "Anna is 7."][..=number]).await;
        }
        running.stops().await;
        assert_eq!(files.sqlite().await.statistics(None).await.unwrap().outbox, 0, "{method}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_waited_for() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    faulty.fail_until_cleared(ANY_METHOD, Fault::Before);
    let running = Running::start(bot(&stage, &store));
    anna.says("/start").await;
    until("some tries", async || faulty.calls("claim") > 3).await;
    assert!(log.has(&["cannot claim the lease"]), "{:#?}", log.lines());
    faulty.clear_faults(ANY_METHOD);
    anna.receives_exactly(&[NAME]).await;
    faulty.fail_until_cleared(ANY_METHOD, Fault::Before);
    anna.says("Anna").await;
    anna.says("7").await;
    until("some tries", async || faulty.calls("receive") > 3).await;
    assert_eq!(anna.received().await, [NAME]);
    faulty.clear_faults(ANY_METHOD);
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    running.stops().await;
}

#[tokio::test]
async fn a_store_that_is_away_delays_a_stop_only_to_its_deadline() {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    let hasty = |bot: Bot| bot.settings(|settings| settings.stop.deadline = Duration::from_millis(200));
    let running = Running::start(hasty(bot(&stage, &store)));
    faulty.fail_until_cleared("commit", Fault::Before);
    anna.says("/start").await;
    until("some tries", async || faulty.calls("commit") > 1).await;
    running.stops().await;
    assert_eq!(anna.received().await.len(), 0);
    faulty.clear_faults("commit");
    let running = Running::start(hasty(bot(&stage, &store)));
    anna.receives_exactly(&[NAME]).await;
    // A store that does not answer at all does not delay the stop either.
    for method in ["due_timers", "settle", "effects"] {
        faulty.fail_until_cleared(method, Fault::Stall);
    }
    let calls = faulty.calls("due_timers");
    until("a stalled read", async || faulty.calls("due_timers") > calls).await;
    running.stops().await;
}

#[tokio::test]
async fn an_expiry_with_a_lost_answer_is_told_once() {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    let clock = clock_at_noon();
    let dialogue = form().expires_after(Duration::from_secs(3600));
    let bot = stage.bot(&store).dialogue(dialogue).clock(clock.clone());
    let running = Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_secs(1)));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    faulty.fail_next("commit", 1, Fault::After);
    clock.advance(Duration::from_secs(7200));
    anna.receives_exactly(&[NAME, "It has been a while, so I have closed this. Send /start to begin again."]).await;
    running.stops().await;
}

#[tokio::test]
async fn a_failure_notice_is_sent_once_despite_an_outage() {
    for fault in [Fault::Before, Fault::After] {
        let stage = Stage::new().await;
        let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
        let running = Running::start(bot(&stage, &store));
        anna.says("/run").await;
        anna.receives_exactly(&["Running.", "Ran.", "Rested."]).await;
        // More often than a turn is attempted: waiting is no failure.
        let times = if fault == Fault::Before { 5 } else { 1 };
        faulty.fail_next("commit", times, fault);
        anna.says("fail").await;
        anna.receives_exactly(&["Running.", "Ran.", "Rested.", SORRY]).await;
        anna.presses("Try again").await;
        anna.receives("Let us go on.").await;
        assert_eq!(anna.received().await.len(), 5, "{:?}", anna.received().await);
        running.stops().await;
    }
}

#[tokio::test]
async fn a_failed_read_at_the_start_keeps_the_lease() {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    faulty.fail_next("waiting", 1, Fault::Before);
    let running = Running::start(bot(&stage, &store));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert_eq!(faulty.calls("claim"), 1, "giving the lease up would not help the store");
    running.stops().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "fickle")]
enum Fickle {
    Asked,
}

async fn fickle_start(turn: &mut Turn, _: Command) -> Step<Fickle> {
    turn.effect("run", &json!({}));
    Ok(Next::Go(Fickle::Asked))
}

/// Succeeds once.
async fn fickle_ran(turn: &mut Turn, _: Outcome) -> Step<Fickle> {
    let asked = turn.context::<std::sync::atomic::AtomicU32>();
    if asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
        return Err("a bad day".into());
    }
    turn.say("Ran.");
    Ok(Next::Stay)
}

#[tokio::test]
async fn a_committed_turn_is_not_parked() {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    let fickle = Dialogue::new().start(command("start"), fickle_start).on(Fickle::ASKED, outcome("run"), fickle_ran);
    let losing = Arc::clone(&faulty);
    let bot = stage.bot(&store).dialogue(fickle).context(std::sync::atomic::AtomicU32::new(0));
    let running = Running::start(bot.effect("run", move |_| {
        losing.fail_next("commit", 1, Fault::After);
        async { Ok(json!({})) }
    }));
    anna.says("/start").await;
    anna.receives_exactly(&["Ran."]).await;
    running.stops().await;
    anna.receives_exactly(&["Ran."]).await;
    assert_eq!(faulty.inner().statistics(None).await.unwrap().parked, 0);
}

#[tokio::test]
async fn an_unreadable_state_is_not_ended_before_it_is_parked() {
    let stage = Stage::new().await;
    let (anna, (faulty, store)) = (stage.person("Anna").await, faulty(memory()));
    let bot = bot(&stage, &store).settings(|settings| settings.stop.deadline = Duration::from_millis(200));
    let running = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let mut row = store.list(&Default::default(), None, 1).await.unwrap().pop().unwrap();
    row.stored.as_mut().unwrap().value = "not even JSON".into();
    assert!(store.operator().import(&row, true).await.unwrap());
    faulty.fail_until_cleared("park", Fault::Before);
    anna.says("Anna").await;
    until("some tries", async || faulty.calls("park") > 1).await;
    let commits = faulty.calls("commit");
    running.stops().await;
    assert_eq!(faulty.calls("commit"), commits);
    let kept = store.list(&Default::default(), None, 1).await.unwrap().pop().unwrap();
    assert_eq!(kept.stored.unwrap().value, row.stored.unwrap().value);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "asking")]
enum Asking {
    Again,
}

/// The application's own database, and how often handlers have read it.
struct OwnDatabase {
    pool: sqlx::PgPool,
    asked: AtomicU32,
}

async fn read_database(turn: &mut Turn, _: Command) -> Step<Asking> {
    let own = turn.context::<Arc<OwnDatabase>>();
    own.asked.fetch_add(1, Ordering::SeqCst);
    let number: i32 = sqlx::query_scalar("SELECT 41 + 1").fetch_one(&own.pool).await?;
    turn.say(format!("It is {number}."));
    Ok(Next::End)
}

async fn again(turn: &mut Turn, _: String) -> Step<Asking> {
    turn.say("Again?");
    Ok(Next::Stay)
}

#[tokio::test]
async fn a_handler_waits_for_its_own_database() {
    let (stage, mut server) = (Stage::new().await, PostgresServer::start(&[]));
    let pool = sqlx::postgres::PgPoolOptions::new().acquire_timeout(Duration::from_millis(200));
    let pool = pool.connect(&server.url()).await.unwrap();
    let own = Arc::new(OwnDatabase { pool, asked: AtomicU32::new(0) });
    let asking = Dialogue::new().start(command("read"), read_database).on(Asking::AGAIN, text(), again);
    let store = stage.sqlite().await;
    let bot = Running::start(stage.bot(&store).dialogue(asking).context(Arc::clone(&own)));
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    // More often than a failing turn is attempted.
    let asked_again = async || {
        let before = own.asked.load(Ordering::SeqCst);
        until("the handler is run again and again", async || own.asked.load(Ordering::SeqCst) > before + 4).await;
    };
    // It runs and does not answer.
    server.pause();
    anna.says("/read").await;
    asked_again().await;
    server.resume();
    anna.receives_exactly(&["It is 42."]).await;
    // It is gone, and comes back.
    server.kill();
    boris.says("/read").await;
    asked_again().await;
    server.start_again();
    boris.receives_exactly(&["It is 42."]).await;
    assert_eq!(store.statistics(None).await.unwrap().parked, 0);
    bot.stops().await;
}
