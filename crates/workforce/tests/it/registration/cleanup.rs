//! Cleanup removes old files that no row knows, and no others.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use opora::clock::{Clock, Millis};
use workforce::files::installation::{Installation, InstallationStatus};
use workforce::files::{Files, FilesAddress};
use workforce::registration::cleanup::{CleanupContext, clean};
use workforce::registration::file_effects;
use workforce::rooms::Rooms;

use super::{
    PNG, downloads, effect_request, finish_downloads, finish_effects, folder, person, registered_person,
    sends_everything, stored_files,
};
use crate::kit::firm::{Firm, StorageKind, TestStorage, on_every_database};
use crate::operator::run;

on_every_database! {
    only_old_orphans_are_deleted,
    a_registration_without_its_files_is_not_written,
    the_command_reports_what_it_did,
}

pub const HOUR: Duration = Duration::from_secs(3600);

async fn only_old_orphans_are_deleted(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    registered_person(&firm, "Anna").await;
    let (folder, grounds) = (folder(&firm), CleanupContext::of_app(&firm.app));
    let now = Clock::machine().now();
    for file in stored_files(&firm).await {
        set_age(&folder.join(file.name), now, 100 * 24 * HOUR);
    }
    create_file(&folder.join("orphan.jpg"), now, 49 * HOUR);
    create_file(&folder.join("young.jpg"), now, 47 * HOUR);
    create_file(&folder.join(".incoming/half"), now, 25 * HOUR);
    create_file(&firm.app.data_dir.join("downloads/7-1.part"), now, 25 * HOUR);
    create_file(&firm.app.data_dir.join("downloads/7-2"), now, 23 * HOUR);

    let looked = clean(&grounds, now, true).await.unwrap();
    let report = clean(&grounds, now, false).await.unwrap();
    assert_eq!((&looked.deleted, &looked.kept), (&report.deleted, &report.kept), "a dry run changes nothing");
    let names = |files: &[(String, Duration)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(report.known, 2);
    assert_eq!(names(&report.deleted), ["orphan.jpg", "half", "7-1.part"]);
    assert_eq!(names(&report.kept), ["young.jpg", "7-2"]);
    assert!(report.errors.is_empty());
    assert_eq!(stored_files(&firm).await.len(), 3);
    let said = report.to_string();
    for line in ["files known to the database: 2", "deleted orphan.jpg (age 2 days)", "kept young.jpg (age 47 h)"] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    assert!(said.ends_with("deleted: 3, kept: 2, errors: 0"), "{said}");
}

/// The bot was down for days between storing the files and the commit.
async fn a_registration_without_its_files_is_not_written(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    finish_downloads(&firm, PNG).await;
    let (_, body) = firm.stage.pending_effects().await.pop().unwrap();
    let done = file_effects::store(firm.app.clone(), effect_request(&anna, &body)).await.unwrap();
    let grounds = CleanupContext::of_app(&firm.app);
    let now = firm.app.clock.now();
    for file in stored_files(&firm).await {
        set_age(&folder(&firm).join(file.name), now, 50 * HOUR);
    }
    assert!(clean(&grounds, now, false).await.unwrap().deleted.is_empty(), "the files are still pending");
    let later = now.plus(49 * HOUR);
    assert_eq!(clean(&grounds, later, false).await.unwrap().deleted.len(), 2);
    firm.stage.finish_effect(file_effects::STORE, done).await;
    anna.sees("couldn't be saved");
    assert!(person(&firm, &anna).await.is_none(), "no document without its file");
    anna.presses("Try again").await;
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    assert!(stored_files(&firm).await.len() == 2 && downloads(&firm).await.is_empty());
}

async fn the_command_reports_what_it_did(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let (database, data) = (storage.database.url(), storage.folder.path().to_str().unwrap());
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
    let domain = storage.domain().await;
    let files = Files::at(&FilesAddress::Folder(storage.folder.path().join("files")));
    let installation = Installation { domain: &domain, rooms: &Rooms::all(), files: &files };
    assert_eq!(installation.check_and_mark().await.unwrap(), InstallationStatus::Marked);
    domain.close().await.unwrap();
    let orphan = storage.folder.path().join("files/orphan.jpg");
    create_file(&orphan, Clock::machine().now(), 72 * HOUR);
    let looked = run(&variables, &["cleanup", "--dry-run"]).await.success().stdout;
    assert!(looked.contains("would delete orphan.jpg (age 3 days)") && orphan.exists(), "{looked}");
    let done = run(&variables, &["cleanup"]).await.success().stdout;
    assert_eq!(
        done,
        "files known to the database: 0\ndeleted orphan.jpg (age 3 days)\ndeleted: 1, kept: 0, errors: 0\n"
    );
    assert!(!orphan.exists());
}

/// Creates a file with this age.
pub fn create_file(path: &Path, now: Millis, ago: Duration) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
    set_age(path, now, ago);
}

pub fn set_age(path: &Path, now: Millis, ago: Duration) {
    let then = Duration::from_millis(now.0 as u64) - ago;
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + then).unwrap();
}
