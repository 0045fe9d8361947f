//! With a database that is not the files' own nothing is removed: a missing setting costs an alarm, and no documents.

use std::fs;
use std::path::{Path, PathBuf};

use opora::clock::Clock;
use sea_orm::ConnectionTrait;
use workforce::application::App;
use workforce::domain::Domain;
use workforce::files::Found;
use workforce::files::installation::{Apart, Bond};
use workforce::person::Status;
use workforce::registration::cleanup::{Grounds, clean};
use workforce::registration::repair::{Mend, repair};

use super::cleaning::{HOUR, age, put};
use super::newcomer::DONE;
use super::process::Office;
use super::{folder, kept, person, registered};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{Firm, Ground, Kind, embedded_and_on_servers, on_every_database};
use crate::operator::run;

on_every_database! {
    a_database_that_is_not_the_files_own_removes_nothing,
    what_was_there_before_there_were_marks_is_marked_if_it_is_known,
    files_that_are_not_there_are_nobodys_loss,
}

mod processes {
    use super::*;

    embedded_and_on_servers! {
        a_start_with_another_database_raises_the_alarm_and_removes_nothing,
        commands_make_no_database,
    }
}

fn apart(outcome: Result<impl std::fmt::Debug, anyhow::Error>) -> Apart {
    outcome.unwrap_err().downcast().unwrap()
}

/// Every kept file, grown old.
async fn aged(app: &App) -> Vec<Found> {
    let files = app.files.all().await.unwrap();
    for file in &files {
        age(&app.data_dir.join("files").join(&file.name), Clock::machine().now(), 100 * 24 * HOUR);
    }
    files
}

async fn a_database_that_is_not_the_files_own_removes_nothing(kind: Kind) {
    let firm = Firm::open(kind).await;
    let right = Grounds::of_app(&firm.app);
    assert_eq!(right.installation().settle().await.unwrap(), Bond::Marked);
    registered(&firm, "Anna").await;
    let (before, now) = (aged(&firm.app).await.len(), Clock::machine().now());

    let elsewhere = Ground::new(Kind::Sqlite).await;
    let wrong = Grounds { domain: elsewhere.domain().await, ..right.clone() };
    for is_dry_run in [true, false] {
        assert_eq!(apart(clean(&wrong, now, is_dry_run).await), Apart::DatabaseUnmarked);
    }
    assert_eq!(apart(repair(&wrong, Mend::List, now).await), Apart::DatabaseUnmarked);
    // It has worked with files of its own.
    let own = Firm::open(Kind::Sqlite).await;
    let own_files = own.app.files.clone();
    let at_home = Grounds { files: own_files, ..wrong.clone() };
    assert_eq!(at_home.installation().settle().await.unwrap(), Bond::Marked);
    assert_eq!(apart(clean(&wrong, now, false).await), Apart::Differ);
    assert_eq!(apart(repair(&wrong, Mend::Delete, now).await), Apart::Differ);
    assert_eq!(kept(&firm).await.len(), before);
    assert!(clean(&right, now, false).await.unwrap().deleted.is_empty());

    // Only by somebody's own word.
    wrong.installation().adopt().await.unwrap();
    assert_eq!(apart(clean(&right, now, false).await), Apart::Differ);
    assert_eq!(clean(&wrong, now, false).await.unwrap().deleted.len(), before);
    wrong.domain.close().await.unwrap();
}

async fn what_was_there_before_there_were_marks_is_marked_if_it_is_known(kind: Kind) {
    let firm = Firm::open(kind).await;
    let (grounds, now) = (Grounds::of_app(&firm.app), Clock::machine().now());
    put(&folder(&firm).join("orphan.jpg"), now, 49 * HOUR);
    assert_eq!(apart(clean(&grounds, now, false).await), Apart::Unknown { there: 1 });
    registered(&firm, "Anna").await;
    assert_eq!(clean(&grounds, now, true).await.unwrap().deleted.len(), 1);
    assert!(!mark_of(&folder(&firm)).exists(), "looking marks nothing");
    assert_eq!(clean(&grounds, now, false).await.unwrap().deleted.len(), 1);
    assert!(mark_of(&folder(&firm)).exists());
    assert_eq!(grounds.installation().look().await.unwrap(), Bond::Marked);
    // A mark that was lost is made again, and the database's own is not.
    fs::remove_file(mark_of(&folder(&firm))).unwrap();
    assert_eq!(grounds.installation().settle().await.unwrap(), Bond::Marked);
    firm.app.domain.write(|db| Box::pin(forgets_its_mark(db))).await.unwrap();
    assert_eq!(apart(clean(&grounds, now, false).await), Apart::DatabaseUnmarked);
}

