//! Documents with a date: noted on the page, shown with a badge, listed before they expire.

use serde_json::json;
use workforce::person::Role;
use workforce::registration::{Registrations, Validity};

use super::in_process::{complete_registration, pending_document_id, registration_of};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    a_document_that_expires_is_listed,
}

const VERA: i64 = 1003;

async fn a_document_that_expires_is_listed(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    let registrations = Registrations::of_app(&cabinet.app);
    let anna = cabinet.person(ANNA).await.id;
    registrations.approve(anna, vera.id, pending_document_id(&documents)).await.unwrap();
    let today = registrations.today().await.unwrap();
    let page = format!("/documents/{}", documents[0].id);
    let path = format!("{page}/validity");
    owner.post(&path, &[("seen", ""), ("valid_until", "soon")]).await.is(422, "Enter a date");
    let far = (today + chrono::Days::new(31)).to_string();
    owner.post(&path, &[("seen", ""), ("valid_until", &far)]).await.redirects_to(&page);
    assert!(registrations.expiring().await.unwrap().is_empty());
    let soon = (today + chrono::Days::new(30)).to_string();
    owner.post(&path, &[("seen", ""), ("valid_until", &soon)]).await.is(409, "");
    owner.post(&path, &[("seen", &far), ("valid_until", &soon)]).await.redirects_to(&page);
    let listed = registrations.expiring().await.unwrap();
    assert_eq!((listed.len(), listed[0].validity, listed[0].person.id), (1, Validity::ExpiresSoon, vera.id));
    owner.get(&page).await.is(200, "expires ");
    let past = (today - chrono::Days::new(1)).to_string();
    owner.post(&path, &[("seen", &soon), ("valid_until", &past)]).await.redirects_to(&page);
    assert_eq!(registrations.expiring().await.unwrap()[0].validity, Validity::Expired);
    owner.get(&format!("/people/{}", vera.id)).await.is(200, "expired ").is(200, "Consent to the processing");
    owner.post(&path, &[("seen", &past), ("valid_until", "")]).await.redirects_to(&page);
    assert!(registrations.expiring().await.unwrap().is_empty());
    cabinet.hire(1004, "Max", Role::Manager).await;
    for other in [cabinet.signed_in(BORIS).await] {
        other.post(&path, &[("seen", ""), ("valid_until", &soon)]).await.is(403, "You don't have access");
    }
    cabinet.close().await;
}
