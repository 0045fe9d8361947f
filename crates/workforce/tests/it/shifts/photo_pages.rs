//! Photos of tasks on pages: shown only to people who may see the shift.

use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;
use workforce::application::App;
use workforce::person::{Permission, Person, Role};
use workforce::sites::{AboutTask, Sites};

use super::killed::prepare;
use super::photos::run_attachments_job;
use super::{HERE, about_contract, about_site, task};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT, until};
use crate::kit::firm::{StorageKind, embedded_and_on_servers};
use crate::kit::sql::run_sql;
use crate::registration::in_process::file_count;
use crate::registration::newcomer::{Action, HILL, Newcomer, TOWER};
use crate::registration::process::Deployment;

embedded_and_on_servers! {
    only_viewers_of_the_shift_see_its_photos,
    a_kill_after_storing_a_photo_leaves_no_orphan,
}

/// A person opens a shift in the chat and sends a photo for its task.
async fn open_shift_and_send_photo<'a>(
    emulator: &'a Demo,
    who: i64,
    name: &str,
    picture: &'static [u8],
) -> Newcomer<'a> {
    let mut person = Newcomer::new(emulator, who, TIMEOUT);
    let menu = format!("{name}, what would you like");
    for (deed, heard) in [
        (Action::Says("/start"), menu.as_str()),
        (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
        (Action::Presses("Shop, unscheduled"), "Please share your location to show"),
        (Action::IsAt(HERE.latitude, HERE.longitude), "You clocked in at Shop"),
        (Action::Presses("✅ My tasks"), "Your tasks:"),
        (Action::Presses("📷 Sweep"), "Send a photo"),
        (Action::SendsPhoto(picture), "Thank you, it's saved"),
    ] {
        person.does(deed).await;
        person.receives(heard).await;
    }
    person
}

/// A shop of Anna's with contracts for these workers.
pub async fn create_shop(app: &App, workers: &[&Person]) -> i64 {
    let (owner, sites) = (app.people.by_telegram(ANNA).await.unwrap().unwrap(), Sites::of_app(app));
    let site = sites.create(&owner, about_site("Shop")).await.unwrap();
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    sites.create_task(&owner, site, None, about).await.unwrap();
    for worker in workers {
        let contract = about_contract(&[site], true);
        sites.create_contract(&owner, worker.id, contract).await.unwrap();
    }
    site
}

/// Waits until the shift's page has these words, and returns it.
async fn page_with(browser: &Browser, words: &str) -> String {
    until(words, async || {
        let page = browser.get("/shifts/1").await;
        page.body.contains(words).then_some(page.body)
    })
    .await
}

async fn only_viewers_of_the_shift_see_its_photos(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (max, mia, vera) = (1004, 1005, 1006);
    for (id, name, role) in [(max, "Max", Role::Manager), (mia, "Mia", Role::Manager), (vera, "Vera", Role::Employee)] {
        cabinet.emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
        cabinet.hire(id, name, role).await;
    }
    let site = create_shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let (owner, manager) = (cabinet.person(ANNA).await, cabinet.person(max).await);
    let sites = Sites::of_app(&cabinet.app);
    sites.set_permissions(&owner, manager.id, site, vec![Permission::View]).await.unwrap();
    open_shift_and_send_photo(&cabinet.emulator, BORIS, "Boris", TOWER).await;

    let (own, path) = (cabinet.signed_in(BORIS).await, "/shifts/1/media/1");
    page_with(&own, "<img src=\"/shifts/1/media/1\"").await;
    // Pictures do not count for the limit on pages.
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
        browser.get("/shifts/1/media/2").await.is(404, "Page not found");
    }
    let part = own.send(axum::http::Method::GET, path, "", &[("range", "bytes=1-3")]).await;
    part.is(206, "PNG");
    assert_eq!(part.header("content-range"), format!("bytes 1-3/{}", TOWER.len()));
    // The length comes from the row. Only the requested part of the file is read.
    run_sql(&cabinet.app.domain, "UPDATE attachments SET size_bytes = 999999").await;
    let part = own.send(axum::http::Method::GET, path, "", &[("range", "bytes=1-3")]).await;
    part.is(206, "PNG");
    assert_eq!(part.header("content-range"), "bytes 1-3/999999");
    for other in [mia, vera] {
        let other = cabinet.signed_in(other).await;
        other.get(path).await.is(403, "You don't have access to this page");
        other.post(&format!("{path}/again"), &[]).await.is(403, "You don't have access to this page");
    }
    assert_eq!(cabinet.browser().get(path).await.status.as_u16(), 303, "without a session the sign-in is shown");
    cabinet.close().await;
}

