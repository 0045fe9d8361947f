//! With a database that does not belong to the files nothing is removed: a wrong setting raises an alarm and costs no
//! documents.

use std::fs;
use std::path::{Path, PathBuf};

use opora::clock::Clock;
use workforce::application::App;
use workforce::domain::Domain;
use workforce::files::FileEntry;
use workforce::files::installation::{InstallationStatus, Mismatch};
use workforce::person::Status;
use workforce::registration::cleanup::{CleanupContext, clean};
use workforce::registration::repair::{RepairMode, repair};

use super::cleanup::{HOUR, create_file, set_age};
use super::newcomer::DONE;
use super::process::Deployment;
use super::{folder, person, registered_person, stored_files};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{Firm, StorageKind, TestStorage, embedded_and_on_servers, on_every_database};
use crate::kit::sql::run_sql;
use crate::operator::run;

on_every_database! {
    another_database_removes_nothing,
    known_files_without_a_mark_are_marked,
    missing_files_change_nothing,
}

mod processes {
    use super::*;

    embedded_and_on_servers! {
        a_start_with_another_database_raises_an_alarm,
        commands_create_no_database,
    }
}

fn mismatch_of(outcome: Result<impl std::fmt::Debug, anyhow::Error>) -> Mismatch {
    outcome.unwrap_err().downcast().unwrap()
}

/// All stored files, made old.
async fn aged_files(app: &App) -> Vec<FileEntry> {
    let files = app.files.all().await.unwrap();
    for file in &files {
        set_age(&app.data_dir.join("files").join(&file.name), Clock::machine().now(), 100 * 24 * HOUR);
    }
    files
}

async fn another_database_removes_nothing(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let right = CleanupContext::of_app(&firm.app);
    assert_eq!(right.installation().check_and_mark().await.unwrap(), InstallationStatus::Marked);
    registered_person(&firm, "Anna").await;
    let (before, now) = (aged_files(&firm.app).await.len(), Clock::machine().now());

    let elsewhere = TestStorage::new(StorageKind::Sqlite).await;
    let wrong = CleanupContext { domain: elsewhere.domain().await, ..right.clone() };
    for is_dry_run in [true, false] {
        assert_eq!(mismatch_of(clean(&wrong, now, is_dry_run).await), Mismatch::DatabaseUnmarked);
    }
    assert_eq!(mismatch_of(repair(&wrong, RepairMode::List, now).await), Mismatch::DatabaseUnmarked);
    // The database has files of its own.
    let own = Firm::open(StorageKind::Sqlite).await;
    let own_files = own.app.files.clone();
    let at_home = CleanupContext { files: own_files, ..wrong.clone() };
    assert_eq!(at_home.installation().check_and_mark().await.unwrap(), InstallationStatus::Marked);
    assert_eq!(mismatch_of(clean(&wrong, now, false).await), Mismatch::Differ);
    assert_eq!(mismatch_of(repair(&wrong, RepairMode::Delete, now).await), Mismatch::Differ);
    assert_eq!(stored_files(&firm).await.len(), before);
    assert!(clean(&right, now, false).await.unwrap().deleted.is_empty());

    // Only an explicit adoption changes the pair.
    wrong.installation().adopt().await.unwrap();
    assert_eq!(mismatch_of(clean(&right, now, false).await), Mismatch::Differ);
    assert_eq!(clean(&wrong, now, false).await.unwrap().deleted.len(), before);
    wrong.domain.close().await.unwrap();
}

async fn known_files_without_a_mark_are_marked(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (grounds, now) = (CleanupContext::of_app(&firm.app), Clock::machine().now());
    create_file(&folder(&firm).join("orphan.jpg"), now, 49 * HOUR);
    assert_eq!(mismatch_of(clean(&grounds, now, false).await), Mismatch::Unknown { there: 1 });
    registered_person(&firm, "Anna").await;
    assert_eq!(clean(&grounds, now, true).await.unwrap().deleted.len(), 1);
    assert!(!mark_file(&folder(&firm)).exists(), "a dry run writes no mark");
    assert_eq!(clean(&grounds, now, false).await.unwrap().deleted.len(), 1);
    assert!(mark_file(&folder(&firm)).exists());
    assert_eq!(grounds.installation().check().await.unwrap(), InstallationStatus::Marked);
    // A lost mark of the files is written again. A lost mark of the database is not.
    fs::remove_file(mark_file(&folder(&firm))).unwrap();
    assert_eq!(grounds.installation().check_and_mark().await.unwrap(), InstallationStatus::Marked);
    run_sql(&firm.app.domain, "DELETE FROM installation").await;
    assert_eq!(mismatch_of(clean(&grounds, now, false).await), Mismatch::DatabaseUnmarked);
}