/// The command was run elsewhere, or a disk is not mounted.
async fn files_that_are_not_there_are_nobodys_loss(kind: Kind) {
    let firm = Firm::open(kind).await;
    let grounds = Grounds::of_app(&firm.app);
    let now = Clock::machine().now();
    assert!(repair(&grounds, Mend::Delete, now).await.is_err(), "there is no storage yet");
    grounds.installation().settle().await.unwrap();
    let anna = registered(&firm, "Anna").await;
    fs::rename(folder(&firm), firm.app.data_dir.join("unmounted")).unwrap();
    for mend in [Mend::List, Mend::Relink, Mend::Delete] {
        assert_eq!(apart(repair(&grounds, mend, now).await), Apart::NothingThere { known: 2 }, "{mend:?}");
    }
    assert_eq!(apart(clean(&grounds, now, false).await), Apart::NothingThere { known: 2 });
    assert_eq!(person(&firm, &anna).await.unwrap().status, Status::Pending);
    fs::rename(firm.app.data_dir.join("unmounted"), folder(&firm)).unwrap();
    assert!(repair(&grounds, Mend::Delete, now).await.unwrap().is_empty());
}

async fn a_start_with_another_database_raises_the_alarm_and_removes_nothing(kind: Kind) {
    let office = Office::new(kind).await;
    let running = office.run();
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(DONE).await;
    running.stops().await;
    let (files, now) = (office.ground.folder.path().join("files"), Clock::machine().now());
    for entry in fs::read_dir(&files).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        age(&entry.path(), now, 100 * 24 * HOUR);
    }
    let other = format!("sqlite:{}/other.db", office.ground.folder.path().display());
    let running = office.run_with(&[("DATABASE_URL", &other), ("STATE_URL", &other)]);
    running.logs("ALARM: files and database do not belong together").await;
    // Once at the start, and once by the job.
    until("the job has refused", async || (running.count("ALARM").await >= 2).then_some(())).await;
    running.stops().await;
    let data = office.ground.folder.path().to_str().unwrap();
    let variables = [("DATABASE_URL", other.as_str()), ("DATA_DIR", data)];
    let refused = run(&variables, &["cleanup"]).await;
    refused.complains(&["the files belong to another database", "Nothing was changed", "--adopt"]);
    assert_eq!(office.files(), (2, 0));
    let asked = run(&variables, &["cleanup", "--adopt"]).await;
    asked.complains(&["has 2 files", "knows 0 of them", "--yes confirms it"]);
    office.has_registered(1).await;
    let adopted = run(&variables, &["cleanup", "--adopt", "--yes"]).await.well().stdout;
    assert!(adopted.contains("are those of the database file") && office.files() == (2, 0), "{adopted}");
    let done = run(&variables, &["cleanup"]).await.well().stdout;
    assert!(done.ends_with("deleted: 2, kept: 0, errors: 0\n"), "{done}");
    drop(anna);
    office.emulator.stop().await;
}

async fn commands_make_no_database(kind: Kind) {
    let ground = Ground::new(kind).await;
    let data = ground.folder.path().to_str().unwrap();
    put(&ground.folder.path().join("files/picture.jpg"), Clock::machine().now(), 72 * HOUR);
    for command in
        [&["cleanup"][..], &["cleanup", "--adopt", "--yes"], &["repair", "registrations", "--delete", "--yes"]]
    {
        for database in [None, Some(ground.database.url())] {
            let database = database.iter().map(|url| ("DATABASE_URL", url.as_str()));
            let variables: Vec<_> = database.chain([("DATA_DIR", data)]).collect();
            run(&variables, command).await.complains(&["there is nothing of Opora's in"]);
        }
    }
    assert!(!ground.folder.path().join("opora.db").exists() && ground.folder.path().join("files/picture.jpg").exists());
    assert!(Domain::look(&ground.database).await.unwrap().is_none_or(|found| found.steps_taken == 0));
}

fn mark_of(folder: &Path) -> PathBuf {
    folder.join(".opora/installation")
}

async fn forgets_its_mark(db: &workforce::domain::Writing<'_, '_>) -> Result<(), opora::store::WriteError> {
    db.execute_unprepared("DELETE FROM installation").await?;
    Ok(())
}
