//! Redis goes away while people talk, and the bot is killed: during the outage, and at every step of the replay.

use std::time::Duration;

use opora::clock::Millis;
use opora::failpoints;
use opora::key::DialogueKey;
use opora::store::with_setting;
use opora_testkit::environment;
use rustix::process::Signal;
use serde_json::json;

use super::account::{Account, versions};
use super::bots::{Part, written_by};
use super::keeper::{Kind, is_file_free, numbers_at};
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{BOT, PATIENCE, Stage, rows, until, until_so};
use super::takeover::pause_between_writes;

/// People think for a moment: who has a commit under way when Redis goes away can only go on when it is back, and not
/// everybody is to be one of these.
const THOUGHT: Duration = Duration::from_millis(250);
const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: THOUGHT };
const PEOPLE: usize = 12;

/// Longer than a machine with a lot to do needs for a renewal. A killed holder is seen to be gone whatever its lease.
const LEASE_MS: u64 = 10_000;

/// A bot on Redis with a journal: beside the application's tables if it has some, else in the stage's folder.
pub fn part(stage: &Stage, failpoint: &str) -> Part {
    let file = file(stage);
    let journal = if stage.keeper.database().is_some() { "database" } else { &file };
    let address = with_setting(&stage.address(), "away_after_ms", "100");
    let state_url = with_setting(&address, "journal", journal);
    let usual = Part::of(stage, Story::Registration);
    Part { state_url, failpoints: failpoint.to_owned(), lease_ms: LEASE_MS, ..usual }
}

/// Where its journal is if it is in a file.
fn file(stage: &Stage) -> String {
    stage.files().with_file_name("journal.db").display().to_string()
}

