//! The questionnaire: consent, questions, pauses, restarts, and recovery when its state or its file is gone.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::onboarding::{OnboardingRoom, Session, Status};
use workforce::person::Role;
use workforce::rooms::Rooms;
use workforce::texts::Language;

use crate::kit::firm::{Firm, StorageKind, on_every_database};
use crate::kit::sql::run_sql;

mod chat;
mod file;
mod pages;
pub mod process;
mod restarts;

on_every_database! {
    a_restart_between_any_two_steps_changes_nothing,
    a_session_without_state_is_restored_from_the_database,
    with_a_state_no_session_is_queried,
    a_pause_of_days_and_an_expired_state_lose_nothing,
    going_back_changes_one_answer_and_keeps_others,
    declined_consent_can_be_given_later,
}

const QUESTIONS: &str = r#"
    [[questions]]
    id = "name"
    kind = "text"
    ru = "Как вас зовут?"
    en = "What shall we call you?"
    [[questions]]
    id = "years"
    kind = "number"
    min = 0
    max = 60
    ru = "Сколько лет опыта?"
    en = "How many years?"
    [[questions]]
    id = "hours"
    kind = "choice"
    ru = "Какой график?"
    en = "Which hours?"
    options = [{ id = "days", ru = "Дни", en = "Days" }, { id = "nights", ru = "Ночи", en = "Nights" }]
    [[questions]]
    id = "clients"
    kind = "scale"
    ru = "Насколько уверенно?"
    en = "How confident?"
    [[questions]]
    id = "skills"
    kind = "text"
    skippable = true
    ru = "Что умеете?"
    en = "Which skills?"
"#;

/// A firm with the questionnaire above.
async fn firm(kind: StorageKind) -> Firm {
    let firm = Firm::with_rooms(kind, Rooms::new(&[&OnboardingRoom])).await;
    write_file(&firm, QUESTIONS);
    firm
}

fn write_file(firm: &Firm, text: &str) {
    std::fs::write(firm.app.data_dir.join("questionnaire.toml"), text).unwrap();
}

/// Begins from the main menu and agrees.
async fn begins(someone: &ChatUser) {
    someone.sends("/start").await;
    someone.presses("📝 Questionnaire").await;
    someone.presses("I agree").await;
}

async fn id_of(firm: &Firm, someone: &ChatUser) -> i64 {
    firm.app.people.by_telegram(someone.key().user).await.unwrap().unwrap().id
}

async fn session_of(firm: &Firm, someone: &ChatUser) -> Session {
    let sessions = firm.app.onboarding.answers_of(id_of(firm, someone).await, Language::En).await.unwrap();
    sessions.into_iter().next().expect("there is a session")
}

/// The answers in the database.
async fn answers(firm: &Firm, someone: &ChatUser) -> Vec<Option<String>> {
    session_of(firm, someone).await.answers.into_iter().map(|answer| answer.answer).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn a_restart_between_any_two_steps_changes_nothing(kind: StorageKind) {
    let firm = firm(kind).await;
    let mut stage = firm.stage.clone();
    let mut daria = firm.member("Daria", &[Role::Employee]).await;
    let mut committed = Vec::new();
    for (input, answer, seen) in [
        ("/start", None, "what would you like to do?"),
        ("[📝 Questionnaire]", None, "has 5 questions. Your answers are saved"),
        ("[I agree]", None, "1/5\nWhat shall we call you?"),
        ("Dasha", Some("Dasha"), "2/5\nHow many years?\nPlease write a whole number from 0 to 60"),
        ("3", Some("3"), "3/5\nWhich hours?"),
        ("[Nights]", Some("Nights"), "4/5\nHow confident?"),
        ("[8]", Some("8"), "5/5\nWhich skills?"),
        ("Tiles", Some("Tiles"), "How confident?\n– 8\n\nWhich skills?\n– Tiles"),
    ] {
        match input.strip_prefix('[').and_then(|input| input.strip_suffix(']')) {
            Some(caption) => daria.presses(caption).await,
            None => daria.sends(input).await,
        }
        daria.sees(seen);
        if let Some(answer) = answer {
            committed.push(some(answer));
            assert_eq!(answers(&firm, &daria).await, committed, "an answer is stored with its turn");
        }
        stage = stage.restart().await;
        daria = daria.on(&stage);
    }
    assert_eq!(daria.state().await, None);
    let session = session_of(&firm, &daria).await;
    assert_eq!((session.status, session.questions, session.ended_at.is_some()), (Status::Completed, 5, true));
    assert_eq!(session.answers[2].question, "Which hours?");
    let in_russian = firm.app.onboarding.answers_of(id_of(&firm, &daria).await, Language::Ru).await.unwrap();
    let hours = &in_russian[0].answers[2];
    assert_eq!((hours.question.as_str(), hours.answer.as_deref()), ("Какой график?", Some("Ночи")));
    daria.presses("📝 Questionnaire").await;
    daria.sends("/start").await;
    daria.presses("📝 Questionnaire").await;
    daria.sees("You've completed the questionnaire.");
}

async fn a_session_without_state_is_restored_from_the_database(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    daria.sends("Dasha").await;
    assert_eq!(daria.state().await.as_deref(), Some("OnboardingStates:question"));
    reset_state(&firm, &daria).await;
    daria.sends("12").await;
    daria.sees("Let's continue where we left off.");
    daria.sees("2/5\nHow many years?");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha")], "the text is not taken as an answer");
    assert_eq!(daria.state().await.as_deref(), Some("OnboardingStates:question"));
    daria.sends("12").await;
    daria.sees("3/5");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("12")]);
    // A person without a session is not offered one.
    let egor = firm.member("Egor", &[Role::Employee]).await;
    egor.sends("hello").await;
    egor.sees("I didn't get that.");
    daria.presses("⏸ Pause").await;
    daria.sends("hello").await;
    daria.sees("I didn't get that.");
}

