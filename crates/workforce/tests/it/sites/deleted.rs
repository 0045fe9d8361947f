//! Sites that are deleted: who brings them back, and that what was worked there is still seen, judged and paid.

use workforce::money::Money;
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{ClosedBy, End, Excuse, Reason, Shifts, Start, cancel, close, open};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{Kind, NOON};
use crate::overview::running_a_business::{MAY, make_site};
use crate::shifts::{Yard, chooses, person};
use crate::sites::permissions::hire_may;

const OTHERS: &str = "This page is for others";

async fn permit(cabinet: &Cabinet, may: &Person, site: i64, allowed: &[Permission]) {
    let anna = cabinet.person(ANNA).await;
    Sites::of_app(&cabinet.app).permit(&anna, may.id, site, allowed.to_vec()).await.unwrap();
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
async fn a_site_that_is_deleted_while_it_is_open_is_closed_with_that() {
    let yard = Yard::open(Kind::Sqlite).await;
    let (site, doors) = (yard.site("Shop", 10_000).await, Shifts::of_app(&yard.firm.app));
    doors.open_site(&yard.owner, site).await.unwrap();
    yard.sites.delete(&yard.owner, site, 1).await.unwrap();
    yard.sites.restore(&yard.owner, site).await.unwrap();
    let closed = yard.rows("SELECT closed_by FROM site_openings WHERE closed_at IS NOT NULL").await;
    assert_eq!(closed, [[yard.owner.id.to_string()]]);
    doors.open_site(&yard.owner, site).await.unwrap();
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

/// Boris has worked at the site and cancelled another plan there; answers the shift and the cancellation.
pub async fn worked(cabinet: &Cabinet, site: i64) -> (i64, i64) {
    let (anna, boris, doors) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, Sites::of_app(&cabinet.app));
    doors.create_contract(&anna, boris.id, contract(site)).await.unwrap();
    let start = Start { user_id: boris.id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
    let shift = cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap();
    let end = End {
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
    let slot = doors.create_slot(&anna, site, about).await.unwrap();
    let plan = Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    let who = (boris.id, "Boris".to_owned());
    let write = cabinet.app.domain.write(move |db| Box::pin(cancel(db, plan, who, excuse(), 24, Vec::new(), NOON)));
    write.await.unwrap();
    (shift, Shifts::of_app(&cabinet.app).cancellations(&[site]).await.unwrap()[0].0.id)
}

fn contract(site: i64) -> AboutContract {
    let status = ContractStatus::Active;
    AboutContract { status, rate_kopecks: None, allows_spontaneous: true, sites: vec![site] }
}

fn excuse() -> Excuse {
    Excuse { reason: Reason::Illness, words: None, document: None, photo: None }
}

#[tokio::test]
async fn what_was_worked_at_a_deleted_site_is_still_listed_judged_and_paid() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let may = hire_may(&cabinet).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let allowed = [Permission::View, Permission::Employees, Permission::Finances];
    permit(&cabinet, &may, site, &allowed).await;
    let (shift, reason) = worked(&cabinet, site).await;
    owner.post(&format!("/sites/{site}/delete"), &[("version", "1")]).await.leads_to(&format!("/sites/{site}"));
    let judge = format!("/cancellations/{reason}/judge");
    for browser in [&owner, &manager] {
        for list in ["/shifts".to_owned(), format!("/shifts?site={site}")] {
            browser.get(&list).await.is(200, &format!("data-testid=\"shift-{shift}\"")).is(200, "(deleted)</option>");
        }
        browser.get("/cancellations").await.is(200, &format!("action=\"{judge}\"")).is(200, "Cafe &lt;One&gt;");
        browser.get("/payroll").await.is(200, "Boris").is(200, "250.50");
    }
    manager.post(&judge, &[("accepted", "true")]).await.leads_to("/cancellations");
    owner.get("/cancellations").await.is(200, "No cancellations wait for you.");
    // Whoever has no say there has none after it either.
    permit(&cabinet, &may, site, &[]).await;
    manager.get("/cancellations").await.is(403, OTHERS);
    manager.get("/payroll").await.is(403, OTHERS);
    cabinet.close().await;
}

#[tokio::test]
async fn in_the_bot_a_reason_of_a_deleted_site_still_waits_to_be_judged() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let (anna, shifts) = (person(&yard.firm, &anna).await, Shifts::of_app(&yard.firm.app));
    let plan = shifts.plan(&anna, anna.id, slot).await.unwrap();
    let who = (anna.id, "Anna".to_owned());
    let write = yard.firm.app.domain.write(move |db| Box::pin(cancel(db, plan, who, excuse(), 24, Vec::new(), NOON)));
    write.await.unwrap();
    yard.sites.delete(&yard.owner, site, 1).await.unwrap();
    let ida = yard.firm.member("Ida", &[Role::Manager]).await;
    let id = person(&yard.firm, &ida).await.id;
    let allowed = vec![Permission::View, Permission::Employees];
    yard.sites.permit(&yard.owner, id, site, allowed).await.unwrap();
    chooses(&ida, "📋 Today").await;
    ida.sees("Anna does not come to Shop");
    ida.presses("✅ Accept").await;
    ida.sees("The reason is accepted.");
}
