//! One instance leads, others stand by. A leader that was paused past its lease writes nothing more.

use std::time::Duration;

use opora_testkit::environment;
use rustix::process::Signal;
use tokio::time::Instant;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::{ChildConfig, writers, writing_people};
use super::bugs::Bug;
use super::kills::Bot;
use super::people::{Behaviour, Crowd, SILENCE, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT, until, until_async};

/// How long a takeover may take beyond the lease.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(15);
/// The same if the leader was paused within a transaction: PostgreSQL ends that transaction after 6 seconds.
const BEYOND_THE_TRANSACTION: Duration = Duration::from_secs(26);

/// When a leader is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    BetweenWrites,
    WithinAWrite,
}

on_every_store! {
    of_three_instances_another_takes_over_at_once,
}
on_every_store! {
    in paused_on_sqlite on Sqlite:
    a_paused_leader_is_fenced,
}
on_every_store! {
    in paused_on_redis on Redis:
    a_paused_leader_is_fenced,
}
on_every_store! {
    in paused_on_postgres on OwnPostgres:
    a_paused_leader_is_fenced,
}
on_every_store! {
    in paused_on_redis_and_sqlite on RedisAndSqlite:
    a_paused_leader_is_fenced,
}
on_every_store! {
    in paused_on_redis_and_postgres on RedisAndOwnPostgres:
    a_paused_leader_is_fenced,
}

async fn a_paused_leader_is_fenced(kind: StoreKind) {
    paused_leader_is_fenced(kind, Moment::BetweenWrites).await;
}

