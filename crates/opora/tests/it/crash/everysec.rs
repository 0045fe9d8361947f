//! What a Redis with `appendfsync everysec` loses: its disk is up to a second behind.
//!
//! Tests that the loss is noticed, and that turns with SQL writes are still done once. `cargo xtask soak everysec`
//! measures and reports how much is lost.

use std::sync::Arc;
use std::time::Duration;

use opora::store::{Store, with_setting};
use opora_testkit::environment;
use rustix::process::Signal;

use super::audit::{Audit, versions};
use super::backend::StoreKind;
use super::bots::{ChildConfig, writers, writing_people};
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{BOT, Stage, TIMEOUT, until};
use super::takeover::pause_between_writes;

/// How long people talk before the failure, and how far the disk is behind.
const BEHIND: Duration = Duration::from_secs(1);
/// The most failures until a turn is lost. A flush may come just before a failure.
const FAILURES: usize = 20;

#[derive(Clone, Copy, Debug)]
pub enum Failure {
    Killed,
    /// Its machine loses power: the file is cut after the last flushed byte, see `RedisServer::lose_unflushed`.
    PowerLoss,
}

pub struct Loss {
    pub audit: Audit,
    /// Turns that existed before the failure and are gone.
    pub lost_turns: i64,
    /// The number of missing changes that the bot reports. A turn makes several changes (receive, commit, settle), and
    /// some changes belong to no turn. None if the bot misses nothing.
    pub lost_changes: Option<i64>,
    pub inputs: i64,
    /// Turns in the second before the failure.
    pub in_the_last_second: i64,
}

/// Lets Redis fail while people talk; a Redis whose disk is behind, until a power loss has lost a turn.
pub async fn measure_loss(failure: Failure, kind: StoreKind, people: usize) -> Loss {
    let stage = Stage::on(kind).await;
    // The lease must outlast the failures: a bot that loses it may repeat messages.
    let process = Process::child(&ChildConfig { lease_ms: 30_000, ..ChildConfig::of(&stage, Scenario::Registration) });
    process.wait_until_leading().await;
    let behaviour = Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, behaviour).await;
    assert!(stage.sees_messages(100, TIMEOUT).await);
    let may_lose_turns = kind == StoreKind::RedisEverySecond && matches!(failure, Failure::PowerLoss);
    let (mut lost_turns, mut in_the_last_second) = (0, 0);
    for _ in 0..if may_lose_turns { FAILURES } else { 1 } {
        let before = turns(&stage).await;
        // People talk for a second.
        assert!(!stage.sees_messages(i64::MAX / 2, BEHIND).await);
        // While the bot is paused nothing is written, so the turns before and after can be compared.
        process.signal(Signal::STOP);
        until("it is paused", || process.is_paused()).await;
        let had = all_turns(&stage).await;
        in_the_last_second = had - before;
        match failure {
            Failure::Killed => stage.backend.kill(),
            Failure::PowerLoss => drop(stage.backend.redis().lock().lose_unflushed()),
        }
        stage.backend.start_again();
        lost_turns += had - all_turns(&stage).await;
        process.signal(Signal::CONT);
        if lost_turns > 0 {
            break;
        }
    }
    let diaries = crowd.finish_with(may_lose_turns, &stage).await;
    let log = process.stop(&stage).await;
    let inputs: usize = diaries.iter().map(|diary| diary.inputs).sum();
    let inputs = i64::try_from(inputs).unwrap();
    let audit = Audit::of(&stage, Scenario::Registration, &diaries, 0).await;
    let lost_changes = log.iter().filter_map(|line| reported_loss(line)).reduce(|some, more| some + more);
    Loss { audit, lost_turns, lost_changes, inputs, in_the_last_second }
}

/// The number of missing changes in a log line, if it is the line that reports them.
pub fn reported_loss(line: &str) -> Option<i64> {
    let said = line.contains("Redis has lost its latest changes").then_some(line)?;
    said.split("missing=").nth(1)?.split(' ').next()?.parse().ok()
}

async fn turns(stage: &Stage) -> i64 {
    read_redis(stage, async |store| versions(&store).await.values().sum()).await
}

/// Reads Redis with a new store, which has no last-seen record and changes nothing.
async fn read_redis<T>(stage: &Stage, look: impl AsyncFnOnce(Arc<dyn Store>) -> T) -> T {
    let url = stage.backend.redis().lock().url();
    let store = opora::store::open_existing(&url).await.unwrap();
    let found = look(Arc::clone(&store)).await;
    store.close().await.unwrap();
    found
}

/// Like [`turns`], after the server has processed everything that was sent to it.
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
async fn a_redis_that_loses_its_last_second_is_noticed() {
    let loss = measure_loss(Failure::PowerLoss, StoreKind::RedisEverySecond, 20).await;
    assert!(loss.lost_turns > 0 && loss.audit.violates("I1"), "{:?}", loss.audit);
    // Every turn is at least one change.
    assert!(loss.lost_changes >= Some(loss.lost_turns), "{:?} of {}", loss.lost_changes, loss.lost_turns);
}