/// The command was run elsewhere, or a disk is not mounted.
async fn missing_files_change_nothing(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let grounds = CleanupContext::of_app(&firm.app);
    let now = Clock::machine().now();
    assert!(repair(&grounds, RepairMode::Delete, now).await.is_err(), "there is no storage yet");
    grounds.installation().check_and_mark().await.unwrap();
    let anna = registered_person(&firm, "Anna").await;
    fs::rename(folder(&firm), firm.app.data_dir.join("unmounted")).unwrap();
    for mend in [RepairMode::List, RepairMode::Relink, RepairMode::Delete] {
        assert_eq!(mismatch_of(repair(&grounds, mend, now).await), Mismatch::NothingThere { known: 2 }, "{mend:?}");
    }
    assert_eq!(mismatch_of(clean(&grounds, now, false).await), Mismatch::NothingThere { known: 2 });
    assert_eq!(person(&firm, &anna).await.unwrap().status, Status::Pending);
    fs::rename(firm.app.data_dir.join("unmounted"), folder(&firm)).unwrap();
    assert!(repair(&grounds, RepairMode::Delete, now).await.unwrap().is_empty());
}

async fn a_start_with_another_database_raises_an_alarm(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let running = deployment.start();
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(DONE).await;
    running.stop().await;
    let (files, now) = (deployment.storage.folder.path().join("files"), Clock::machine().now());
    for entry in fs::read_dir(&files).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        set_age(&entry.path(), now, 100 * 24 * HOUR);
    }
    let other = format!("sqlite:{}/other.db", deployment.storage.folder.path().display());
    let running = deployment.start_with(&[("DATABASE_URL", &other), ("STATE_URL", &other)]);
    running.wait_for_log("ALARM: files and database do not belong together").await;
    // Once at the start, and once by the job.
    until("the job has refused", async || (running.count_log_lines("ALARM").await >= 2).then_some(())).await;
    running.stop().await;
    let data = deployment.storage.folder.path().to_str().unwrap();
    let variables = [("DATABASE_URL", other.as_str()), ("DATA_DIR", data)];
    let refused = run(&variables, &["cleanup"]).await;
    refused.fails_with(&["the files belong to another database", "Nothing was changed", "--adopt"]);
    assert_eq!(deployment.file_counts(), (2, 0));
    let asked = run(&variables, &["cleanup", "--adopt"]).await;
    asked.fails_with(&["has 2 files", "knows 0 of them", "--yes confirms it"]);
    deployment.assert_registered(1).await;
    let adopted = run(&variables, &["cleanup", "--adopt", "--yes"]).await.success().stdout;
    assert!(adopted.contains("are those of the database file") && deployment.file_counts() == (2, 0), "{adopted}");
    let done = run(&variables, &["cleanup"]).await.success().stdout;
    assert!(done.ends_with("deleted: 2, kept: 0, errors: 0\n"), "{done}");
    drop(anna);
    deployment.emulator.stop().await;
}

async fn commands_create_no_database(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let data = storage.folder.path().to_str().unwrap();
    create_file(&storage.folder.path().join("files/picture.jpg"), Clock::machine().now(), 72 * HOUR);
    for command in
        [&["cleanup"][..], &["cleanup", "--adopt", "--yes"], &["repair", "registrations", "--delete", "--yes"]]
    {
        for database in [None, Some(storage.database.url())] {
            let database = database.iter().map(|url| ("DATABASE_URL", url.as_str()));
            let variables: Vec<_> = database.chain([("DATA_DIR", data)]).collect();
            run(&variables, command).await.fails_with(&["there is nothing of Opora's in"]);
        }
    }
    assert!(
        !storage.folder.path().join("opora.db").exists() && storage.folder.path().join("files/picture.jpg").exists()
    );
    assert!(Domain::inspect(&storage.database).await.unwrap().is_none_or(|found| found.applied == 0));
}

fn mark_file(folder: &Path) -> PathBuf {
    folder.join(".opora/installation")
}
