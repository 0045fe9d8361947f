//! Albums under kills: every item is handled once.

use std::sync::Arc;

use opora::failpoints;
use opora::prelude::*;
use opora::store::Store;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::bots::{ChildConfig, run_child};
use super::people::Scenario;
use super::process::Process;
use super::stage::{Stage, until, until_async};
use crate::stage::file;

/// An album of Telegram's maximum size is complete without a wait, so the long wait never elapses.
const LARGEST: usize = 10;
const LONG_QUIET_MS: u64 = 600_000;
const SHORT_QUIET_MS: u64 = 300;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "papers")]
enum Papers {
    Waiting,
}

/// Stores every album in a table, in the turn that handled it.
fn papers() -> Dialogue<Papers> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Papers> {
        turn.transact(|database| {
            Box::pin(async move {
                let table = "CREATE TABLE albums (id INTEGER PRIMARY KEY, files TEXT, is_late BOOLEAN)";
                sqlx::query(table).execute(database.sqlite()).await?;
                Ok(())
            })
        });
        turn.say("Send them.");
        Ok(Next::Go(Papers::Waiting))
    }
    async fn come(turn: &mut Turn, album: Album) -> Step<Papers> {
        let files: Vec<&str> = album.items.iter().map(Item::file_id).collect();
        turn.say(format!("{} items", files.len()));
        let (files, is_late) = (files.join(" "), album.late);
        turn.transact(move |database| {
            Box::pin(async move {
                let note = sqlx::query("INSERT INTO albums (files, is_late) VALUES (?, ?)").bind(files).bind(is_late);
                note.execute(database.sqlite()).await?;
                Ok(())
            })
        });
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("start"), start).on(Papers::WAITING, album(), come)
}

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_gathers_albums() {
    run_child(|_, bot| bot.dialogue(papers())).await;
}

/// A person who sends an album to a bot.
struct Fixture {
    stage: Arc<Stage>,
    person: i64,
    album_quiet_ms: u64,
    /// The answer may have been sent without a record at the kill. Then it may come once more.
    was_sending: bool,
}

impl Fixture {
    /// Starts a bot that waits for albums and pauses at this failpoint at the first one.
    async fn begin(album_quiet_ms: u64, failpoint: Option<&str>) -> (Self, Process) {
        let stage = Stage::new().await;
        let person = stage.person("Anna").await;
        let fixture = Self { stage, person, album_quiet_ms, was_sending: false };
        // The command hits the failpoint first.
        let process = fixture.start(failpoint.map_or_else(String::new, |name| format!("{name}=pause@2")));
        fixture.stage.says(person, "/start").await;
        fixture.stage.receives(person, "Send them.").await;
        (fixture, process)
    }

    fn start(&self, failpoints: String) -> Process {
        let config = ChildConfig::of(&self.stage, Scenario::Registration);
        let config = ChildConfig { failpoints, album_quiet_ms: self.album_quiet_ms, ..config };
        Process::child_test("crash::albums::child_gathers_albums", &config)
    }

    /// Sends an album. `delayed` items come with [`Self::rest_comes`]. Returns the sorted ids of its files.
    async fn sends(&self, items: usize, delayed: usize) -> Vec<String> {
        if delayed > 0 {
            self.stage.fault(json!({"updates": "delay", "delay_ms": 60_000, "times": delayed})).await;
        }
        let album = json!({"from": self.person, "album": vec![file(PIXEL_PNG); items]});
        let sent = self.stage.post(&format!("/chats/{}/send", self.person), album).await;
        let sizes = sent.as_array().unwrap().iter().map(|message| message["photo"].as_array().unwrap());
        let mut files: Vec<_> =
            sizes.map(|sizes| sizes.last().unwrap()["file_id"].as_str().unwrap().to_owned()).collect();
        files.sort();
        files
    }

    async fn rest_comes(&self) {
        self.stage.post("/clock", json!({"advance_seconds": 60})).await;
    }

    /// Lets a bot without failpoints finish. Returns the files of each input, and whether it came late.
    async fn ends(self, items: usize) -> Vec<(Vec<String>, bool)> {
        let process = self.start(String::new());
        until_async("all items are answered", async || self.answered().await.iter().sum::<usize>() >= items).await;
        process.stop(&self.stage).await;
        let mut database = SqliteConnection::connect(&self.stage.address()).await.unwrap();
        let received: Vec<(String, bool)> =
            sqlx::query_as("SELECT files, is_late FROM albums ORDER BY id").fetch_all(&mut database).await.unwrap();
        database.close().await.unwrap();
        let counts: Vec<_> = received.iter().map(|(files, _)| files.split(' ').count()).collect();
        let mut answered = self.answered().await;
        if self.was_sending && answered.len() == counts.len() + 1 {
            answered.dedup();
        }
        assert_eq!(answered, counts, "each input is answered once");
        let sorted = |files: String| {
            let mut files: Vec<_> = files.split(' ').map(ToOwned::to_owned).collect();
            files.sort();
            files
        };
        received.into_iter().map(|(files, is_late)| (sorted(files), is_late)).collect()
    }

