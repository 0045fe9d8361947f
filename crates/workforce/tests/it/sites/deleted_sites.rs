//! Deleted sites: who restores them, and that shifts worked there are still listed, judged and paid.

use workforce::money::Money;
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{CancellationDetails, ClosedBy, Reason, ShiftEnd, ShiftStart, Shifts, cancel, close, open};
use workforce::sites::{AboutSlot, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::{MAY, make_site};
use crate::shifts::{Workplace, about_contract, chooses_from_menu, person};
use crate::sites::permissions::hire_may;

const FORBIDDEN: &str = "You don't have access to this page";

async fn permit(cabinet: &Cabinet, may: &Person, site: i64, allowed: &[Permission]) {
    let anna = cabinet.person(ANNA).await;
    Sites::of_app(&cabinet.app).set_permissions(&anna, may.id, site, allowed.to_vec()).await.unwrap();
}

#[tokio::test]
async fn restoring_a_site_needs_the_delete_permission() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (may, room) = (hire_may(&cabinet).await, Sites::of_app(&cabinet.app));
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let (page, restore) = (format!("/sites/{site}"), format!("/sites/{site}/restore"));
    let deleted = async || room.site(site).await.unwrap().unwrap().deleted_at.is_some();
    permit(&cabinet, &may, site, &[Permission::View, Permission::Edit, Permission::Delete]).await;
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.redirects_to(&page);
    assert!(deleted().await);
    for shown in ["/sites", &page] {
        manager.get(shown).await.is(200, &format!("action=\"{restore}\""));
    }
    manager.post(&restore, &[]).await.redirects_to(&page);
    assert!(!deleted().await);

    owner.post(&format!("{page}/delete"), &[("version", "3")]).await.redirects_to(&page);
    permit(&cabinet, &may, site, &[Permission::View, Permission::Edit, Permission::Schedule]).await;
    for shown in ["/sites", &page] {
        let shown = manager.get(shown).await;
        assert!(!shown.is(200, "").body.contains("data-testid=\"restore\""), "{}", shown.body);
    }
    manager.post(&restore, &[]).await.is(403, FORBIDDEN);
    owner.get(&page).await.is(200, "data-testid=\"restore\"");
    cabinet.close().await;
}

#[tokio::test]
async fn deleting_an_open_site_closes_it() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (site, room) = (workplace.site("Shop", 10_000).await, Shifts::of_app(&workplace.firm.app));
    room.open_site(&workplace.owner, site).await.unwrap();
    workplace.sites.delete(&workplace.owner, site, 1).await.unwrap();
    workplace.sites.restore(&workplace.owner, site).await.unwrap();
    let closed = workplace.rows("SELECT closed_by FROM site_openings WHERE closed_at IS NOT NULL").await;
    assert_eq!(closed, [[workplace.owner.id.to_string()]]);
    room.open_site(&workplace.owner, site).await.unwrap();
}

#[tokio::test]
async fn restoring_a_slot_needs_the_schedule_permission() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, may, room) = (cabinet.person(ANNA).await, hire_may(&cabinet).await, Sites::of_app(&cabinet.app));
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = room.create_slot(&anna, site, about).await.unwrap();
    room.delete_slot(&anna, slot, 1).await.unwrap();
    let page = format!("/calendar/slots/{slot}");
    permit(&cabinet, &may, site, &[Permission::View]).await;
    let shown = manager.get(&page).await;
    assert!(!shown.is(200, "This shift has been deleted.").body.contains("restore-slot"), "{}", shown.body);
    manager.post(&format!("{page}/restore"), &[]).await.is(403, FORBIDDEN);
    permit(&cabinet, &may, site, &[Permission::View, Permission::Schedule]).await;
    manager.get(&page).await.is(200, "data-testid=\"restore-slot\"");
    manager.post(&format!("{page}/restore"), &[]).await.redirects_to(&page);
    cabinet.close().await;
}

