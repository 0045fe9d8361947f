//! Redis goes away while people talk, and the bot is killed: during the outage, and at every step of the replay.

use std::time::Duration;

use opora::clock::Millis;
use opora::failpoints;
use opora::key::ConversationKey;
use opora::store::with_setting;
use opora_testkit::environment;
use rustix::process::Signal;
use serde_json::json;

use super::audit::{Audit, versions};
use super::backend::{StoreKind, is_file_idle, query_numbers_at};
use super::bots::{ChildConfig, writing_people};
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{BOT, Stage, TIMEOUT, unsent_rows, until, until_async};
use super::takeover::pause_between_writes;

/// A person with a commit under way when Redis goes away has to wait until it is back. With pauses between their
/// answers, not everyone has.
const THINK_TIME: Duration = Duration::from_millis(250);
const BEHAVIOUR: Behaviour = Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: THINK_TIME };
const PEOPLE: usize = 12;

/// Long enough for renewals on a busy machine. A killed leader is noticed at once, whatever its lease.
const LEASE_MS: u64 = 10_000;

/// A bot on Redis with a journal: in the application's database if it has one, else in a file of the stage.
pub fn config(stage: &Stage, failpoint: &str) -> ChildConfig {
    let file = file(stage);
    let journal = if stage.backend.database().is_some() { "database" } else { &file };
    let address = with_setting(&stage.address(), "away_after_ms", "100");
    let state_url = with_setting(&address, "journal", journal);
    let usual = ChildConfig::of(stage, Scenario::Registration);
    ChildConfig { state_url, failpoints: failpoint.to_owned(), lease_ms: LEASE_MS, ..usual }
}

fn file(stage: &Stage) -> String {
    stage.files().with_file_name("journal.db").display().to_string()
}

fn journal_at(stage: &Stage) -> String {
    stage.backend.database().unwrap_or_else(|| format!("sqlite:{}", file(stage)))
}

on_every_store! {
    in redis on Redis:
    a_bot_survives_an_outage_and_kills,
    a_replay_killed_after_each_page_loses_nothing,
}
on_every_store! {
    in redis_and_sqlite on RedisAndSqlite:
    a_bot_survives_an_outage_and_kills,
}
on_every_store! {
    in redis_and_postgres on RedisAndPostgres:
    a_bot_survives_an_outage_and_kills,
    a_replay_killed_after_each_page_loses_nothing,
}

async fn a_bot_survives_an_outage_and_kills(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let mut process = Process::child(&config(&stage, ""));
    process.wait_until_leading().await;
    let crowd = Crowd::begin(&stage, PEOPLE, BEHAVIOUR).await;
    let (mut unrecorded, mut log) = (0, Vec::new());
    for outage in 0..environment::soak_kills().unwrap_or(1) {
        assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
        stage.backend.kill();
        process.wait_for_log("the journal goes on").await;
        let handled = process.count("input handled");
        assert!(stage.sees_messages(20, TIMEOUT).await, "no more messages: {:?}", process.log_lines());
        until("there are turns in the journal", || process.count("input handled") > handled + 5).await;
        log.extend(process.log_lines());
        process.kill().await;
        // Redis keeps what it has answered, so after a restart it has the rows that it had when it went away.
        stage.wait_for_emulator().await;
        stage.backend.start_again();
        unrecorded += unrecorded_sends_in_both(&stage).await;
        stage.backend.kill();
        let (next, also) = kill_in_the_replay(&stage, outage, &mut log).await;
        (process, unrecorded) = (next, unrecorded + also);
    }
    assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
    let diaries = crowd.finish().await;
    log.extend(process.stop(&stage).await);
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    // Messages that were unrecorded at a lost lease are not counted.
    log.iter().filter(|line| line.contains("lost the lease")).for_each(|line| println!("{line}"));
    println!("{} dialogues, {} messages repeated of {unrecorded} unrecorded", audit.walks, audit.repeats);
    if stage.backend.has_tables() {
        audit.check_writes(&writing_people(&stage).await, &diaries);
    }
    audit.assert_clean();
}