async fn with_a_state_no_session_is_queried(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    let _boris = firm.member("Boris", &[Role::Manager]).await;
    begins(&daria).await;
    // From here every query for sessions fails.
    run_sql(&firm.app.domain, "ALTER TABLE onboarding_sessions RENAME TO hidden_sessions").await;
    daria.sends_location(55.7, 37.6).await;
    daria.sees("Sorry, that doesn't work here.");
    daria.sees("1/5");
    daria.presses_data("chat:open").await;
    daria.sends("Where are the keys?").await;
    daria.sees("Passed on to Boris.");
    reset_state(&firm, &daria).await;
    daria.sends("hello").await;
    daria.sees("Something went wrong on our side.");
    run_sql(&firm.app.domain, "ALTER TABLE hidden_sessions RENAME TO onboarding_sessions").await;
    daria.sends("hello").await;
    daria.sees("1/5");
}

async fn a_pause_of_days_and_an_expired_state_lose_nothing(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    daria.sends("Dasha").await;
    daria.presses("⏸ Pause").await;
    daria.sees("All your answers are saved");
    assert_eq!((daria.state().await, session_of(&firm, &daria).await.status), (None, Status::Paused));
    firm.stage.advance(days(5)).await;
    daria.presses("📝 Questionnaire").await;
    daria.sees("2/5\nHow many years?");
    assert_eq!(session_of(&firm, &daria).await.status, Status::Active);
    daria.sends("3").await;
    firm.stage.advance(days(2)).await;
    daria.sees("I've paused the questionnaire.");
    assert_eq!(daria.state().await, None);
    daria.sends("I am back").await;
    daria.sees("3/5\nWhich hours?");
    daria.sends("/cancel").await;
    daria.sees("Paused.");
    daria.presses("📝 Questionnaire").await;
    daria.presses("Days").await;
    daria.sees("4/5");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("3"), some("Days")]);
}

async fn going_back_changes_one_answer_and_keeps_others(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    for input in ["Dasha", "3", "days"] {
        daria.sends(input).await;
    }
    daria.presses("← Back").await;
    daria.sees("3/5\nWhich hours?");
    daria.presses("← Back").await;
    daria.sends("4").await;
    daria.sees("4/5\nHow confident?");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("4"), some("Days")]);
    daria.presses("← Back").await;
    daria.presses("Keep it →").await;
    daria.sees("4/5");
    daria.sends("10").await;
    daria.presses("Skip").await;
    daria.sees("Which skills?\n– (skipped)");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("4"), some("Days"), some("10"), None]);
    assert_eq!(session_of(&firm, &daria).await.status, Status::Completed);
}

async fn declined_consent_can_be_given_later(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    daria.sends("/start").await;
    daria.presses("📝 Questionnaire").await;
    daria.sends("what for?").await;
    daria.sees("Do you agree?");
    daria.presses("No, thank you").await;
    daria.sees("no questionnaire.");
    assert_eq!((daria.state().await, session_of(&firm, &daria).await.status), (None, Status::Declined));
    daria.sends("hello").await;
    daria.sees("I didn't get that.");
    daria.presses("📝 Questionnaire").await;
    daria.presses("I agree").await;
    daria.sees("1/5");
    let sessions = firm.app.onboarding.answers_of(id_of(&firm, &daria).await, Language::En).await.unwrap();
    let stood: Vec<_> = sessions.iter().map(|session| session.status).collect();
    assert_eq!(stood, [Status::Active, Status::Declined]);
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_repeats_the_question() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    daria.sends_photo().await;
    daria.sees("1/5");
    daria.sends(&"а".repeat(2001)).await;
    daria.sees("up to 2000 characters");
    daria.sends("Dasha").await;
    for wrong in ["many", "61", "-1", "2.5"] {
        daria.sends(wrong).await;
        daria.sees("Please write a whole number from 0 to 60.");
        daria.sees("2/5");
    }
    daria.sends("0").await;
    daria.sends("whenever").await;
    daria.sees("Please press one of the buttons.");
    daria.sees_button("Nights");
    daria.sends("nights").await;
    daria.sends("11").await;
    daria.sees("Please press one of the buttons.");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("0"), some("Nights")]);
}

