//! `opora repair registrations`: people who wait without documents, or whose files are gone.

use std::fs;

use opora::clock::Clock;
use workforce::domain::Domain;
use workforce::person::Status;
use workforce::registration::cleanup::CleanupContext;
use workforce::registration::repair::{BrokenRegistration, Defect, Outcome, RepairMode, repair};
use workforce::registration::{DocumentKind, Registrations};

use super::{PNG, folder, person, registered_person, stored_files};
use crate::kit::firm::{Firm, NOON, StorageKind, TestStorage, on_every_database};
use crate::kit::sql::run_sql;
use crate::operator::run;

on_every_database! {
    renamed_files_are_found_by_content,
    files_of_an_older_bot_become_documents,
    people_without_documents_are_listed_and_deleted,
    another_folder_deletes_no_person,
    people_with_contracts_are_not_deleted,
}

async fn renamed_files_are_found_by_content(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let anna = registered_person(&firm, "Anna").await;
    let grounds = CleanupContext::of_app(&firm.app);
    assert!(repair(&grounds, RepairMode::List, NOON).await.unwrap().is_empty());
    let lost = folder(&firm).join(stored_files(&firm).await.remove(0).name);
    fs::rename(&lost, folder(&firm).join("renamed.png")).unwrap();
    let found = repair(&grounds, RepairMode::List, NOON).await.unwrap();
    assert!(
        matches!(&found[..], [BrokenRegistration { defect: Defect::Lost(lost), outcome: Outcome::Listed, .. }] if lost.len() == 1)
    );
    let mended = repair(&grounds, RepairMode::Relink, NOON).await.unwrap();
    assert_eq!(mended[0].outcome, Outcome::Relinked);
    assert!(lost.exists() && repair(&grounds, RepairMode::List, NOON).await.unwrap().is_empty());

    for file in stored_files(&firm).await {
        fs::remove_file(folder(&firm).join(file.name)).unwrap();
    }
    assert_eq!(repair(&grounds, RepairMode::Relink, NOON).await.unwrap()[0].outcome, Outcome::NotRelinked);
    assert_eq!(repair(&grounds, RepairMode::Delete, NOON).await.unwrap()[0].outcome, Outcome::Deleted);
    assert!(person(&firm, &anna).await.is_none());
    anna.sends("/start").await;
    anna.sees("Which language do you prefer?");
}

async fn files_of_an_older_bot_become_documents(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    insert_pending_person(&firm.app.domain).await;
    let (folder, grounds) = (folder(&firm), CleanupContext::of_app(&firm.app));
    grounds.installation().check_and_mark().await.unwrap();
    fs::write(folder.join("555_passport_AgAC.jpg"), PNG).unwrap();
    // Another person's file with a similar name.
    fs::write(folder.join("5551_selfie_AgAC.jpg"), PNG).unwrap();
    assert_eq!(repair(&grounds, RepairMode::Relink, NOON).await.unwrap()[0].outcome, Outcome::NotRelinked);
    fs::write(folder.join("555_selfie_AgAC.jpg"), PNG).unwrap();
    assert_eq!(repair(&grounds, RepairMode::Relink, NOON).await.unwrap()[0].outcome, Outcome::Relinked);
    let person = firm.app.people.by_telegram(555).await.unwrap().unwrap();
    let documents = Registrations::of_app(&firm.app).documents_of(person.id).await.unwrap();
    let kinds: Vec<_> = documents.iter().map(|document| document.kind).collect();
    assert_eq!((person.status, kinds), (Status::Pending, vec![DocumentKind::Passport, DocumentKind::Selfie]));
    assert!(repair(&grounds, RepairMode::List, NOON).await.unwrap().is_empty());
    assert_eq!(stored_files(&firm).await.len(), 3, "two renamed files and the other person's file");
}

async fn people_without_documents_are_listed_and_deleted(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let storage = &firm.storage;
    insert_pending_person(&firm.app.domain).await;
    let absent = run_repair(storage, &["--delete", "--yes"]).await;
    absent.fails_with(&["there is no storage of files yet", "Nothing was changed"]);
    CleanupContext::of_app(&firm.app).installation().check_and_mark().await.unwrap();
    let listed = run_repair(storage, &[]).await.success().stdout;
    assert!(listed.contains("(Telegram 555): no documents\n1 people wait"), "{listed}");
    let asked = run_repair(storage, &["--delete"]).await;
    asked.fails_with(&["Delete 1 people", "This cannot be undone", "--yes confirms it"]);
    assert!(asked.stdout.contains("(Telegram 555): no documents\n"), "the people are listed first: {}", asked.stdout);
    assert!(firm.app.people.by_telegram(555).await.unwrap().is_some());
    let deleted = run_repair(storage, &["--delete", "--yes"]).await.success().stdout;
    assert!(deleted.contains("(Telegram 555): no documents; deleted\n"), "{deleted}");
    for flags in [&["--relink"][..], &["--delete"]] {
        assert_eq!(run_repair(storage, flags).await.success().stdout, "0 people wait without documents or files\n");
    }
}

/// There the folder of files is another one.
async fn another_folder_deletes_no_person(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    CleanupContext::of_app(&firm.app).installation().check_and_mark().await.unwrap();
    let anna = registered_person(&firm, "Anna").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let database = firm.storage.database.url();
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", elsewhere.path().to_str().unwrap())];
    let refused = run(&variables, &["repair", "registrations", "--delete", "--yes"]).await;
    refused.fails_with(&["the database knows 2 files, and none is there", "Nothing was changed"]);
    assert_eq!(person(&firm, &anna).await.unwrap().status, Status::Pending);
}

async fn people_with_contracts_are_not_deleted(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let grounds = CleanupContext::of_app(&firm.app);
    grounds.installation().check_and_mark().await.unwrap();
    insert_pending_person(&firm.app.domain).await;
    insert_contract(&firm.app.domain).await;
    let found = repair(&grounds, RepairMode::Delete, NOON).await.unwrap();
    let told: Vec<_> = found.iter().map(|one| (&one.defect, one.outcome)).collect();
    assert_eq!(told, [(&Defect::NoDocuments, Outcome::NotDeleted)], "{found:?}");
    assert!(found[0].to_string().ends_with("no documents; not deleted"), "{found:?}");
    assert!(firm.app.people.by_telegram(555).await.unwrap().is_some());
}

async fn run_repair(storage: &TestStorage, flags: &[&str]) -> crate::operator::CommandOutput {
    let (database, data) = (storage.database.url(), storage.folder.path().to_str().unwrap());
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
    run(&variables, &[&["repair", "registrations"], flags].concat()).await
}

async fn insert_contract(domain: &Domain) {
    let contract = "INSERT INTO contracts (user_id, status, created_at, updated_at) \
                    SELECT id, 'active', 1, 1 FROM users WHERE telegram_id = 555";
    run_sql(domain, contract).await;
}

/// A person whom another bot left pending, without documents.
async fn insert_pending_person(domain: &Domain) {
    let now = Clock::machine().now().0;
    let row = format!(
        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at) \
         VALUES (555, 'Old Acquaintance', 'en', 'pending', 'grant', {now}, {now})"
    );
    run_sql(domain, row).await;
}
