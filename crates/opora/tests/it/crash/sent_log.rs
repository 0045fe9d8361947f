//! Messages that were sent and not settled before a kill: the sent log prevents a second send.

use std::sync::Arc;

use opora::clock::Millis;
use opora::prelude::*;
use opora::store::{Answer, Epoch, Settled, Store, StoreLayer, with_setting};

use super::backend::StoreKind;
use super::bots::{ChildConfig, registration, run_child_on};
use super::journal;
use super::people::Scenario;
use super::process::Process;
use super::stage::{Stage, until};

const QUESTION: &str = "Choose your language";
const NOT_UNDERSTOOD: &str = "invalid: this is not what I asked for";

/// A layer whose sends are never settled: only the sent log has them.
#[derive(Debug)]
struct NeverSettles(Arc<dyn Store>);

impl StoreLayer for NeverSettles {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn settle<'a>(&'a self, _epoch: Epoch, _settled: Vec<Settled>, _at: Millis) -> Answer<'a, ()> {
        Box::pin(std::future::pending())
    }
}

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_settles_nothing() {
    run_child_on(|store| Arc::new(NeverSettles(store)), |_, bot| bot.dialogue(registration())).await;
}

fn settles_nothing(config: &ChildConfig) -> Process {
    Process::child_test("crash::sent_log::child_settles_nothing", config)
}

/// A person gets a question, which is in the sent log and not settled. Then the process is killed.
async fn kill_after_a_question(process: Process, stage: &Stage, person: i64) {
    stage.says(person, "/start").await;
    stage.receives(person, QUESTION).await;
    until("it is in the sent log", || !stage.backend.sent_log_ids().is_empty()).await;
    process.kill().await;
}

/// The next leader continues the dialogue and does not repeat the question.
async fn continue_without_a_repeated_question(process: Process, stage: &Stage, person: i64) {
    process.wait_until_leading().await;
    stage.says(person, "Well").await;
    stage.receives(person, NOT_UNDERSTOOD).await;
    process.stop(stage).await;
    assert_eq!(stage.transcript(person).await, [QUESTION, NOT_UNDERSTOOD]);
}

async fn question_is_not_repeated(stage: &Stage, config: &ChildConfig) {
    let person = stage.person("Anna").await;
    let process = settles_nothing(config);
    process.wait_until_leading().await;
    kill_after_a_question(process, stage, person).await;
    continue_without_a_repeated_question(Process::child(config), stage, person).await;
}

async fn a_message_sent_before_a_kill_is_not_repeated(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    question_is_not_repeated(&stage, &ChildConfig::of(&stage, Scenario::Registration)).await;
}

async fn a_standby_on_the_same_machine_reads_the_sent_log(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let config = ChildConfig::of(&stage, Scenario::Registration);
    let (person, leader) = (stage.person("Anna").await, settles_nothing(&config));
    leader.wait_until_leading().await;
    let standby = Process::child(&config);
    standby.wait_for_log("standing by").await;
    kill_after_a_question(leader, &stage, person).await;
    continue_without_a_repeated_question(standby, &stage, person).await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "counter")]
enum Counter {
    At { count: u32 },
}

/// Makes the counter start a new message.
const NEW_COUNTER: &str = "new";

/// Counts in one labelled message.
fn counter() -> Dialogue<Counter> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Counter> {
        turn.say(Say::text("counted 0").label("counter"));
        Ok(Next::Go(Counter::At { count: 0 }))
    }
    async fn more(turn: &mut Turn, count: u32, text: String) -> Step<Counter> {
        if text == NEW_COUNTER {
            turn.say(Say::text("counted 0").label("counter"));
            return Ok(Next::StayWith(Counter::At { count: 0 }));
        }
        turn.edit(Edit::text("counter", format!("counted {}", count + 1)));
        Ok(Next::StayWith(Counter::At { count: count + 1 }))
    }
    Dialogue::new().start(command("start"), start).on(Counter::AT, text(), more)
}

