//! Photos of tasks on pages, and with the real program: shown to those who may see the shift, and to nobody else.

use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;
use workforce::application::App;
use workforce::person::{Permission, Person, Role};
use workforce::sites::{AboutContract, AboutTask, ContractStatus, Sites};

use super::killed::prepare;
use super::photos::looks_after;
use super::{HERE, about_site, task};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, Demo, PATIENCE, until};
use crate::kit::firm::{Kind, embedded_and_on_servers};
use crate::registration::live::count;
use crate::registration::newcomer::{Deed, HILL, Newcomer, TOWER};
use crate::registration::process::Office;

embedded_and_on_servers! {
    a_photo_is_shown_to_those_who_may_see_the_shift_and_to_nobody_else,
    a_kill_after_a_photo_is_in_its_place_leaves_no_file_without_a_row,
}

async fn run(db: &workforce::domain::Writing<'_, '_>, sql: &str) -> Result<(), opora::store::WriteError> {
    db.execute_unprepared(sql).await?;
    Ok(())
}

/// Somebody opens a shift in the chat and sends a photo for its task.
async fn works<'a>(emulator: &'a Demo, who: i64, name: &str, picture: &'static [u8]) -> Newcomer<'a> {
    let mut person = Newcomer::new(emulator, who, PATIENCE);
    let menu = format!("{name}, what would you like");
    for (deed, heard) in [
        (Deed::Says("/start"), menu.as_str()),
        (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
        (Deed::Presses("Shop, without a plan"), "Please share your position, so"),
        (Deed::IsAt(HERE.latitude, HERE.longitude), "Your shift at Shop is open"),
        (Deed::Presses("✅ My tasks"), "Your tasks:"),
        (Deed::Presses("📷 Sweep"), "Send a photo"),
        (Deed::SendsPhoto(picture), "Thank you, it is kept"),
    ] {
        person.does(deed).await;
        person.hears(heard).await;
    }
    person
}

/// Where Anna, the owner, lets somebody work.
pub async fn shop(app: &App, workers: &[&Person]) -> i64 {
    let (owner, sites) = (app.people.by_telegram(ANNA).await.unwrap().unwrap(), Sites::of_app(app));
    let site = sites.create(&owner, about_site("Shop")).await.unwrap();
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    sites.create_task(&owner, site, None, about).await.unwrap();
    for worker in workers {
        let contract = AboutContract {
            status: ContractStatus::Active,
            rate_kopecks: None,
            allows_spontaneous: true,
            sites: vec![site],
        };
        sites.create_contract(&owner, worker.id, contract).await.unwrap();
    }
    site
}

/// The page of the shift, once these words are on it.
async fn page_with(browser: &Browser, words: &str) -> String {
    until(words, async || {
        let page = browser.get("/shifts/1").await;
        page.body.contains(words).then_some(page.body)
    })
    .await
}

async fn a_photo_is_shown_to_those_who_may_see_the_shift_and_to_nobody_else(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let (max, mia, vera) = (1004, 1005, 1006);
    for (id, name, role) in [(max, "Max", Role::Manager), (mia, "Mia", Role::Manager), (vera, "Vera", Role::Employee)] {
        cabinet.emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
        cabinet.hire(id, name, role).await;
    }
    let site = shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let (owner, manager) = (cabinet.person(ANNA).await, cabinet.person(max).await);
    let sites = Sites::of_app(&cabinet.app);
    sites.permit(&owner, manager.id, site, vec![Permission::View]).await.unwrap();
    works(&cabinet.emulator, BORIS, "Boris", TOWER).await;

    let (own, path) = (cabinet.signed_in(BORIS).await, "/shifts/1/media/1");
    page_with(&own, "<img src=\"/shifts/1/media/1\"").await;
    // A page may have dozens of pictures: they are not counted as pages.
    for _ in 0..120 {
        own.get(path).await.is(200, "");
    }
    for browser in [&own, &cabinet.signed_in(ANNA).await, &cabinet.signed_in(max).await] {
        let shown = browser.get(path).await;
        shown.is(200, "PNG");
        assert_eq!(shown.body, String::from_utf8_lossy(TOWER));
        for (name, value) in [
            ("content-type", "image/png"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("content-disposition", "inline"),
        ] {
            assert_eq!(shown.header(name), value, "{name}");
        }
        browser.get("/shifts/1/media/2").await.is(404, "There is no such page");
    }
    let part = own.send(axum::http::Method::GET, path, "", &[("range", "bytes=1-3")]).await;
    part.is(206, "PNG");
    assert_eq!(part.header("content-range"), format!("bytes 1-3/{}", TOWER.len()));
    // How long it is, the row says: nothing else of the file is read.
    cabinet.app.domain.write(|db| Box::pin(run(db, "UPDATE attachments SET size_bytes = 999999"))).await.unwrap();
    let part = own.send(axum::http::Method::GET, path, "", &[("range", "bytes=1-3")]).await;
    part.is(206, "PNG");
    assert_eq!(part.header("content-range"), "bytes 1-3/999999");
    for other in [mia, vera] {
        let other = cabinet.signed_in(other).await;
        other.get(path).await.is(403, "This page is for others");
        other.post(&format!("{path}/again"), &[]).await.is(403, "This page is for others");
    }
    assert_eq!(cabinet.browser().get(path).await.status.as_u16(), 303, "who is not signed in is asked to");
    cabinet.close().await;
}

#[tokio::test]
async fn a_page_tells_what_has_become_of_a_file_and_lets_it_be_tried_again() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let refused = json!({"method": "getFile", "status": 400, "description": "Bad Request: wrong file_id"});
    cabinet.emulator.post("/faults", refused).await;
    works(&cabinet.emulator, BORIS, "Boris", HILL).await;
    let owner = cabinet.signed_in(ANNA).await;
    page_with(&owner, "It could not be fetched from Telegram.").await;
    owner.get("/shifts/1/media/1").await.is(404, "There is no such page");
    owner.post("/shifts/1/media/1/again", &[]).await.leads_to("/shifts/1");
    page_with(&owner, "<img src=\"/shifts/1/media/1\"").await;
    owner.get("/shifts/1/media/1").await.is(200, "PNG");

    let set = async |row: &'static str| {
        cabinet.app.domain.write(move |db| Box::pin(run(db, row))).await.unwrap();
        owner.get("/shifts/1").await
    };
    set("UPDATE attachments SET media_type = 'video/mp4'").await.is(200, "<video controls");
    let other = set("UPDATE attachments SET media_type = 'text/html'").await;
    other.is(200, "Save the file");
    assert!(!other.body.contains("<img src=\"/shifts"), "{}", other.body);
    let file = owner.get("/shifts/1/media/1").await;
    let told = (file.header("content-type"), file.header("content-disposition"));
    assert_eq!(told, ("application/octet-stream", "attachment"), "never as a page");
    set("UPDATE attachments SET name = NULL").await.is(200, "It is being fetched from Telegram.");
    let large = set("UPDATE attachments SET is_too_large = TRUE, failed_at = 1").await;
    large.is(200, "It is larger than 20 MB.").is(200, "Send me 1 file in Telegram");
    cabinet.close().await;
}