/// What happens to a bot whose Redis loses power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BotFate {
    Continues,
    /// As if both were on one machine.
    IsKilled,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_power_loss_of_redis_turns_have_written_once() {
    turns_have_written_once(BotFate::Continues).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_power_loss_of_both_turns_have_written_once() {
    turns_have_written_once(BotFate::IsKilled).await;
}

/// Turns write to SQL. Redis loses them at a moment when nothing is under way: an acknowledged update without a
/// decision record would be lost with it. The decision records restore all conversations.
async fn turns_have_written_once(fate: BotFate) {
    let (stage, people) = (Stage::on(StoreKind::RedisEverySecondAndPostgres).await, 20);
    // It may take longer than a second until there is such a moment.
    let state_url = with_setting(&stage.address(), "after_loss", "go_on");
    let config = ChildConfig { state_url, lease_ms: 30_000, ..ChildConfig::of(&stage, Scenario::Registration) };
    let mut process = Process::child(&config);
    process.wait_until_leading().await;
    let think_time = Duration::from_millis(400);
    let crowd =
        Crowd::begin(&stage, people, Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time })
            .await;
    assert!(stage.sees_messages(100, TIMEOUT).await);
    let aof_bytes = stage.backend.redis().lock().aof_bytes();
    assert!(!stage.sees_messages(i64::MAX / 2, BEHIND).await);
    pause_between_writes(&process, async || is_everything_processed(&stage).await).await;
    let had = all_turns(&stage).await;
    stage.backend.redis().lock().lose_power(aof_bytes);
    stage.backend.start_again();
    let lost_turns = had - all_turns(&stage).await;
    // Messages that are unsent again in Redis may come twice.
    let mut allowed_repeats = read_redis(&stage, async |store| stage.unsettled(&store).await.len()).await;
    match fate {
        BotFate::Continues => process.signal(Signal::CONT),
        BotFate::IsKilled => {
            process.kill().await;
            process = Process::child(&config);
            // It is unknown which messages of the restored turns were sent. There is one for each person.
            allowed_repeats += people;
        }
    }
    process.wait_for_log("carried out decided turns that were missing in Redis").await;
    assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
    let diaries = crowd.finish().await;
    let log = process.stop(&stage).await;
    let is_told = log.iter().any(|line| reported_loss(line).is_some());
    assert!(lost_turns > 0 && is_told, "{lost_turns}: {log:?}");
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, allowed_repeats).await;
    println!("{fate:?}: {lost_turns} turns forgotten, {} messages repeated of {allowed_repeats}", audit.repeats);
    // A decision record has only the last transition, not those before it.
    audit.violations.retain(|violation| !violation.starts_with("I2: ") && !violation.contains("inputs and had"));
    audit.check_writes(&writing_people(&stage).await, &diaries);
    audit.check_writers(&writers(&stage).await);
    audit.assert_clean();
    let decided = "SELECT unnest(ARRAY[split_part(key, ':', 3)::bigint, to_version]) FROM opora_decisions";
    let (decided, reached) =
        (stage.backend.query_numbers(decided).await, read_redis(&stage, async |store| versions(&store).await).await);
    let decided = decided.as_chunks::<2>().0;
    assert_eq!(decided.len(), people);
    assert!(decided.iter().all(|[person, version]| reached.get(person) >= Some(version)), "{decided:?} {reached:?}");
}

/// Whether the bot has processed everything, and Redis has nothing to do.
async fn is_everything_processed(stage: &Stage) -> bool {
    if stage.unacknowledged() > 0 {
        return false;
    }
    let numbers = read_redis(stage, async |store| store.statistics(Some(BOT)).await.unwrap()).await;
    (numbers.inbox, numbers.outbox) == (0, 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_losses_are_measured() {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    let people = environment::soak_people().unwrap_or(30);
    for (kind, failure) in [
        (StoreKind::RedisAlways, Failure::Killed),
        (StoreKind::RedisAlways, Failure::PowerLoss),
        (StoreKind::RedisEverySecond, Failure::Killed),
        (StoreKind::RedisEverySecond, Failure::PowerLoss),
    ] {
        let Loss { audit, lost_turns, lost_changes, inputs, in_the_last_second } =
            measure_loss(failure, kind, people).await;
        let stuck = audit.violations.iter().filter(|violation| violation.contains("is stuck")).count();
        let fsync = if kind == StoreKind::RedisAlways { "always" } else { "everysec" };
        println!(
            "measured: appendfsync {fsync}, {failure:?}: {lost_turns} of {inputs} turns lost ({in_the_last_second} in the \
             last second), {} changes missing, {stuck} of {people} people wait in vain",
            lost_changes.unwrap_or_default()
        );
        // What was answered is with the operating system, so a kill loses nothing. Only a power loss may.
        let is_whole = lost_turns == 0 && lost_changes.is_none();
        let may_lose = kind == StoreKind::RedisEverySecond && matches!(failure, Failure::PowerLoss);
        assert!(is_whole || may_lose, "{lost_turns}, {lost_changes:?}: {audit:?}");
    }
}
