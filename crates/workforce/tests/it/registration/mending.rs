//! `opora repair registrations`: people who wait without documents, or whose files are gone.

use std::fs;

use opora::clock::Clock;
use sea_orm::ConnectionTrait;
use workforce::people::Status;
use workforce::registration::cleanup::Grounds;
use workforce::registration::repair::{Mend, Outcome, repair};
use workforce::registration::{DocumentKind, Registrations};

use super::{PNG, folder, kept, person, registered};
use crate::firm::{Firm, Ground, Kind, NOON, on_every_database};
use crate::operator::run;

on_every_database! {
    renamed_files_are_found_by_their_content,
    files_of_an_older_bot_become_documents,
    those_who_wait_without_documents_are_listed_and_deleted,
}

async fn renamed_files_are_found_by_their_content(kind: Kind) {
    let firm = Firm::open(kind).await;
    let anna = registered(&firm, "Anna").await;
    let grounds = Grounds::of_app(&firm.app);
    assert!(repair(&grounds, Mend::List, NOON).await.unwrap().is_empty());
    let lost = folder(&firm).join(kept(&firm).await.remove(0).name);
    fs::rename(&lost, folder(&firm).join("renamed.png")).unwrap();
    let found = repair(&grounds, Mend::List, NOON).await.unwrap();
    assert_eq!((found.len(), found[0].lost.len(), found[0].outcome), (1, 1, Outcome::Listed));
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
    fs::create_dir_all(&folder).unwrap();
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
    let ground = Ground::new(kind).await;
    let domain = ground.domain().await;
    domain.write(|db| Box::pin(old_acquaintance(db))).await.unwrap();
    domain.close().await.unwrap();
    let (database, data) = (ground.database.url(), ground.folder.path().to_str().unwrap());
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
    let listed = run(&variables, &["repair", "registrations"]).await.well().stdout;
    assert!(listed.contains("(Telegram 555): no documents\n1 people wait"), "{listed}");
    let deleted = run(&variables, &["repair", "registrations", "--delete"]).await.well().stdout;
    assert!(deleted.contains("(Telegram 555): no documents; deleted\n"), "{deleted}");
    let listed = run(&variables, &["repair", "registrations", "--relink"]).await.well().stdout;
    assert_eq!(listed, "0 people wait without documents or files\n");
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
