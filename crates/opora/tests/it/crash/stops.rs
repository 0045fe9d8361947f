//! The end of a bot's life: told to stop in the middle of everything, once and twice.

use std::time::Duration;

use rustix::process::Signal;

use super::account::Account;
use super::bots::Part;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage};

const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_goes_in_order_and_repeats_nothing() {
    let stage = Stage::new().await;
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    for _ in 0..3 {
        let mut process = Process::registration(&stage, "");
        assert!(stage.goes_on(80, PATIENCE).await);
        process.signal(Signal::TERM);
        let status = process.ended().await;
        assert!(status.success(), "{status}: {:?}", process.told());
        in_order(
            &process.told(),
            &[
                "told to stop",
                "no more updates and timers; finishing turns",
                "the courier has stopped",
                "released the lease",
                ": stopped",
            ],
        );
    }
    let process = Process::registration(&stage, "");
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    Account::of(&stage, Story::Registration, &diaries, 0).await.is_clean();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_hangs_does_not_hold_up_the_stop_beyond_its_deadline() {
    let (told, took) = stopped_with_a_turn_that_hangs(Duration::from_millis(1500), 1).await;
    assert!(told.iter().any(|line| line.contains("some turns did not finish in time")), "{told:?}");
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_cuts_the_stop_short() {
    let (told, took) = stopped_with_a_turn_that_hangs(PATIENCE, 2).await;
    assert!(told.iter().any(|line| line.contains("cutting short")), "{told:?}");
    assert!(took < PATIENCE / 3, "{took:?}");
}

/// Stops a bot one turn of which hangs; people are served on by the next one. Gives what it told and how long it took.
async fn stopped_with_a_turn_that_hangs(deadline: Duration, signals: usize) -> (Vec<String>, Duration) {
    let stage = Stage::new().await;
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    let mut part = Part::of(&stage, Story::Registration);
    part.stop_ms = deadline.as_millis().try_into().unwrap();
    part.failpoints = "turn.before_commit=pause@40".to_owned();
    let mut process = Process::playing(&part);
    process.tells("failpoint turn.before_commit").await;
    let begun = tokio::time::Instant::now();
    for _ in 0..signals {
        process.signal(Signal::TERM);
        process.tells("finishing turns").await;
    }
    let status = process.ended().await;
    let (told, took) = (process.told(), begun.elapsed());
    assert!(status.success(), "{status}: {told:?}");
    let in_the_act = stage.in_the_act().await;
    part.failpoints.clear();
    let next = Process::playing(&part);
    assert!(next.leads().await < Duration::from_secs(20));
    let diaries = crowd.finish().await;
    next.stop(&stage).await;
    Account::of(&stage, Story::Registration, &diaries, in_the_act).await.is_clean();
    (told, took)
}

#[track_caller]
fn in_order(told: &[String], words: &[&str]) {
    let mut lines = told.iter();
    for word in words {
        assert!(lines.any(|line| line.contains(word)), "`{word}` is not in its place:\n{}", told.join("\n"));
    }
}
