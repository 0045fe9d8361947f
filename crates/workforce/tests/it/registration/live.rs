//! Registrations through the emulator: the whole program, real files, and a disk that refuses.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use opora::bot::Stop;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use workforce::people::{self, Grant, Person, Role};
use workforce::registration::{Document, Registrations};
use workforce::rooms::Rooms;
use workforce::run::Product;
use workforce::texts::Language;

use crate::demo::{ANNA, BORIS, Demo, OPORA, until};
use crate::firm::{Ground, Kind, NOON, on_every_database};
use crate::product::{Run, silent_emulator};

on_every_database! {
    anna_registers_and_hears_that_she_is_welcome,
}

const TOWER: &[u8] = include_bytes!("../pictures/tower.png");
const HILL: &[u8] = include_bytes!("../pictures/hill.png");
/// Whoever may do nothing.
const NOBODY: u32 = 65_534;

async fn anna_registers_and_hears_that_she_is_welcome(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let config = ground.config(&[
        ("BOT_TOKEN", &emulator.token),
        ("BOT_API_URL", &emulator.base),
        ("SEND_LIMITS", "off"),
        ("LANGUAGE", "en"),
    ]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let product = Product::open(config, Rooms::all()).await.unwrap();
    let (app, router, stop) = (product.app.clone(), product.router(), Stop::new());
    let owner =
        Grant { telegram_id: BORIS, full_name: "Boris".into(), role: Role::Owner, language: Language::En, by: None };
    app.domain.write(move |db| Box::pin(people::grant(db, owner, NOON))).await.unwrap();
    let running = tokio::spawn(product.run(listener, router, stop.clone()));
    // The connection breaks in the middle of the first file.
    emulator.post("/faults", json!({"method": "file", "cut": "after"})).await;
    gives_all(&emulator).await;
    emulator.hears(ANNA, "Done! Your registration is being looked at.").await;
    emulator.hears(BORIS, "New registration: Anna Smith").await;
    let (person, documents) = written(&app, ANNA).await;
    assert_eq!(documents.iter().map(|one| one.size_bytes).collect::<Vec<_>>(), [TOWER.len() as i64, HILL.len() as i64]);
    let folder = ground.folder.path();
    for document in &documents {
        assert!(folder.join("files").join(&document.id).is_file(), "{document:?}");
    }
    assert_eq!((count(&folder.join("files")), count(&folder.join("downloads"))), (2, 0));

    let boris = app.people.by_telegram(BORIS).await.unwrap().unwrap();
    Registrations::of_app(&app).approve(boris.id, person.id).await.unwrap();
    emulator.hears(ANNA, "Welcome to the team!").await;
    stop.stop();
    running.await.unwrap().unwrap();
    emulator.stop().await;
}

#[tokio::test]
async fn a_folder_that_refuses_leaves_the_draft_and_a_start_later_completes_it() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let (root, files) = (ground.folder.path(), ground.folder.path().join("files"));
    fs::create_dir(&files).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        // Root is refused nothing: somebody else runs it.
        chown(root, Some(NOBODY), Some(NOBODY)).unwrap();
        chown(&files, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::set_permissions(&files, fs::Permissions::from_mode(0o500)).unwrap();
    let mut command = Command::new(OPORA);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let run = Run::start_as(command, &ground, &emulator, &[]);
    gives_all(&emulator).await;
    emulator.hears(ANNA, "Your registration could not be saved.").await;
    run.logs("it was not saved; the draft is kept").await;
    until("the downloads are gone", async || (count(&root.join("downloads")) == 0).then_some(())).await;
    assert_eq!(count(&files), 0);
    fs::set_permissions(&files, fs::Permissions::from_mode(0o700)).unwrap();
    emulator.says(ANNA, "/start").await;
    emulator.hears(ANNA, "Done! Your registration is being looked at.").await;
    assert_eq!(count(&files), 2);
    let log = run.stops().await.join("\n");
    for personal in ["Anna Smith", "+79991234567", "79991234567"] {
        assert!(!log.contains(personal), "{personal} is in the log");
    }
    for step in ["a step is done", "its files are being fetched", "a file is kept", "person and documents are written"]
    {
        assert!(log.contains(step), "no {step:?} in the log");
    }
    emulator.stop().await;
}

#[tokio::test]
async fn what_telegram_will_not_give_is_told_and_can_be_tried_again() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let run = Run::start(&ground, &emulator, &[]);
    let gone =
        json!({"method": "getFile", "status": 400, "description": "Bad Request: file is temporarily unavailable"});
    emulator.post("/faults", gone).await;
    gives_all(&emulator).await;
    emulator.hears(ANNA, "Your registration could not be saved.").await;
    press(&emulator, ANNA, "Try again").await;
    emulator.hears(ANNA, "Done! Your registration is being looked at.").await;
    assert_eq!(count(&ground.folder.path().join("files")), 2);
    run.stops().await;
    emulator.stop().await;
}

/// Everything that is asked of Anna.
pub async fn gives_all(emulator: &Demo) {
    gives_all_of(emulator, ANNA).await;
}

/// Everything that is asked of somebody.
pub async fn gives_all_of(emulator: &Demo, who: i64) {
    emulator.says(who, "/start").await;
    emulator.hears(who, "Let us get to know each other.").await;
    press(emulator, who, "English").await;
    emulator.hears(who, "What is your first and last name?").await;
    emulator.says(who, "Anna Smith").await;
    emulator.hears(who, "Your phone number?").await;
    let contact = json!({"from": who, "contact": {"phone_number": "79991234567"}});
    emulator.post(&format!("/chats/{who}/send"), contact).await;
    emulator.hears(who, "Your email address?").await;
    press(emulator, who, "Skip").await;
    emulator.hears(who, "Which document will you show?").await;
    press(emulator, who, "Passport").await;
    emulator.hears(who, "Send a photo of your passport").await;
    sends_picture(emulator, who, TOWER).await;
    emulator.hears(who, "Now a selfie").await;
    sends_picture(emulator, who, HILL).await;
}

async fn sends_picture(emulator: &Demo, who: i64, picture: &'static [u8]) {
    let part = Part::bytes(picture).file_name("picture.png").mime_str("image/png").unwrap();
    let form = Form::new().text("from", who.to_string()).part("document", part);
    let url = format!("{}/client/{}/chats/{who}/send", emulator.base, emulator.token);
    let sent = emulator.http.post(url).multipart(form).send().await.unwrap();
    assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
}

/// Somebody presses the last button of this caption.
async fn press(emulator: &Demo, who: i64, caption: &str) {
    let (message, data) = emulator.until(caption, async |emulator| button(emulator, who, caption).await).await;
    let press = json!({"from": who, "message_id": message, "data": data, "wait": 5});
    emulator.post(&format!("/chats/{who}/press"), press).await;
}

async fn button(emulator: &Demo, who: i64, caption: &str) -> Option<(Value, Value)> {
    let messages = emulator.get(&format!("/chats/{who}/messages?after=0&wait=0")).await;
    messages.as_array()?.iter().rev().find_map(|message| {
        let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
        let found =
            rows.iter().flat_map(|row| row.as_array().into_iter().flatten()).find(|one| one["text"] == caption)?;
        Some((message["message_id"].clone(), found["callback_data"].clone()))
    })
}

pub async fn written(app: &workforce::application::App, who: i64) -> (Person, Vec<Document>) {
    let person = app.people.by_telegram(who).await.unwrap().unwrap();
    let documents = Registrations::of_app(app).of(person.id).await.unwrap();
    (person, documents)
}

/// How many plain files a folder has.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).count()
}
