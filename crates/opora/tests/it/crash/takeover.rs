//! One instance leads, others stand by; a leader that was paused past its lease writes nothing more.

use std::time::Duration;

use opora_testkit::environment;
use rustix::process::Signal;
use tokio::time::Instant;

use super::account::Account;
use super::bots::{Part, writers, written_by};
use super::bugs::Bug;
use super::keeper::Kind;
use super::kills::Bot;
use super::people::{Crowd, Manner, SILENCE, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until, until_so};

/// What a takeover by a standby takes beyond the lease's time.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(15);
/// The same, if the leader was paused in the midst of a transaction: PostgreSQL ends that one after 6 seconds.
const BEYOND_THE_TRANSACTION: Duration = Duration::from_secs(26);

/// In which moment a leader is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    BetweenWrites,
    WithinAWrite,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    is_fenced_and_nobody_is_hurt(Kind::Sqlite, Moment::BetweenWrites).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_redis_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    is_fenced_and_nobody_is_hurt(Kind::Redis, Moment::BetweenWrites).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_postgres_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    is_fenced_and_nobody_is_hurt(Kind::OwnPostgres, Moment::BetweenWrites).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_redis_and_a_file_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    is_fenced_and_nobody_is_hurt(Kind::RedisAndSqlite, Moment::BetweenWrites).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_redis_and_postgres_that_was_paused_past_its_lease_is_fenced_and_nobody_is_hurt() {
    is_fenced_and_nobody_is_hurt(Kind::RedisAndOwnPostgres, Moment::BetweenWrites).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_long_form_a_leader_on_postgres_that_was_paused_within_a_transaction_is_fenced() {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    is_fenced_and_nobody_is_hurt(Kind::OwnPostgres, Moment::WithinAWrite).await;
}

async fn is_fenced_and_nobody_is_hurt(kind: Kind, moment: Moment) {
    let (account, told) = paused_past_its_lease(kind, moment, None).await;
    account.is_clean();
    assert!(
        told.iter().any(|line| line.contains("lost the lease") || line.contains("does not lead any more")),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_a_fence_is_found_out() {
    let (account, _) = with_a_bug(Bug::IgnoresTheLease).await;
    assert!(account.breaks("I7"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_compares_no_versions_is_found_out() {
    let (account, _) = with_a_bug(Bug::IgnoresTheVersion).await;
    // People are asked what they have answered or before its turn, or wait in vain.
    assert!(["I5", "I2", "I1"].iter().any(|invariant| account.breaks(invariant)), "{account:?}");
}

async fn with_a_bug(bug: Bug) -> (Account, Vec<String>) {
    paused_past_its_lease(Kind::Sqlite, Moment::BetweenWrites, Some(bug)).await
}

/// Stops the leader in the middle of everything until a standby leads, then lets it go on; gives what it told.
async fn paused_past_its_lease(kind: Kind, moment: Moment, bug: Option<Bug>) -> (Account, Vec<String>) {
    let stage = Stage::on(kind).await;
    // A leader that cannot renew in time stops by itself: one that is to lead until it is paused, or to work on in spite of
    // another, needs time enough on a machine with a lot to do.
    let part = Part { lease_ms: 4000, bug, ..Part::of(&stage, Story::Registration) };
    let is_within = moment == Moment::WithinAWrite;
    let failpoints = if is_within { "store.in_commit=pause@150" } else { "" };
    let old = Process::playing(&Part { failpoints: failpoints.to_owned(), ..part.clone() });
    old.leads().await;
    let thought = Duration::from_millis(100);
    // A bug shows the sooner the more people there are.
    let people = if bug.is_some() { 30 } else { 12 };
    let crowd = Crowd::begin(&stage, people, Manner { story: Story::Registration, patience: PATIENCE, thought }).await;
    let new = Process::playing(&part);
    new.tells("stands by").await;
    let store = stage.store().await;
    if is_within {
        old.tells("failpoint store.in_commit").await;
        pause(&old).await;
    } else {
        assert!(stage.goes_on(60, PATIENCE).await);
        pause_between_writes(&old, async || stage.keeper.is_free().await).await;
    }
    // What it was about to send, it may send when it goes on.
    let (in_the_act, paused) = (stage.unsettled(&store).await.len(), Instant::now());
    new.tells("took over the lease").await;
    let taken_over = paused.elapsed();
    assert!(stage.goes_on(60, PATIENCE).await);
    let handled = old.count("input handled");
    old.signal(Signal::CONT);
    if bug.is_none() {
        old.tells("does not lead any more").await;
        assert!(stage.goes_on(200, PATIENCE).await);
    } else {
        // Two that ask for updates take them from each other: the old one is left alone until it has had its share.
        pause_between_writes(&new, async || stage.keeper.is_free().await).await;
        until("the old leader works on", || old.count("input handled") > handled + 20).await;
        new.signal(Signal::CONT);
        // The bug leaves people without an answer, so it may not come to so much.
        stage.goes_on(20, SILENCE).await;
    }
    let diaries = crowd.finish_with(bug.is_some(), &stage).await;
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
    if bug.is_none() && stage.keeper.has_tables() {
        account.writes(&written_by(&stage).await, &diaries);
    }
    println!("{kind:?}: {} dialogues, taken over {taken_over:?} after the pause", account.walks);
    let beyond = if is_within { BEYOND_THE_TRANSACTION } else { BEYOND_THE_LEASE };
    if taken_over > Duration::from_millis(part.lease_ms) + beyond {
        account.complain(format!("the takeover took {taken_over:?}"));
    }
    (account, told)
}

async fn pause(process: &Process) {
    process.signal(Signal::STOP);
    until("it stands still", || process.stands_still()).await;
}

/// Stops a process that is not in the midst of a write: in one it holds the file, and nobody else can write until it goes
/// on or ends. PostgreSQL too lets others wait, until it loses patience with whoever idles in a transaction.
pub async fn pause_between_writes(process: &Process, is_free: impl AsyncFn() -> bool) {
    until_so("a moment without a write", async || {
        pause(process).await;
        let is_free = is_free().await;
        if !is_free {
            process.signal(Signal::CONT);
        }
        is_free
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_instances_one_leads_and_another_follows_at_once() {
    one_leads_and_another_follows(Kind::Sqlite, Bot::Example, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_instances_on_redis_one_leads_and_another_follows_at_once() {
    one_leads_and_another_follows(Kind::Redis, Bot::Example, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_instances_on_postgres_one_leads_and_another_follows_at_once() {
    one_leads_and_another_follows(Kind::Postgres, Bot::Example, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_on_redis_that_follow_each_other_fetch_every_file_once() {
    one_leads_and_another_follows(Kind::Redis, Bot::Errand, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_on_redis_and_postgres_that_follow_each_other_write_once() {
    one_leads_and_another_follows(Kind::RedisAndPostgres, Bot::Registration, 3).await;
}

mod all_of_five_instances {
    use super::*;

    on_every_store! { one_leads_and_another_follows_at_once, }

    async fn one_leads_and_another_follows_at_once(kind: Kind) {
        one_leads_and_another_follows(kind, Bot::Example, 5).await;
    }
}

/// Each leads in its turn, until one is left.
async fn one_leads_and_another_follows(kind: Kind, bot: Bot, count: usize) {
    let (stage, people) = (Stage::on(kind).await, 12);
    let start = || match bot {
        Bot::Example => Process::registration(&stage, ""),
        // As long as the example's: nobody is to lose it but by a kill.
        bot => Process::playing(&Part { lease_ms: 30_000, ..bot.part(&stage, "") }),
    };
    let mut instances = vec![start()];
    instances[0].leads().await;
    while instances.len() < count {
        let standby = start();
        let holder = format!("holder=process {} on", instances[0].pid());
        standby.tells("stands by: another instance holds the lease").await;
        assert!(standby.has_told(&holder), "{:?}", standby.told());
        instances.push(standby);
    }
    bot.is_troubled(&stage, people).await;
    let manner = Manner { story: bot.story(), patience: PATIENCE, thought: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, manner).await;
    let mut in_the_act = 0;
    while instances.len() > 1 {
        assert!(stage.goes_on(60, PATIENCE).await);
        assert_eq!(leaders(&instances), 1);
        let leader = instances.remove(0);
        in_the_act += leader.kill_beside(&instances.iter().collect::<Vec<_>>(), &stage).await;
        let killed = Instant::now();
        until("another instance leads", || leaders(&instances) == 1).await;
        assert!(killed.elapsed() < Duration::from_secs(20), "a standby waited though the leader was seen to be gone");
        let leader = instances.iter().position(|instance| instance.led_after().is_some()).unwrap();
        instances.swap(0, leader);
    }
    let diaries = crowd.finish().await;
    instances.remove(0).stop(&stage).await;
    bot.account(&stage, &diaries, in_the_act).await.is_clean();
}

fn leaders(instances: &[Process]) -> usize {
    instances.iter().filter(|instance| instance.led_after().is_some()).count()
}