/// Boris has worked at the site and cancelled another plan there. Returns the shift and the cancellation.
pub async fn worked_and_cancelled(cabinet: &Cabinet, site: i64) -> (i64, i64) {
    let (anna, boris, room) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, Sites::of_app(&cabinet.app));
    room.create_contract(&anna, boris.id, about_contract(&[site], true)).await.unwrap();
    let start =
        ShiftStart { user_id: boris.id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
    let shift = cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap();
    let end = ShiftEnd {
        shift_id: shift,
        version: None,
        position: None,
        closed_by: ClosedBy::Staff,
        ended_at: NOON.plus(std::time::Duration::from_secs(3600)),
        mandatory_task_penalty: Money::from_roubles(50),
        at: NOON,
    };
    cabinet.app.domain.write(move |db| Box::pin(close(db, end))).await.unwrap();
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = room.create_slot(&anna, site, about).await.unwrap();
    let plan = Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    let who = (boris.id, "Boris".to_owned());
    let write = cabinet.app.domain.write(move |db| Box::pin(cancel(db, plan, who, excuse(), 24, Vec::new(), NOON)));
    write.await.unwrap();
    (shift, Shifts::of_app(&cabinet.app).cancellations(&[site]).await.unwrap()[0].0.id)
}

fn excuse() -> CancellationDetails {
    CancellationDetails { reason: Reason::Illness, words: None, document: None, photo: None }
}

#[tokio::test]
async fn shifts_at_a_deleted_site_are_still_listed_and_paid() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = hire_may(&cabinet).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let allowed = [Permission::View, Permission::Employees, Permission::Finances];
    permit(&cabinet, &may, site, &allowed).await;
    let (shift, reason) = worked_and_cancelled(&cabinet, site).await;
    owner.post(&format!("/sites/{site}/delete"), &[("version", "1")]).await.redirects_to(&format!("/sites/{site}"));
    let judge = format!("/cancellations/{reason}/judge");
    for browser in [&owner, &manager] {
        for list in ["/shifts".to_owned(), format!("/shifts?site={site}")] {
            browser.get(&list).await.is(200, &format!("data-testid=\"shift-{shift}\"")).is(200, "(deleted)</option>");
        }
        browser.get("/cancellations").await.is(200, &format!("action=\"{judge}\"")).is(200, "Cafe &lt;One&gt;");
        browser.get("/payroll").await.is(200, "Boris").is(200, "250.50");
    }
    manager.post(&judge, &[("accepted", "true")]).await.redirects_to("/cancellations");
    owner.get("/cancellations").await.is(200, "No cancellations awaiting approval");
    // Without permissions the manager sees nothing, as before the deletion.
    permit(&cabinet, &may, site, &[]).await;
    manager.get("/cancellations").await.is(403, FORBIDDEN);
    manager.get("/payroll").await.is(403, FORBIDDEN);
    cabinet.close().await;
}

#[tokio::test]
async fn cancellations_at_a_deleted_site_can_be_judged() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let (anna, shifts) = (person(&workplace.firm, &anna).await, Shifts::of_app(&workplace.firm.app));
    let plan = shifts.plan(&anna, anna.id, slot).await.unwrap();
    let who = (anna.id, "Anna".to_owned());
    let write =
        workplace.firm.app.domain.write(move |db| Box::pin(cancel(db, plan, who, excuse(), 24, Vec::new(), NOON)));
    write.await.unwrap();
    workplace.sites.delete(&workplace.owner, site, 1).await.unwrap();
    let ida = workplace.firm.member("Ida", &[Role::Manager]).await;
    let id = person(&workplace.firm, &ida).await.id;
    let allowed = vec![Permission::View, Permission::Employees];
    workplace.sites.set_permissions(&workplace.owner, id, site, allowed).await.unwrap();
    chooses_from_menu(&ida, "📋 Today").await;
    ida.sees("Anna can't make it to Shop");
    ida.presses("✅ Accept, no penalty").await;
    ida.sees("Reason accepted, nothing is deducted.");
}
