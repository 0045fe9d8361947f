//! What is lost with a Redis whose disk is up to a second behind, `appendfsync everysec`.
//!
//! That it is noticed is tested; how much it is, `cargo xtask soak everysec` measures and tells.

use std::time::Duration;

use rustix::process::Signal;

use super::account::{Account, versions};
use super::bots::Part;
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until};
use crate::environment;

/// How long people talk on before it falls, and how far its disk is behind.
const BEHIND: Duration = Duration::from_secs(1);
/// So often it falls until it has lost something: a flush may have come right before.
const FALLS: usize = 20;

/// How a Redis goes.
#[derive(Clone, Copy, Debug)]
pub enum Fall {
    Killed,
    /// As if its machine had lost power: what was not flushed is cut off its file, see [`crate::flushes`].
    WithoutPower,
}

/// What came of it.
pub struct Loss {
    pub account: Account,
    /// Turns that were there before the fall and are not there any more.
    pub lost_turns: i64,
    /// What the bot says is missing: writes of its rooms, of which a turn makes several (it is received, taken, and what it
    /// said is settled) and some belong to no turn at all. None if it misses nothing.
    pub lost_changes: Option<i64>,
    /// All that people said.
    pub inputs: i64,
    /// Turns in the second before the fall.
    pub in_the_last_second: i64,
}

/// Lets it fall while people talk; one whose disk is behind, until it has lost something with its power.
pub async fn after_a(fall: Fall, kind: Kind, people: usize) -> Loss {
    let stage = Stage::on(kind).await;
    // Its lease is to outlast the falls: who loses it may repeat what it was about to send.
    let process = Process::playing(&Part { lease_ms: 30_000, ..Part::of(&stage, Story::Registration) });
    process.leads().await;
    let manner = Manner { story: Story::Registration, patience: Duration::from_secs(6), thought: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, manner).await;
    assert!(stage.goes_on(100, PATIENCE).await);
    let is_to_lose = kind == Kind::RedisEverySecond && matches!(fall, Fall::WithoutPower);
    let (mut lost_turns, mut in_the_last_second) = (0, 0);
    for _ in 0..if is_to_lose { FALLS } else { 1 } {
        let before = turns(&stage).await;
        // People talk on for a second.
        assert!(!stage.goes_on(i64::MAX / 2, BEHIND).await);
        // While it stands still nothing is written, so what is there before and after can be compared.
        process.signal(Signal::STOP);
        until("it stands still", || process.stands_still()).await;
        let had = all_turns(&stage).await;
        in_the_last_second = had - before;
        match fall {
            Fall::Killed => stage.keeper.kill(),
            Fall::WithoutPower => drop(stage.keeper.redis().lock().lose_what_is_not_flushed()),
        }
        stage.keeper.start_again();
        lost_turns += had - all_turns(&stage).await;
        process.signal(Signal::CONT);
        if lost_turns > 0 {
            break;
        }
    }
    let diaries = crowd.finish().await;
    let told = process.stop(&stage).await;
    let inputs: usize = diaries.iter().map(|diary| diary.inputs).sum();
    let inputs = i64::try_from(inputs).unwrap();
    let account = Account::of(&stage, Story::Registration, &diaries, 0).await;
    let lost_changes = told.iter().filter_map(|line| alarm(line)).reduce(|some, more| some + more);
    Loss { account, lost_turns, lost_changes, inputs, in_the_last_second }
}

/// How many changes the bot says are missing, if this is where it says so.
pub fn alarm(line: &str) -> Option<i64> {
    let said = line.contains("Redis has lost its latest changes").then_some(line)?;
    said.split("missing=").nth(1)?.split(' ').next()?.parse().ok()
}

/// How many turns the store knows of. Whoever counts here knows nothing of what was there before, and changes nothing.
async fn turns(stage: &Stage) -> i64 {
    let url = stage.keeper.redis().lock().url();
    let store = opora::store::open_existing(&url).await.unwrap();
    let turns = versions(&store).await.values().sum();
    store.close().await.unwrap();
    turns
}

/// The same, once the server has done all that was on its way to it.
async fn all_turns(stage: &Stage) -> i64 {
    let mut count = turns(stage).await;
    loop {
        let again = turns(stage).await;
        if again == count {
            return count;
        }
        count = again;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_forgets_its_last_second_is_found_out() {
    let loss = after_a(Fall::WithoutPower, Kind::RedisEverySecond, 20).await;
    assert!(loss.lost_turns > 0 && loss.account.breaks("I1"), "{:?}", loss.account);
    // Every turn is a change of its room at least.
    assert!(loss.lost_changes >= Some(loss.lost_turns), "{:?} of {}", loss.lost_changes, loss.lost_turns);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_long_form_the_loss_of_a_redis_that_is_a_second_behind_is_measured() {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    let people = environment::people().unwrap_or(30);
    for (kind, fall) in [
        (Kind::RedisAlways, Fall::Killed),
        (Kind::RedisAlways, Fall::WithoutPower),
        (Kind::RedisEverySecond, Fall::Killed),
        (Kind::RedisEverySecond, Fall::WithoutPower),
    ] {
        let Loss { account, lost_turns, lost_changes, inputs, in_the_last_second } = after_a(fall, kind, people).await;
        let stuck = account.complaints.iter().filter(|complaint| complaint.contains("is stuck")).count();
        let fsync = if kind == Kind::RedisAlways { "always" } else { "everysec" };
        println!(
            "measured: appendfsync {fsync}, {fall:?}: {lost_turns} of {inputs} turns lost ({in_the_last_second} in the last \
             second), {} changes missing, {stuck} of {people} people wait in vain",
            lost_changes.unwrap_or_default()
        );
        // What was answered is with the system, whoever is killed; only a loss of power may take what is not on the disk.
        let is_whole = lost_turns == 0 && lost_changes.is_none();
        let may_lose = kind == Kind::RedisEverySecond && matches!(fall, Fall::WithoutPower);
        assert!(is_whole || may_lose, "{lost_turns}, {lost_changes:?}: {account:?}");
    }
}
