//! Files without an owner go when they are old, and no others.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use opora::clock::{Clock, Millis};
use workforce::files::installation::{Bond, Installation};
use workforce::files::{Files, FilesAddress};
use workforce::registration::cleanup::{Grounds, clean};
use workforce::registration::keeping;
use workforce::rooms::Rooms;

use super::{PNG, asked_for, downloads, fetches, folder, kept, person, registered, sends_everything, works};
use crate::kit::firm::{Firm, Ground, Kind, on_every_database};
use crate::operator::run;

on_every_database! {
    old_files_without_an_owner_go_and_everything_else_stays,
    a_registration_whose_files_were_cleaned_up_is_not_written,
    the_command_says_what_it_did,
}

pub const HOUR: Duration = Duration::from_secs(3600);

async fn old_files_without_an_owner_go_and_everything_else_stays(kind: Kind) {
    let firm = Firm::open(kind).await;
    registered(&firm, "Anna").await;
    let (folder, grounds) = (folder(&firm), Grounds::of_app(&firm.app));
    let now = Clock::machine().now();
    for file in kept(&firm).await {
        age(&folder.join(file.name), now, 100 * 24 * HOUR);
    }
    put(&folder.join("orphan.jpg"), now, 49 * HOUR);
    put(&folder.join("young.jpg"), now, 47 * HOUR);
    put(&folder.join(".incoming/half"), now, 25 * HOUR);
    put(&firm.app.data_dir.join("downloads/7-1.part"), now, 25 * HOUR);
    put(&firm.app.data_dir.join("downloads/7-2"), now, 23 * HOUR);

    let looked = clean(&grounds, now, true).await.unwrap();
    let report = clean(&grounds, now, false).await.unwrap();
    assert_eq!((&looked.deleted, &looked.kept), (&report.deleted, &report.kept), "looking changes nothing");
    let names = |files: &[(String, Duration)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(report.known, 2);
    assert_eq!(names(&report.deleted), ["orphan.jpg", "half", "7-1.part"]);
    assert_eq!(names(&report.kept), ["young.jpg", "7-2"]);
    assert!(report.errors.is_empty());
    assert_eq!(kept(&firm).await.len(), 3);
    let said = report.to_string();
    for line in ["files known to the database: 2", "deleted orphan.jpg (age 2 days)", "kept young.jpg (age 47 h)"] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    assert!(said.ends_with("deleted: 3, kept: 2, errors: 0"), "{said}");
}

/// The bot was down for days between the files and the commit.
async fn a_registration_whose_files_were_cleaned_up_is_not_written(kind: Kind) {
    let firm = Firm::open(kind).await;
    let anna = firm.stage.person("Anna");
    sends_everything(&anna).await;
    fetches(&firm, PNG).await;
    let (_, body) = firm.stage.asked().await.pop().unwrap();
    let done = keeping::keep(firm.app.clone(), asked_for(&anna, &body)).await.unwrap();
    let grounds = Grounds::of_app(&firm.app);
    let now = firm.app.clock.now();
    for file in kept(&firm).await {
        age(&folder(&firm).join(file.name), now, 50 * HOUR);
    }
    assert!(clean(&grounds, now, false).await.unwrap().deleted.is_empty(), "they are under way");
    let later = now.plus(49 * HOUR);
    assert_eq!(clean(&grounds, later, false).await.unwrap().deleted.len(), 2);
    firm.stage.finishes(keeping::KEEP, done).await;
    anna.sees("could not be saved");
    assert!(person(&firm, &anna).await.is_none(), "no document without its file");
    anna.presses("Try again").await;
    works(&firm, PNG).await;
    anna.sees("Your registration is being looked at.");
    assert!(kept(&firm).await.len() == 2 && downloads(&firm).await.is_empty());
}

async fn the_command_says_what_it_did(kind: Kind) {
    let ground = Ground::new(kind).await;
    let (database, data) = (ground.database.url(), ground.folder.path().to_str().unwrap());
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
    let domain = ground.domain().await;
    let files = Files::at(&FilesAddress::Folder(ground.folder.path().join("files")));
    let installation = Installation { domain: &domain, rooms: &Rooms::all(), files: &files };
    assert_eq!(installation.settle().await.unwrap(), Bond::Marked);
    domain.close().await.unwrap();
    let orphan = ground.folder.path().join("files/orphan.jpg");
    put(&orphan, Clock::machine().now(), 72 * HOUR);
    let looked = run(&variables, &["cleanup", "--dry-run"]).await.well().stdout;
    assert!(looked.contains("would delete orphan.jpg (age 3 days)") && orphan.exists(), "{looked}");
    let done = run(&variables, &["cleanup"]).await.well().stdout;
    assert_eq!(
        done,
        "files known to the database: 0\ndeleted orphan.jpg (age 3 days)\ndeleted: 1, kept: 0, errors: 0\n"
    );
    assert!(!orphan.exists());
}

/// A file that was last changed so long ago.
pub fn put(path: &Path, now: Millis, ago: Duration) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
    age(path, now, ago);
}

pub fn age(path: &Path, now: Millis, ago: Duration) {
    let then = Duration::from_millis(now.0 as u64) - ago;
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + then).unwrap();
}
