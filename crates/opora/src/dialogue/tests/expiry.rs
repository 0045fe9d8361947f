//! Expiry of parents and children, and what is remembered while nothing is open.

use std::time::Duration;

use crate::prelude::*;
use crate::store::Opened;
use crate::testing::chat::{ChatUser, Stage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
enum Registration {
    Name,
    Site(Site),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Site {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "picker")]
enum Picker {
    Open,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn start(_: &mut Turn, _: Command) -> Step<Registration> {
    Ok(Next::Go(Registration::Name))
}

async fn name(_: &mut Turn, name: String) -> Step<Registration> {
    Ok(Next::go_and_call(Registration::Site(Site { name }), Picker::Open))
}

async fn picked(turn: &mut Turn, Site { name }: Site, picked: Returned) -> Step<Registration> {
    let picked: Option<String> = picked.value()?;
    turn.say(format!("{name} has picked {picked:?}."));
    // A person with this name prolongs the dialogue.
    Ok(if name == "Sisyphus" { Next::call(Picker::Open) } else { Next::Stay })
}

async fn site(_: &mut Turn, _: Site, _: String) -> Step<Registration> {
    Ok(Next::Stay)
}

async fn over(turn: &mut Turn, _: Registration) -> Step<Registration> {
    turn.say("The registration is over.");
    Ok(Next::End)
}

async fn pick(turn: &mut Turn, text: String) -> Step<Picker> {
    match &*text {
        "hm" => return Ok(Next::Stay),
        "fail" => return Err("as asked".into()),
        _ => turn.set_return_value(&text),
    }
    Ok(Next::End)
}

async fn closed(turn: &mut Turn, _: Picker) -> Step<Picker> {
    turn.say("The list is closed.");
    Ok(Next::End)
}

fn picker(idle: Duration) -> Dialogue<Picker> {
    Dialogue::new().on(Picker::OPEN, text(), pick).expires_after(idle)
}

/// A person whose registration waits for the picker.
async fn picking(name_said: &str, picker: Dialogue<Picker>) -> (Stage, ChatUser) {
    let registration = Dialogue::new()
        .start(command("start"), start)
        .on(Registration::NAME, text(), name)
        .on(Registration::SITE, text(), site)
        .on_returned(Registration::SITE, picked)
        .calls::<Picker>()
        .expires_after(DAY)
        .on_expiry(over);
    let stage = Stage::new(Script::new().dialogue(registration).dialogue(picker));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends(name_said).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    (stage, anna)
}

#[tokio::test]
async fn an_expired_child_returns_and_its_parent_keeps_its_expiry() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE).on_expiry(closed)).await;
    stage.advance(15 * MINUTE).await;
    assert_eq!(anna.answers(), ["The list is closed.", "Anna has picked None."]);
    stage.advance(DAY - 16 * MINUTE).await;
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
    stage.advance(MINUTE).await;
    assert_eq!(anna.answers(), ["The list is closed.", "Anna has picked None.", "The registration is over."]);
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn no_start_command_is_shown_if_the_parent_continues() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE)).await;
    stage.advance(15 * MINUTE).await;
    assert_eq!(anna.answers(), ["It has been a while, so I have closed this.", "Anna has picked None."]);
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
}

#[tokio::test]
async fn input_to_a_child_restarts_the_parents_expiry() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE).on_expiry(closed)).await;
    stage.advance(10 * MINUTE).await;
    anna.sends("hm").await;
    stage.advance(DAY - MINUTE).await;
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
    stage.advance(MINUTE).await;
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn expired_parent_and_child_each_handle_their_own_expiry() {
    let (stage, anna) = picking("Anna", picker(2 * DAY).on_expiry(closed)).await;
    stage.advance(DAY).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"), "its parent waits for it");
    stage.advance(DAY).await;
    assert_eq!(anna.answers(), ["The list is closed.", "The registration is over."]);

    let (stage, anna) = picking("Anna", picker(DAY)).await;
    stage.advance(DAY).await;
    assert_eq!(anna.answers(), ["The registration is over."]);
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn calling_a_child_does_not_prolong_the_parent() {
    let (stage, anna) = picking("Sisyphus", picker(15 * MINUTE)).await;
    for _ in 0..95 {
        stage.advance(15 * MINUTE).await;
        assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    }
    stage.advance(15 * MINUTE).await;
    anna.sees("The registration is over.");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn an_expiry_handler_that_calls_a_child_prolongs_its_dialogue() {
    async fn ask_once_more(_: &mut Turn, _: Registration) -> Step<Registration> {
        Ok(Next::go_and_call(Registration::Site(Site { name: "Anna".to_owned() }), Picker::Open))
    }
    let registration = Dialogue::new()
        .start(command("start"), start)
        .on(Registration::NAME, text(), name)
        .on(Registration::SITE, text(), site)
        .on_returned(Registration::SITE, picked)
        .on_expiry(ask_once_more);
    let stage = Stage::new(Script::new().dialogue(registration).dialogue(picker(15 * MINUTE)));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    stage.advance(DAY).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    stage.advance(15 * MINUTE).await;
    anna.sees("Anna has picked None.");
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
}

#[tokio::test]
async fn a_draft_has_the_longest_expiry_of_its_dialogues() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE)).await;
    anna.sends("fail").await;
    stage.advance(DAY - MINUTE).await;
    anna.presses("Try again").await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    anna.sends("the first").await;
    anna.sees(r#"Anna has picked Some("the first")."#);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
enum Papers {
    Never,
}

#[tokio::test]
async fn items_after_an_album_are_late_even_if_nothing_is_open() {
    async fn heard(turn: &mut Turn, album: Album) -> Step<Papers> {
        turn.say(format!("{} items, late: {}", album.items.len(), album.late));
        Ok(Next::End)
    }
    async fn never(_: &mut Turn, _: String) -> Step<Papers> {
        Ok(Next::End)
    }
    let papers = Dialogue::new().start(album(), heard).on(Papers::NEVER, text(), never);
    let stage = Stage::new(papers);
    let anna = stage.person("Anna");
    anna.sends_album("a", 2).await;
    anna.sees("2 items, late: false");
    anna.sends("something else").await;
    let stage = stage.restart().await;
    let anna = anna.on(&stage);
    anna.sends_album("a", 1).await;
    anna.sees("1 items, late: true");
    anna.sends_album("b", 1).await;
    anna.sees("1 items, late: false");
    // It is remembered for an hour. Then nothing is left.
    stage.advance(60 * MINUTE).await;
    let opened = stage.store().open(&anna.key(), None).await.unwrap();
    assert!(matches!(opened, Opened::At { stored: None, .. }), "{opened:?}");
}

#[tokio::test]
async fn an_unhandled_album_is_not_remembered() {
    let (stage, _) = picking("Anna", picker(DAY)).await;
    let boris = stage.person("Boris");
    boris.sends_album("a", 2).await;
    let opened = stage.store().open(&boris.key(), None).await.unwrap();
    assert!(matches!(opened, Opened::At { stored: None, .. }), "{opened:?}");
}
