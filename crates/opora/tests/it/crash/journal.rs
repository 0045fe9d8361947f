//! Redis goes away while people talk, and the bot is killed: during the outage, and at every step of the replay.

use std::path::Path;
use std::time::Duration;

use opora::failpoints;

use super::account::Account;
use super::bots::{Part, written_by};
use super::keeper::{Kind, with_setting};
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until};

/// People think for a moment: who has a commit under way when Redis goes away can only go on when it is back, and not
/// everybody is to be one of these.
const THOUGHT: Duration = Duration::from_millis(50);
const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: THOUGHT };
const PEOPLE: usize = 20;

/// A bot on Redis with a journal: beside the application's tables if it has some, else in the stage's folder.
fn part(stage: &Stage, failpoint: &str) -> Part {
    let file = stage.files().with_file_name("journal.db");
    let journal = if stage.keeper.database().is_some() { Path::new("database") } else { &file };
    let state_url = with_setting(&stage.address(), "journal", journal);
    Part { state_url, failpoints: failpoint.to_owned(), ..Part::of(stage, Story::Registration) }
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
    let process = Process::playing(&part(&stage, ""));
    process.leads().await;
    let crowd = Crowd::begin(&stage, PEOPLE, MANNER).await;
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    let handled = process.count("input handled");
    assert!(stage.goes_on(20, PATIENCE).await, "nobody goes on: {:?}", process.told());
    until("there are turns in the journal", || process.count("input handled") > handled + 5).await;
    process.kill().await;

    let at = [
        format!("{}=abort@3", failpoints::JOURNAL_AFTER_ENTRY),
        format!("{}=abort", failpoints::JOURNAL_AFTER_PAGE),
        format!("{}=abort", failpoints::JOURNAL_BEFORE_EMPTY),
    ];
    // The next one starts while Redis is still away, and goes on with whom the journal knows.
    let mut process = Process::playing(&part(&stage, &at[0]));
    process.tells("Redis is away at the start").await;
    process.leads().await;
    stage.keeper.start_again();
    for next in [&*at[1], &at[2], ""] {
        let status = process.ended().await;
        assert!(!status.success(), "{:?}", process.told());
        process = Process::playing(&part(&stage, next));
    }
    process.leads().await;
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    // Each kill may repeat what was in the act of sending: one message of each person at most.
    let mut account = Account::of(&stage, Story::Registration, &diaries, 5 * PEOPLE).await;
    println!("{} dialogues, {} messages repeated", account.walks, account.repeats);
    if stage.keeper.has_tables() {
        account.writes(&written_by(&stage).await, &diaries);
    }
    account.is_clean();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_on_a_full_disk_acknowledges_nothing_and_nothing_is_lost() {
    let stage = Stage::on(Kind::Redis).await;
    let process = Process::playing_within_limits(&part(&stage, ""));
    process.leads().await;
    let crowd = Crowd::begin(&stage, PEOPLE, MANNER).await;
    assert!(stage.goes_on(60, PATIENCE).await, "{:?}", process.told());
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    assert!(stage.goes_on(20, PATIENCE).await, "nobody goes on: {:?}", process.told());
    process.limit_files(Some(8192));
    process.tells("journal.db cannot be used").await;
    let is_told =
        |line: &String| line.contains("journal.db cannot be used") && line.contains("they stay with Telegram");
    until("it is told that updates stay", || process.told().iter().any(is_told)).await;
    until("nothing is acknowledged", || stage.unacknowledged() > 0).await;
    process.limit_files(None);
    stage.keeper.start_again();
    let diaries = crowd.finish().await;
    // Who stops before that leaves it in the journal, for the next start.
    process.tells("Redis has everything").await;
    process.stop(&stage).await;
    // What was in the act of sending when Redis ended, and when the disk was full, may come twice.
    Account::of(&stage, Story::Registration, &diaries, 2 * PEOPLE).await.is_clean();
}