/// The entry points of child processes. In a normal test run they do nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_counts_and_settles_nothing() {
    run_child_on(|store| Arc::new(NeverSettles(store)), |_, bot| bot.dialogue(counter())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_counts() {
    run_child_on(|store| store, |_, bot| bot.dialogue(counter())).await;
}

async fn labelled_message_is_not_repeated(stage: &Stage, config: &ChildConfig) {
    let person = stage.person("Anna").await;
    let process = Process::child_test("crash::sent_log::child_counts_and_settles_nothing", config);
    process.wait_until_leading().await;
    stage.says(person, "/start").await;
    stage.receives(person, "counted 0").await;
    until("it is in the sent log", || !stage.backend.sent_log_ids().is_empty()).await;
    process.kill().await;
    let process = Process::child_test("crash::sent_log::child_counts", config);
    process.wait_until_leading().await;
    stage.says(person, "more").await;
    stage.receives(person, "counted 1").await;
    process.stop(stage).await;
    assert_eq!(stage.transcript(person).await, ["counted 1"]);
}

async fn a_labelled_message_sent_before_a_kill_can_be_edited(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    labelled_message_is_not_repeated(&stage, &ChildConfig::of(&stage, Scenario::Registration)).await;
}

/// A layer whose sends are never settled while Redis is away.
#[derive(Debug)]
struct NeverSettlesInJournal(Arc<dyn Store>);

impl StoreLayer for NeverSettlesInJournal {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn settle<'a>(&'a self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'a, ()> {
        // Epochs of a journal start there.
        if epoch.0 >= 1 << 22 { Box::pin(std::future::pending()) } else { self.0.settle(epoch, settled, at) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_counts_unsettled_while_redis_is_away() {
    run_child_on(|store| Arc::new(NeverSettlesInJournal(store)), |_, bot| bot.dialogue(counter())).await;
}

/// The counter becomes another message while Redis is away; it is in the sent log, and the process is killed.
async fn a_labelled_message_of_a_journal_can_be_edited(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let (config, person) = (journal::config(&stage, ""), stage.person("Anna").await);
    let process = Process::child_test("crash::sent_log::child_counts_unsettled_while_redis_is_away", &config);
    process.wait_until_leading().await;
    stage.says(person, "/start").await;
    stage.receives(person, "counted 0").await;
    stage.wait_until_settled().await;
    stage.backend.kill();
    process.wait_for_log("the journal goes on").await;
    let recorded = stage.backend.all_sent_log_ids();
    stage.says(person, NEW_COUNTER).await;
    until("it is in the sent log", || !stage.backend.all_sent_log_ids().is_subset(&recorded)).await;
    process.kill().await;
    stage.backend.start_again();
    let process = Process::child_test("crash::sent_log::child_counts", &config);
    process.wait_until_leading().await;
    stage.says(person, "more").await;
    stage.receives(person, "counted 1").await;
    process.stop(&stage).await;
    assert_eq!(stage.transcript(person).await, ["counted 0", "counted 1"]);
}

/// Started by a harness that does not use the settings of an address.
async fn the_example_writes_its_sent_log(kind: StoreKind) {
    for variable in ["DATA_DIR", "RUN_DIR"] {
        let stage = Stage::on(kind).await;
        let (person, folder) = (stage.person("Anna").await, stage.backend.address_and_folder().1);
        let process = Process::registration_with_folder(&stage, variable);
        stage.says(person, "/start").await;
        stage.receives(person, QUESTION).await;
        let is_sent_log = |file: std::io::Result<std::fs::DirEntry>| {
            file.is_ok_and(|file| file.file_name().to_string_lossy().contains("-sent-"))
        };
        until("it is in the sent log", || std::fs::read_dir(folder).is_ok_and(|mut files| files.any(is_sent_log)))
            .await;
        process.stop(&stage).await;
    }
}

on_every_store! {
    a_message_sent_before_a_kill_is_not_repeated,
    a_standby_on_the_same_machine_reads_the_sent_log,
    a_labelled_message_sent_before_a_kill_can_be_edited,
}
on_every_store! {
    in redis_as_aiogram on RedisAsAiogram:
    a_message_sent_before_a_kill_is_not_repeated,
}
on_every_store! {
    in redis_and_a_file on RedisAndSqlite:
    a_message_sent_before_a_kill_is_not_repeated,
    a_labelled_message_sent_before_a_kill_can_be_edited,
}
on_every_store! {
    in redis_and_postgres on RedisAndPostgres:
    a_message_sent_before_a_kill_is_not_repeated,
}
on_every_store! {
    in file_journal on Redis:
    a_labelled_message_of_a_journal_can_be_edited,
}
on_every_store! {
    in database_journal on RedisAndPostgres:
    a_labelled_message_of_a_journal_can_be_edited,
}
on_every_store! {
    in example_on_redis on Redis:
    the_example_writes_its_sent_log,
}
on_every_store! {
    in example_on_postgres on Postgres:
    the_example_writes_its_sent_log,
}

fn with_file_journal(stage: &Stage) -> ChildConfig {
    let journal = stage.files().with_file_name("journal.db").display().to_string();
    let state_url = with_setting(&stage.address(), "journal", &journal);
    ChildConfig { state_url, ..ChildConfig::of(stage, Scenario::Registration) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_a_message_is_not_repeated() {
    let stage = Stage::on(StoreKind::Redis).await;
    question_is_not_repeated(&stage, &with_file_journal(&stage)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_a_labelled_message_is_not_repeated() {
    let stage = Stage::on(StoreKind::Redis).await;
    labelled_message_is_not_repeated(&stage, &with_file_journal(&stage)).await;
}
