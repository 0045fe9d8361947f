//! Registrations through the emulator: bot, files and pages together, in this process.

use std::fs;
use std::path::Path;

use opora::bot::Stop;
use serde_json::json;
use tokio::net::TcpListener;
use workforce::people::{self, Grant};
use workforce::person::{Person, Role};
use workforce::registration::{Document, DocumentStatus, Registrations};
use workforce::rooms::Rooms;
use workforce::run::Product;
use workforce::texts::Language;

use super::newcomer::{HILL, Newcomer, TOWER};
use crate::kit::app_process::start_emulator;
use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT};
use crate::kit::firm::{NOON, StorageKind, TestStorage, on_every_database};

on_every_database! {
    anna_registers_and_is_approved,
}

async fn anna_registers_and_is_approved(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let config = storage.config(&[
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
    complete_registration(&emulator, ANNA).await;
    emulator.receives(ANNA, "Done! Your registration is awaiting approval.").await;
    emulator.receives(BORIS, "New registration: Anna Smith").await;
    let log = emulator.get("/log?limit=500").await.to_string();
    assert!(log.contains("request_contact") && !log.contains("one_time_keyboard"), "the phone's key stays until used");
    let (person, documents) = registration_of(&app, ANNA).await;
    assert_eq!(documents.iter().map(|one| one.size_bytes).collect::<Vec<_>>(), [TOWER.len() as i64, HILL.len() as i64]);
    let folder = storage.folder.path();
    for document in &documents {
        assert!(folder.join("files").join(&document.id).is_file(), "{document:?}");
    }
    assert_eq!((file_count(&folder.join("files")), file_count(&folder.join("downloads"))), (2, 0));

    let boris = app.people.by_telegram(BORIS).await.unwrap().unwrap();
    Registrations::of_app(&app).approve(boris.id, person.id, pending_document_id(&documents)).await.unwrap();
    emulator.receives(ANNA, "Welcome to the team!").await;
    stop.stop();
    running.await.unwrap().unwrap();
    emulator.stop().await;
}

/// A person answers everything in the emulator's chat.
pub async fn complete_registration(emulator: &Demo, who: i64) {
    Newcomer::new(emulator, who, TIMEOUT).completes_registration().await;
}

pub async fn registration_of(app: &workforce::application::App, who: i64) -> (Person, Vec<Document>) {
    let person = app.people.by_telegram(who).await.unwrap().unwrap();
    let documents = Registrations::of_app(app).documents_of(person.id).await.unwrap();
    (person, documents)
}

/// The id of the pending document, which a decision has to name.
pub fn pending_document_id(documents: &[Document]) -> &str {
    let waits = |one: &&Document| one.kind.is_main() && one.status == DocumentStatus::Pending;
    documents.iter().find(waits).map_or("", |one| &one.id)
}

/// The number of regular files in a folder.
pub fn file_count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).count()
}
