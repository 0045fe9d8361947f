//! Files from Telegram: complete or not at all.

use opora::effects::Downloaded;
use opora::prelude::*;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::json;

use crate::stage::{Person, Running, Stage, file, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "archive")]
enum Archive {
    Fetching,
}

const MAX_BYTES: u64 = 500_000;

async fn photo_comes(turn: &mut Turn, photo: Photo) -> Step<Archive> {
    turn.download(photo.file_id, MAX_BYTES);
    Ok(Next::Go(Archive::Fetching))
}

async fn document_comes(turn: &mut Turn, document: Document) -> Step<Archive> {
    turn.download(document.file_id, MAX_BYTES);
    Ok(Next::Go(Archive::Fetching))
}

async fn fetched(turn: &mut Turn, outcome: Outcome) -> Step<Archive> {
    match outcome.result::<Downloaded>() {
        Ok(file) => turn.say(format!("{} {}", file.bytes, file.path.display())),
        Err(reason) => turn.say(format!("No file: {reason}")),
    }
    Ok(Next::End)
}

fn archive() -> Dialogue<Archive> {
    Dialogue::new().start(photo(), photo_comes).start(document(), document_comes).on(
        Archive::FETCHING,
        outcome("download"),
        fetched,
    )
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|number| (number % 251) as u8).collect()
}

/// Waits for the message about a file and compares the file with what was sent.
async fn gets(anna: &Person<'_>, sent: &[u8]) {
    anna.receives(&format!("{} ", sent.len())).await;
    let received = anna.received().await;
    let path = received.last().and_then(|text| text.split_once(' ')).unwrap().1;
    assert_eq!(std::fs::read(path).unwrap(), sent);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "what a person sent is for its owner alone");
    let folder = anna.stage.files();
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "nothing else is left behind: {names:?}");
}

#[tokio::test]
async fn a_photo_is_downloaded_completely() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(archive()));
    anna.sends(json!({"photo": file(PIXEL_PNG)})).await;
    gets(&anna, PIXEL_PNG).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_interrupted_download_is_completed() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(archive()));
    stage.fault(json!({"method": "file", "cut": "after", "times": 2})).await;
    stage.fault(json!({"method": "file", "status": 502})).await;
    stage.fault(json!({"method": "getFile", "cut": "before"})).await;
    let sent = bytes(300_000);
    anna.sends(json!({"document": file(&sent)})).await;
    gets(&anna, &sent).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_expired_link_is_requested_again() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(archive()));
    stage.fault(json!({"method": "file", "delay_ms": 300})).await;
    let sent = bytes(10_000);
    anna.sends(json!({"document": file(&sent)})).await;
    until("the link", async || stage.get("").await["faults"].as_array().unwrap().is_empty()).await;
    stage.advance_telegram_clock(2 * 3600).await;
    gets(&anna, &sent).await;
    assert_eq!(stage.calls("getFile").await.len(), 2);
    bot.stops().await;
}

#[tokio::test]
async fn a_file_that_is_too_large_fails_for_good() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&memory()).dialogue(archive()));
    anna.sends(json!({"document": file(&bytes(500_001))})).await;
    anna.receives_exactly(&["No file: the file has 500001 bytes; 500000 are allowed"]).await;
    assert_eq!(std::fs::read_dir(stage.files()).unwrap().count(), 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_download_continues_after_a_restart() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(archive()));
    stage.fault(json!({"method": "file", "delay_ms": 60_000})).await;
    let sent = bytes(300_000);
    anna.sends(json!({"document": file(&sent)})).await;
    until("the download", async || stage.get("").await["faults"].as_array().unwrap().is_empty()).await;
    bot.stops().await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(archive()));
    gets(&anna, &sent).await;
    bot.stops().await;
}
