//! The queue and the documents on pages, for owners and superadmins only.

use serde_json::json;
use workforce::person::{Role, Status};
use workforce::registration::{DocumentStatus, Registrations};
use workforce::server::{Limits, Server, Timeouts};

use super::in_process::{complete_registration, pending_document_id, registration_of};
use super::newcomer::{DONE, Newcomer};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, TIMEOUT, http};
use crate::kit::firm::{StorageKind, on_every_database};
use crate::kit::sql::run_sql;

on_every_database! {
    a_decision_on_a_page_is_told_to_the_person,
    a_stale_page_does_not_decide_on_new_documents,
}

const VERA: i64 = 1003;

async fn a_decision_on_a_page_is_told_to_the_person(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/registrations").await.is(200, "No registrations awaiting approval.");
    registers(&cabinet).await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    owner.get("/registrations").await.is(200, "Anna Smith").is(200, &documents[0].id);
    owner.get("/").await.is(200, "registration awaiting approval");
    owner.get(&format!("/people/{}", vera.id)).await.is(200, "Documents").is(200, &documents[1].id);

    let (approve, reject) =
        (format!("/registrations/{}/approve", vera.id), format!("/registrations/{}/reject", vera.id));
    let looked_at = ("mark", pending_document_id(&documents));
    owner.get("/registrations").await.is(200, &format!("name=\"mark\" value=\"{}\"", looked_at.1));
    owner.post(&reject, &[("reason", " "), looked_at]).await.is(422, "1 to 300 characters");
    owner
        .post(&reject, &[("reason", "The <b>picture</b> is dark."), looked_at])
        .await
        .redirects_to(&format!("/registrations?decided={}", vera.id));
    cabinet.emulator.receives(VERA, "Your registration was rejected.\nReason: The <b>picture</b> is dark.").await;
    owner.post(&approve, &[looked_at]).await.is(409, "Already rejected by Anna.");
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    assert_eq!(vera.status, Status::Rejected);
    assert!(documents.iter().all(|document| document.status == DocumentStatus::Rejected));
    let page = owner.get(&format!("/people/{}", vera.id)).await;
    page.is(200, "The &lt;b&gt;picture&lt;/b&gt; is dark.");
    cabinet.close().await;
}

/// Another owner has rejected, and the person has registered again with other documents.
async fn a_stale_page_does_not_decide_on_new_documents(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut newcomer = Newcomer::new(&cabinet.emulator, VERA, TIMEOUT);
    newcomer.completes_registration().await;
    newcomer.receives(DONE).await;
    let (vera, first) = registration_of(&cabinet.app, VERA).await;
    let (registrations, anna) = (Registrations::of_app(&cabinet.app), cabinet.person(ANNA).await.id);
    registrations.reject(anna, vera.id, pending_document_id(&first), "The picture is dark.").await.unwrap();
    newcomer.receives("Your registration was rejected.").await;
    newcomer.completes_registration().await;
    newcomer.receives(DONE).await;
    drop(newcomer);
    let decide = format!("/registrations/{}", vera.id);
    for stale in [pending_document_id(&first), "", "%"] {
        let refusal = "the documents changed while the page was open";
        owner.post(&format!("{decide}/approve"), &[("mark", stale)]).await.is(409, refusal);
        owner.post(&format!("{decide}/reject"), &[("mark", stale), ("reason", "No.")]).await.is(409, refusal);
    }
    owner.post(&format!("{decide}/approve"), &[]).await.is(409, "the documents changed");
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    assert_eq!((vera.status, documents.len()), (Status::Pending, 4));
    owner
        .post(&format!("{decide}/approve"), &[("mark", pending_document_id(&documents))])
        .await
        .redirects_to(&format!("/registrations?decided={}", vera.id));
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified);
    cabinet.close().await;
}

#[tokio::test]
async fn only_owners_see_documents() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(1004, "Max", Role::Manager).await;
    registers(&cabinet).await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
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
    // Pictures do not count for the limit on pages.
    for _ in 0..220 {
        owner.get(&path).await.is(200, "");
    }
    cabinet.emulator.post("/users", json!({"id": 1004, "first_name": "Max", "language_code": "en"})).await;
    for other in [cabinet.signed_in(BORIS).await, cabinet.signed_in(1004).await] {
        other.get(&path).await.is(403, "You don't have access to this page");
        other.get(&page).await.is(403, "You don't have access to this page");
        other.get("/registrations").await.is(403, "You don't have access to this page");
        other
            .post(&format!("/registrations/{}/approve", vera.id), &[])
            .await
            .is(403, "You don't have access to this page");
    }
    for path in [&path, &page] {
        let stranger = cabinet.browser().get(path).await;
        assert_eq!(stranger.status.as_u16(), 303, "without a session the sign-in is shown");
    }
    for none in ["/documents/0123", "/documents/0123/file", "/documents/..%2Fopora.db", "/documents/.incoming"] {
        owner.get(none).await.is(404, "Page not found");
    }
    assert_eq!(cabinet.person(VERA).await.status, Status::Pending);
    cabinet.close().await;
}

#[tokio::test]
async fn a_file_shorter_than_its_row_is_a_broken_transfer() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    registers(&cabinet).await;
    let (_, documents) = registration_of(&cabinet.app, VERA).await;
    let owner = cabinet.signed_in(ANNA).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::start(listener, cabinet.router.clone(), Limits::local(8), Timeouts::default());
    // Returns the promised and the received length, or the error that ended the transfer.
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
    let halved = tokio::time::timeout(TIMEOUT, ask()).await.expect("the transfer hangs");
    assert!(halved.is_err(), "a truncated file was accepted: {halved:?}");
    server.close(TIMEOUT).await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_long_queue_is_cut_and_heic_is_offered_as_a_file() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    registers(&cabinet).await;
    let (_, documents) = registration_of(&cabinet.app, VERA).await;
    for number in 0..20 {
        let row = format!(
            "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, \
                         updated_at) VALUES (5{number:03}, 'Applicant', 'en', 'pending', 'grant', 1, 1)"
        );
        run_sql(&cabinet.app.domain, row).await;
    }
    run_sql(&cabinet.app.domain, "UPDATE documents SET media_type = 'image/heic'").await;
    let owner = cabinet.signed_in(ANNA).await;
    let queue = owner.get("/registrations").await;
    queue.is(200, "Showing 20 of 21");
    assert_eq!(queue.body.matches("data-testid=\"approve\"").count(), 20, "{}", queue.body);
    assert!(!queue.body.contains("Anna Smith"), "the last registration is not shown");
    let page = owner.get(&format!("/documents/{}", documents[0].id)).await;
    page.is(200, "Browsers can't show HEIC.").is(200, "download=\"passport-1003.heic\"");
    assert!(!page.body.contains("<img"), "{}", page.body);
    cabinet.close().await;
}

async fn registers(cabinet: &Cabinet) {
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
}
