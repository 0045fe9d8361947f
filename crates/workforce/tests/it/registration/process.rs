//! Registrations with the real program, and restarts between any two steps.

use opora::clock::Clock;
use opora_testkit::product::crowd;
use serde_json::json;

use super::cleanup::{HOUR, create_file};
use super::in_process::file_count;
use super::newcomer::{Action, DONE, NOT_SAVED, Newcomer, REGISTRATION_STEPS, SAVING};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::operator;

embedded_and_on_servers! {
    a_newcomer_is_approved_in_the_chat,
    a_restart_between_any_steps_loses_nothing,
    a_failed_save_is_retried_and_completed,
    orphans_are_deleted_by_the_job_and_by_hand,
    sixty_people_register_at_once,
}

/// A deployment whose process is started several times on the same storage.
pub struct Deployment {
    pub storage: TestStorage,
    pub emulator: Demo,
    /// More settings for every process.
    pub settings: Vec<(&'static str, String)>,
}

impl Deployment {
    pub async fn new(kind: StorageKind) -> Self {
        Self { storage: TestStorage::with_tables(kind).await, emulator: start_emulator().await, settings: Vec::new() }
    }

    pub fn start(&self) -> AppProcess {
        self.start_with(&[])
    }

    pub fn start_with(&self, more: &[(&str, &str)]) -> AppProcess {
        let settings = self.settings.iter().map(|(name, value)| (*name, value.as_str()));
        AppProcess::start(&self.storage, &self.emulator, &settings.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    pub fn newcomer(&self, who: i64) -> Newcomer<'_> {
        Newcomer::new(&self.emulator, who, TIMEOUT)
    }

    /// Runs an operator's command with the deployment's settings. Returns its output.
    pub async fn run_command(&self, arguments: &[&str]) -> String {
        let (database, data) = (self.storage.database.url(), self.storage.folder.path().to_str().unwrap());
        let mut settings = vec![("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
        settings.extend(self.settings.iter().map(|(name, value)| (*name, value.as_str())));
        operator::run(&settings, arguments).await.success().stdout
    }

    /// The numbers of stored files and of downloads.
    pub fn file_counts(&self) -> (usize, usize) {
        let folder = self.storage.folder.path();
        (
            file_count(&folder.join("files")) + file_count(&folder.join("files/.incoming")),
            file_count(&folder.join("downloads")),
        )
    }

    /// Asserts that this many people are registered, that files and rows match, and that nothing else is left.
    pub async fn assert_registered(&self, people: usize) {
        let report = self.run_command(&["cleanup", "--dry-run"]).await;
        let expected = format!("files known to the database: {}\nwould delete: 0, kept: 0, errors: 0\n", people * 2);
        assert_eq!(report, expected);
        if self.settings.is_empty() {
            assert_eq!(self.file_counts(), (people * 2, 0));
        }
        let broken = self.run_command(&["repair", "registrations"]).await;
        assert_eq!(broken, "0 people wait without documents or files\n");
        let listed = self.run_command(&["people", "list"]).await;
        assert_eq!(listed.matches("Anna Smith").count(), people, "{listed}");
    }
}

async fn a_newcomer_is_approved_in_the_chat(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    deployment.run_command(&["people", "grant", "1002", "owner", "--name", "Boris", "--language", "en"]).await;
    let process = deployment.start();
    let (mut anna, mut boris) = (deployment.newcomer(ANNA), deployment.newcomer(BORIS));
    anna.completes_registration().await;
    anna.receives(DONE).await;
    deployment.assert_registered(1).await;
    boris.receives("New registration: Anna Smith").await;
    boris.does(Action::Presses("✅ Approve")).await;
    anna.receives("Welcome to the team!").await;
    let log = process.stop().await.join("\n");
    for personal in ["Anna Smith", "79991234567"] {
        assert!(!log.contains(personal), "{personal} is in the log");
    }
    for step in ["step done", "downloading its files", "file stored", "person and documents written"] {
        assert!(log.contains(step), "no {step:?} in the log");
    }
    deployment.emulator.stop().await;
}

/// Anna has her answer when the process ends. Boris has only just sent his input.
async fn a_restart_between_any_steps_loses_nothing(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let (mut anna, mut boris) = (deployment.newcomer(ANNA), deployment.newcomer(BORIS));
    let mut process = deployment.start();
    for (number, (deed, answer)) in REGISTRATION_STEPS.into_iter().enumerate() {
        anna.does(deed).await;
        anna.receives(answer).await;
        boris.does(deed).await;
        if number % 2 == 0 {
            process.stop().await;
        } else {
            process.kill().await;
        }
        process = deployment.start();
        boris.receives(answer).await;
    }
    anna.receives(DONE).await;
    boris.receives(DONE).await;
    process.stop().await;
    deployment.assert_registered(2).await;
    deployment.emulator.stop().await;
}

async fn a_failed_save_is_retried_and_completed(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let process = deployment.start();
    let gone =
        json!({"method": "getFile", "status": 400, "description": "Bad Request: file is temporarily unavailable"});
    deployment.emulator.post("/faults", gone).await;
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(NOT_SAVED).await;
    // The other download finishes, but is not needed any more.
    until("nothing remains", async || (deployment.file_counts() == (0, 0)).then_some(())).await;
    deployment.assert_registered(0).await;
    process.stop().await;
    let process = deployment.start();
    anna.does(Action::Says("/start")).await;
    anna.receives(SAVING).await;
    anna.receives(DONE).await;
    process.stop().await;
    deployment.assert_registered(1).await;
    deployment.emulator.stop().await;
}

async fn sixty_people_register_at_once(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let process = deployment.start();
    crowd::register(&deployment.emulator, 60, TIMEOUT).await;
    process.stop().await;
    deployment.assert_registered(60).await;
    deployment.emulator.stop().await;
}

async fn orphans_are_deleted_by_the_job_and_by_hand(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let process = deployment.start();
    process.wait_for_log("opora starts").await;
    process.stop().await;
    let (files, now) = (deployment.storage.folder.path().join("files"), Clock::machine().now());
    let (orphan, young) = (files.join("orphan.jpg"), files.join("young.jpg"));
    create_file(&orphan, now, 49 * HOUR);
    create_file(&young, now, 47 * HOUR);
    let process = deployment.start();
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(DONE).await;
    until("the job has removed the orphan", async || (!orphan.exists()).then_some(())).await;
    assert!(young.exists());
    // A running process may clean up once more: for its own start, after the job that the first process left behind.
    process.stop().await;
    create_file(&orphan, now, 72 * HOUR);
    let looked = deployment.run_command(&["cleanup", "--dry-run"]).await;
    assert!(looked.contains("would delete orphan.jpg (age 3 days)\nkept young.jpg (age 47 h)\n"), "{looked}");
    let done = deployment.run_command(&["cleanup"]).await;
    assert!(done.starts_with("files known to the database: 2\ndeleted orphan.jpg"), "{done}");
    assert!(!orphan.exists() && young.exists());
    std::fs::remove_file(young).unwrap();
    deployment.assert_registered(1).await;
    deployment.emulator.stop().await;
}
