//! Timers, effects, albums and SQL writes.

use std::time::Duration;

use serde_json::json;

use crate::prelude::*;
use crate::testing::chat::Stage;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
enum Papers {
    Waiting { photos: Vec<String> },
    Fetching,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Papers> {
    turn.timer("hurry", Duration::from_secs(60), &"soon");
    Ok(Next::Go(Papers::Waiting { photos: vec![] }))
}

async fn hurry(turn: &mut Turn, photos: Vec<String>, timer: Timer) -> Step<Papers> {
    turn.say(format!("{} with {} photos?", timer.body::<String>()?, photos.len()));
    Ok(Next::Stay)
}

async fn photo_comes(_: &mut Turn, mut photos: Vec<String>, photo: Photo) -> Step<Papers> {
    photos.push(photo.file_id);
    Ok(Next::StayWith(Papers::Waiting { photos }))
}

async fn album_comes(turn: &mut Turn, mut photos: Vec<String>, album: Album) -> Step<Papers> {
    turn.say(format!("{} more, late: {}", album.items.len(), album.late));
    photos.extend(album.items.iter().map(|item| item.file_id().to_owned()));
    Ok(Next::StayWith(Papers::Waiting { photos }))
}

async fn fetch(turn: &mut Turn, photos: Vec<String>, _: String) -> Step<Papers> {
    turn.download(photos[0].clone(), 1_000_000);
    Ok(Next::Go(Papers::Fetching))
}

async fn fetched(turn: &mut Turn, outcome: Outcome) -> Step<Papers> {
    match outcome.result::<String>() {
        Ok(path) => turn.say(format!("It lies at {path}.")),
        Err(error) => {
            let wanted: serde_json::Value = outcome.request()?;
            turn.say(format!("No file {}: {error}", wanted["file_id"]));
        }
    }
    Ok(Next::End)
}

async fn too_late(turn: &mut Turn, outcome: Outcome) -> Step<Papers> {
    turn.say(format!("Too late: {}", outcome.result::<String>()?));
    Ok(Next::Stay)
}

fn papers() -> Dialogue<Papers> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Papers::WAITING, timer("hurry"), hurry)
        .on(Papers::WAITING, photo(), photo_comes)
        .on(Papers::WAITING, album(), album_comes)
        .on(Papers::WAITING, text(), fetch)
        .on(Papers::FETCHING, outcome("download"), fetched)
        .on_late_outcome(too_late)
}

#[tokio::test]
async fn a_timer_reaches_its_state_after_its_values_changed() {
    let stage = Stage::new(papers());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends_photo().await;
    stage.advance(Duration::from_secs(60)).await;
    anna.sees("soon with 1 photos?");
    anna.sends("/start").await;
    anna.sends_photo().await;
    anna.sends("done").await;
    stage.advance(Duration::from_secs(60)).await;
    anna.sees_nothing();
}

#[tokio::test]
async fn an_outcome_reaches_its_state_or_the_late_handler() {
    let stage = Stage::new(papers());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    let file = anna.sends_photo().await;
    anna.sends("done").await;
    assert_eq!(
        stage.pending_effects().await,
        [("download".to_owned(), json!({"file_id": file, "max_bytes": 1_000_000}))]
    );
    let stage = stage.restart().await;
    let anna = anna.on(&stage);
    stage.finish_effect("download", json!("files/1")).await;
    anna.sees("It lies at files/1.");

    anna.sends("/start").await;
    anna.sends_photo().await;
    anna.sends("done").await;
    anna.sends("/cancel").await;
    stage.finish_effect("download", json!("files/2")).await;
    anna.sees("Too late: files/2");

    anna.sends("/start").await;
    let file = anna.sends_photo().await;
    anna.sends("done").await;
    stage.fail_effect("download", "too large").await;
    anna.sees(&format!("No file \"{file}\": too large"));
}

#[tokio::test]
async fn a_failing_late_outcome_handler_changes_nothing() {
    let stage = Stage::new(papers());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends_photo().await;
    anna.sends("done").await;
    anna.sends("/start").await;
    stage.fail_effect("download", "too large").await;
    anna.sees_nothing();
    assert_eq!(anna.state().await.as_deref(), Some("papers:waiting"));
}

#[tokio::test]
async fn an_album_is_one_input_and_late_items_are_marked() {
    let stage = Stage::new(papers());
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends_album("g1", 3).await;
    anna.sees("3 more, late: false");
    anna.sends_album("g1", 1).await;
    anna.sees("1 more, late: true");
    anna.sends_album("g2", 2).await;
    anna.sees("2 more, late: false");
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Slots {
    Choosing,
}

async fn open_slots(_: &mut Turn, _: Command) -> Step<Slots> {
    Ok(Next::Go(Slots::Choosing))
}

async fn choose(turn: &mut Turn, slot: String) -> Step<Slots> {
    if let Some(refusal) = turn.refusal() {
        let text = format!("Sorry: {refusal}");
        return turn.refuse(text);
    }
    let name = turn.context::<String>();
    turn.transact(move |_| {
        Box::pin(async move { if slot == "full" { Err(Refusal::because("it is full")) } else { Ok(()) } })
    });
    turn.say(format!("Yours, {name}."));
    Ok(Next::End)
}

#[tokio::test]
async fn a_refused_write_rolls_back_and_reruns_the_handler() {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::store::SqliteStore::open(&directory.path().join("s.db")).await.unwrap();
    let clock = crate::clock::Clock::manual(crate::clock::Millis(1));
    let slots = Dialogue::new().start(command("start"), open_slots).on(Slots::CHOOSING, text(), choose);
    let context = crate::turn::Context::new().with("Anna".to_owned());
    let stage = Stage::on(slots, context, std::sync::Arc::new(store), clock);
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("full").await;
    assert_eq!(anna.answers(), ["Sorry: it is full"]);
    anna.sends("free").await;
    anna.sees("Yours, Anna.");
    assert_eq!(anna.state().await, None);
}

#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Reminder {
    Asked,
}

async fn remind(turn: &mut Turn, command: Command) -> Step<Reminder> {
    turn.timer("reminder", Duration::from_secs(60), &command.argument);
    Ok(Next::End)
}

async fn forget(turn: &mut Turn, _: Command) -> Step<Reminder> {
    turn.cancel_timer("reminder");
    Ok(Next::Stay)
}

async fn reminded(turn: &mut Turn, timer: Timer) -> Step<Reminder> {
    turn.say(format!("Remember: {}", timer.body::<String>()?));
    Ok(Next::Go(Reminder::Asked))
}

async fn thanks(_: &mut Turn, _: String) -> Step<Reminder> {
    Ok(Next::End)
}

#[tokio::test]
async fn an_unbound_timer_goes_to_an_entry() {
    let reminder = Dialogue::new()
        .start(command("remind"), remind)
        .start(command("forget"), forget)
        .start(timer("reminder"), reminded)
        .on(Reminder::ASKED, text(), thanks);
    let stage = Stage::new(Script::new().dialogue(reminder).dialogue(papers()));
    let anna = stage.person("Anna");
    anna.sends("/remind tea").await;
    stage.advance(Duration::from_secs(60)).await;
    anna.sees("Remember: tea");
    assert_eq!(anna.state().await.as_deref(), Some("reminder:asked"));
    anna.sends("thank you").await;
    anna.sends("/remind coffee").await;
    anna.sends("/forget").await;
    stage.advance(Duration::from_secs(60)).await;
    anna.sees_nothing();
    assert_eq!(anna.state().await, None);
}
