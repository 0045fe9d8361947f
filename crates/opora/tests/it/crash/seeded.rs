//! Bugs on purpose: what they do to people is found out by the same checks that sound bots pass.

use std::sync::Arc;
use std::time::Duration;

use opora::failpoints;

use super::account::Account;
use super::bots::Part;
use super::bugs::Bug;
use super::people::{Crowd, Diary, Manner, Story};
use super::process::Process;
use super::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_confirms_before_it_stores_is_found_out() {
    let account = killed_at(failpoints::INTAKE_BEFORE_RECEIVE, Bug::ConfirmsBeforeStoring).await;
    assert!(account.breaks("I1"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_takes_an_update_twice_is_found_out() {
    let account = killed_at(failpoints::INTAKE_AFTER_RECEIVE, Bug::ForgetsMarks).await;
    assert!(account.breaks("I1") || account.breaks("I2") || account.breaks("I5"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_forgets_what_it_has_to_send_is_found_out() {
    let account = killed_at(failpoints::OUTBOX_BEFORE_SEND, Bug::ForgetsWhatToSend).await;
    assert!(account.breaks("I3"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_sends_again_what_was_sent_is_found_out() {
    let account = killed_at(failpoints::OUTBOX_AFTER_SEND, Bug::SendsTwice).await;
    assert!(account.breaks("I4"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_taken_up_again_by_another_name_is_found_out_by_its_files() {
    let stage = Stage::new().await;
    let (mut account, diaries) = kill_at(&stage, Story::Errand, failpoints::EFFECT_AFTER_RUN, Bug::NamesWorkAnew).await;
    account.is_clean();
    account.files(&stage.files(), &diaries);
    assert!(account.breaks("I6"), "{account:?}");
}

async fn killed_at(failpoint: &str, bug: Bug) -> Account {
    kill_at(&Stage::new().await, Story::Registration, failpoint, bug).await.0
}

/// Kills a bot with a bug where the bug hurts.
pub async fn kill_at(stage: &Arc<Stage>, story: Story, failpoint: &str, bug: Bug) -> (Account, Vec<Diary>) {
    let part = |failpoints: String| Part { failpoints, bug: Some(bug), ..Part::of(stage, story) };
    let manner = Manner { story, patience: Duration::from_secs(6), thought: Duration::from_millis(10) };
    let crowd = Crowd::begin(stage, 10, manner).await;
    let process = Process::playing(&part(format!("{failpoint}=pause@3")));
    process.tells(&format!("failpoint {failpoint}")).await;
    process.kill().await;
    let in_the_act = stage.in_the_act().await;
    let process = Process::playing(&part(String::new()));
    let diaries = crowd.finish().await;
    process.stop(stage).await;
    (Account::of(stage, story, &diaries, in_the_act).await, diaries)
}