#[tokio::test]
async fn telegram_shows_again_what_was_sent_as_what_it_was() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let mut boris = works(&cabinet.emulator, BORIS, "Boris", TOWER).await;
    for (kind, file) in [("video", TOWER), ("video_note", HILL)] {
        boris.hears("Your tasks:").await;
        boris.does(Deed::Presses("📷 ＋")).await;
        boris.hears("Send a photo").await;
        boris.does(Deed::SendsAs(kind, file)).await;
        boris.hears("Thank you, it is kept").await;
    }
    cabinet.signed_in(ANNA).await.post("/shifts/1/photos", &[]).await.leads_to("/shifts/1");
    until("everything is in the owner's chat", async || {
        let chat = cabinet.emulator.get(&format!("/chats/{ANNA}/messages?after=0&wait=0")).await;
        let has = |kind: &str| chat.as_array().unwrap().iter().any(|message| !message[kind].is_null());
        ["photo", "video", "video_note"].into_iter().all(has).then_some(())
    })
    .await;
    cabinet.close().await;
}

#[tokio::test]
async fn the_job_fetches_what_could_not_be_fetched_before() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let refused = json!({"method": "getFile", "status": 400, "description": "Bad Request: wrong file_id"});
    cabinet.emulator.post("/faults", refused).await;
    works(&cabinet.emulator, BORIS, "Boris", HILL).await;
    let owner = cabinet.signed_in(ANNA).await;
    page_with(&owner, "It could not be fetched from Telegram.").await;
    cabinet.app.domain.write(|db| Box::pin(run(db, "UPDATE attachments SET failed_at = 1"))).await.unwrap();
    looks_after(&cabinet.app).await;
    page_with(&owner, "<img src=\"/shifts/1/media/1\"").await;
    let tried = cabinet.app.domain.read().query_one_raw(Statement::from_string(
        cabinet.app.domain.read().get_database_backend(),
        "SELECT tries FROM attachments",
    ));
    assert_eq!(tried.await.unwrap().unwrap().try_get_by_index::<i64>(0).unwrap(), 1);
    cabinet.close().await;
}

async fn a_kill_after_a_photo_is_in_its_place_leaves_no_file_without_a_row(kind: Kind) {
    let office = Office::new(kind).await;
    prepare(&office.ground).await;
    let run = office.run_with(&[("OPORA_FAILPOINTS", "attachment.after_rename=pause")]);
    works(&office.emulator, ANNA, "Anna", TOWER).await;
    run.logs("failpoint attachment.after_rename").await;
    run.dies().await;
    assert_eq!(office.files(), (1, 1), "the file is there, and the download");
    let report = office.asks(&["cleanup", "--dry-run"]).await;
    assert!(report.contains("files known to the database: 0\n") && report.contains("would delete: 0"), "{report}");
    let run = office.run();
    until("the photo is kept", async || (office.files() == (1, 0)).then_some(())).await;
    run.stops().await;
    let report = office.asks(&["cleanup", "--dry-run"]).await;
    assert_eq!(report, "files known to the database: 1\nwould delete: 0, kept: 0, errors: 0\n");
    office.emulator.stop().await;
}

#[tokio::test]
async fn the_demo_has_pictures_of_tasks_that_the_job_has_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let files = folder.path().join("files");
    until("the pictures are fetched", async || (count(&files) == 2).then_some(())).await;
    demo.stop().await;
}
