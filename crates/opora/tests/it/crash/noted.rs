//! What was sent and not settled when a bot was killed: it is noted on its machine, and does not come again.

use std::sync::Arc;

use opora::clock::Millis;
use opora::prelude::*;
use opora::store::{Answer, Epoch, Settled, Store, StoreLayer, with_setting};

use super::bots::{Part, play_over, registration};
use super::journal;
use super::keeper::Kind;
use super::people::Story;
use super::process::Process;
use super::stage::{Stage, until};

const QUESTION: &str = "Choose your language";
const NOT_UNDERSTOOD: &str = "invalid: this is not what I asked for";

/// A store before which nothing is settled: what was sent can be noted, and no more.
#[derive(Debug)]
struct NothingIsSettled(Arc<dyn Store>);

impl StoreLayer for NothingIsSettled {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn settle<'a>(&'a self, _epoch: Epoch, _settled: Vec<Settled>, _at: Millis) -> Answer<'a, ()> {
        Box::pin(std::future::pending())
    }
}

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_settles_nothing() {
    play_over(|store| Arc::new(NothingIsSettled(store)), |_, bot| bot.dialogue(registration())).await;
}

fn settles_nothing(part: &Part) -> Process {
    Process::playing_by("crash::noted::a_child_settles_nothing", part)
}

/// Somebody is asked a question, which is noted and not settled; then the process is killed.
async fn is_killed_after_a_question(process: Process, stage: &Stage, person: i64) {
    stage.says(person, "/start").await;
    stage.hears(person, QUESTION).await;
    until("it is noted", || !stage.keeper.noted().is_empty()).await;
    process.kill().await;
}

/// Whoever leads now goes on with the dialogue and does not ask again.
async fn goes_on_without_asking_again(process: Process, stage: &Stage, person: i64) {
    process.leads().await;
    stage.says(person, "Well").await;
    stage.hears(person, NOT_UNDERSTOOD).await;
    process.stop(stage).await;
    assert_eq!(stage.transcript(person).await, [QUESTION, NOT_UNDERSTOOD]);
}

async fn does_not_come_again(stage: &Stage, part: &Part) {
    let person = stage.person("Anna").await;
    let process = settles_nothing(part);
    process.leads().await;
    is_killed_after_a_question(process, stage, person).await;
    goes_on_without_asking_again(Process::playing(part), stage, person).await;
}

async fn what_was_sent_and_not_settled_before_a_kill_does_not_come_again(kind: Kind) {
    let stage = Stage::on(kind).await;
    does_not_come_again(&stage, &Part::of(&stage, Story::Registration)).await;
}

async fn a_standby_on_the_same_machine_reads_what_a_killed_leader_has_noted(kind: Kind) {
    let stage = Stage::on(kind).await;
    let part = Part::of(&stage, Story::Registration);
    let (person, leader) = (stage.person("Anna").await, settles_nothing(&part));
    leader.leads().await;
    let standby = Process::playing(&part);
    standby.tells("stands by").await;
    is_killed_after_a_question(leader, &stage, person).await;
    goes_on_without_asking_again(standby, &stage, person).await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "counter")]
enum Counter {
    At { count: u32 },
}

/// Makes the counter another message.
const ANEW: &str = "anew";

/// Counts in one message, which is known by its label.
fn counter() -> Dialogue<Counter> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Counter> {
        turn.say(Say::text("counted 0").label("counter"));
        Ok(Next::Go(Counter::At { count: 0 }))
    }
    async fn more(turn: &mut Turn, count: u32, text: String) -> Step<Counter> {
        if text == ANEW {
            turn.say(Say::text("counted 0").label("counter"));
            return Ok(Next::Keep(Counter::At { count: 0 }));
        }
        turn.edit(Edit::text("counter", format!("counted {}", count + 1)));
        Ok(Next::Keep(Counter::At { count: count + 1 }))
    }
    Dialogue::new().start(command("start"), start).on(Counter::AT, text(), more)
}