async fn of_three_instances_another_takes_over_at_once(kind: StoreKind) {
    kill_each_leader(kind, Bot::Example, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_a_leader_paused_within_a_transaction_is_fenced() {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    paused_leader_is_fenced(StoreKind::OwnPostgres, Moment::WithinAWrite).await;
}

async fn paused_leader_is_fenced(kind: StoreKind, moment: Moment) {
    let (audit, log) = paused_past_its_lease(kind, moment, None).await;
    audit.assert_clean();
    assert!(log.iter().any(|line| line.contains("lost the lease") || line.contains("no longer the leader")), "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_a_fence_is_found() {
    let (audit, _) = with_a_bug(Bug::IgnoresTheLease).await;
    assert!(audit.violates("I7"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_ignores_versions_is_found() {
    let (audit, _) = with_a_bug(Bug::IgnoresTheVersion).await;
    // People get old or early questions, or no answer.
    assert!(["I5", "I2", "I1"].iter().any(|invariant| audit.violates(invariant)), "{audit:?}");
}

async fn with_a_bug(bug: Bug) -> (Audit, Vec<String>) {
    paused_past_its_lease(StoreKind::Sqlite, Moment::BetweenWrites, Some(bug)).await
}

/// Pauses the leader until a standby leads, then resumes it. Returns the audit and the old leader's log.
async fn paused_past_its_lease(kind: StoreKind, moment: Moment, bug: Option<Bug>) -> (Audit, Vec<String>) {
    let stage = Stage::on(kind).await;
    // A leader that cannot renew in time stops by itself. The old leader must lead until it is paused, so the lease is
    // long enough for a busy machine.
    let config = ChildConfig { lease_ms: 4000, bug, ..ChildConfig::of(&stage, Scenario::Registration) };
    let is_within = moment == Moment::WithinAWrite;
    let failpoints = if is_within { "store.in_commit=pause@150" } else { "" };
    let old = Process::child(&ChildConfig { failpoints: failpoints.to_owned(), ..config.clone() });
    old.wait_until_leading().await;
    let think_time = Duration::from_millis(100);
    // More people make a bug visible sooner.
    let people = if bug.is_some() { 30 } else { 12 };
    let crowd =
        Crowd::begin(&stage, people, Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time })
            .await;
    let new = Process::child(&config);
    new.wait_for_log("standing by").await;
    let store = stage.store().await;
    if is_within {
        old.wait_for_log("failpoint store.in_commit").await;
        pause(&old).await;
    } else {
        assert!(stage.sees_messages(60, TIMEOUT).await);
        pause_between_writes(&old, async || stage.backend.is_idle().await).await;
    }
    // What it was about to send, it may send after the pause.
    let (unrecorded, paused) = (stage.unsettled(&store).await.len(), Instant::now());
    new.wait_for_log("took over the lease").await;
    let taken_over = paused.elapsed();
    assert!(stage.sees_messages(60, TIMEOUT).await);
    let handled = old.count("input handled");
    old.signal(Signal::CONT);
    if bug.is_none() {
        old.wait_for_log("no longer the leader").await;
        assert!(stage.sees_messages(200, TIMEOUT).await);
    } else {
        // Two pollers take updates from each other: the new leader is paused until the old one has processed some.
        pause_between_writes(&new, async || stage.backend.is_idle().await).await;
        until("the old leader works on", || old.count("input handled") > handled + 20).await;
        new.signal(Signal::CONT);
        // With the bug some people get no answer, so there may be fewer messages.
        stage.sees_messages(20, SILENCE).await;
    }
    let diaries = crowd.finish_with(bug.is_some(), &stage).await;
    store.close().await.unwrap();
    let log = old.log_lines();
    old.kill().await;
    if bug.is_none() {
        drop(new.stop(&stage).await)
    } else {
        new.kill().await
    }
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    audit.check_writers(&writers(&stage).await);
    if bug.is_none() && stage.backend.has_tables() {
        audit.check_writes(&writing_people(&stage).await, &diaries);
    }
    println!("{kind:?}: {} dialogues, taken over {taken_over:?} after the pause", audit.walks);
    let beyond = if is_within { BEYOND_THE_TRANSACTION } else { BEYOND_THE_LEASE };
    if taken_over > Duration::from_millis(config.lease_ms) + beyond {
        audit.report(format!("the takeover took {taken_over:?}"));
    }
    (audit, log)
}

async fn pause(process: &Process) {
    process.signal(Signal::STOP);
    until("it is paused", || process.is_paused()).await;
}

/// Pauses a process while no write is under way. A process paused within a write holds the SQLite file, and no other
/// process can write. In PostgreSQL others wait too, until the server ends the idle transaction.
pub async fn pause_between_writes(process: &Process, is_idle: impl AsyncFn() -> bool) {
    until_async("a moment without a write", async || {
        pause(process).await;
        let is_idle = is_idle().await;
        if !is_idle {
            process.signal(Signal::CONT);
        }
        is_idle
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_on_redis_download_every_file_once() {
    kill_each_leader(StoreKind::Redis, Bot::Errand, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_on_redis_and_postgres_write_once() {
    kill_each_leader(StoreKind::RedisAndPostgres, Bot::Registration, 3).await;
}

mod all_of_five_instances {
    use super::*;

    on_every_store! { another_takes_over_at_once, }

    async fn another_takes_over_at_once(kind: StoreKind) {
        kill_each_leader(kind, Bot::Example, 5).await;
    }
}

/// Each instance leads in turn, until one is left.
async fn kill_each_leader(kind: StoreKind, bot: Bot, count: usize) {
    let (stage, people) = (Stage::on(kind).await, 12);
    let start = || match bot {
        Bot::Example => Process::registration(&stage, ""),
        // As long as the example's: only a kill may end it.
        bot => Process::child(&ChildConfig { lease_ms: 30_000, ..bot.config(&stage, "") }),
    };
    let mut instances = vec![start()];
    instances[0].wait_until_leading().await;
    while instances.len() < count {
        let standby = start();
        let holder = format!("holder=process {} on", instances[0].pid());
        standby.wait_for_log("standing by: another instance holds the lease").await;
        assert!(standby.has_logged(&holder), "{:?}", standby.log_lines());
        instances.push(standby);
    }
    bot.add_faults(&stage, people).await;
    let behaviour = Behaviour { scenario: bot.scenario(), timeout: TIMEOUT, think_time: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, behaviour).await;
    let mut unrecorded = 0;
    while instances.len() > 1 {
        assert!(stage.sees_messages(60, TIMEOUT).await);
        assert_eq!(leaders(&instances), 1);
        let leader = instances.remove(0);
        unrecorded += leader.kill_with_others_paused(&instances.iter().collect::<Vec<_>>(), &stage).await;
        let killed = Instant::now();
        until("another instance leads", || leaders(&instances) == 1).await;
        assert!(killed.elapsed() < Duration::from_secs(20), "a standby waited though the leader was seen to be gone");
        let leader = instances.iter().position(|instance| instance.time_to_lead().is_some()).unwrap();
        instances.swap(0, leader);
    }
    let diaries = crowd.finish().await;
    instances.remove(0).stop(&stage).await;
    bot.audit(&stage, &diaries, unrecorded).await.assert_clean();
}

fn leaders(instances: &[Process]) -> usize {
    instances.iter().filter(|instance| instance.time_to_lead().is_some()).count()
}