/// The address of the database in which its journal is.
fn journal_at(stage: &Stage) -> String {
    stage.keeper.database().unwrap_or_else(|| format!("sqlite:{}", file(stage)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_a_bot_outlives_an_outage_and_kills_in_it_and_in_the_replay() {
    outlives_an_outage_and_kills(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_beside_tables_in_a_file_its_turns_write_once_over_an_outage_and_kills() {
    outlives_an_outage_and_kills(Kind::RedisAndSqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_beside_tables_in_postgres_its_turns_write_once_over_an_outage_and_kills() {
    outlives_an_outage_and_kills(Kind::RedisAndPostgres).await;
}

async fn outlives_an_outage_and_kills(kind: Kind) {
    let stage = Stage::on(kind).await;
    let mut process = Process::playing(&part(&stage, ""));
    process.leads().await;
    let crowd = Crowd::begin(&stage, PEOPLE, MANNER).await;
    let (mut in_the_act, mut told) = (0, Vec::new());
    for outage in 0..environment::kills().unwrap_or(1) {
        assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
        stage.keeper.kill();
        process.tells("the journal goes on").await;
        let handled = process.count("input handled");
        assert!(stage.goes_on(20, PATIENCE).await, "nobody goes on: {:?}", process.told());
        until("there are turns in the journal", || process.count("input handled") > handled + 5).await;
        told.extend(process.told());
        process.kill().await;
        // It keeps what it has answered, so one that was started again has the rows that it had when it went away.
        stage.is_hung_up().await;
        stage.keeper.start_again();
        in_the_act += in_the_act_in_both(&stage).await;
        stage.keeper.kill();
        let (next, also) = is_killed_in_the_replay(&stage, outage, &mut told).await;
        (process, in_the_act) = (next, in_the_act + also);
    }
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    let diaries = crowd.finish().await;
    told.extend(process.stop(&stage).await);
    let mut account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    // What was in the act then nobody has counted.
    told.iter().filter(|line| line.contains("lost the lease")).for_each(|line| println!("{line}"));
    println!("{} dialogues, {} messages repeated of {in_the_act} in the act", account.walks, account.repeats);
    if stage.keeper.has_tables() {
        account.writes(&written_by(&stage).await, &diaries);
    }
    account.is_clean();
}

/// One starts while Redis is away, and is killed in the replay when that is back; so are the next two. Gives the one that
/// works then, and how many messages were in the act of being sent when the first was killed: it has answered people until
/// just before. Later ones come to the replay before they send anything.
async fn is_killed_in_the_replay(stage: &Stage, outage: usize, told: &mut Vec<String>) -> (Process, usize) {
    let at = [
        format!("{}=abort@{}", failpoints::JOURNAL_AFTER_ENTRY, 1 + (2 * outage + 2) % 5),
        format!("{}=abort", failpoints::JOURNAL_AFTER_PAGE),
        format!("{}=abort", failpoints::JOURNAL_BEFORE_EMPTY),
    ];
    // It goes on with whom the journal knows.
    let mut process = Process::playing(&part(stage, &at[0]));
    process.tells("Redis is away at the start").await;
    process.leads().await;
    stage.keeper.start_again();
    let mut in_the_act = None;
    for next in [&*at[1], &at[2], ""] {
        let status = process.ended().await;
        assert!(!status.success(), "{:?}", process.told());
        told.extend(process.told());
        if in_the_act.is_none() {
            in_the_act = Some(in_the_act_in_both(stage).await);
        }
        process = Process::playing(&part(stage, next));
    }
    process.leads().await;
    (process, in_the_act.unwrap_or_default())
}

/// How many messages were sent and are not known as sent, in Redis and in the journal, when a process has ended or stands
/// still. What was settled of Redis' own without it stands in the journal as news.
async fn in_the_act_in_both(stage: &Stage) -> usize {
    stage.is_hung_up().await;
    let journal = journal_at(stage);
    let mut all = Vec::new();
    for address in [&stage.address(), &journal] {
        let store = opora::store::open(address).await.unwrap();
        all.extend(rows(&store).await);
        store.close().await.unwrap();
    }
    let mut known = stage.keeper.noted_everywhere();
    known.extend(numbers_at(&journal, "SELECT id FROM opora_journal_settled").await);
    stage.sent_and_not_noted(all, &known).await
}

const QUESTION: &str = "Choose your language";
const NOT_UNDERSTOOD: &str = "invalid: this is not what I asked for";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_is_cut_off_behind_each_of_its_parts_repeats_and_loses_nothing() {
    is_cut_off_behind_each_part(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_out_of_a_database_that_is_cut_off_behind_each_of_its_parts_repeats_and_loses_nothing() {
    is_cut_off_behind_each_part(Kind::RedisAndPostgres).await;
}

/// The journal has a turn, a message that was not sent and an update that waits, and the replay is killed behind each.
async fn is_cut_off_behind_each_part(kind: Kind) {
    let stage = Stage::on(kind).await;
    let inbox_first = |failpoint: &str| Part { at_once: false, ..part(&stage, failpoint) };
    // The third turn never ends, so its update waits in the journal.
    let process = Process::playing(&inbox_first(&format!("{}=pause@3", failpoints::TURN_BEFORE_HANDLER)));
    process.leads().await;
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    stage.hears(person, QUESTION).await;
    stage.is_settled().await;
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    // The answer has to wait for longer than the process lives.
    stage.fault(json!({"method": "sendMessage", "retry_after": 600})).await;
    stage.says(person, "Well").await;
    until("the answer waits", || stage.faults_left() == 0).await;
    stage.says(person, "And now").await;
    process.tells("failpoint turn.before_handler").await;
    process.kill().await;
    stage.keeper.start_again();
    // Behind the turns; behind the messages, which come second then; behind the updates, before which only messages are left.
    for hit in [1, 2, 2] {
        let mut process = Process::playing(&inbox_first(&format!("{}=abort@{hit}", failpoints::JOURNAL_AFTER_PAGE)));
        let status = process.ended().await;
        assert!(!status.success(), "{:?}", process.told());
        assert!(!process.has_told("Redis has everything"), "{:?}", process.told());
    }
    let process = Process::playing(&inbox_first(""));
    process.tells("Redis has everything").await;
    stage.says(person, "And then").await;
    let expected = [QUESTION, NOT_UNDERSTOOD, NOT_UNDERSTOOD, NOT_UNDERSTOOD];
    until_so("everything is answered", async || stage.transcript(person).await.len() >= expected.len()).await;
    process.stop(&stage).await;
    assert_eq!(stage.transcript(person).await, expected);
    let store = stage.store().await;
    assert_eq!(versions(&store).await.get(&person), Some(&4));
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((numbers.inbox, numbers.outbox, numbers.parked, numbers.failed), (0, 0, 0, 0));
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_on_a_full_disk_acknowledges_nothing_and_nothing_is_lost() {
    let stage = Stage::on(Kind::Redis).await;
    let journal = journal_at(&stage);
    // It is over soon when it cannot be renewed.
    let process = Process::playing_within_limits(&Part { lease_ms: 1_500, ..part(&stage, "") });
    process.leads().await;
    let crowd = Crowd::begin(&stage, PEOPLE, MANNER).await;
    assert!(stage.goes_on(60, PATIENCE).await, "{:?}", process.told());
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    assert!(stage.goes_on(20, PATIENCE).await, "nobody goes on: {:?}", process.told());
    let lost = process.count("lost the lease");
    process.limit_files(Some(8192));
    process.tells("journal.db cannot be used").await;
    let is_told =
        |line: &String| line.contains("journal.db cannot be used") && line.contains("they stay with Telegram");
    until("it is told that updates stay", || process.told().iter().any(is_told)).await;
    until("nothing is acknowledged", || stage.unacknowledged() > 0).await;
    // Without a lease nothing is sent: what was sent and is not known as sent can be counted while it stands still.
    until("it has no lease", || process.count("lost the lease") > lost).await;
    pause_between_writes(&process, async || is_file_free(&journal).await).await;
    stage.keeper.start_again();
    let in_the_act = in_the_act_in_both(&stage).await;
    process.limit_files(None);
    process.signal(Signal::CONT);
    let diaries = crowd.finish().await;
    // Who stops before that leaves it in the journal, for the next start.
    process.tells("Redis has everything").await;
    process.stop(&stage).await;
    let account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    println!("{} dialogues, {} messages repeated of {in_the_act} in the act", account.walks, account.repeats);
    account.is_clean();
}

/// So long Redis is away in the long form.
const MINUTES: Duration = Duration::from_secs(125);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_long_form_minutes_without_redis_are_replayed_and_nothing_is_merged() {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    tokio::join!(is_away_for_minutes(Kind::Redis), is_away_for_minutes(Kind::RedisAndOwnPostgres));
}

/// People talk on while Redis is away for minutes. An operator changes one conversation there before the replay: of all
/// turns only hers do not fit, and are listed.
async fn is_away_for_minutes(kind: Kind) {
    let stage = Stage::on(kind).await;
    let process = Process::playing(&Part { lease_ms: 30_000, ..part(&stage, "") });
    process.leads().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "/start").await;
    stage.hears(anna, QUESTION).await;
    // Who has a commit under way when Redis goes away waits for all that time.
    let crowd = Crowd::begin(&stage, PEOPLE, Manner { patience: 2 * MINUTES, ..MANNER }).await;
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    stage.says(anna, "Well").await;
    stage.hears(anna, NOT_UNDERSTOOD).await;
    assert!(!stage.goes_on(i64::MAX / 2, MINUTES).await);
    assert!(stage.goes_on(20, PATIENCE).await, "nobody goes on: {:?}", process.told());
    pause_between_writes(&process, async || match stage.keeper.database() {
        Some(_) => stage.keeper.is_free().await,
        None => is_file_free(&journal_at(&stage)).await,
    })
    .await;
    stage.keeper.start_again();
    let in_the_act = in_the_act_in_both(&stage).await;
    let store = stage.store().await;
    assert!(store.operator().reset(&DialogueKey::private(BOT, anna), Millis(1)).await.unwrap());
    process.signal(Signal::CONT);
    process.tells("Redis has everything").await;
    let parked = async || store.parked(Some(BOT), 9).await.unwrap();
    until_so("she has been asked again", async || parked().await.iter().all(|parked| !parked.retry)).await;
    let parked = parked().await;
    let [parked] = &parked[..] else { panic!("{parked:?}") };
    assert_eq!((parked.key.user, &*parked.kind), (anna, "state"), "{parked:?}");
    assert!(parked.reason.contains("conflict"), "{parked:?}");
    assert!(store.drop_parked(parked.id).await.unwrap());
    store.close().await.unwrap();
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    let mut diaries = crowd.finish().await;
    // Nobody watches a button for minutes; that its turn was taken shows in what follows.
    diaries.iter_mut().for_each(|diary| diary.unanswered_presses = 0);
    let told = process.stop(&stage).await;
    let replays: Vec<_> = told.iter().filter(|line| line.contains("Redis has everything")).collect();
    assert!(replays.iter().any(|line| line.contains("conflicts=1 ")), "{replays:?}");
    let mut account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    println!(
        "{kind:?}: {} dialogues, {} messages repeated of {in_the_act} in the act; {replays:?}",
        account.walks, account.repeats
    );
    if stage.keeper.has_tables() {
        account.writes(&written_by(&stage).await, &diaries);
    }
    account.is_clean();
}
