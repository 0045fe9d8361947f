//! Registration: questions and answers, the single commit that writes everything, and recovery from failures.

use std::path::PathBuf;
use std::time::Duration;

use opora::effects::{EffectError, EffectRequest};
use opora::testing::chat::ChatUser;
use serde_json::json;
use workforce::files::{FileEntry, Files};
use workforce::person::{Role, Status};
use workforce::registration::file_effects;
use workforce::registration::{DocumentKind, DocumentStatus, Registrations};

use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

pub use opora_testkit::product::newcomer;

mod browser;
pub mod cleanup;
mod consent;
mod contracts;
mod crash;
mod decisions;
mod disk_failures;
mod expiry;
pub mod in_process;
mod pages;
pub mod process;
mod repair;
mod retention;
mod s3_storage;
mod same_picture;
mod unblocking;
mod validity;
mod wrong_database;

on_every_database! {
    a_registration_is_written_in_one_commit,
    an_interrupted_registration_can_be_continued,
    a_failure_leaves_only_the_draft,
    files_are_stored_once_after_a_crash,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

async fn a_registration_is_written_in_one_commit(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let owner = firm.member("Olga", &[Role::Owner]).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    anna.sees("saving your registration");
    anna.sends("hello?").await;
    anna.sees("Still saving");
    assert!(person(&firm, &anna).await.is_none(), "nothing is written before the files are stored");
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    assert_eq!(anna.state().await, None);

    let person = person(&firm, &anna).await.unwrap();
    assert_eq!((person.status, person.full_name.as_str()), (Status::Pending, "Anna Smith"));
    assert_eq!((person.phone.as_deref(), person.email.as_deref()), (Some("+79991234567"), None));
    assert!(person.roles.has(Role::Applicant) && !person.roles.has(Role::Employee));
    let documents = Registrations::of_app(&firm.app).documents_of(person.id).await.unwrap();
    let kinds: Vec<_> = documents.iter().map(|document| (document.kind, document.status)).collect();
    let pending = DocumentStatus::Pending;
    assert_eq!(kinds, [(DocumentKind::Passport, pending), (DocumentKind::Selfie, pending)]);
    for document in &documents {
        assert_eq!((document.media_type.as_str(), document.size_bytes), ("image/png", PNG.len() as i64));
        assert_eq!(files(&firm).read(document.id.clone()).await.unwrap().as_deref(), Some(PNG));
    }
    assert_eq!(stored_files(&firm).await.len(), 2);
    assert!(downloads(&firm).await.is_empty(), "downloads are not left behind");
    owner.sees("New registration: Anna Smith");

    anna.sends("/start").await;
    anna.sees("Your registration is awaiting approval.");
    assert_eq!(anna.state().await, None, "a pending person does not register again");
}

async fn an_interrupted_registration_can_be_continued(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let anna = firm.stage.person("Anna");
    answers_until_documents(&anna).await;
    anna.sends_photo().await;
    anna.sees("Now send a selfie");
    firm.stage.advance(Duration::from_secs(23 * 3600)).await;
    let stage = firm.stage.restart().await;
    let anna = anna.on(&stage);
    anna.sends("/start").await;
    anna.sees("7 of 8 steps done");
    // This input restarts the day until expiry.
    stage.advance(Duration::from_secs(23 * 3600)).await;
    anna.presses("Continue").await;
    anna.sees("Now send a selfie");
    anna.sends_photo().await;
    finish_effects(&Firm { stage, ..firm }, PNG).await;
    anna.sees("Your registration is awaiting approval.");
}

async fn a_failure_leaves_only_the_draft(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    // A file in place of the folder: even root cannot write there.
    let folder = folder(&firm);
    std::fs::write(&folder, "in the way").unwrap();
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    finish_effects(&firm, PNG).await;
    anna.sees("couldn't be saved");
    anna.sees_button("Try again");
    anna.sees_button("Cancel");
    assert!(person(&firm, &anna).await.is_none() && downloads(&firm).await.is_empty());
    anna.presses("Try again").await;
    finish_effects(&firm, PNG).await;
    anna.sees("couldn't be saved");

    std::fs::remove_file(&folder).unwrap();
    anna.sends("/start").await;
    anna.sees("saving your registration");
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    assert_eq!(stored_files(&firm).await.len(), 2, "failed tries left no files");
}

/// The process dies after the files are in place and before the outcome is stored.
async fn files_are_stored_once_after_a_crash(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    finish_downloads(&firm, PNG).await;
    let (asked, body) = firm.stage.pending_effects().await.pop().unwrap();
    assert_eq!(asked, file_effects::STORE);
    file_effects::store(firm.app.clone(), effect_request(&anna, &body)).await.unwrap();
    let before = stored_files(&firm).await;
    assert!(before.len() == 2 && downloads(&firm).await.is_empty());
    let stage = firm.stage.restart().await;
    let firm = Firm { stage, ..firm };
    let anna = anna.on(&firm.stage);
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    let person = person(&firm, &anna).await.unwrap();
    let documents = Registrations::of_app(&firm.app).documents_of(person.id).await.unwrap();
    let mut names: Vec<_> = documents.into_iter().map(|document| document.id).collect();
    names.sort();
    assert_eq!(names, before.into_iter().map(|file| file.name).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_file_that_is_no_image_is_requested_again() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    finish_effects(&firm, b"%PDF-1.7 a bill").await;
    anna.sees("I can't open the photo of your passport");
    anna.sees("Send a photo of your passport");
    assert!(stored_files(&firm).await.is_empty() && downloads(&firm).await.is_empty());
    anna.sends_photo().await;
    anna.sees("saving your registration");
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
}

#[tokio::test]
async fn a_failed_download_can_be_retried_or_cancelled() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    firm.stage.fail_effect("download", "the connection was cut").await;
    anna.sees("couldn't be saved");
    finish_effects(&firm, PNG).await;
    assert!(downloads(&firm).await.is_empty(), "the other download is removed");
    anna.presses("Cancel").await;
    anna.sees("nothing was saved");
    assert_eq!(anna.state().await, None);
    anna.sends("/start").await;
    anna.sees("Which language do you prefer?");
}

#[tokio::test]
async fn cancelling_during_downloads_leaves_no_files() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    finish_downloads(&firm, PNG).await;
    anna.sends("/cancel").await;
    finish_effects(&firm, PNG).await;
    assert!(stored_files(&firm).await.is_empty() && downloads(&firm).await.is_empty());
    assert!(person(&firm, &anna).await.is_none());
}