/// A process starts while Redis is away and is killed in the replay when Redis is back. So are the next two. Returns
/// the one that leads then, and the number of unrecorded sends when the first was killed. The later ones are killed
/// before they send anything.
async fn kill_in_the_replay(stage: &Stage, outage: usize, log: &mut Vec<String>) -> (Process, usize) {
    let at = [
        format!("{}=abort@{}", failpoints::JOURNAL_AFTER_ENTRY, 1 + (2 * outage + 2) % 5),
        format!("{}=abort", failpoints::JOURNAL_AFTER_PAGE),
        format!("{}=abort", failpoints::JOURNAL_BEFORE_EMPTY),
    ];
    // It continues with the conversations that the journal knows.
    let mut process = Process::child(&config(stage, &at[0]));
    process.wait_for_log("Redis is away at the start").await;
    process.wait_until_leading().await;
    stage.backend.start_again();
    let mut unrecorded = None;
    for next in [&*at[1], &at[2], ""] {
        let status = process.wait_for_exit().await;
        assert!(!status.success(), "{:?}", process.log_lines());
        log.extend(process.log_lines());
        if unrecorded.is_none() {
            unrecorded = Some(unrecorded_sends_in_both(stage).await);
        }
        process = Process::child(&config(stage, next));
    }
    process.wait_until_leading().await;
    (process, unrecorded.unwrap_or_default())
}

/// How many sends are unrecorded in Redis and in the journal, when a process has ended or is paused. The journal lists
/// rows of Redis that were settled without it.
async fn unrecorded_sends_in_both(stage: &Stage) -> usize {
    stage.wait_for_emulator().await;
    let journal = journal_at(stage);
    let mut all = Vec::new();
    for address in [&stage.address(), &journal] {
        let store = opora::store::open(address).await.unwrap();
        all.extend(unsent_rows(&store).await);
        store.close().await.unwrap();
    }
    let mut known = stage.backend.all_sent_log_ids();
    known.extend(query_numbers_at(&journal, "SELECT id FROM opora_journal_settled").await);
    stage.count_unrecorded(all, &known).await
}

const QUESTION: &str = "Choose your language";
const NOT_UNDERSTOOD: &str = "invalid: this is not what I asked for";

