//! Bugs on purpose: what they do to people is found out by the same checks that sound bots pass.

use std::sync::Arc;
use std::time::Duration;

use opora::failpoints;

use super::account::Account;
use super::bots::Part;
use super::bugs::Bug;
use super::people::{Crowd, Diary, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until};

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
async fn a_store_that_forgets_its_notes_of_what_was_sent_is_found_out() {
    killed_before_it_settles(None).await.is_clean();
    let account = killed_before_it_settles(Some(Bug::ForgetsNotes)).await;
    assert!(account.breaks("I4"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_that_is_read_in_another_order_is_found_out() {
    // The first of three things is in hand, and the others wait behind it: with the beginning and the question there are five.
    let kill = |bug| {
        let failpoint = failpoints::TURN_BEFORE_HANDLER;
        Kill { story: Story::Shopping, failpoint, hit: 2, people: 1, said: 5, bug }
    };
    killed(&Stage::new().await, kill(None)).await.0.is_clean();
    let (account, _) = killed(&Stage::new().await, kill(Some(Bug::ReversesTheInbox))).await;
    assert!(account.breaks("I2") && !account.breaks("I5"), "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_keeps_somebody_elses_data_is_found_out() {
    // Late enough that most have said something by which they are known.
    let kill = |bug| {
        let failpoint = failpoints::TURN_AFTER_COMMIT;
        Kill { story: Story::Registration, failpoint, hit: 50, people: 10, said: 0, bug }
    };
    killed(&Stage::new().await, kill(None)).await.0.is_clean();
    let (account, _) = killed(&Stage::new().await, kill(Some(Bug::MixesKeys))).await;
    assert!(account.breaks("I5"), "{account:?}");
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
    killed(stage, Kill { story, failpoint, hit: 3, people: 10, said: 0, bug: Some(bug) }).await
}

/// Who is killed where.
struct Kill<'a> {
    story: Story,
    failpoint: &'a str,
    hit: usize,
    people: usize,
    /// How much has to be said and acknowledged before.
    said: i64,
    bug: Option<Bug>,
}

/// Kills a bot, and lets another follow.
async fn killed(stage: &Arc<Stage>, kill: Kill<'_>) -> (Account, Vec<Diary>) {
    let Kill { story, failpoint, hit, people, said, bug } = kill;
    let part = |failpoints: String| Part { failpoints, bug, ..Part::of(stage, story) };
    let crowd = Crowd::begin(stage, people, manner(story)).await;
    let process = Process::playing(&part(format!("{failpoint}=pause@{hit}")));
    process.tells(&format!("failpoint {failpoint}")).await;
    if said > 0 {
        until("all of it is acknowledged", || stage.said() >= said && stage.unacknowledged() == 0).await;
    }
    process.kill().await;
    let in_the_act = stage.in_the_act().await;
    let process = Process::playing(&part(String::new()));
    process.leads().await;
    let diaries = crowd.finish_with(bug.is_some(), stage).await;
    process.stop(stage).await;
    (Account::of(stage, story, &diaries, in_the_act).await, diaries)
}

/// Kills a bot that has noted for a while what it has sent and settled nothing of it.
async fn killed_before_it_settles(bug: Option<Bug>) -> Account {
    let (stage, story) = (Stage::new().await, Story::Registration);
    let part = |failpoints: String| Part { failpoints, bug, ..Part::of(&stage, story) };
    let crowd = Crowd::begin(&stage, 10, manner(story)).await;
    // Whoever settles stops there, and all others go on.
    let process = Process::playing(&part(format!("{}=pause", failpoints::OUTBOX_AFTER_SETTLE)));
    process.tells(&format!("failpoint {}", failpoints::OUTBOX_AFTER_SETTLE)).await;
    assert!(stage.goes_on(60, PATIENCE).await);
    process.kill().await;
    let in_the_act = stage.in_the_act().await;
    let process = Process::playing(&part(String::new()));
    process.leads().await;
    let diaries = crowd.finish_with(bug.is_some(), &stage).await;
    process.stop(&stage).await;
    Account::of(&stage, story, &diaries, in_the_act).await
}

fn manner(story: Story) -> Manner {
    Manner { story, patience: PATIENCE, thought: Duration::from_millis(10) }
}
