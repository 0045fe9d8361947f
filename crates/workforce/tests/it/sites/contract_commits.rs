//! Contracts whose person or site changes between the page's check and the commit.

use std::time::Duration;

use tokio::sync::oneshot;
use workforce::application;
use workforce::people::{self, blocking};
use workforce::person::{Person, Status};
use workforce::sites::import::{Table, read_staff};
use workforce::sites::{AboutContract, ActionError, ChangedBy, ContractStatus, SiteRefusal, Sites, delete_site};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::kit::sql::execute;
use crate::overview::business_pages::make_site;
use crate::people::rights_at_commit::pages;

on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    a_blocked_person_gets_no_contract_on_a_page,
    a_contract_names_no_deleted_site,
}

async fn block(cabinet: &Cabinet, person: &Person) {
    let id = person.id;
    cabinet.app.domain.write_and_get(move |db| Box::pin(blocking::block(db, id, None, NOON))).await.unwrap();
}

async fn a_blocked_person_gets_no_contract_on_a_page(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (app, store) = pages(&cabinet.app, &cabinet.storage, &cabinet.emulator.token).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (site, boris) = (make_site(&cabinet, &owner).await, cabinet.person(BORIS).await);
    let owner = owner.with_router(application::router(&app));
    let (page, ticked, id) = (format!("/people/{}/contracts", boris.id), format!("site{site}"), boris.id);
    owner.get(&page).await.is(200, "name=\"status\"");
    store
        .commit_before_next(&cabinet.storage, move |db| {
            Box::pin(people::set_status(db, id, Status::Blocked, None, NOON))
        })
        .await;
    let refused = owner.post(&page, &[("status", "active"), (&ticked, "on")]).await;
    assert!(store.has_committed());
    refused.is(409, "This person doesn't have access any more.");
    assert!(Sites::of_app(&cabinet.app).contracts_of(boris.id).await.unwrap().is_empty());
    cabinet.close().await;
}

async fn a_contract_names_no_deleted_site(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (app, store) = pages(&cabinet.app, &cabinet.storage, &cabinet.emulator.token).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (site, anna, boris) =
        (make_site(&cabinet, &owner).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (room, by) = (Sites::of_app(&app), ChangedBy { person: Some(anna.id), at: NOON });
    let here = AboutContract::active(vec![site]);
    let draft = AboutContract { status: ContractStatus::Draft, ..AboutContract::active(vec![]) };
    let id = room.create_contract(&anna, boris.id, draft).await.unwrap();
    // Each deletion and each restoring raises the site's version.
    for (version, is_new) in [(1, true), (3, false)] {
        store.commit_before_next(&cabinet.storage, move |db| Box::pin(delete_site(db, site, version, by))).await;
        let refused = if is_new {
            room.create_contract(&anna, boris.id, here.clone()).await.map(drop)
        } else {
            room.edit_contract(&anna, id, 1, here.clone()).await
        };
        assert!(store.has_committed());
        assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::Gone))), "{refused:?}");
        room.restore(&anna, site).await.unwrap();
    }
    room.edit_contract(&anna, id, 1, here).await.unwrap();
    room.delete_contract(&anna, id, 2).await.unwrap();
    room.delete(&anna, site, 5).await.unwrap();
    let refused = room.restore_contract(&anna, id).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::Gone))), "{refused:?}");
    cabinet.close().await;
}

#[tokio::test]
async fn a_blocked_person_has_no_new_active_contract() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (room, anna, boris) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let site = make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
    let active = AboutContract::active(vec![site]);
    let ended = AboutContract { status: ContractStatus::Terminated, ..active.clone() };
    let id = room.create_contract(&anna, boris.id, active.clone()).await.unwrap();
    block(&cabinet, &boris).await;
    room.edit_contract(&anna, id, 1, ended).await.unwrap();
    let refused = room.edit_contract(&anna, id, 2, active).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::NotMember))), "{refused:?}");
    cabinet.close().await;
}

/// Another instance changes the person while the table is imported. Only PostgreSQL has two writers. A block also locks
/// the owners, so the import of an owner would wait for it anyway; plain SQL does not.
#[tokio::test]
async fn a_blocked_person_gets_no_contract_by_an_import_at_the_commit() {
    let cabinet = Cabinet::open(StorageKind::Postgres).await;
    let (room, anna, boris) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
    let sites = room.list().await.unwrap();
    let table = format!("name,telegram id,site\nBoris,{BORIS},\"{}\"", sites[0].about.name);
    let lines = read_staff(&Table::read(&table).unwrap(), &sites).unwrap();
    let other_instance = cabinet.second_instance().await;
    let ((blocked, is_blocked), (release, released)) = (oneshot::channel(), oneshot::channel());
    let (domain, id) = (other_instance.domain.clone(), boris.id);
    let block = tokio::spawn(async move {
        let block = domain.write(move |db| {
            Box::pin(async move {
                execute(db, format!("UPDATE users SET status = 'blocked' WHERE id = {id}")).await?;
                blocked.send(()).unwrap();
                // Without a lock the import is done before this commit.
                let _ = tokio::time::timeout(Duration::from_secs(1), released).await;
                Ok(())
            })
        });
        block.await.unwrap();
    });
    is_blocked.await.unwrap();
    room.import_staff(&anna, lines).await.unwrap();
    let _ = release.send(());
    block.await.unwrap();
    assert!(room.contracts_of(boris.id).await.unwrap().is_empty());
    other_instance.domain.close().await.unwrap();
    cabinet.close().await;
}
