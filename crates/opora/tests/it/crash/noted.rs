//! What was sent and not settled when a bot was killed: it is noted beside the database, and does not come again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::failpoints::{self, Action};
use opora::prelude::*;
use opora::store::Upload;
use opora::telegram::{Api, ApiAnswer, ApiError, Download, Telegram};

use super::bots::{Part, play};
use super::people::Story;
use super::process::Process;
use super::stage::{Stage, TOKEN, until};

const NEWS: &str = "There is news.";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "news")]
enum News {
    Told,
}

fn news() -> Dialogue<News> {
    async fn start(turn: &mut Turn, _: Command) -> Step<News> {
        turn.say(NEWS);
        Ok(Next::Go(News::Told))
    }
    async fn heard(turn: &mut Turn, text: String) -> Step<News> {
        turn.say(format!("{text}, then."));
        Ok(Next::End)
    }
    Dialogue::new().start(command("news"), start).on(News::TOLD, text(), heard)
}

/// A client after whose first message the store commits nothing more: what was sent can be noted, and not settled.
#[derive(Debug)]
struct NothingIsSettled(Telegram);

impl Api for NothingIsSettled {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a> {
        if method == "sendMessage" {
            failpoints::arm(failpoints::STORE_IN_COMMIT, Action::Pause, 1).unwrap();
        }
        self.0.call(method, body, uploads)
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, patience: Duration) -> ApiAnswer<'a> {
        self.0.long_call(method, body, patience)
    }

    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        self.0.download(file_path, from_byte)
    }
}

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_tells_news() {
    play(|_, bot| bot.dialogue(news())).await;
}

/// The same, with a store that stands still after the first message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_tells_news_and_settles_nothing() {
    play(|part, bot| {
        let telegram = Telegram::new(TOKEN, &part.api_url).unwrap();
        bot.dialogue(news()).api(Arc::new(NothingIsSettled(telegram)))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_and_not_settled_before_a_kill_does_not_come_again() {
    let stage = Stage::new().await;
    // Nobody renews the lease while the store stands still.
    let part = Part { lease_ms: 600_000, ..Part::of(&stage, Story::Registration) };
    let person = stage.person("Anna").await;
    let process = Process::playing_by("crash::noted::a_child_tells_news_and_settles_nothing", &part);
    process.leads().await;
    stage.says(person, "/news").await;
    stage.hears(person, NEWS).await;
    process.tells(&format!("failpoint {}", failpoints::STORE_IN_COMMIT)).await;
    until("it is noted", || !stage.keeper.noted().is_empty()).await;
    process.kill().await;
    let process = Process::playing_by("crash::noted::a_child_tells_news", &part);
    process.leads().await;
    stage.says(person, "Well").await;
    stage.hears(person, "Well, then.").await;
    process.stop(&stage).await;
    assert_eq!(stage.transcript(person).await, [NEWS, "Well, then."]);
}
