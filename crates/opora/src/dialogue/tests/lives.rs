//! Lives of dialogues that wait for one another, and what is remembered where nothing is open.

use std::time::Duration;

use crate::prelude::*;
use crate::store::Opened;
use crate::testing::chat::{Someone, Stage};

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
    // Who is so called does not give up.
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
        _ => turn.give_back(&text),
    }
    Ok(Next::End)
}

async fn closed(turn: &mut Turn, _: Picker) -> Step<Picker> {
    turn.say("The list is closed.");
    Ok(Next::End)
}

fn picker(life: Duration) -> Dialogue<Picker> {
    Dialogue::new().on(Picker::OPEN, text(), pick).life(life)
}

/// Somebody whose registration waits for the picker.
async fn picking(name_said: &str, picker: Dialogue<Picker>) -> (Stage, Someone) {
    let registration = Dialogue::new()
        .start(command("start"), start)
        .on(Registration::NAME, text(), name)
        .on(Registration::SITE, text(), site)
        .returned(Registration::SITE, picked)
        .calls::<Picker>()
        .life(DAY)
        .timeout(over);
    let stage = Stage::new(Script::new().dialogue(registration).dialogue(picker));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends(name_said).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    (stage, anna)
}

#[tokio::test]
async fn a_child_whose_life_is_over_returns_and_its_parent_lives_for_the_rest_of_its_own() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE).timeout(closed)).await;
    stage.passes(15 * MINUTE).await;
    assert_eq!(anna.answers(), ["The list is closed.", "Anna has picked None."]);
    stage.passes(DAY - 16 * MINUTE).await;
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
    stage.passes(MINUTE).await;
    assert_eq!(anna.answers(), ["The list is closed.", "Anna has picked None.", "The registration is over."]);
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn who_goes_on_with_the_parent_is_not_asked_to_begin_anew() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE)).await;
    stage.passes(15 * MINUTE).await;
    assert_eq!(anna.answers(), ["It has been a while, so I have closed this.", "Anna has picked None."]);
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
}

#[tokio::test]
async fn what_a_person_says_to_a_child_lets_its_parent_live_on() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE).timeout(closed)).await;
    stage.passes(10 * MINUTE).await;
    anna.sends("hm").await;
    stage.passes(DAY - MINUTE).await;
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
    stage.passes(MINUTE).await;
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn where_both_lives_are_over_each_hears_of_its_own_end_alone() {
    let (stage, anna) = picking("Anna", picker(2 * DAY).timeout(closed)).await;
    stage.passes(DAY).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"), "its parent waits for it");
    stage.passes(DAY).await;
    assert_eq!(anna.answers(), ["The list is closed.", "The registration is over."]);

    let (stage, anna) = picking("Anna", picker(DAY)).await;
    stage.passes(DAY).await;
    assert_eq!(anna.answers(), ["The registration is over."]);
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_parent_that_calls_its_child_again_and_again_ends_all_the_same() {
    let (stage, anna) = picking("Sisyphus", picker(15 * MINUTE)).await;
    for _ in 0..95 {
        stage.passes(15 * MINUTE).await;
        assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    }
    stage.passes(15 * MINUTE).await;
    anna.sees("The registration is over.");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_timeout_handler_that_calls_a_child_has_another_life_itself() {
    async fn ask_once_more(_: &mut Turn, _: Registration) -> Step<Registration> {
        Ok(Next::go_and_call(Registration::Site(Site { name: "Anna".to_owned() }), Picker::Open))
    }
    let registration = Dialogue::new()
        .start(command("start"), start)
        .on(Registration::NAME, text(), name)
        .on(Registration::SITE, text(), site)
        .returned(Registration::SITE, picked)
        .timeout(ask_once_more);
    let stage = Stage::new(Script::new().dialogue(registration).dialogue(picker(15 * MINUTE)));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    stage.passes(DAY).await;
    assert_eq!(anna.state().await.as_deref(), Some("picker:open"));
    stage.passes(15 * MINUTE).await;
    anna.sees("Anna has picked None.");
    assert_eq!(anna.state().await.as_deref(), Some("registration:site"));
}

#[tokio::test]
async fn a_draft_is_kept_for_the_longest_of_the_lives_in_it() {
    let (stage, anna) = picking("Anna", picker(15 * MINUTE)).await;
    anna.sends("fail").await;
    stage.passes(DAY - MINUTE).await;
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
async fn items_that_follow_an_album_are_late_also_where_it_has_left_nothing_open() {
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
    let stage = stage.restarts().await;
    let anna = anna.on(&stage);
    anna.sends_album("a", 1).await;
    anna.sees("1 items, late: true");
    anna.sends_album("b", 1).await;
    anna.sees("1 items, late: false");
    // It is remembered for an hour; then nothing is left.
    stage.passes(60 * MINUTE).await;
    let opened = stage.store().open(&anna.key(), None).await.unwrap();
    assert!(matches!(opened, Opened::At { stored: None, .. }), "{opened:?}");
}

#[tokio::test]
async fn an_album_that_nobody_hears_is_not_remembered() {
    let (stage, _) = picking("Anna", picker(DAY)).await;
    let boris = stage.person("Boris");
    boris.sends_album("a", 2).await;
    let opened = stage.store().open(&boris.key(), None).await.unwrap();
    assert!(matches!(opened, Opened::At { stored: None, .. }), "{opened:?}");
}
