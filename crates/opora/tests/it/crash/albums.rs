//! Albums under kills: every item is heard, and none twice.

use std::sync::Arc;

use opora::failpoints;
use opora::prelude::*;
use opora::store::Store;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::bots::{Part, play};
use super::people::Story;
use super::process::Process;
use super::stage::{Stage, until, until_so};
use crate::stage::file;

/// An album of Telegram's largest size is whole without a wait, so this wait is never waited out.
const LARGEST: usize = 10;
const LONG_QUIET_MS: u64 = 600_000;
const SHORT_QUIET_MS: u64 = 300;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "papers")]
enum Papers {
    Waiting,
}

/// Notes every album in a table of its own, with the turn that heard it.
fn papers() -> Dialogue<Papers> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Papers> {
        turn.transact(|database| {
            Box::pin(async move {
                let table = "CREATE TABLE heard (id INTEGER PRIMARY KEY, files TEXT, is_late BOOLEAN)";
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
                let note = sqlx::query("INSERT INTO heard (files, is_late) VALUES (?, ?)").bind(files).bind(is_late);
                note.execute(database.sqlite()).await?;
                Ok(())
            })
        });
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("start"), start).on(Papers::WAITING, album(), come)
}

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_gathers_albums() {
    play(|_, bot| bot.dialogue(papers())).await;
}

/// A person who has sent an album to a bot, and what the bot made of it.
struct Scene {
    stage: Arc<Stage>,
    person: i64,
    album_quiet_ms: u64,
    /// The answer may have been in the act of being sent at the kill: then it may be said once more.
    was_sending: bool,
}

impl Scene {
    /// A bot that waits for albums, and pauses at this failpoint when the first comes.
    async fn begin(album_quiet_ms: u64, failpoint: Option<&str>) -> (Self, Process) {
        let stage = Stage::new().await;
        let person = stage.person("Anna").await;
        let scene = Self { stage, person, album_quiet_ms, was_sending: false };
        // The command was the first to pass there.
        let process = scene.start(failpoint.map_or_else(String::new, |name| format!("{name}=pause@2")));
        scene.stage.says(person, "/start").await;
        scene.stage.hears(person, "Send them.").await;
        (scene, process)
    }

    fn start(&self, failpoints: String) -> Process {
        let part = Part::of(&self.stage, Story::Registration);
        let part = Part { failpoints, album_quiet_ms: self.album_quiet_ms, ..part };
        Process::playing_by("crash::albums::a_child_gathers_albums", &part)
    }

    /// Sends an album, of which so many items come when [`Self::rest_comes`]. Gives the ids of its files, sorted.
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

    /// Lets a bot without failpoints finish; gives the files of each input, and whether it came late.
    async fn ends(self, items: usize) -> Vec<(Vec<String>, bool)> {
        let process = self.start(String::new());
        until_so("all items are answered", async || self.answered().await.iter().sum::<usize>() >= items).await;
        process.stop(&self.stage).await;
        let mut database = SqliteConnection::connect(&self.stage.address()).await.unwrap();
        let heard: Vec<(String, bool)> =
            sqlx::query_as("SELECT files, is_late FROM heard ORDER BY id").fetch_all(&mut database).await.unwrap();
        database.close().await.unwrap();
        let counts: Vec<_> = heard.iter().map(|(files, _)| files.split(' ').count()).collect();
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
        heard.into_iter().map(|(files, is_late)| (sorted(files), is_late)).collect()
    }

    /// The numbers of items that the bot has spoken of.
    async fn answered(&self) -> Vec<usize> {
        let said = self.stage.transcript(self.person).await;
        said.iter().filter_map(|text| text.strip_suffix(" items")?.parse().ok()).collect()
    }
}

async fn is_one_input_after_a_kill_at(failpoint: &str) {
    let (mut scene, process) = Scene::begin(LONG_QUIET_MS, Some(failpoint)).await;
    // Only the intake pauses there, behind what is durable: turns and sends go on.
    scene.was_sending = failpoint == failpoints::INTAKE_AFTER_RECEIVE;
    let files = scene.sends(LARGEST, 0).await;
    process.tells(&format!("failpoint {failpoint}")).await;
    process.kill().await;
    assert_eq!(scene.ends(LARGEST).await, [(files, false)], "{failpoint}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_album_is_one_input_whenever_the_bot_was_killed_on_its_way() {
    tokio::join!(
        is_one_input_after_a_kill_at(failpoints::INTAKE_BEFORE_RECEIVE),
        is_one_input_after_a_kill_at(failpoints::INTAKE_AFTER_RECEIVE),
        is_one_input_after_a_kill_at(failpoints::TURN_BEFORE_HANDLER),
        is_one_input_after_a_kill_at(failpoints::TURN_AFTER_HANDLER),
        is_one_input_after_a_kill_at(failpoints::TURN_BEFORE_COMMIT),
        is_one_input_after_a_kill_at(failpoints::TURN_AFTER_COMMIT),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_album_is_one_input_when_the_bot_was_killed_between_its_items() {
    // Stored and not acknowledged; and acknowledged, gathered and waiting for the rest.
    for failpoint in [Some(failpoints::INTAKE_AFTER_RECEIVE), None] {
        let (scene, process) = Scene::begin(LONG_QUIET_MS, failpoint).await;
        let files = scene.sends(LARGEST, 4).await;
        match failpoint {
            Some(failpoint) => process.tells(&format!("failpoint {failpoint}")).await,
            None => until("six items are acknowledged", || scene.stage.unacknowledged() == 4).await,
        }
        process.kill().await;
        assert_eq!(waiting(&scene.stage).await, 6);
        scene.rest_comes().await;
        assert_eq!(scene.ends(LARGEST).await, [(files, false)], "{failpoint:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_that_come_after_a_kill_are_late_if_their_album_was_heard() {
    let (scene, process) = Scene::begin(SHORT_QUIET_MS, Some(failpoints::TURN_AFTER_COMMIT)).await;
    let files = scene.sends(3, 1).await;
    process.tells("failpoint turn.after_commit").await;
    process.kill().await;
    scene.rest_comes().await;
    let heard = scene.ends(3).await;
    let [(first, false), (second, true)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((first.len(), second.len()), (2, 1));
    let mut all = [&first[..], &second[..]].concat();
    all.sort();
    assert_eq!(all, files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_item_is_lost_or_heard_twice_if_the_turn_of_its_album_was_killed() {
    let (scene, process) = Scene::begin(SHORT_QUIET_MS, Some(failpoints::TURN_BEFORE_COMMIT)).await;
    let files = scene.sends(3, 1).await;
    process.tells("failpoint turn.before_commit").await;
    process.kill().await;
    scene.rest_comes().await;
    // The last item is there in time for the next try, or late: that is up to the machine.
    let heard = scene.ends(3).await;
    assert!(heard.iter().enumerate().all(|(index, (_, is_late))| *is_late == (index > 0)), "{heard:?}");
    let mut all: Vec<String> = heard.into_iter().flat_map(|(files, _)| files).collect();
    all.sort();
    assert_eq!(all, files);
}

/// How many inputs wait in a file that nobody holds.
async fn waiting(stage: &Stage) -> i64 {
    let store: Arc<dyn Store> = stage.store().await;
    let inbox = store.statistics(None).await.unwrap().inbox;
    store.close().await.unwrap();
    inbox
}
