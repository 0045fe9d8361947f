//! Fixtures: every store as each version wrote it. Today's code must open all of them.
//!
//! `tests/fixtures/<version>` holds the firm of [`content`] in each store. `cargo xtask fixtures` writes the folder of
//! the workspace's version. Until the CHANGELOG gives that version a date, the folder follows today's layout. After
//! that its files never change, and every later version must open them.

use std::fs;
use std::path::{Path, PathBuf};

use opora_testkit::environment;

use self::content::QUESTIONNAIRE;
use crate::kit::firm::{StorageKind, on_databases};
use crate::operator::run;

pub mod content;
mod layout;
mod opening;
mod orders;
pub mod states;
mod writing;

/// The version in development.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const CHECKSUMS: &str = "SHA256SUMS";

on_databases! { [sqlite Sqlite, postgres Postgres]
    fixtures_open_and_their_dialogues_continue,
}

async fn fixtures_open_and_their_dialogues_continue(kind: StorageKind) {
    for folder in fixture_folders() {
        opening::assert_opens_and_continues(kind, &folder).await;
    }
}

mod redis_and_sqlite {
    #[tokio::test]
    async fn fixtures_open_and_their_dialogues_continue() {
        super::fixtures_open_and_their_dialogues_continue(super::StorageKind::RedisAndSqlite).await;
    }
}

/// `cargo xtask fixtures` runs this test to write the fixture. Otherwise it only compares.
#[tokio::test]
async fn todays_fixture_has_the_layout_of_the_kept_one() {
    let newest = fixtures_folder().join(VERSION);
    if environment::writes_fixtures() {
        assert!(
            !is_released(VERSION),
            "{VERSION} is released, so its fixtures stay: raise the workspace's version first"
        );
        let _ = fs::remove_dir_all(&newest);
        fs::create_dir_all(&newest).unwrap();
        write_all(&newest).await;
        return;
    }
    let advice = match is_released(VERSION) {
        true => {
            format!("{VERSION} is released: raise the workspace's version, add a migration, run `cargo xtask fixtures`")
        }
        false => "the layout has changed: run `cargo xtask fixtures` and commit what it writes".to_owned(),
    };
    assert!(newest.is_dir(), "there is no fixture of {VERSION}: run `cargo xtask fixtures`");
    let fresh = tempfile::tempdir().unwrap();
    write_all(fresh.path()).await;
    let (kept, today) = (layout::of(&newest).await, layout::of(fresh.path()).await);
    let gone: Vec<_> = kept.difference(&today).collect();
    let new: Vec<_> = today.difference(&kept).collect();
    assert!(gone.is_empty() && new.is_empty(), "{advice}\nonly in the fixture: {gone:#?}\nonly today: {new:#?}");
}

async fn write_all(folder: &Path) {
    fs::write(folder.join("questionnaire.toml"), QUESTIONNAIRE).unwrap();
    tokio::join!(
        writing::write(StorageKind::Sqlite, folder),
        writing::write(StorageKind::Postgres, folder),
        writing::write(StorageKind::RedisAndSqlite, folder)
    );
    fs::write(folder.join(CHECKSUMS), writing::checksums(folder)).unwrap();
}

#[tokio::test]
async fn todays_fixture_has_every_table_and_every_state() {
    opening::assert_complete(&fixtures_folder().join(VERSION)).await;
}

#[test]
fn fixtures_are_unchanged() {
    let folders = fixture_folders();
    assert!(!folders.is_empty(), "run `cargo xtask fixtures`");
    for folder in folders {
        let kept = fs::read_to_string(folder.join(CHECKSUMS)).unwrap();
        assert_eq!(writing::checksums(&folder), kept, "{} was changed: restore it", folder.display());
    }
    for version in released(&changelog()) {
        assert!(fixtures_folder().join(version).is_dir(), "{version} is released and has no fixture");
    }
}

#[tokio::test]
async fn exported_conversations_can_be_imported() {
    for folder in fixture_folders() {
        let there = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}/empty.db", there.path().display());
        opora::store::open(&store).await.unwrap().close().await.unwrap();
        let file = folder.join("state.jsonl");
        run(&[], &["state", "import", "--store", &store, "--from", file.to_str().unwrap()]).await.success();
        let exported = run(&[], &["state", "export", "--store", &store]).await.success().stdout;
        assert_eq!(exported, fs::read_to_string(&file).unwrap(), "{}", folder.display());
    }
}

#[tokio::test]
async fn questionnaires_can_be_read() {
    for folder in fixture_folders() {
        let file = folder.join("questionnaire.toml");
        let checked = run(&[], &["onboarding", "check", file.to_str().unwrap()]).await.success();
        assert!(checked.stdout.contains("5 questions"), "{}", checked.stdout);
    }
}

#[test]
fn a_section_with_a_date_is_a_release() {
    let text =
        "# Changelog\n\n## 0.3.0 (not released yet)\n\n- New\n\n## 0.2.0 (2027-03-01)\n\n## 0.1.0 (2026-12-01)\n";
    assert_eq!(released(text), ["0.2.0", "0.1.0"]);
}

/// The folder of all versions.
fn fixtures_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The folders of all versions, oldest first.
fn fixture_folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures_folder()).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn changelog() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md")).unwrap()
}

fn is_released(version: &str) -> bool {
    released(&changelog()).contains(&version)
}

/// The versions whose sections have a date.
fn released(changelog: &str) -> Vec<&str> {
    let sections = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let dated = sections.filter_map(|section| {
        let (version, rest) = section.split_once(' ')?;
        let date: chrono::NaiveDate = rest.trim_matches(['(', ')']).parse().ok()?;
        Some((version, date))
    });
    dated.map(|(version, _)| version).collect()
}