#[tokio::test]
async fn a_page_shows_a_files_status_and_retries_it() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    create_shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let refused = json!({"method": "getFile", "status": 400, "description": "Bad Request: wrong file_id"});
    cabinet.emulator.post("/faults", refused).await;
    open_shift_and_send_photo(&cabinet.emulator, BORIS, "Boris", HILL).await;
    let owner = cabinet.signed_in(ANNA).await;
    page_with(&owner, "Couldn't load it from Telegram.").await;
    owner.get("/shifts/1/media/1").await.is(404, "Page not found");
    let again = owner.post("/shifts/1/media/1/again", &[]).await;
    again.redirects_to("/shifts/1");
    assert!(again.has_toast());
    page_with(&owner, "<img src=\"/shifts/1/media/1\"").await;
    owner.get("/shifts/1/media/1").await.is(200, "PNG");

    let set = async |row: &'static str| {
        run_sql(&cabinet.app.domain, row).await;
        owner.get("/shifts/1").await
    };
    set("UPDATE attachments SET media_type = 'video/mp4'").await.is(200, "<video controls");
    let other = set("UPDATE attachments SET media_type = 'text/html'").await;
    other.is(200, "Save the file");
    assert!(!other.body.contains("<img src=\"/shifts"), "{}", other.body);
    let file = owner.get("/shifts/1/media/1").await;
    let headers = (file.header("content-type"), file.header("content-disposition"));
    assert_eq!(headers, ("application/octet-stream", "attachment"), "never shown as a page");
    set("UPDATE attachments SET name = NULL").await.is(200, "Loading from Telegram.");
    let large = set("UPDATE attachments SET is_too_large = TRUE, failed_at = 1").await;
    large.is(200, "The file is larger than 20 MB").is(200, "Send me 1 file in Telegram");
    cabinet.close().await;
}

#[tokio::test]
async fn attachments_are_sent_back_in_their_original_form() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    create_shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let mut boris = open_shift_and_send_photo(&cabinet.emulator, BORIS, "Boris", TOWER).await;
    for (kind, file) in [("video", TOWER), ("video_note", HILL)] {
        boris.receives("Your tasks:").await;
        boris.does(Action::Presses("📷 ＋")).await;
        boris.receives("Send a photo").await;
        boris.does(Action::SendsAs(kind, file)).await;
        boris.receives("Thank you, it's saved").await;
    }
    cabinet.signed_in(ANNA).await.post("/shifts/1/photos", &[]).await.redirects_to("/shifts/1");
    until("all attachments are in the owner's chat", async || {
        let chat = cabinet.emulator.get(&format!("/chats/{ANNA}/messages?after=0&wait=0")).await;
        let has = |kind: &str| chat.as_array().unwrap().iter().any(|message| !message[kind].is_null());
        ["photo", "video", "video_note"].into_iter().all(has).then_some(())
    })
    .await;
    cabinet.close().await;
}

#[tokio::test]
async fn the_job_retries_failed_downloads() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    create_shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let refused = json!({"method": "getFile", "status": 400, "description": "Bad Request: wrong file_id"});
    cabinet.emulator.post("/faults", refused).await;
    open_shift_and_send_photo(&cabinet.emulator, BORIS, "Boris", HILL).await;
    let owner = cabinet.signed_in(ANNA).await;
    page_with(&owner, "Couldn't load it from Telegram.").await;
    run_sql(&cabinet.app.domain, "UPDATE attachments SET failed_at = 1").await;
    run_attachments_job(&cabinet.app).await;
    page_with(&owner, "<img src=\"/shifts/1/media/1\"").await;
    let tried = cabinet.app.domain.read().query_one_raw(Statement::from_string(
        cabinet.app.domain.read().get_database_backend(),
        "SELECT tries FROM attachments",
    ));
    assert_eq!(tried.await.unwrap().unwrap().try_get_by_index::<i64>(0).unwrap(), 1);
    cabinet.close().await;
}

async fn a_kill_after_storing_a_photo_leaves_no_orphan(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    prepare(&deployment.storage).await;
    let process = deployment.start_with(&[("OPORA_FAILPOINTS", "attachment.after_rename=pause")]);
    open_shift_and_send_photo(&deployment.emulator, ANNA, "Anna", TOWER).await;
    process.wait_for_log("failpoint attachment.after_rename").await;
    process.kill().await;
    assert_eq!(deployment.file_counts(), (1, 1), "the file is there, and the download");
    let report = deployment.run_command(&["cleanup", "--dry-run"]).await;
    assert!(report.contains("files known to the database: 0\n") && report.contains("would delete: 0"), "{report}");
    let process = deployment.start();
    until("the photo is kept", async || (deployment.file_counts() == (1, 0)).then_some(())).await;
    process.stop().await;
    let report = deployment.run_command(&["cleanup", "--dry-run"]).await;
    assert_eq!(report, "files known to the database: 1\nwould delete: 0, kept: 0, errors: 0\n");
    deployment.emulator.stop().await;
}

#[tokio::test]
async fn the_demo_has_downloaded_task_photos() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let files = folder.path().join("files");
    // Beside the four documents of the applicants.
    until("the pictures are fetched", async || (file_count(&files) == 6).then_some(())).await;
    demo.stop().await;
}