/// The journal has a turn, an unsent message and a waiting update, and the replay is killed after each.
async fn a_replay_killed_after_each_page_loses_nothing(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let inbox_first = |failpoint: &str| ChildConfig { at_once: false, ..config(&stage, failpoint) };
    // The third turn never ends, so its update waits in the journal.
    let process = Process::child(&inbox_first(&format!("{}=pause@3", failpoints::TURN_BEFORE_HANDLER)));
    process.wait_until_leading().await;
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    stage.receives(person, QUESTION).await;
    stage.wait_until_settled().await;
    stage.backend.kill();
    process.wait_for_log("the journal goes on").await;
    // The answer has to wait for longer than the process lives.
    stage.fault(json!({"method": "sendMessage", "retry_after": 600})).await;
    stage.says(person, "Well").await;
    until("the answer waits", || stage.faults_left() == 0).await;
    stage.says(person, "And now").await;
    process.wait_for_log("failpoint turn.before_handler").await;
    process.kill().await;
    stage.backend.start_again();
    // After the turns; after the messages, then in second place; after the updates, when only messages are before them.
    for hit in [1, 2, 2] {
        let mut process = Process::child(&inbox_first(&format!("{}=abort@{hit}", failpoints::JOURNAL_AFTER_PAGE)));
        let status = process.wait_for_exit().await;
        assert!(!status.success(), "{:?}", process.log_lines());
        assert!(!process.has_logged("Redis has everything"), "{:?}", process.log_lines());
    }
    let process = Process::child(&inbox_first(""));
    process.wait_for_log("Redis has everything").await;
    stage.says(person, "And then").await;
    let expected = [QUESTION, NOT_UNDERSTOOD, NOT_UNDERSTOOD, NOT_UNDERSTOOD];
    until_async("everything is answered", async || stage.transcript(person).await.len() >= expected.len()).await;
    process.stop(&stage).await;
    assert_eq!(stage.transcript(person).await, expected);
    let store = stage.store().await;
    assert_eq!(versions(&store).await.get(&person), Some(&4));
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((numbers.inbox, numbers.outbox, numbers.parked, numbers.failed), (0, 0, 0, 0));
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_on_a_full_disk_loses_nothing() {
    let stage = Stage::on(StoreKind::Redis).await;
    let journal = journal_at(&stage);
    // A short lease is lost soon when it cannot be renewed.
    let process = Process::child_with_file_limit(&ChildConfig { lease_ms: 1_500, ..config(&stage, "") });
    process.wait_until_leading().await;
    let crowd = Crowd::begin(&stage, PEOPLE, BEHAVIOUR).await;
    assert!(stage.sees_messages(60, TIMEOUT).await, "{:?}", process.log_lines());
    stage.backend.kill();
    process.wait_for_log("the journal goes on").await;
    assert!(stage.sees_messages(20, TIMEOUT).await, "no more messages: {:?}", process.log_lines());
    let lost = process.count("lost the lease");
    process.limit_files(Some(8192));
    process.wait_for_log("journal.db cannot be used").await;
    let is_told =
        |line: &String| line.contains("journal.db cannot be used") && line.contains("they stay with Telegram");
    until("the log says that updates stay", || process.log_lines().iter().any(is_told)).await;
    until("nothing is acknowledged", || stage.unacknowledged() > 0).await;
    // Without a lease nothing is sent, so unrecorded sends can be counted while it is paused.
    until("it has no lease", || process.count("lost the lease") > lost).await;
    pause_between_writes(&process, async || is_file_idle(&journal).await).await;
    stage.backend.start_again();
    let unrecorded = unrecorded_sends_in_both(&stage).await;
    process.limit_files(None);
    process.signal(Signal::CONT);
    let diaries = crowd.finish().await;
    // A stop before the replay would leave everything in the journal.
    process.wait_for_log("Redis has everything").await;
    process.stop(&stage).await;
    let audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    println!("{} dialogues, {} messages repeated of {unrecorded} unrecorded", audit.walks, audit.repeats);
    audit.assert_clean();
}

/// How long Redis is away in a soak run.
const MINUTES: Duration = Duration::from_secs(125);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_minutes_without_redis_are_replayed() {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    tokio::join!(
        redis_is_away_for_minutes(StoreKind::Redis),
        redis_is_away_for_minutes(StoreKind::RedisAndOwnPostgres)
    );
}

/// People talk while Redis is away for minutes. An operator changes one conversation in Redis before the replay: only
/// its turns conflict, and are listed.
async fn redis_is_away_for_minutes(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let process = Process::child(&ChildConfig { lease_ms: 30_000, ..config(&stage, "") });
    process.wait_until_leading().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "/start").await;
    stage.receives(anna, QUESTION).await;
    // A person with a commit under way when Redis goes away waits for the whole outage.
    let crowd = Crowd::begin(&stage, PEOPLE, Behaviour { timeout: 2 * MINUTES, ..BEHAVIOUR }).await;
    assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
    stage.backend.kill();
    process.wait_for_log("the journal goes on").await;
    stage.says(anna, "Well").await;
    stage.receives(anna, NOT_UNDERSTOOD).await;
    assert!(!stage.sees_messages(i64::MAX / 2, MINUTES).await);
    assert!(stage.sees_messages(20, TIMEOUT).await, "no more messages: {:?}", process.log_lines());
    pause_between_writes(&process, async || match stage.backend.database() {
        Some(_) => stage.backend.is_idle().await,
        None => is_file_idle(&journal_at(&stage)).await,
    })
    .await;
    stage.backend.start_again();
    let unrecorded = unrecorded_sends_in_both(&stage).await;
    let store = stage.store().await;
    assert!(store.operator().reset(&ConversationKey::private(BOT, anna), Millis(1)).await.unwrap());
    process.signal(Signal::CONT);
    process.wait_for_log("Redis has everything").await;
    let parked = async || store.parked(Some(BOT), 9).await.unwrap();
    until_async("she has been asked again", async || parked().await.iter().all(|parked| !parked.retry)).await;
    let parked = parked().await;
    let [parked] = &parked[..] else { panic!("{parked:?}") };
    assert_eq!((parked.key.user, &*parked.kind), (anna, "state"), "{parked:?}");
    assert!(parked.reason.contains("conflict"), "{parked:?}");
    assert!(store.drop_parked(parked.id).await.unwrap());
    store.close().await.unwrap();
    assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
    let mut diaries = crowd.finish().await;
    // No client waits for minutes until a press is answered; the next messages show that its turn was processed.
    diaries.iter_mut().for_each(|diary| diary.unanswered_presses = 0);
    let log = process.stop(&stage).await;
    let replays: Vec<_> = log.iter().filter(|line| line.contains("Redis has everything")).collect();
    assert!(replays.iter().any(|line| line.contains("conflicts=1 ")), "{replays:?}");
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    println!(
        "{kind:?}: {} dialogues, {} messages repeated of {unrecorded} unrecorded; {replays:?}",
        audit.walks, audit.repeats
    );
    if stage.backend.has_tables() {
        audit.check_writes(&writing_people(&stage).await, &diaries);
    }
    audit.assert_clean();
}
