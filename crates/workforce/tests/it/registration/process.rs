//! Registrations with the real program: the four cases that it is made for, and restarts between any two steps.

use opora::clock::Clock;
use opora_testkit::product::crowd;
use serde_json::json;

use super::cleaning::{HOUR, put};
use super::live::count;
use super::newcomer::{DONE, Deed, NOT_SAVED, Newcomer, SAVING, WAY};
use crate::kit::demo::{ANNA, BORIS, Demo, PATIENCE, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;

embedded_and_on_servers! {
    somebody_registers_is_approved_in_the_chat_and_hears_it,
    a_registration_goes_on_after_a_restart_between_any_two_steps,
    what_could_not_be_saved_is_tried_again_and_completed,
    files_without_an_owner_go_by_the_job_and_by_hand,
    sixty_people_register_at_once,
}

/// One process after another on the same ground.
pub struct Office {
    pub ground: Ground,
    pub emulator: Demo,
    /// What is set besides.
    pub settings: Vec<(&'static str, String)>,
}

impl Office {
    pub async fn new(kind: Kind) -> Self {
        Self { ground: Ground::new(kind).await, emulator: silent_emulator().await, settings: Vec::new() }
    }

    pub fn run(&self) -> Run {
        self.run_with(&[])
    }

    pub fn run_with(&self, more: &[(&str, &str)]) -> Run {
        let settings = self.settings.iter().map(|(name, value)| (*name, value.as_str()));
        Run::start(&self.ground, &self.emulator, &settings.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    pub fn newcomer(&self, who: i64) -> Newcomer<'_> {
        Newcomer::new(&self.emulator, who, PATIENCE)
    }

    /// The operator's own word on files and rows.
    pub async fn asks(&self, arguments: &[&str]) -> String {
        let (database, data) = (self.ground.database.url(), self.ground.folder.path().to_str().unwrap());
        let mut settings = vec![("DATABASE_URL", database.as_str()), ("DATA_DIR", data)];
        settings.extend(self.settings.iter().map(|(name, value)| (*name, value.as_str())));
        operator::run(&settings, arguments).await.well().stdout
    }

    /// How many files are kept, and how many downloads are left.
    pub fn files(&self) -> (usize, usize) {
        let folder = self.ground.folder.path();
        (count(&folder.join("files")) + count(&folder.join("files/.incoming")), count(&folder.join("downloads")))
    }

    /// So many people are registered; every row has its file, every file its row, and nothing else is left.
    pub async fn has_registered(&self, people: usize) {
        let report = self.asks(&["cleanup", "--dry-run"]).await;
        let expected = format!("files known to the database: {}\nwould delete: 0, kept: 0, errors: 0\n", people * 2);
        assert_eq!(report, expected);
        if self.settings.is_empty() {
            assert_eq!(self.files(), (people * 2, 0));
        }
        let broken = self.asks(&["repair", "registrations"]).await;
        assert_eq!(broken, "0 people wait without documents or files\n");
        let listed = self.asks(&["people", "list"]).await;
        assert_eq!(listed.matches("Anna Smith").count(), people, "{listed}");
    }
}

async fn somebody_registers_is_approved_in_the_chat_and_hears_it(kind: Kind) {
    let office = Office::new(kind).await;
    office.asks(&["people", "grant", "1002", "owner", "--name", "Boris", "--language", "en"]).await;
    let run = office.run();
    let (mut anna, mut boris) = (office.newcomer(ANNA), office.newcomer(BORIS));
    anna.gives_all().await;
    anna.hears(DONE).await;
    office.has_registered(1).await;
    boris.hears("New registration: Anna Smith").await;
    boris.does(Deed::Presses("✅ Approve")).await;
    anna.hears("Welcome to the team!").await;
    let log = run.stops().await.join("\n");
    for personal in ["Anna Smith", "79991234567"] {
        assert!(!log.contains(personal), "{personal} is in the log");
    }
    for step in ["a step is done", "its files are being fetched", "a file is kept", "person and documents are written"]
    {
        assert!(log.contains(step), "no {step:?} in the log");
    }
    office.emulator.stop().await;
}

/// Anna has heard the answer when the process ends; Boris has only just said something.
async fn a_registration_goes_on_after_a_restart_between_any_two_steps(kind: Kind) {
    let office = Office::new(kind).await;
    let (mut anna, mut boris) = (office.newcomer(ANNA), office.newcomer(BORIS));
    let mut run = office.run();
    for (number, (deed, answer)) in WAY.into_iter().enumerate() {
        anna.does(deed).await;
        anna.hears(answer).await;
        boris.does(deed).await;
        if number % 2 == 0 {
            run.stops().await;
        } else {
            run.dies().await;
        }
        run = office.run();
        boris.hears(answer).await;
    }
    anna.hears(DONE).await;
    boris.hears(DONE).await;
    run.stops().await;
    office.has_registered(2).await;
    office.emulator.stop().await;
}

async fn what_could_not_be_saved_is_tried_again_and_completed(kind: Kind) {
    let office = Office::new(kind).await;
    let run = office.run();
    let gone =
        json!({"method": "getFile", "status": 400, "description": "Bad Request: file is temporarily unavailable"});
    office.emulator.post("/faults", gone).await;
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(NOT_SAVED).await;
    // The other file came all the same, and nobody needs it now.
    until("nothing remains", async || (office.files() == (0, 0)).then_some(())).await;
    office.has_registered(0).await;
    run.stops().await;
    let run = office.run();
    anna.does(Deed::Says("/start")).await;
    anna.hears(SAVING).await;
    anna.hears(DONE).await;
    run.stops().await;
    office.has_registered(1).await;
    office.emulator.stop().await;
}

async fn sixty_people_register_at_once(kind: Kind) {
    let office = Office::new(kind).await;
    let run = office.run();
    crowd::register(&office.emulator, 60, PATIENCE).await;
    run.stops().await;
    office.has_registered(60).await;
    office.emulator.stop().await;
}

async fn files_without_an_owner_go_by_the_job_and_by_hand(kind: Kind) {
    let office = Office::new(kind).await;
    let run = office.run();
    run.logs("opora starts").await;
    run.stops().await;
    let (files, now) = (office.ground.folder.path().join("files"), Clock::machine().now());
    let (orphan, young) = (files.join("orphan.jpg"), files.join("young.jpg"));
    put(&orphan, now, 49 * HOUR);
    put(&young, now, 47 * HOUR);
    let run = office.run();
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(DONE).await;
    until("the job has removed what is old", async || (!orphan.exists()).then_some(())).await;
    assert!(young.exists());
    put(&orphan, now, 72 * HOUR);
    let looked = office.asks(&["cleanup", "--dry-run"]).await;
    assert!(looked.contains("would delete orphan.jpg (age 3 days)\nkept young.jpg (age 47 h)\n"), "{looked}");
    let done = office.asks(&["cleanup"]).await;
    assert!(done.starts_with("files known to the database: 2\ndeleted orphan.jpg"), "{done}");
    assert!(!orphan.exists() && young.exists());
    std::fs::remove_file(young).unwrap();
    run.stops().await;
    office.has_registered(1).await;
    office.emulator.stop().await;
}