    /// The numbers of items in the bot's answers.
    async fn answered(&self) -> Vec<usize> {
        let said = self.stage.transcript(self.person).await;
        said.iter().filter_map(|text| text.strip_suffix(" items")?.parse().ok()).collect()
    }
}

async fn album_after_a_kill_at(failpoint: &str) {
    let (mut fixture, process) = Fixture::begin(LONG_QUIET_MS, Some(failpoint)).await;
    // Only the intake pauses there, after the update is durable. Turns and sends continue.
    fixture.was_sending = failpoint == failpoints::INTAKE_AFTER_RECEIVE;
    let files = fixture.sends(LARGEST, 0).await;
    process.wait_for_log(&format!("failpoint {failpoint}")).await;
    process.kill().await;
    assert_eq!(fixture.ends(LARGEST).await, [(files, false)], "{failpoint}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_album_is_one_input_after_a_kill_at_any_failpoint() {
    tokio::join!(
        album_after_a_kill_at(failpoints::INTAKE_BEFORE_RECEIVE),
        album_after_a_kill_at(failpoints::INTAKE_AFTER_RECEIVE),
        album_after_a_kill_at(failpoints::TURN_BEFORE_HANDLER),
        album_after_a_kill_at(failpoints::TURN_AFTER_HANDLER),
        album_after_a_kill_at(failpoints::TURN_BEFORE_COMMIT),
        album_after_a_kill_at(failpoints::TURN_AFTER_COMMIT),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_album_is_one_input_after_a_kill_between_its_items() {
    // First stored and not acknowledged; then acknowledged and waiting for the rest.
    for failpoint in [Some(failpoints::INTAKE_AFTER_RECEIVE), None] {
        let (fixture, process) = Fixture::begin(LONG_QUIET_MS, failpoint).await;
        let files = fixture.sends(LARGEST, 4).await;
        match failpoint {
            Some(failpoint) => process.wait_for_log(&format!("failpoint {failpoint}")).await,
            None => until("six items are acknowledged", || fixture.stage.unacknowledged() == 4).await,
        }
        process.kill().await;
        assert_eq!(waiting(&fixture.stage).await, 6);
        fixture.rest_comes().await;
        assert_eq!(fixture.ends(LARGEST).await, [(files, false)], "{failpoint:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_after_a_kill_are_late_if_their_album_was_handled() {
    let (fixture, process) = Fixture::begin(SHORT_QUIET_MS, Some(failpoints::TURN_AFTER_COMMIT)).await;
    let files = fixture.sends(3, 1).await;
    process.wait_for_log("failpoint turn.after_commit").await;
    process.kill().await;
    fixture.rest_comes().await;
    let received = fixture.ends(3).await;
    let [(first, false), (second, true)] = &received[..] else { panic!("{received:?}") };
    assert_eq!((first.len(), second.len()), (2, 1));
    let mut all = [&first[..], &second[..]].concat();
    all.sort();
    assert_eq!(all, files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_item_is_lost_or_repeated_if_its_turn_was_killed() {
    let (fixture, process) = Fixture::begin(SHORT_QUIET_MS, Some(failpoints::TURN_BEFORE_COMMIT)).await;
    let files = fixture.sends(3, 1).await;
    process.wait_for_log("failpoint turn.before_commit").await;
    process.kill().await;
    fixture.rest_comes().await;
    // The last item comes before the next attempt, or late. That depends on the machine's speed.
    let received = fixture.ends(3).await;
    assert!(received.iter().enumerate().all(|(index, (_, is_late))| *is_late == (index > 0)), "{received:?}");
    let mut all: Vec<String> = received.into_iter().flat_map(|(files, _)| files).collect();
    all.sort();
    assert_eq!(all, files);
}

/// How many inputs wait in a file that no process has open.
async fn waiting(stage: &Stage) -> i64 {
    let store: Arc<dyn Store> = stage.store().await;
    let inbox = store.statistics(None).await.unwrap().inbox;
    store.close().await.unwrap();
    inbox
}