#[tokio::test]
async fn wrong_answers_are_refused_with_the_reason() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("English").await;
    anna.sees("Please press one of the buttons.");
    anna.presses("English").await;
    anna.sends("yes").await;
    anna.sees("Please press one of the buttons.");
    anna.presses("I agree").await;
    for (name, words) in [
        ("A", "at least two"),
        ("42", "at least two"),
        (&"x".repeat(4000), "too long for a name"),
        ("🏠 Main menu", "That's a button"),
        ("📝 Заявки", "That's a button"),
    ] {
        anna.sends(name).await;
        anna.sees(words);
    }
    anna.sends_photo().await;
    anna.sees("Please answer with text.");
    anna.sends("  Anna   Smith ").await;
    anna.sees_button("📱 Share my number");
    anna.sends_contact_of("Boris", "79990000000").await;
    anna.sees("someone else's contact");
    anna.sends("call me").await;
    anna.sees("don't recognise this number");
    anna.sends("8 (999) 123-45-67").await;
    anna.sees("Your number: +79991234567");
    anna.sends("not an address").await;
    anna.sees("doesn't look like an email");
    anna.sends("anna@example.com").await;
    anna.sends("passport").await;
    anna.sees("Please press one of the buttons.");
    anna.presses("Driving licence").await;
    anna.sees("photo of your driving licence");
    anna.sends("here it is").await;
    anna.sees("Please send one picture");
    anna.sends_document("bill.pdf", "application/pdf").await;
    anna.sees("Please send one picture");
    anna.sends_album("1", 2).await;
    anna.sees("Please send one picture");
    anna.sends_document("licence.png", "image/png").await;
    anna.sees("Now send a selfie");
}

#[tokio::test]
async fn back_returns_and_keeps_the_answers() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna").speaking("ru");
    anna.sends("/start").await;
    anna.sees("На каком языке вам удобнее?");
    anna.presses("English").await;
    anna.presses("I agree").await;
    anna.sends("Anna Smith").await;
    anna.sends("← Back").await;
    anna.sees("What's your first and last name?");
    anna.sends("Anna Brown").await;
    anna.sends_contact("79991234567").await;
    anna.presses("Skip").await;
    anna.presses("Passport").await;
    anna.presses("← Back").await;
    anna.sees("Which document will you send?");
    anna.presses("← Back").await;
    anna.sees("What's your email address?");
    anna.presses("Skip").await;
    anna.sees("photo of your passport");
}

/// A button that has been pressed cannot be pressed again.
#[tokio::test]
async fn a_pressed_question_shows_the_answer_and_no_buttons() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    let offers = |caption: &str| {
        let shown = anna.transcript().replace(&format!("(presses [{caption}])"), "");
        shown.contains(&format!("[{caption}]"))
    };
    anna.sends("/start").await;
    anna.presses("English").await;
    anna.sees("Which language do you prefer?\n\n✓ English");
    anna.presses("I agree").await;
    anna.sees("✓ You agreed.");
    anna.sends("Anna Smith").await;
    anna.sends_contact("79991234567").await;
    anna.presses("Skip").await;
    anna.sees("You can skip this step.\n\n(skipped)");
    assert!(!offers("Skip"), "{}", anna.transcript());
    anna.presses("← Back").await;
    assert!(!offers("Passport"), "{}", anna.transcript());
    anna.presses("Skip").await;
    anna.presses("Passport").await;
    anna.sees("Which document will you send?\n\n✓ Passport");
    anna.sends("/start").await;
    anna.presses("Continue").await;
    anna.sees("Continue?\n\n✓ Continue");
    for caption in ["English", "Русский", "I agree", "I don't agree", "Driving licence", "Continue", "Start over"]
    {
        assert!(!offers(caption), "{caption} is still offered:{}", anna.transcript());
    }
}

