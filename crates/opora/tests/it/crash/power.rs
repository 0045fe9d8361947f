//! A Redis with `appendfsync always` loses nothing in a power loss.
//!
//! A power loss is simulated as in [`super::everysec`], whose test shows that `everysec` does lose turns: Redis is
//! killed, and its file is cut after the last flushed byte. A disk that lies about flushes is not simulated.

use std::time::Duration;

use opora_testkit::environment;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::ChildConfig;
use super::everysec::{Failure, measure_loss, reported_loss};
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appendfsync_always_loses_no_turn() {
    let loss = measure_loss(Failure::PowerLoss, StoreKind::RedisAlways, 20).await;
    assert_eq!((loss.lost_turns, loss.lost_changes), (0, None));
    assert!(loss.in_the_last_second > 0, "no messages");
    loss.audit.assert_clean();
}

/// The bot is not paused here: Redis fails in the middle of writes, and the bot repeats what was not answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appendfsync_always_loses_nothing_under_load() {
    let (failures, people) = (environment::soak_kills().unwrap_or(5), environment::soak_people().unwrap_or(12));
    let stage = Stage::on(StoreKind::RedisAlways).await;
    // The lease must outlast the failures: a bot that loses it may repeat messages.
    let process = Process::child(&ChildConfig { lease_ms: 30_000, ..ChildConfig::of(&stage, Scenario::Registration) });
    process.wait_until_leading().await;
    let behaviour = Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, behaviour).await;
    let mut not_flushed = Vec::new();
    for _ in 0..failures {
        assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
        not_flushed.push(stage.backend.redis().lock().lose_unflushed());
        stage.backend.start_again();
    }
    let diaries = crowd.finish().await;
    let log = process.stop(&stage).await;
    let audit = Audit::of(&stage, Scenario::Registration, &diaries, 0).await;
    println!(
        "{failures} losses of power, {} dialogues; bytes written and neither flushed nor answered: {not_flushed:?}",
        audit.walks
    );
    audit.assert_clean();
    assert!(!log.iter().any(|line| reported_loss(line).is_some()), "{log:?}");
}
