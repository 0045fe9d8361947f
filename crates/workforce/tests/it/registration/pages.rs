//! The queue and the documents on pages: for owners and superadmins, and for nobody else.

use sea_orm::ConnectionTrait;
use serde_json::json;
use workforce::person::{Role, Status};
use workforce::registration::{DocumentStatus, Registrations};
use workforce::server::{Limits, Server, Timeouts};

use super::live::{gives_all_of, mark, written};
use super::newcomer::{DONE, Newcomer};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, PATIENCE, http};
use crate::kit::firm::{Kind, on_every_database};

on_every_database! {
    an_owner_decides_on_a_page_and_the_person_hears_it,
    a_page_that_is_out_of_date_does_not_decide_on_documents_that_nobody_saw,
}

const VERA: i64 = 1003;

async fn an_owner_decides_on_a_page_and_the_person_hears_it(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/registrations").await.is(200, "No registrations are waiting.");
    registers(&cabinet).await;
    let (vera, documents) = written(&cabinet.app, VERA).await;
    owner.get("/registrations").await.is(200, "Anna Smith").is(200, &documents[0].id);
    owner.get("/").await.is(200, "registrations waiting");
    owner.get(&format!("/people/{}", vera.id)).await.is(200, "Documents").is(200, &documents[1].id);

    let (approve, reject) =
        (format!("/registrations/{}/approve", vera.id), format!("/registrations/{}/reject", vera.id));
    let looked_at = ("mark", mark(&documents));
    owner.get("/registrations").await.is(200, &format!("name=\"mark\" value=\"{}\"", looked_at.1));
    owner.post(&reject, &[("reason", " "), looked_at]).await.is(422, "in 1 to 300 characters");
    owner.post(&reject, &[("reason", "The <b>picture</b> is dark."), looked_at]).await.leads_to("/registrations");
    cabinet.emulator.hears(VERA, "Your registration was declined.\nReason: The <b>picture</b> is dark.").await;
    owner.post(&approve, &[looked_at]).await.is(409, "Already rejected by Anna.");
    let (vera, documents) = written(&cabinet.app, VERA).await;
    assert_eq!(vera.status, Status::Rejected);
    assert!(documents.iter().all(|document| document.status == DocumentStatus::Rejected));
    let page = owner.get(&format!("/people/{}", vera.id)).await;
    page.is(200, "The &lt;b&gt;picture&lt;/b&gt; is dark.");
    cabinet.close().await;
}

/// Another owner has rejected, and the person has registered again with other documents.
async fn a_page_that_is_out_of_date_does_not_decide_on_documents_that_nobody_saw(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut newcomer = Newcomer::new(&cabinet.emulator, VERA, PATIENCE);
    newcomer.gives_all().await;
    newcomer.hears(DONE).await;
    let (vera, first) = written(&cabinet.app, VERA).await;
    let (registrations, anna) = (Registrations::of_app(&cabinet.app), cabinet.person(ANNA).await.id);
    registrations.reject(anna, vera.id, mark(&first), "The picture is dark.").await.unwrap();
    newcomer.hears("Your registration was declined.").await;
    newcomer.gives_all().await;
    newcomer.hears(DONE).await;
    drop(newcomer);
    let decide = format!("/registrations/{}", vera.id);
    for stale in [mark(&first), "", "%"] {
        let told = "the documents have changed since you opened the page";
        owner.post(&format!("{decide}/approve"), &[("mark", stale)]).await.is(409, told);
        owner.post(&format!("{decide}/reject"), &[("mark", stale), ("reason", "No.")]).await.is(409, told);
    }
    owner.post(&format!("{decide}/approve"), &[]).await.is(409, "the documents have changed");
    let (vera, documents) = written(&cabinet.app, VERA).await;
    assert_eq!((vera.status, documents.len()), (Status::Pending, 4));
    owner.post(&format!("{decide}/approve"), &[("mark", mark(&documents))]).await.leads_to("/registrations");
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified);
    cabinet.close().await;
}

