//! Several instances on one store: one leads.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{BotError, IfHeld, NotLeading};
use opora::clock::Clock;
use opora::store::{Holder, LeaseAnswer, Store, StoreError};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;
use tokio::time::Instant;

use super::form::{AGE, NAME, form};
use super::journal::Journal;
use crate::stage::{BOT, Running, Stage, memory, until};

async fn one_leads_and_the_next_takes_over(stage: &Stage, stores: [Arc<dyn Store>; 2]) {
    let journal = Journal::begin();
    let anna = stage.person("Anna").await;
    let [first, second] = stores.each_ref().map(|store| stage.bot(store).dialogue(form()));
    let first = Running::start(first);
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    let second = Running::start(second);
    let holder = format!("process {} on ", std::process::id());
    until("a standby", async || journal.has(&["stands by", &holder, "since", "UTC"])).await;
    let nobody = second.handle.post("x", anna.id, "from a standby").await;
    assert!(nobody.is_err());
    let epoch = stores[1].lease(BOT).await.unwrap().unwrap().epoch;
    first.stops().await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    assert!(stores[1].lease(BOT).await.unwrap().unwrap().epoch > epoch);
    second.stops().await;
}

#[tokio::test]
async fn a_standby_says_who_leads_and_takes_over_in_memory() {
    let (stage, store) = (Stage::new().await, memory());
    one_leads_and_the_next_takes_over(&stage, [Arc::clone(&store), store]).await;
}

#[tokio::test]
async fn a_standby_says_who_leads_and_takes_over_in_sqlite() {
    let stage = Stage::new().await;
    let stores = [stage.sqlite().await, stage.sqlite().await];
    one_leads_and_the_next_takes_over(&stage, stores).await;
}

#[tokio::test]
async fn who_does_not_want_to_stand_by_ends_and_says_who_leads() {
    let (stage, store) = (Stage::new().await, memory());
    let leader = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || store.lease(BOT).await.unwrap().is_some()).await;
    let other = stage.bot(&store).dialogue(form()).settings(|settings| settings.lease.if_held = IfHeld::Exit);
    let error = Running::start(other).ends().await.unwrap_err();
    assert!(matches!(error, BotError::NotLeading(NotLeading::Held(_))), "{error:?}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    leader.stops().await;
}

#[tokio::test]
async fn a_leader_whose_lease_an_operator_ends_stands_by_and_leads_again() {
    let (stage, store, journal) = (Stage::new().await, memory(), Journal::begin());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    store.operator().clear_lease(BOT).await.unwrap();
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    assert!(journal.has(&["does not lead any more; stands by"]), "{:#?}", journal.lines());
    bot.stops().await;
}

#[tokio::test]
async fn a_standby_that_is_told_to_stop_stops() {
    let (stage, store) = (Stage::new().await, memory());
    let leader = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || store.lease(BOT).await.unwrap().is_some()).await;
    Running::start(stage.bot(&store).dialogue(form())).stops().await;
    assert!(store.lease(BOT).await.unwrap().is_some());
    leader.stops().await;
}

#[tokio::test]
async fn a_restart_after_a_crash_takes_over_at_once_and_does_not_say_that_it_stands_by() {
    let (stage, store, journal) = (Stage::new().await, memory(), Journal::begin());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || store.lease(BOT).await.unwrap().is_some()).await;
    let holder = store.lease(BOT).await.unwrap().unwrap().holder;
    bot.stops().await;
    // The pid is somebody else's by now.
    let gone = Holder { process_start: holder.process_start + 1, ..holder };
    store.claim(BOT, &gone, None).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    assert!(journal.has(&["took over the lease", "which is gone"]), "{:#?}", journal.lines());
    assert!(!journal.has(&["stands by"]), "{:#?}", journal.lines());
    bot.stops().await;
}

/// Of a holder on another machine nobody here can see whether it lives: its process may be one of this machine, too.
async fn a_holder_elsewhere_keeps_its_lease_for_its_whole_time(store: Arc<dyn Store>) {
    const LEASE: Duration = Duration::from_millis(1500);
    let (stage, journal) = (Stage::new().await, Journal::begin());
    let elsewhere = Holder {
        host: "elsewhere".into(),
        pid: std::process::id(),
        pid_namespace: "4026531836".into(),
        since: Clock::machine().now(),
        ttl_ms: LEASE.as_millis().try_into().unwrap(),
        ..holder("elsewhere")
    };
    let LeaseAnswer::Granted(theirs) = store.claim(BOT, &elsewhere, None).await.unwrap() else {
        panic!("nobody else is here")
    };
    let seen = Instant::now();
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    until("it leads", async || bot.handle.is_running()).await;
    let waited = seen.elapsed();
    assert!(waited >= LEASE && waited < LEASE + Duration::from_secs(20), "{waited:?}");
    assert!(journal.has(&["stands by", "elsewhere"]), "{:#?}", journal.lines());
    assert!(journal.has(&["took over the lease", "elsewhere"]), "{:#?}", journal.lines());
    assert!(matches!(store.renew(BOT, theirs).await, Err(StoreError::Fenced { .. })));
    anna.hears_just(&[NAME]).await;
    bot.stops().await;
}

#[tokio::test]
async fn another_machine_waits_for_a_lease_in_redis_to_run_out() {
    let space = RedisSpace::new();
    a_holder_elsewhere_keeps_its_lease_for_its_whole_time(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn another_machine_waits_for_a_lease_in_postgres_to_run_out() {
    let space = PostgresSpace::new().await;
    a_holder_elsewhere_keeps_its_lease_for_its_whole_time(opora::store::open(&space.url).await.unwrap()).await;
}