/// Of every run of the whole binary these are a part too; without a part to play they have nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_counts_and_settles_nothing() {
    play_over(|store| Arc::new(NothingIsSettled(store)), |_, bot| bot.dialogue(counter())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_counts() {
    play_over(|store| store, |_, bot| bot.dialogue(counter())).await;
}

async fn a_labelled_message_does_not_come_again(stage: &Stage, part: &Part) {
    let person = stage.person("Anna").await;
    let process = Process::playing_by("crash::noted::a_child_counts_and_settles_nothing", part);
    process.leads().await;
    stage.says(person, "/start").await;
    stage.hears(person, "counted 0").await;
    until("it is noted", || !stage.keeper.noted().is_empty()).await;
    process.kill().await;
    let process = Process::playing_by("crash::noted::a_child_counts", part);
    process.leads().await;
    stage.says(person, "more").await;
    stage.hears(person, "counted 1").await;
    process.stop(stage).await;
    assert_eq!(stage.transcript(person).await, ["counted 1"]);
}

async fn a_labelled_message_that_was_not_settled_before_a_kill_does_not_come_again_and_can_be_edited(kind: Kind) {
    let stage = Stage::on(kind).await;
    a_labelled_message_does_not_come_again(&stage, &Part::of(&stage, Story::Registration)).await;
}

/// A store before which nothing is settled while Redis is away.
#[derive(Debug)]
struct NothingIsSettledAway(Arc<dyn Store>);

impl StoreLayer for NothingIsSettledAway {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn settle<'a>(&'a self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'a, ()> {
        // Epochs of a journal begin there.
        if epoch.0 >= 1 << 22 { Box::pin(std::future::pending()) } else { self.0.settle(epoch, settled, at) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_counts_and_settles_nothing_while_redis_is_away() {
    play_over(|store| Arc::new(NothingIsSettledAway(store)), |_, bot| bot.dialogue(counter())).await;
}

/// The counter becomes another message while Redis is away, which is noted, and the process is killed.
async fn a_labelled_message_of_a_journal_can_be_edited(kind: Kind) {
    let stage = Stage::on(kind).await;
    let (part, person) = (journal::part(&stage, ""), stage.person("Anna").await);
    let process = Process::playing_by("crash::noted::a_child_counts_and_settles_nothing_while_redis_is_away", &part);
    process.leads().await;
    stage.says(person, "/start").await;
    stage.hears(person, "counted 0").await;
    stage.is_settled().await;
    stage.keeper.kill();
    process.tells("the journal goes on").await;
    let noted = stage.keeper.noted_everywhere();
    stage.says(person, ANEW).await;
    until("it is noted", || !stage.keeper.noted_everywhere().is_subset(&noted)).await;
    process.kill().await;
    stage.keeper.start_again();
    let process = Process::playing_by("crash::noted::a_child_counts", &part);
    process.leads().await;
    stage.says(person, "more").await;
    stage.hears(person, "counted 1").await;
    process.stop(&stage).await;
    assert_eq!(stage.transcript(person).await, ["counted 0", "counted 1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_labelled_message_that_was_not_settled_in_a_journal_before_a_kill_can_be_edited() {
    a_labelled_message_of_a_journal_can_be_edited(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_labelled_message_that_was_not_settled_in_a_database_before_a_kill_can_be_edited() {
    a_labelled_message_of_a_journal_can_be_edited(Kind::RedisAndPostgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_a_labelled_message_that_was_not_settled_before_a_kill_does_not_come_again() {
    let stage = Stage::on(Kind::Redis).await;
    let journal = stage.files().with_file_name("journal.db").display().to_string();
    let state_url = with_setting(&stage.address(), "journal", &journal);
    let part = Part { state_url, ..Part::of(&stage, Story::Registration) };
    a_labelled_message_does_not_come_again(&stage, &part).await;
}

/// As a harness starts it that knows nothing of the settings of an address.
async fn the_example_notes_what_was_sent_in_the_folder_of_its_environment(kind: Kind) {
    for variable in ["DATA_DIR", "RUN_DIR"] {
        let stage = Stage::on(kind).await;
        let (person, folder) = (stage.person("Anna").await, stage.keeper.apart().1);
        let process = Process::registration_with_folder(&stage, variable);
        stage.says(person, "/start").await;
        stage.hears(person, QUESTION).await;
        let is_note = |file: std::io::Result<std::fs::DirEntry>| {
            file.is_ok_and(|file| file.file_name().to_string_lossy().contains("-sent-"))
        };
        until("it is noted", || std::fs::read_dir(folder).is_ok_and(|mut files| files.any(is_note))).await;
        process.stop(&stage).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_on_redis_notes_what_was_sent_in_the_folder_of_its_environment() {
    the_example_notes_what_was_sent_in_the_folder_of_its_environment(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_on_postgres_notes_what_was_sent_in_the_folder_of_its_environment() {
    the_example_notes_what_was_sent_in_the_folder_of_its_environment(Kind::Postgres).await;
}

on_every_store! {
    what_was_sent_and_not_settled_before_a_kill_does_not_come_again,
    a_standby_on_the_same_machine_reads_what_a_killed_leader_has_noted,
    a_labelled_message_that_was_not_settled_before_a_kill_does_not_come_again_and_can_be_edited,
}
on_every_store! {
    in redis_as_aiogram on RedisAsAiogram:
    what_was_sent_and_not_settled_before_a_kill_does_not_come_again,
}
on_every_store! {
    in redis_and_a_file on RedisAndSqlite:
    what_was_sent_and_not_settled_before_a_kill_does_not_come_again,
    a_labelled_message_that_was_not_settled_before_a_kill_does_not_come_again_and_can_be_edited,
}
on_every_store! {
    in redis_and_postgres on RedisAndPostgres:
    what_was_sent_and_not_settled_before_a_kill_does_not_come_again,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_journal_what_was_sent_and_not_settled_before_a_kill_does_not_come_again() {
    let stage = Stage::on(Kind::Redis).await;
    let journal = stage.files().with_file_name("journal.db").display().to_string();
    let state_url = with_setting(&stage.address(), "journal", &journal);
    does_not_come_again(&stage, &Part { state_url, ..Part::of(&stage, Story::Registration) }).await;
}
