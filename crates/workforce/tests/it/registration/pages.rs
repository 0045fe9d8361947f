//! The queue and the documents on pages: for owners and superadmins, and for nobody else.

use serde_json::json;
use workforce::people::{Role, Status};
use workforce::registration::DocumentStatus;

use super::live::{gives_all_of, written};
use crate::cabinet::Cabinet;
use crate::demo::{ANNA, BORIS};
use crate::firm::{Kind, on_every_database};

on_every_database! {
    an_owner_decides_on_a_page_and_the_person_hears_it,
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
    owner.post(&reject, &[("reason", " ")]).await.is(422, "in 1 to 300 characters");
    owner.post(&reject, &[("reason", "The <b>picture</b> is dark.")]).await.leads_to("/registrations");
    cabinet.emulator.hears(VERA, "Your registration was declined.\nReason: The <b>picture</b> is dark.").await;
    owner.post(&approve, &[]).await.is(409, "Already rejected by Anna.");
    let (vera, documents) = written(&cabinet.app, VERA).await;
    assert_eq!(vera.status, Status::Rejected);
    assert!(documents.iter().all(|document| document.status == DocumentStatus::Rejected));
    let page = owner.get(&format!("/people/{}", vera.id)).await;
    page.is(200, "The &lt;b&gt;picture&lt;/b&gt; is dark.");
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

async fn registers(cabinet: &Cabinet) {
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(&cabinet.emulator, VERA).await;
    cabinet.emulator.hears(VERA, "Done! Your registration is being looked at.").await;
}
