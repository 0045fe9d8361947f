//! Unblocking restores a person's previous status.

use serde_json::json;
use workforce::person::{Role, Status};
use workforce::registration::Registrations;

use super::in_process::{complete_registration, pending_document_id, registration_of};
use super::newcomer::{DONE, Newcomer};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, TIMEOUT};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    unblocking_restores_pending_and_verified,
    a_rejected_person_may_register_after_an_unblock,
}

const VERA: i64 = 1003;

async fn register_vera(cabinet: &Cabinet) {
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, DONE).await;
}

/// Blocks and unblocks Vera. Returns her status.
async fn block_and_unblock(cabinet: &Cabinet, owner: &Browser, id: i64) -> Status {
    let page = format!("/people/{id}");
    for deed in ["block", "unblock"] {
        owner.post(&format!("{page}/{deed}"), &[]).await.redirects_to(&page);
    }
    cabinet.person(VERA).await.status
}

async fn unblocking_restores_pending_and_verified(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    register_vera(&cabinet).await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    assert_eq!(block_and_unblock(&cabinet, &owner, vera.id).await, Status::Pending);
    let approve = format!("/registrations/{}/approve", vera.id);
    owner
        .post(&approve, &[("mark", pending_document_id(&documents))])
        .await
        .redirects_to(&format!("/registrations?decided={}", vera.id));
    assert_eq!(block_and_unblock(&cabinet, &owner, vera.id).await, Status::Verified);
    // A person without a role is not a newcomer.
    let revoke = format!("/people/{}/roles/revoke", vera.id);
    owner.post(&revoke, &[("role", "employee")]).await.redirects_to(&format!("/people/{}", vera.id));
    assert_eq!(cabinet.person(VERA).await.roles.iter().next(), None);
    assert_eq!(block_and_unblock(&cabinet, &owner, vera.id).await, Status::Verified);
    cabinet.close().await;
}

async fn a_rejected_person_may_register_after_an_unblock(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut newcomer = Newcomer::new(&cabinet.emulator, VERA, TIMEOUT);
    newcomer.completes_registration().await;
    newcomer.receives(DONE).await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    assert!(vera.roles.has(Role::Applicant));
    let (registrations, anna) = (Registrations::of_app(&cabinet.app), cabinet.person(ANNA).await.id);
    registrations.reject(anna, vera.id, pending_document_id(&documents), "The picture is dark.").await.unwrap();
    assert_eq!(block_and_unblock(&cabinet, &owner, vera.id).await, Status::Rejected);
    newcomer.completes_registration().await;
    newcomer.receives(DONE).await;
    drop(newcomer);
    assert_eq!(block_and_unblock(&cabinet, &owner, vera.id).await, Status::Pending);
    let (_, documents) = registration_of(&cabinet.app, VERA).await;
    registrations.approve(anna, vera.id, pending_document_id(&documents)).await.unwrap();
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified);
    cabinet.close().await;
}