#[tokio::test]
async fn a_double_tap_answers_once() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    daria.presses("I agree").await;
    daria.sees_toast("no longer works");
    daria.presses_data("onboarding:begin").await;
    daria.sees_toast("waiting for your answer");
    daria.sees_nothing();
    daria.sends("Dasha").await;
    daria.sends("3").await;
    // The question above was answered by typing, so it still has its buttons.
    daria.presses_older("⏸ Pause", 1).await;
    daria.sees_toast("no longer works");
    daria.sees_nothing();
    for caption in ["Days", "7", "Skip"] {
        daria.presses(caption).await;
    }
    let kept = [some("Dasha"), some("3"), some("Days"), some("7"), None];
    assert_eq!(answers(&firm, &daria).await, kept);
}

#[tokio::test]
async fn the_message_shows_the_answer_that_was_tapped() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    daria.sends("Dasha").await;
    daria.sends("3").await;
    daria.presses("Nights").await;
    daria.presses("8").await;
    daria.presses("Skip").await;
    let chat = daria.transcript();
    for traces in ["Which hours?\n\n✓ Nights", "How confident?\n\n✓ 8", "Which skills?\n\n(skipped)"] {
        let found = traces.split("\n\n").all(|line| chat.contains(line));
        assert!(found, "no {traces:?} in {chat}");
    }
    assert!(!chat.contains("[Days]"), "the buttons are gone: {chat}");
}

#[tokio::test]
async fn the_menu_and_cancel_leave_with_the_answers_kept() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    daria.presses_data("onboarding:begin").await;
    daria.sends("/cancel").await;
    daria.sees("The questionnaire can wait.");
    begins(&daria).await;
    daria.sends("Dasha").await;
    daria.presses("🏠 Main menu").await;
    daria.sees("Paused.");
    daria.sees_button("📝 Questionnaire");
    assert_eq!((daria.state().await, session_of(&firm, &daria).await.status), (None, Status::Paused));
    daria.presses("📝 Questionnaire").await;
    daria.sees("2/5");
}

#[tokio::test]
async fn an_unanswered_consent_expires() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    daria.presses_data("onboarding:begin").await;
    daria.presses_data("onboarding:begin").await;
    daria.sees_toast("waiting for your answer");
    firm.stage.advance(days(2)).await;
    daria.sees("The questionnaire can wait.");
    daria.sends("hello").await;
    daria.sees("I didn't get that.");
}

#[tokio::test]
async fn a_long_summary_comes_in_several_messages() {
    let firm = firm(StorageKind::Sqlite).await;
    let question = |number: usize| {
        let text = format!("{number}? {}", "я".repeat(900));
        format!("[[questions]]\nid = \"q{number}\"\nkind = \"text\"\nru = \"{text}\"\nen = \"{text}\"\n")
    };
    write_file(&firm, &(1..=10).map(question).collect::<String>());
    let daria = firm.member("Daria", &[Role::Employee]).await;
    begins(&daria).await;
    for _ in 0..10 {
        daria.sends(&"ю".repeat(2000)).await;
    }
    assert!(daria.answers().len() > 4, "{}", daria.answers().len());
    assert!(daria.answers().iter().all(|said| said.encode_utf16().count() <= 4096));
    daria.sees("10? яяя");
    daria.sees("You've completed the questionnaire.");
}

#[tokio::test]
async fn only_employees_are_asked() {
    let firm = firm(StorageKind::Sqlite).await;
    let anna = firm.member("Anna", &[Role::Owner]).await;
    anna.presses_data("onboarding:begin").await;
    anna.sees_toast("You don't have permission");
    let zoe = firm.stage.person("Zoe");
    zoe.presses_data("onboarding:begin").await;
    zoe.sees_toast("You don't have permission");
    assert_eq!((anna.state().await, zoe.state().await), (None, None));
}

#[tokio::test]
async fn states_imported_from_other_bots_are_read() {
    use workforce::onboarding::{ChatStates, OnboardingStates, QuestionPosition};
    let read = |text| serde_json::from_str::<OnboardingStates>(text).unwrap();
    assert_eq!(read(r#"{"at":"returning"}"#), OnboardingStates::Returning);
    let place = QuestionPosition { questionnaire: 3, question: "age".into(), until: None };
    let stored = r#"{"at":"question","questionnaire":3,"question":"age"}"#;
    assert_eq!(read(stored), OnboardingStates::Question(place.clone()));
    assert_eq!(serde_json::to_string(&OnboardingStates::Question(place)).unwrap(), stored);
    assert_eq!(serde_json::from_str::<ChatStates>(r#"{"at":"active"}"#).unwrap(), ChatStates::Active);
}

async fn reset_state(firm: &Firm, someone: &ChatUser) {
    let now = firm.stage.clock().now();
    assert!(firm.app.domain.store().operator().reset(&someone.key(), now).await.unwrap());
    assert_eq!(someone.state().await, None);
}

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}
