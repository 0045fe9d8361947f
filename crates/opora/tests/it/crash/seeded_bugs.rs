//! Seeded bugs: the audit that correct bots pass must find each of them.

use std::sync::Arc;
use std::time::Duration;

use opora::failpoints;

use super::audit::Audit;
use super::bots::ChildConfig;
use super::bugs::Bug;
use super::people::{Behaviour, Crowd, Diary, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_acknowledges_too_early_is_found() {
    let audit = killed_at(failpoints::INTAKE_BEFORE_RECEIVE, Bug::ConfirmsBeforeStoring).await;
    assert!(audit.violates("I1"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_takes_an_update_twice_is_found() {
    let audit = killed_at(failpoints::INTAKE_AFTER_RECEIVE, Bug::ForgetsMarks).await;
    assert!(audit.violates("I1") || audit.violates("I2") || audit.violates("I5"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_forgets_its_outbox_is_found() {
    let audit = killed_at(failpoints::OUTBOX_BEFORE_SEND, Bug::ForgetsOutbox).await;
    assert!(audit.violates("I3"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_sends_twice_is_found() {
    let audit = killed_at(failpoints::OUTBOX_AFTER_SEND, Bug::SendsTwice).await;
    assert!(audit.violates("I4"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_its_sent_log_is_found() {
    killed_before_it_settles(None).await.assert_clean();
    let audit = killed_before_it_settles(Some(Bug::ForgetsSentLog)).await;
    assert!(audit.violates("I4"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_read_in_the_wrong_order_is_found() {
    // The first of three things is being handled, and two wait behind it. With the start and the question that makes
    // five.
    let kill = |bug| {
        let failpoint = failpoints::TURN_BEFORE_HANDLER;
        Kill { scenario: Scenario::Shopping, failpoint, hit: 2, people: 1, said: 5, bug }
    };
    killed(&Stage::new().await, kill(None)).await.0.assert_clean();
    let (audit, _) = killed(&Stage::new().await, kill(Some(Bug::ReversesTheInbox))).await;
    assert!(audit.violates("I2") && !audit.violates("I5"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_mixes_up_people_is_found() {
    // Late enough that most people have sent data of their own.
    let kill = |bug| {
        let failpoint = failpoints::TURN_AFTER_COMMIT;
        Kill { scenario: Scenario::Registration, failpoint, hit: 50, people: 10, said: 0, bug }
    };
    killed(&Stage::new().await, kill(None)).await.0.assert_clean();
    let (audit, _) = killed(&Stage::new().await, kill(Some(Bug::MixesKeys))).await;
    assert!(audit.violates("I5"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_runs_again_with_another_key_is_found() {
    let stage = Stage::new().await;
    let (mut audit, diaries) =
        kill_at(&stage, Scenario::Errand, failpoints::EFFECT_AFTER_RUN, Bug::ChangesEffectKeys).await;
    audit.assert_clean();
    audit.check_files(&stage.files(), &diaries);
    assert!(audit.violates("I6"), "{audit:?}");
}

async fn killed_at(failpoint: &str, bug: Bug) -> Audit {
    kill_at(&Stage::new().await, Scenario::Registration, failpoint, bug).await.0
}

/// Kills a bot with a bug at a failpoint.
pub async fn kill_at(stage: &Arc<Stage>, scenario: Scenario, failpoint: &str, bug: Bug) -> (Audit, Vec<Diary>) {
    killed(stage, Kill { scenario, failpoint, hit: 3, people: 10, said: 0, bug: Some(bug) }).await
}

/// A kill of a bot.
struct Kill<'a> {
    scenario: Scenario,
    failpoint: &'a str,
    hit: usize,
    people: usize,
    /// The number of messages that must exist and be acknowledged before the kill.
    said: i64,
    bug: Option<Bug>,
}

/// Kills a bot and starts another.
async fn killed(stage: &Arc<Stage>, kill: Kill<'_>) -> (Audit, Vec<Diary>) {
    let Kill { scenario, failpoint, hit, people, said, bug } = kill;
    let config = |failpoints: String| ChildConfig { failpoints, bug, ..ChildConfig::of(stage, scenario) };
    let crowd = Crowd::begin(stage, people, behaviour(scenario)).await;
    let process = Process::child(&config(format!("{failpoint}=pause@{hit}")));
    process.wait_for_log(&format!("failpoint {failpoint}")).await;
    if said > 0 {
        until("all of it is acknowledged", || stage.message_count() >= said && stage.unacknowledged() == 0).await;
    }
    process.kill().await;
    let unrecorded = stage.unrecorded_sends().await;
    let process = Process::child(&config(String::new()));
    process.wait_until_leading().await;
    let diaries = crowd.finish_with(bug.is_some(), stage).await;
    process.stop(stage).await;
    (Audit::of(stage, scenario, &diaries, unrecorded).await, diaries)
}

/// Kills a bot that has recorded its sends in the sent log for a while and settled none.
async fn killed_before_it_settles(bug: Option<Bug>) -> Audit {
    let (stage, scenario) = (Stage::new().await, Scenario::Registration);
    let config = |failpoints: String| ChildConfig { failpoints, bug, ..ChildConfig::of(&stage, scenario) };
    let crowd = Crowd::begin(&stage, 10, behaviour(scenario)).await;
    // Only the task that settles stops there.
    let process = Process::child(&config(format!("{}=pause", failpoints::OUTBOX_AFTER_SETTLE)));
    process.wait_for_log(&format!("failpoint {}", failpoints::OUTBOX_AFTER_SETTLE)).await;
    assert!(stage.sees_messages(60, TIMEOUT).await);
    process.kill().await;
    let unrecorded = stage.unrecorded_sends().await;
    let process = Process::child(&config(String::new()));
    process.wait_until_leading().await;
    let diaries = crowd.finish_with(bug.is_some(), &stage).await;
    process.stop(&stage).await;
    Audit::of(&stage, scenario, &diaries, unrecorded).await
}

fn behaviour(scenario: Scenario) -> Behaviour {
    Behaviour { scenario, timeout: TIMEOUT, think_time: Duration::from_millis(10) }
}
