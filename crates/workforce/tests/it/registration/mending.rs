//! `opora repair registrations`: people who wait without documents, or whose files are gone.

use std::fs;

use opora::clock::Clock;
use sea_orm::ConnectionTrait;
use workforce::person::Status;
use workforce::registration::cleanup::Grounds;
use workforce::registration::repair::{Broken, Fault, Mend, Outcome, repair};
use workforce::registration::{DocumentKind, Registrations};

use super::{PNG, folder, kept, person, registered};
use crate::kit::firm::{Firm, Ground, Kind, NOON, on_every_database};
use crate::operator::run;

on_every_database! {
    renamed_files_are_found_by_their_content,
    files_of_an_older_bot_become_documents,
    those_who_wait_without_documents_are_listed_and_deleted,
    from_another_folder_nobody_is_deleted,
    whoever_has_worked_here_is_listed_and_not_deleted,
}

async fn renamed_files_are_found_by_their_content(kind: Kind) {
    let firm = Firm::open(kind).await;
    let anna = registered(&firm, "Anna").await;
    let grounds = Grounds::of_app(&firm.app);
    assert!(repair(&grounds, Mend::List, NOON).await.unwrap().is_empty());
    let lost = folder(&firm).join(kept(&firm).await.remove(0).name);
    fs::rename(&lost, folder(&firm).join("renamed.png")).unwrap();
    let found = repair(&grounds, Mend::List, NOON).await.unwrap();
    assert!(
        matches!(&found[..], [Broken { fault: Fault::Lost(lost), outcome: Outcome::Listed, .. }] if lost.len() == 1)
    );
    let mended = repair(&grounds, Mend::Relink, NOON).await.unwrap();
    assert_eq!(mended[0].outcome, Outcome::Relinked);
    assert!(lost.exists() && repair(&grounds, Mend::List, NOON).await.unwrap().is_empty());

    for file in kept(&firm).await {
        fs::remove_file(folder(&firm).join(file.name)).unwrap();
    }
    assert_eq!(repair(&grounds, Mend::Relink, NOON).await.unwrap()[0].outcome, Outcome::NotRelinked);
    assert_eq!(repair(&grounds, Mend::Delete, NOON).await.unwrap()[0].outcome, Outcome::Deleted);
    assert!(person(&firm, &anna).await.is_none());
    anna.sends("/start").await;
    anna.sees("Which language shall I speak?");
}

async fn files_of_an_older_bot_become_documents(kind: Kind) {
    let firm = Firm::open(kind).await;
    firm.app.domain.write(|db| Box::pin(old_acquaintance(db))).await.unwrap();
    let (folder, grounds) = (folder(&firm), Grounds::of_app(&firm.app));
    grounds.installation().settle().await.unwrap();
    fs::write(folder.join("555_passport_AgAC.jpg"), PNG).unwrap();
    // Somebody else's, though it begins alike.
    fs::write(folder.join("5551_selfie_AgAC.jpg"), PNG).unwrap();
    assert_eq!(repair(&grounds, Mend::Relink, NOON).await.unwrap()[0].outcome, Outcome::NotRelinked);
    fs::write(folder.join("555_selfie_AgAC.jpg"), PNG).unwrap();
    assert_eq!(repair(&grounds, Mend::Relink, NOON).await.unwrap()[0].outcome, Outcome::Relinked);
    let person = firm.app.people.by_telegram(555).await.unwrap().unwrap();
    let documents = Registrations::of_app(&firm.app).of(person.id).await.unwrap();
    let kinds: Vec<_> = documents.iter().map(|document| document.kind).collect();
    assert_eq!((person.status, kinds), (Status::Pending, vec![DocumentKind::Passport, DocumentKind::Selfie]));
    assert!(repair(&grounds, Mend::List, NOON).await.unwrap().is_empty());
    assert_eq!(kept(&firm).await.len(), 3, "the files have their new names, and the other's is where it was");
}

