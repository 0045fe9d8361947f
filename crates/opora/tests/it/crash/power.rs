//! A Redis with `appendfsync always` loses nothing with its machine's power.
//!
//! Power is lost as in [`super::everysec`], whose test shows that one which is a second behind does lose turns that way:
//! killed, and its file cut at the last byte that was flushed. A disk that answers a flush and has not done it is not
//! played here.

use std::time::Duration;

use opora_testkit::environment;

use super::account::Account;
use super::bots::Part;
use super::everysec::{Fall, after_a, alarm};
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_flushes_before_it_answers_loses_no_turn_with_its_power() {
    let loss = after_a(Fall::WithoutPower, Kind::RedisAlways, 20).await;
    assert_eq!((loss.lost_turns, loss.lost_changes), (0, None));
    assert!(loss.in_the_last_second > 0, "nobody has talked");
    loss.account.is_clean();
}

/// Nobody stands still here: Redis goes in the midst of its writes, and what it had not answered is asked of it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_too_a_redis_that_flushes_before_it_answers_loses_nothing_with_its_power() {
    let (falls, people) = (environment::kills().unwrap_or(5), environment::people().unwrap_or(12));
    let stage = Stage::on(Kind::RedisAlways).await;
    // Its lease is to outlast the falls: who loses it may repeat what it was about to send.
    let process = Process::playing(&Part { lease_ms: 30_000, ..Part::of(&stage, Story::Registration) });
    process.leads().await;
    let manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, manner).await;
    let mut not_flushed = Vec::new();
    for _ in 0..falls {
        assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
        not_flushed.push(stage.keeper.redis().lock().lose_what_is_not_flushed());
        stage.keeper.start_again();
    }
    let diaries = crowd.finish().await;
    let told = process.stop(&stage).await;
    let account = Account::of(&stage, Story::Registration, &diaries, 0).await;
    println!(
        "{falls} losses of power, {} dialogues; bytes written and neither flushed nor answered: {not_flushed:?}",
        account.walks
    );
    account.is_clean();
    assert!(!told.iter().any(|line| alarm(line).is_some()), "{told:?}");
}
