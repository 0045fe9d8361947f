//! What is lost with a Redis whose disk is up to a second behind, `appendfsync everysec`.
//!
//! That it is noticed is tested, and that turns which write to SQL are done once all the same; how much is lost,
//! `cargo xtask soak everysec` measures and tells.

use std::sync::Arc;
use std::time::Duration;

use opora::store::{Store, with_setting};
use opora_testkit::environment;
use rustix::process::Signal;

use super::account::{Account, versions};
use super::bots::{Part, writers, written_by};
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{BOT, PATIENCE, Stage, until};
use super::takeover::pause_between_writes;

/// How long people talk on before it falls, and how far its disk is behind.
const BEHIND: Duration = Duration::from_secs(1);
/// So often it falls until it has lost something: a flush may have come right before.
const FALLS: usize = 20;

/// How a Redis goes.
#[derive(Clone, Copy, Debug)]
pub enum Fall {
    Killed,
    /// As if its machine had lost power: what was not flushed is cut off its file, see `RedisServer::lose_what_is_not_flushed`.
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
    let manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };
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
    let diaries = crowd.finish_with(is_to_lose, &stage).await;
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

/// How many turns the store knows of.
async fn turns(stage: &Stage) -> i64 {
    as_it_is(stage, async |store| versions(&store).await.values().sum()).await
}

/// Looks at Redis. Whoever looks here knows nothing of what was there before, and changes nothing.
async fn as_it_is<T>(stage: &Stage, look: impl AsyncFnOnce(Arc<dyn Store>) -> T) -> T {
    let url = stage.keeper.redis().lock().url();
    let store = opora::store::open_existing(&url).await.unwrap();
    let found = look(Arc::clone(&store)).await;
    store.close().await.unwrap();
    found
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

/// What becomes of a bot whose Redis loses power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    GoesOn,
    /// As if both were on one machine.
    IsKilled,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_writes_to_postgres_and_goes_on_with_a_redis_that_forgets_writes_once() {
    writes_once_though_its_redis_forgets(Then::GoesOn).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_writes_to_postgres_and_is_killed_with_a_redis_that_forgets_writes_once() {
    writes_once_though_its_redis_forgets(Then::IsKilled).await;
}

/// Turns that move a dialogue write to SQL. Redis forgets them at a moment when nothing is under way: an update that is
/// acknowledged and not decided would be lost with it. Records bring everybody back to where they are.
async fn writes_once_though_its_redis_forgets(then: Then) {
    let (stage, people) = (Stage::on(Kind::RedisEverySecondAndPostgres).await, 20);
    // It may take longer than a second until there is such a moment.
    let state_url = with_setting(&stage.address(), "after_loss", "go_on");
    let part = Part { state_url, lease_ms: 30_000, ..Part::of(&stage, Story::Registration) };
    let mut process = Process::playing(&part);
    process.leads().await;
    let thought = Duration::from_millis(400);
    let crowd = Crowd::begin(&stage, people, Manner { story: Story::Registration, patience: PATIENCE, thought }).await;
    assert!(stage.goes_on(100, PATIENCE).await);
    let kept_bytes = stage.keeper.redis().lock().kept_bytes();
    assert!(!stage.goes_on(i64::MAX / 2, BEHIND).await);
    pause_between_writes(&process, async || nothing_is_under_way(&stage).await).await;
    let had = all_turns(&stage).await;
    stage.keeper.redis().lock().lose_power(kept_bytes);
    stage.keeper.start_again();
    let lost_turns = had - all_turns(&stage).await;
    // What Redis has to send once more may come twice.
    let mut excused = as_it_is(&stage, async |store| stage.unsettled(&store).await.len()).await;
    match then {
        Then::GoesOn => process.signal(Signal::CONT),
        Then::IsKilled => {
            process.kill().await;
            process = Process::playing(&part);
            // Nobody knows what was sent of what a record brings back: there is one for everybody.
            excused += people;
        }
    }
    process.tells("turns were decided and not carried out in Redis; now they are").await;
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    let diaries = crowd.finish().await;
    let told = process.stop(&stage).await;
    let is_told = told.iter().any(|line| alarm(line).is_some());
    assert!(lost_turns > 0 && is_told, "{lost_turns}: {told:?}");
    let mut account = Account::of(&stage, Story::Registration, &diaries, excused).await;
    println!("{then:?}: {lost_turns} turns forgotten, {} messages repeated of {excused}", account.repeats);
    // A record tells where a turn led to, and not of those before it.
    account.complaints.retain(|complaint| !complaint.starts_with("I2: ") && !complaint.contains("inputs and had"));
    account.writes(&written_by(&stage).await, &diaries);
    account.leases(&writers(&stage).await);
    account.is_clean();
    let decided = "SELECT unnest(ARRAY[split_part(key, ':', 3)::bigint, to_version]) FROM opora_decisions";
    let (decided, reached) =
        (stage.keeper.numbers(decided).await, as_it_is(&stage, async |store| versions(&store).await).await);
    let decided = decided.as_chunks::<2>().0;
    assert_eq!(decided.len(), people);
    assert!(decided.iter().all(|[person, version]| reached.get(person) >= Some(version)), "{decided:?} {reached:?}");
}

/// Whether nothing is with the bot that is not in Redis, and nothing in Redis that is not done.
async fn nothing_is_under_way(stage: &Stage) -> bool {
    if stage.unacknowledged() > 0 {
        return false;
    }
    let numbers = as_it_is(stage, async |store| store.statistics(Some(BOT)).await.unwrap()).await;
    (numbers.inbox, numbers.outbox) == (0, 0)
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
