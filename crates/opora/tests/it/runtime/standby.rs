//! Several instances on one store: one leads.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{BotError, IfHeld, NotLeading};
use opora::clock::Clock;
use opora::store::{Holder, LeaseAnswer, Store, StoreError};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use tokio::time::Instant;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, memory, until};

async fn next_instance_takes_over(stage: &Stage, stores: [Arc<dyn Store>; 2]) {
    let log = LogCapture::begin();
    let anna = stage.person("Anna").await;
    let [first, second] = stores.each_ref().map(|store| stage.bot(store).dialogue(form()));
    let first = Running::start(first);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let second = Running::start(second);
    let holder = format!("process {} on ", std::process::id());
    until("a standby", async || log.has(&["standing by", &holder, "since", "UTC"])).await;
    let refused = second.handle.post("x", anna.id, "from a standby").await;
    assert!(refused.is_err());
    let epoch = stores[1].lease(BOT).await.unwrap().unwrap().epoch;
    first.stops().await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    assert!(stores[1].lease(BOT).await.unwrap().unwrap().epoch > epoch);
    second.stops().await;
}

#[tokio::test]
async fn a_standby_names_the_leader_and_takes_over_in_memory() {
    let (stage, store) = (Stage::new().await, memory());
    next_instance_takes_over(&stage, [Arc::clone(&store), store]).await;
}

#[tokio::test]
async fn a_standby_names_the_leader_and_takes_over_in_sqlite() {
    let stage = Stage::new().await;
    let stores = [stage.sqlite().await, stage.sqlite().await];
    next_instance_takes_over(&stage, stores).await;
}

#[tokio::test]
async fn without_standing_by_a_bot_ends_and_names_the_leader() {
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
async fn a_leader_whose_lease_is_cleared_leads_again() {
    let (stage, store, log) = (Stage::new().await, memory(), LogCapture::begin());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    store.operator().clear_lease(BOT).await.unwrap();
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    assert!(log.has(&["no longer the leader; standing by"]), "{:#?}", log.lines());
    bot.stops().await;
}

#[tokio::test]
async fn a_standby_stops() {
    let (stage, store) = (Stage::new().await, memory());
    let leader = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || store.lease(BOT).await.unwrap().is_some()).await;
    Running::start(stage.bot(&store).dialogue(form())).stops().await;
    assert!(store.lease(BOT).await.unwrap().is_some());
    leader.stops().await;
}

#[tokio::test]
async fn a_restart_after_a_crash_takes_over_at_once() {
    let (stage, store, log) = (Stage::new().await, memory(), LogCapture::begin());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || store.lease(BOT).await.unwrap().is_some()).await;
    let holder = store.lease(BOT).await.unwrap().unwrap().holder;
    bot.stops().await;
    // The pid belongs to another process now.
    let gone = Holder { process_start: holder.process_start + 1, ..holder };
    store.claim(BOT, &gone, None).await.unwrap();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert!(log.has(&["took over the lease", "which is gone"]), "{:#?}", log.lines());
    assert!(!log.has(&["standing by"]), "{:#?}", log.lines());
    bot.stops().await;
}

/// An instance cannot see whether a process on another machine lives, even if the pid exists here too.
async fn leader_on_another_machine_keeps_its_lease(store: Arc<dyn Store>) {
    const LEASE: Duration = Duration::from_millis(1500);
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let elsewhere = Holder {
        host: "elsewhere".into(),
        pid: std::process::id(),
        pid_namespace: "4026531836".into(),
        since: Clock::machine().now(),
        ttl_ms: LEASE.as_millis().try_into().unwrap(),
        ..holder("elsewhere")
    };
    let LeaseAnswer::Granted(other_epoch) = store.claim(BOT, &elsewhere, None).await.unwrap() else {
        panic!("no other instance is here")
    };
    let seen = Instant::now();
    let anna = stage.person("Anna").await;
    anna.says("/start").await;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    until("it leads", async || bot.handle.is_running()).await;
    let waited = seen.elapsed();
    assert!(waited >= LEASE && waited < LEASE + Duration::from_secs(20), "{waited:?}");
    assert!(log.has(&["standing by", "elsewhere"]), "{:#?}", log.lines());
    assert!(log.has(&["took over the lease", "elsewhere"]), "{:#?}", log.lines());
    assert!(matches!(store.renew(BOT, other_epoch).await, Err(StoreError::Fenced { .. })));
    anna.receives_exactly(&[NAME]).await;
    bot.stops().await;
}

#[tokio::test]
async fn another_machine_waits_for_a_lease_in_redis_to_run_out() {
    let space = RedisNamespace::new();
    leader_on_another_machine_keeps_its_lease(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn another_machine_waits_for_a_lease_in_postgres_to_run_out() {
    let space = PostgresSchema::new().await;
    leader_on_another_machine_keeps_its_lease(opora::store::open(&space.url).await.unwrap()).await;
}
