//! Sites that are deleted: who brings them back, and that what was worked there is still seen, judged and paid.

use workforce::people::Person;
use workforce::sites::{AboutSlot, Hours, Permission, Scope, Sites};

use crate::cabinet::Cabinet;
use crate::demo::ANNA;
use crate::firm::Kind;
use crate::permissions::hire_may;
use crate::running_a_business::{MAY, make_site};

const OTHERS: &str = "This page is for others";

async fn permit(cabinet: &Cabinet, may: &Person, site: i64, allowed: &[Permission]) {
    let anna = cabinet.person(ANNA).await;
    Sites::of_app(&cabinet.app).permit(&anna, may.id, Scope::Site(site), allowed.to_vec()).await.unwrap();
}

#[tokio::test]
async fn whoever_may_delete_a_site_brings_it_back_and_others_are_not_offered_to() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (may, doors) = (hire_may(&cabinet).await, Sites::of_app(&cabinet.app));
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let (page, restore) = (format!("/sites/{site}"), format!("/sites/{site}/restore"));
    let deleted = async || doors.of(site).await.unwrap().unwrap().deleted_at.is_some();
    permit(&cabinet, &may, site, &[Permission::View, Permission::Edit, Permission::Delete]).await;
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.leads_to(&page);
    assert!(deleted().await);
    for shown in ["/sites", &page] {
        manager.get(shown).await.is(200, &format!("action=\"{restore}\""));
    }
    manager.post(&restore, &[]).await.leads_to(&page);
    assert!(!deleted().await);

    owner.post(&format!("{page}/delete"), &[("version", "3")]).await.leads_to(&page);
    permit(&cabinet, &may, site, &[Permission::View, Permission::Edit, Permission::Schedule]).await;
    for shown in ["/sites", &page] {
        let shown = manager.get(shown).await;
        assert!(!shown.is(200, "").body.contains("data-testid=\"restore\""), "{}", shown.body);
    }
    manager.post(&restore, &[]).await.is(403, OTHERS);
    owner.get(&page).await.is(200, "data-testid=\"restore\"");
    cabinet.close().await;
}

#[tokio::test]
async fn a_deleted_slot_is_brought_back_by_those_who_may_and_others_are_not_offered_to() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (anna, may, doors) = (cabinet.person(ANNA).await, hire_may(&cabinet).await, Sites::of_app(&cabinet.app));
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = doors.create_slot(&anna, site, about).await.unwrap();
    doors.delete_slot(&anna, slot, 1).await.unwrap();
    let page = format!("/calendar/slots/{slot}");
    permit(&cabinet, &may, site, &[Permission::View]).await;
    let shown = manager.get(&page).await;
    assert!(!shown.is(200, "This slot is deleted.").body.contains("restore-slot"), "{}", shown.body);
    manager.post(&format!("{page}/restore"), &[]).await.is(403, OTHERS);
    permit(&cabinet, &may, site, &[Permission::View, Permission::Schedule]).await;
    manager.get(&page).await.is(200, "data-testid=\"restore-slot\"");
    manager.post(&format!("{page}/restore"), &[]).await.leads_to(&page);
    cabinet.close().await;
}
