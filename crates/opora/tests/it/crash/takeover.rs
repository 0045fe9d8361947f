//! One instance leads, others stand by; a leader that was paused past its lease writes nothing more.

use std::time::Duration;

use rustix::process::Signal;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::time::Instant;

use super::account::Account;
use super::bots::{Part, writers};
use super::bugs::Bug;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, unsettled, until, until_so};

/// What a takeover by a standby takes beyond the lease's time.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    let (account, told) = paused_past_its_lease(None, PATIENCE).await;
    account.is_clean();
    assert!(
        told.iter().any(|line| line.contains("lost the lease") || line.contains("does not lead any more")),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_a_fence_is_found_out() {
    let (account, _) = paused_past_its_lease(Some(Bug::IgnoresTheLease), Duration::from_secs(5)).await;
    assert!(account.breaks("I7"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_compares_no_versions_is_found_out() {
    let (account, _) = paused_past_its_lease(Some(Bug::IgnoresTheVersion), Duration::from_secs(5)).await;
    // People are asked what they have answered, or wait in vain.
    assert!(account.breaks("I5") || account.breaks("I1"), "{account:?}");
}

/// Stops the leader in the middle of everything until a standby leads, then lets it go on; gives what it told.
async fn paused_past_its_lease(bug: Option<Bug>, patience: Duration) -> (Account, Vec<String>) {
    let stage = Stage::new().await;
    let part = Part { lease_ms: 1000, bug, ..Part::of(&stage, Story::Registration) };
    let old = Process::playing(&part);
    old.leads().await;
    let thought = Duration::from_millis(100);
    let crowd = Crowd::begin(&stage, 30, Manner { story: Story::Registration, patience, thought }).await;
    let new = Process::playing(&part);
    new.tells("stands by").await;
    let store = stage.store().await;
    assert!(stage.goes_on(60, PATIENCE).await);
    pause_between_writes(&old, &stage).await;
    let (in_the_act, paused) = (unsettled(&store).await, Instant::now());
    new.tells("took over the lease").await;
    let taken_over = paused.elapsed();
    assert!(stage.goes_on(60, PATIENCE).await);
    let handled = old.count("input handled");
    old.signal(Signal::CONT);
    if bug.is_none() {
        old.tells("does not lead any more").await;
        assert!(stage.goes_on(200, PATIENCE).await);
    } else {
        until("the old leader works on", || old.count("input handled") > handled + 20).await;
    }
    let diaries = crowd.finish().await;
    store.close().await.unwrap();
    let told = old.told();
    old.kill().await;
    if bug.is_none() {
        drop(new.stop(&stage).await)
    } else {
        new.kill().await
    }
    let mut account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    account.leases(&writers(&stage).await);
    if taken_over > Duration::from_millis(part.lease_ms) + BEYOND_THE_LEASE {
        account.complain(format!("the takeover took {taken_over:?}"));
    }
    (account, told)
}

/// Stops a process that is not in the midst of a write: in one it holds the file, and nobody else can write until it goes
/// on or ends.
async fn pause_between_writes(process: &Process, stage: &Stage) {
    until_so("a moment without a write", async || {
        process.signal(Signal::STOP);
        until("it stands still", || process.stands_still()).await;
        let is_free = is_free(stage).await;
        if !is_free {
            process.signal(Signal::CONT);
        }
        is_free
    })
    .await;
}

async fn is_free(stage: &Stage) -> bool {
    let options = SqliteConnectOptions::new().filename(stage.state()).busy_timeout(Duration::from_millis(20));
    let mut database = options.connect().await.unwrap();
    let is_free = match database.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => transaction.rollback().await.is_ok(),
        Err(_) => false,
    };
    database.close().await.unwrap();
    is_free
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_instances_one_leads_and_another_follows_at_once() {
    let stage = Stage::new().await;
    let mut instances = vec![Process::registration(&stage, "")];
    instances[0].leads().await;
    for _ in 0..2 {
        let standby = Process::registration(&stage, "");
        let holder = format!("holder=process {} on", instances[0].pid());
        standby.tells("stands by: another instance holds the lease").await;
        assert!(standby.has_told(&holder), "{:?}", standby.told());
        instances.push(standby);
    }
    let manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };
    let people = 20;
    let crowd = Crowd::begin(&stage, people, manner).await;
    while instances.len() > 1 {
        assert!(stage.goes_on(60, PATIENCE).await);
        assert_eq!(leaders(&instances), 1);
        instances.remove(0).kill().await;
        let killed = Instant::now();
        until("another instance leads", || leaders(&instances) == 1).await;
        assert!(killed.elapsed() < Duration::from_secs(10), "a standby waited though the leader was seen to be gone");
        let leader = instances.iter().position(|instance| instance.led_after().is_some()).unwrap();
        instances.swap(0, leader);
    }
    let diaries = crowd.finish().await;
    instances.remove(0).stop(&stage).await;
    // How much was in the act when nobody could look, nobody knows: one row of each person at most, with each kill.
    Account::of(&stage, Story::Registration, &diaries, 2 * people).await.is_clean();
}

fn leaders(instances: &[Process]) -> usize {
    instances.iter().filter(|instance| instance.led_after().is_some()).count()
}