#[tokio::test]
async fn documents_are_shown_to_owners_and_refused_to_others_by_direct_link_too() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    cabinet.hire(1004, "Max", Role::Manager).await;
    registers(&cabinet).await;
    let (vera, documents) = written(&cabinet.app, VERA).await;
    let page = format!("/documents/{}", documents[0].id);
    let path = format!("{page}/file");
    let owner = cabinet.signed_in(ANNA).await;
    owner.get(&page).await.is(200, &path).is(200, "Anna Smith").is(200, &documents[1].id);
    let shown = owner.get(&path).await;
    shown.is(200, "PNG");
    for (name, value) in
        [("content-type", "image/png"), ("cache-control", "no-store"), ("x-content-type-options", "nosniff")]
    {
        assert_eq!(shown.header(name), value, "{name}");
    }
    // A queue has dozens of pictures: they are not counted as pages.
    for _ in 0..220 {
        owner.get(&path).await.is(200, "");
    }
    cabinet.emulator.post("/users", json!({"id": 1004, "first_name": "Max", "language_code": "en"})).await;
    for other in [cabinet.signed_in(BORIS).await, cabinet.signed_in(1004).await] {
        other.get(&path).await.is(403, "This page is for others");
        other.get(&page).await.is(403, "This page is for others");
        other.get("/registrations").await.is(403, "This page is for others");
        other.post(&format!("/registrations/{}/approve", vera.id), &[]).await.is(403, "This page is for others");
    }
    for path in [&path, &page] {
        let stranger = cabinet.browser().get(path).await;
        assert_eq!(stranger.status.as_u16(), 303, "who is not signed in is asked to");
    }
    for none in ["/documents/0123", "/documents/0123/file", "/documents/..%2Fopora.db", "/documents/.incoming"] {
        owner.get(none).await.is(404, "There is no such page");
    }
    assert_eq!(cabinet.person(VERA).await.status, Status::Pending);
    cabinet.close().await;
}

#[tokio::test]
async fn a_file_shorter_than_its_row_is_a_broken_transfer() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    registers(&cabinet).await;
    let (_, documents) = written(&cabinet.app, VERA).await;
    let owner = cabinet.signed_in(ANNA).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::start(listener, cabinet.router.clone(), Limits::local(8), Timeouts::default());
    // The whole of it with the length that was promised, or the error with which the connection ends.
    let ask = async || {
        let file = http().get(format!("{base}/documents/{}/file", documents[0].id));
        let answer = file.header("cookie", owner.cookies()).send().await?;
        let length = answer.content_length();
        answer.bytes().await.map(|bytes| (length, bytes.len() as u64))
    };
    let size = documents[0].size_bytes.unsigned_abs();
    assert_eq!(ask().await.unwrap(), (Some(size), size));
    let path = cabinet.app.data_dir.join("files").join(&documents[0].id);
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(size / 2).unwrap();
    let halved = tokio::time::timeout(PATIENCE, ask()).await.expect("the transfer hangs");
    assert!(halved.is_err(), "half of a file was taken for the whole: {halved:?}");
    server.close(PATIENCE).await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_long_queue_is_drawn_in_part_and_what_browsers_cannot_show_is_told() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    registers(&cabinet).await;
    let (_, documents) = written(&cabinet.app, VERA).await;
    cabinet
        .app
        .domain
        .write(|db| {
            Box::pin(async move {
                for number in 0..20 {
                    let row = format!(
                        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, \
                         updated_at) VALUES (5{number:03}, 'Somebody', 'en', 'pending', 'grant', 1, 1)"
                    );
                    db.execute_unprepared(&row).await?;
                }
                db.execute_unprepared("UPDATE documents SET media_type = 'image/heic'").await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    let owner = cabinet.signed_in(ANNA).await;
    let queue = owner.get("/registrations").await;
    queue.is(200, "20 of 21 are shown");
    assert_eq!(queue.body.matches("data-testid=\"approve\"").count(), 20, "{}", queue.body);
    assert!(!queue.body.contains("Anna Smith"), "whoever came last is not among them");
    let page = owner.get(&format!("/documents/{}", documents[0].id)).await;
    page.is(200, "Browsers do not show HEIC.").is(200, "download=\"passport-1003.heic\"");
    assert!(!page.body.contains("<img"), "{}", page.body);
    cabinet.close().await;
}

async fn registers(cabinet: &Cabinet) {
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(&cabinet.emulator, VERA).await;
    cabinet.emulator.hears(VERA, "Done! Your registration is being looked at.").await;
}
