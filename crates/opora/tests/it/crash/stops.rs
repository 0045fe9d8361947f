//! Stops of a busy bot by one signal or two.

use std::time::Duration;

use rustix::process::Signal;

use super::audit::Audit;
use super::bots::ChildConfig;
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT};

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_is_orderly_and_repeats_nothing() {
    let stage = Stage::new().await;
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    for _ in 0..3 {
        let mut process = Process::registration(&stage, "");
        assert!(stage.sees_messages(80, TIMEOUT).await);
        process.signal(Signal::TERM);
        let status = process.wait_for_exit().await;
        assert!(status.success(), "{status}: {:?}", process.log_lines());
        in_order(
            &process.log_lines(),
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
    Audit::of(&stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_turn_delays_a_stop_only_to_its_deadline() {
    let (log, took) = stop_with_a_hanging_turn(Duration::from_millis(1500), 1).await;
    assert!(log.iter().any(|line| line.contains("some turns did not finish in time")), "{log:?}");
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_stops_at_once() {
    let (log, took) = stop_with_a_hanging_turn(TIMEOUT, 2).await;
    assert!(log.iter().any(|line| line.contains("stopping now")), "{log:?}");
    assert!(took < TIMEOUT / 3, "{took:?}");
}

/// Stops a bot with a turn that hangs; the next process serves the people. Returns its log and how long the stop took.
async fn stop_with_a_hanging_turn(deadline: Duration, signals: usize) -> (Vec<String>, Duration) {
    let stage = Stage::new().await;
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    let mut config = ChildConfig::of(&stage, Scenario::Registration);
    config.stop_ms = deadline.as_millis().try_into().unwrap();
    config.failpoints = "turn.before_commit=pause@40".to_owned();
    let mut process = Process::child(&config);
    process.wait_for_log("failpoint turn.before_commit").await;
    let begun = tokio::time::Instant::now();
    for _ in 0..signals {
        process.signal(Signal::TERM);
        process.wait_for_log("finishing turns").await;
    }
    let status = process.wait_for_exit().await;
    let (log, took) = (process.log_lines(), begun.elapsed());
    assert!(status.success(), "{status}: {log:?}");
    let unrecorded = stage.unrecorded_sends().await;
    config.failpoints.clear();
    let next = Process::child(&config);
    assert!(next.wait_until_leading().await < Duration::from_secs(20));
    let diaries = crowd.finish().await;
    next.stop(&stage).await;
    Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await.assert_clean();
    (log, took)
}

#[track_caller]
fn in_order(log: &[String], words: &[&str]) {
    let mut lines = log.iter();
    for word in words {
        assert!(lines.any(|line| line.contains(word)), "`{word}` is not in its place:\n{}", log.join("\n"));
    }
}
