//! Nobody decides on themselves: a manager's own reason, plan and contract are for owners.

use workforce::people::Role;
use workforce::shifts::{Excuse, Reason, Shifts, cancel};
use workforce::sites::{
    AboutContract, AboutSlot, ContractStatus, Hours, NotDone, Notice, Permission, Scope, Sites, Why, notices,
};

use crate::cabinet::Cabinet;
use crate::demo::{ANNA, BORIS};
use crate::firm::{Kind, NOON};
use crate::permissions::hire_may;
use crate::running_a_business::{MAY, make_site};
use crate::shifts::{Yard, chooses, person, plans};

const OWN: &str = "This is about yourself: an owner decides it.";

fn contract(site: i64) -> AboutContract {
    let status = ContractStatus::Active;
    AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites: vec![site] }
}

#[tokio::test]
async fn on_the_pages_a_managers_own_reason_plan_and_contract_are_for_owners() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let (site, doors) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let shifts = Shifts::of_app(&cabinet.app);
    doors.permit(&anna, may.id, Scope::Site(site), Permission::ALL.to_vec()).await.unwrap();
    let own = doors.create_contract(&anna, may.id, contract(site)).await.unwrap();
    let theirs = doors.create_contract(&anna, boris.id, contract(site)).await.unwrap();

    // Her contract, with a rate that she would like; and another one, on the page and by her number.
    let dear = [("status", "active"), ("rate", "9999"), ("version", "1"), (&*format!("site{site}"), "on")];
    let page = format!("/people/{}/contracts", may.id);
    let shown = manager.get(&page).await;
    shown.is(200, "data-testid=\"own-case\"");
    for hidden in ["data-testid=\"save-contract\"", "data-testid=\"new-contract\""] {
        assert!(!shown.body.contains(hidden), "{hidden} in {}", shown.body);
    }
    manager.post(&format!("/contracts/{own}"), &dear).await.is(409, OWN);
    manager.post(&page, &dear).await.is(409, OWN);
    manager.post("/contracts/new", &[&dear[..], &[("who", &*MAY.to_string())]].concat()).await.is(409, OWN);
    assert_eq!(doors.contracts_of(may.id).await.unwrap().len(), 1);
    assert_eq!(doors.contract(own).await.unwrap().unwrap().about.rate_kopecks, None);
    manager.post(&format!("/contracts/{theirs}"), &dear).await.leads_to(&format!("/people/{}/contracts", boris.id));

    // Her plan goes by a reason in the bot, and not for nothing.
    let day = "2026-01-02".parse().unwrap();
    let about = AboutSlot { capacity: 2, ..AboutSlot::usual(day, Hours::new(10 * 60, 12 * 60)) };
    let slot = doors.create_slot(&anna, site, about).await.unwrap();
    let (hers, his) =
        (shifts.plan(&may, may.id, slot).await.unwrap(), shifts.plan(&boris, boris.id, slot).await.unwrap());
    let page = format!("/calendar/slots/{slot}");
    let shown = manager.get(&page).await;
    shown.is(200, &format!("cancel-{his}"));
    assert!(!shown.body.contains(&format!("cancel-{hers}")), "{}", shown.body);
    manager.post(&format!("{page}/plans/{hers}/cancel"), &[]).await.is(409, OWN);
    manager.post(&format!("{page}/plans/{his}/cancel"), &[]).await.leads_to(&page);

    // Her reason waits for an owner.
    let excuse = Excuse { reason: Reason::Illness, words: None, document: None, photo: None };
    let who = (may.id, "May".to_owned());
    let cancelling = cabinet.app.domain.write(move |db| Box::pin(cancel(db, hers, who, excuse, 24, Vec::new(), NOON)));
    cancelling.await.unwrap();
    let id = shifts.cancellations(&[site]).await.unwrap()[0].0.id;
    let judge = format!("/cancellations/{id}/judge");
    let shown = manager.get("/cancellations").await;
    shown.is(200, "data-testid=\"own-case\"");
    assert!(!shown.body.contains(&judge), "{}", shown.body);
    manager.post(&judge, &[("accepted", "true")]).await.is(409, OWN);
    owner.get("/cancellations").await.is(200, &judge);
    owner.post(&judge, &[("accepted", "false")]).await.leads_to("/cancellations");
    let lines = cabinet.app.payroll.of_person(may.id, "2026-01".parse().unwrap()).await.unwrap().lines;
    assert_eq!(lines.len(), 2, "the reason, and the short notice");
    cabinet.close().await;
}

#[tokio::test]
async fn in_the_bot_a_managers_own_reason_is_told_to_owners_and_judged_by_them() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 60, 120, |_| {}).await;
    let max = yard.firm.member("Max", &[Role::Manager]).await;
    let id = person(&yard.firm, &max).await.id;
    yard.sites.create_contract(&yard.owner, id, contract(site)).await.unwrap();
    let allowed = vec![Permission::View, Permission::Employees];
    yard.sites.permit(&yard.owner, id, Scope::Site(site), allowed).await.unwrap();
    plans(&max).await;
    chooses(&max, "📅 My shifts").await;
    max.presses("✖ Cancel 01.01 16:00–18:00").await;
    max.presses("Illness").await;
    max.presses("Skip").await;
    max.presses("Skip").await;
    max.sees("Cancelled: Shop");
    let told = notices::untold(&yard.firm.app.domain).await.unwrap();
    let told: Vec<_> =
        told.iter().filter(|(_, _, notice)| matches!(notice, Notice::Cancelled { .. })).map(|one| one.1).collect();
    assert_eq!(told, [yard.owner.id]);

    chooses(&max, "📋 Today").await;
    max.sees("Shop");
    assert!(!max.transcript().contains("Accept"), "{}", max.transcript());
    let waiting = Shifts::of_app(&yard.firm.app).cancellations(&[site]).await.unwrap()[0].0.id;
    max.presses_data(&format!("judge:yes:{waiting}")).await;
    max.sees_toast(OWN);
    let by_max = Shifts::of_app(&yard.firm.app).judge(&person(&yard.firm, &max).await, waiting, true).await;
    assert!(matches!(by_max, Err(NotDone::Refused(Why::OwnCase))), "{by_max:?}");
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    chooses(&owner, "📋 Today").await;
    owner.presses("✅ Accept").await;
    owner.sees("The reason is accepted.");
}

#[tokio::test]
async fn an_owner_who_works_too_decides_on_themselves() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |_| {}).await;
    let (owner, shifts) = (&yard.owner, Shifts::of_app(&yard.firm.app));
    let id = yard.sites.create_contract(owner, owner.id, contract(site)).await.unwrap();
    let dear = AboutContract { rate_kopecks: Some(100_000), ..contract(site) };
    yard.sites.edit_contract(owner, id, 1, dear).await.unwrap();
    let plan = shifts.plan(owner, owner.id, slot).await.unwrap();
    shifts.cancel(owner, plan).await.unwrap();
}