async fn those_who_wait_without_documents_are_listed_and_deleted(kind: Kind) {
    let firm = Firm::open(kind).await;
    let ground = &firm._ground;
    firm.app.domain.write(|db| Box::pin(old_acquaintance(db))).await.unwrap();
    let absent = run_on(ground, &["--delete", "--yes"]).await;
    absent.complains(&["there is no storage of files yet", "Nothing was changed"]);
    Grounds::of_app(&firm.app).installation().settle().await.unwrap();
    let listed = run_on(ground, &[]).await.well().stdout;
    assert!(listed.contains("(Telegram 555): no documents\n1 people wait"), "{listed}");
    let asked = run_on(ground, &["--delete"]).await;
    asked.complains(&["Delete 1 people", "This cannot be undone", "--yes confirms it"]);
    assert!(asked.stdout.contains("(Telegram 555): no documents\n"), "who it is comes first: {}", asked.stdout);
    assert!(firm.app.people.by_telegram(555).await.unwrap().is_some());
    let deleted = run_on(ground, &["--delete", "--yes"]).await.well().stdout;
    assert!(deleted.contains("(Telegram 555): no documents; deleted\n"), "{deleted}");
    for flags in [&["--relink"][..], &["--delete"]] {
        assert_eq!(run_on(ground, flags).await.well().stdout, "0 people wait without documents or files\n");
    }
}

/// The folder of files is another one there.
async fn from_another_folder_nobody_is_deleted(kind: Kind) {
    let firm = Firm::open(kind).await;
    Grounds::of_app(&firm.app).installation().settle().await.unwrap();
    let anna = registered(&firm, "Anna").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let database = firm._ground.database.url();
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", elsewhere.path().to_str().unwrap())];
    let refused = run(&variables, &["repair", "registrations", "--delete", "--yes"]).await;
    refused.complains(&["the database knows 2 files, and none is there", "Nothing was changed"]);
    assert_eq!(person(&firm, &anna).await.unwrap().status, Status::Pending);
}

async fn whoever_has_worked_here_is_listed_and_not_deleted(kind: Kind) {
    let firm = Firm::open(kind).await;
    let grounds = Grounds::of_app(&firm.app);
    grounds.installation().settle().await.unwrap();
    firm.app.domain.write(|db| Box::pin(old_acquaintance(db))).await.unwrap();
    firm.app.domain.write(|db| Box::pin(has_a_contract(db))).await.unwrap();
    let found = repair(&grounds, Mend::Delete, NOON).await.unwrap();
    let told: Vec<_> = found.iter().map(|one| (&one.fault, one.outcome)).collect();
    assert_eq!(told, [(&Fault::NoDocuments, Outcome::NotDeleted)], "{found:?}");
    assert!(found[0].to_string().ends_with("no documents; not deleted"), "{found:?}");
    assert!(firm.app.people.by_telegram(555).await.unwrap().is_some());
}

async fn run_on(ground: &Ground, flags: &[&str]) -> crate::operator::Done {
    let (database, data) = (ground.database.url(), ground.folder.path().to_str().unwrap());
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
    run(&variables, &[&["repair", "registrations"], flags].concat()).await
}

async fn has_a_contract(db: &workforce::domain::Writing<'_, '_>) -> Result<(), opora::store::WriteError> {
    let contract = "INSERT INTO contracts (user_id, status, created_at, updated_at) \
                    SELECT id, 'active', 1, 1 FROM users WHERE telegram_id = 555";
    db.execute_unprepared(contract).await?;
    Ok(())
}

/// Somebody whom another bot has left: waits, and has no documents.
async fn old_acquaintance(db: &workforce::domain::Writing<'_, '_>) -> Result<(), opora::store::WriteError> {
    let now = Clock::machine().now().0;
    let row = format!(
        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at) \
         VALUES (555, 'Old Acquaintance', 'en', 'pending', 'grant', {now}, {now})"
    );
    db.execute_unprepared(&row).await?;
    Ok(())
}