#[tokio::test]
async fn start_offers_to_continue_or_start_over() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    anna.sends("hello").await;
    anna.sees("Send /start to register");
    anna.sends("/start").await;
    anna.presses("English").await;
    anna.presses("I agree").await;
    anna.sends("Anna Smith").await;
    anna.sends("/start").await;
    anna.sees("3 of 8 steps done");
    anna.sends("/start").await;
    anna.presses("Continue").await;
    anna.sees("What's your phone number?");
    anna.sends("/start").await;
    anna.presses("Start over").await;
    anna.sees("Which language do you prefer?");
    anna.presses("English").await;
    anna.presses("I agree").await;
    anna.sees("What's your first and last name?");
}

#[tokio::test]
async fn a_draft_expires_after_a_day_with_a_message() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    anna.sends("/start").await;
    anna.presses("Русский").await;
    firm.stage.advance(Duration::from_secs(24 * 3600 - 1)).await;
    assert_eq!(anna.state().await.as_deref(), Some("registration:consent"));
    firm.stage.advance(Duration::from_secs(1)).await;
    anna.sees("Начать регистрацию заново — /start.");
    assert_eq!(anna.state().await, None);
}

/// Answers everything up to the documents, in English.
async fn answers_until_documents(person: &ChatUser) {
    person.sends("/start").await;
    person.sees("Which language do you prefer?");
    person.presses("English").await;
    person.presses("I agree").await;
    person.sends("Anna Smith").await;
    person.sends_contact("79991234567").await;
    person.presses("Skip").await;
    person.presses("Passport").await;
    person.sees("Send a photo of your passport");
}

/// Answers everything. Then the effects begin.
pub async fn sends_everything(person: &ChatUser) {
    answers_until_documents(person).await;
    person.sends_photo().await;
    person.sees("Now send a selfie");
    person.sends_photo().await;
}

/// Finishes the requested downloads with this content.
async fn finish_downloads(firm: &Firm, content: &[u8]) {
    let folder = firm.app.data_dir.join("downloads");
    std::fs::create_dir_all(&folder).unwrap();
    for (kind, body) in firm.stage.pending_effects().await {
        if kind == "download" {
            let file_id = body["file_id"].as_str().unwrap();
            let path = folder.join(workforce::files::generated_name().unwrap());
            std::fs::write(&path, content).unwrap();
            firm.stage.finish_effect(&kind, json!({"path": path, "bytes": content.len(), "file_id": file_id})).await;
        }
    }
}

/// Finishes all effects as the bot does. Files have this content.
pub async fn finish_effects(firm: &Firm, content: &[u8]) {
    loop {
        finish_downloads(firm, content).await;
        let Some((kind, body)) = firm.stage.pending_effects().await.into_iter().next() else { return };
        let asked = effect_request(&firm.stage.person("Stranger"), &body);
        let done = match kind.as_str() {
            file_effects::STORE => file_effects::store(firm.app.clone(), asked).await,
            file_effects::DISCARD => file_effects::discard(firm.app.clone(), asked).await,
            // Effects that update open pages.
            _ => Ok(serde_json::Value::Null),
        };
        match done {
            Ok(value) => firm.stage.finish_effect(&kind, value).await,
            Err(EffectError::Final(reason)) => firm.stage.fail_effect(&kind, &reason).await,
            Err(EffectError::Retry(error)) => panic!("{kind}: {error}"),
        }
    }
}

fn effect_request(person: &ChatUser, body: &serde_json::Value) -> EffectRequest {
    EffectRequest {
        key: "7-1".into(),
        conversation: person.key(),
        body: body.to_string().into(),
        attempt: 1,
        is_last: false,
    }
}

async fn person(firm: &Firm, someone: &ChatUser) -> Option<workforce::person::Person> {
    firm.app.people.by_telegram(someone.key().user).await.unwrap()
}

fn files(firm: &Firm) -> &Files {
    &firm.app.files
}

fn folder(firm: &Firm) -> PathBuf {
    firm.app.data_dir.join("files")
}

async fn stored_files(firm: &Firm) -> Vec<FileEntry> {
    assert!(workforce::files::list(files(firm).incoming().unwrap()).await.unwrap().is_empty());
    files(firm).all().await.unwrap()
}

async fn downloads(firm: &Firm) -> Vec<FileEntry> {
    workforce::files::list(firm.app.data_dir.join("downloads")).await.unwrap()
}

/// A person who has registered and waits for the decision.
pub async fn registered_person(firm: &Firm, name: &str) -> ChatUser {
    let someone = firm.stage.person(name);
    sends_everything(&someone).await;
    finish_effects(firm, PNG).await;
    someone.sees("Your registration is awaiting approval.");
    assert_eq!(firm.app.clock.now(), NOON);
    someone
}
