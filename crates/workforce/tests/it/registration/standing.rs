//! Whoever is unblocked stands where they stood before, and nobody waits whom nobody can decide on.

use serde_json::json;
use workforce::person::{Role, Status};
use workforce::registration::Registrations;

use super::live::{gives_all_of, mark, written};
use super::newcomer::{DONE, Newcomer};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, PATIENCE};
use crate::kit::firm::{Kind, on_every_database};

on_every_database! {
    who_waited_waits_again_and_who_was_let_in_is_let_in,
    who_was_turned_away_may_register_again_after_a_block,
}

const VERA: i64 = 1003;

async fn vera_registers(cabinet: &Cabinet) {
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(&cabinet.emulator, VERA).await;
    cabinet.emulator.hears(VERA, DONE).await;
}

/// Blocks somebody and thinks better of it; answers where they stand then.
async fn blocks_and_unblocks(cabinet: &Cabinet, owner: &Browser, id: i64) -> Status {
    let page = format!("/people/{id}");
    for deed in ["block", "unblock"] {
        owner.post(&format!("{page}/{deed}"), &[]).await.leads_to(&page);
    }
    cabinet.person(VERA).await.status
}

async fn who_waited_waits_again_and_who_was_let_in_is_let_in(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    vera_registers(&cabinet).await;
    let (vera, documents) = written(&cabinet.app, VERA).await;
    assert_eq!(blocks_and_unblocks(&cabinet, &owner, vera.id).await, Status::Pending);
    let approve = format!("/registrations/{}/approve", vera.id);
    owner.post(&approve, &[("mark", mark(&documents))]).await.leads_to("/registrations");
    assert_eq!(blocks_and_unblocks(&cabinet, &owner, vera.id).await, Status::Verified);
    // Who is left without a role is not a newcomer by that.
    let revoke = format!("/people/{}/roles/revoke", vera.id);
    owner.post(&revoke, &[("role", "employee")]).await.leads_to(&format!("/people/{}", vera.id));
    assert_eq!(cabinet.person(VERA).await.roles.iter().next(), None);
    assert_eq!(blocks_and_unblocks(&cabinet, &owner, vera.id).await, Status::Verified);
    cabinet.close().await;
}

async fn who_was_turned_away_may_register_again_after_a_block(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut newcomer = Newcomer::new(&cabinet.emulator, VERA, PATIENCE);
    newcomer.gives_all().await;
    newcomer.hears(DONE).await;
    let (vera, documents) = written(&cabinet.app, VERA).await;
    assert!(vera.roles.has(Role::Applicant));
    let (registrations, anna) = (Registrations::of_app(&cabinet.app), cabinet.person(ANNA).await.id);
    registrations.reject(anna, vera.id, mark(&documents), "The picture is dark.").await.unwrap();
    assert_eq!(blocks_and_unblocks(&cabinet, &owner, vera.id).await, Status::Rejected);
    newcomer.gives_all().await;
    newcomer.hears(DONE).await;
    drop(newcomer);
    assert_eq!(blocks_and_unblocks(&cabinet, &owner, vera.id).await, Status::Pending);
    let (_, documents) = written(&cabinet.app, VERA).await;
    registrations.approve(anna, vera.id, mark(&documents)).await.unwrap();
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified);
    cabinet.close().await;
}
