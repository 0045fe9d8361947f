//! Nobody decides on themselves: a manager's own reason, plan, hours and contract are for owners.

use std::time::Duration;

use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{Excuse, Reason, ShiftStatus, Shifts, Start, cancel, jobs, open};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, NotDone, Sites, Why};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{Kind, NOON};
use crate::overview::running_a_business::{MAY, make_site};
use crate::shifts::{Yard, chooses, person, plans, task};
use crate::sites::permissions::hire_may;

const OWN: &str = "This is about yourself: an owner decides it.";
const OWN_IN_RUSSIAN: &str = "Это касается вас самих: решает владелец.";

/// May manages a cafe and works there beside Boris, each with a place in a slot from three to five of Moscow; it is three.
struct Cafe {
    cabinet: Cabinet,
    anna: Person,
    may: Person,
    boris: Person,
    site: i64,
    slot: i64,
    /// Hers, and his.
    plans: [i64; 2],
}

impl Cafe {
    async fn new() -> Self {
        let cabinet = Cabinet::open(Kind::Sqlite).await;
        let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
        let site = make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
        let (doors, shifts) = (Sites::of_app(&cabinet.app), Shifts::of_app(&cabinet.app));
        doors.permit(&anna, may.id, site, Permission::ALL.to_vec()).await.unwrap();
        let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
        let slot = doors.create_slot(&anna, site, AboutSlot { capacity: 2, ..about }).await.unwrap();
        let mut plans = [0; 2];
        for (plan, person) in plans.iter_mut().zip([&may, &boris]) {
            doors.create_contract(&anna, person.id, contract(site)).await.unwrap();
            *plan = shifts.plan(person, person.id, slot).await.unwrap();
        }
        Self { cabinet, anna, may, boris, site, slot, plans }
    }

    /// Somebody comes by their plan, now.
    async fn opens(&self, person: &Person, plan: i64) -> i64 {
        let (plan_id, at) = (Some(plan), self.cabinet.clock.now());
        let start = Start { user_id: person.id, site_id: self.site, plan_id, position: None, started_at: at, at };
        self.cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap()
    }
}

/// The slot's form as it was drawn, with something else in it.
fn with<'a>(version: &'a str, changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let drawn = [("day", "2026-01-01"), ("starts", "15:00"), ("ends", "17:00"), ("capacity", "2"), ("rate", "")];
    let rest = [("title", ""), ("penalises_lateness", "on"), ("version", version)];
    let is_kept = |(name, _): &(&str, &str)| changed.iter().all(|(other, _)| other != name);
    let kept = drawn.into_iter().chain(rest).filter(is_kept);
    // A tick that is taken away is not sent at all.
    kept.chain(changed.iter().copied()).filter(|(_, value)| *value != "off").collect()
}

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
    doors.permit(&anna, may.id, site, Permission::ALL.to_vec()).await.unwrap();
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
    yard.sites.permit(&yard.owner, id, site, allowed).await.unwrap();
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
    shifts.plan(owner, owner.id, slot).await.unwrap();
    let mut seen = yard.sites.slot(slot).await.unwrap().unwrap();
    seen.about.penalises_lateness = false;
    yard.sites.edit_slot(owner, slot, seen.version, seen.about).await.unwrap();
    yard.sites.delete_slot(owner, slot, seen.version + 1).await.unwrap();
}

#[tokio::test]
async fn what_a_slot_pays_a_manager_who_has_a_place_in_it_is_for_owners() {
    let cafe = Cafe::new().await;
    let (owner, manager) = (cafe.cabinet.signed_in(ANNA).await, cafe.cabinet.signed_in(MAY).await);
    let page = format!("/calendar/slots/{}", cafe.slot);
    let shown = manager.get(&page).await;
    shown.is(200, "data-testid=\"own-case\"").is(200, "data-testid=\"save-slot\"");
    assert!(!shown.body.contains("data-testid=\"delete-slot\""), "{}", shown.body);
    owner.get(&page).await.is(200, "data-testid=\"delete-slot\"");

    // She is late: neither does it begin later, nor is there no slot, nor does lateness cost nothing there.
    cafe.cabinet.clock.advance(Duration::from_secs(40 * 60));
    let dear = [
        ("starts", "15:40"),
        ("ends", "23:00"),
        ("day", "2026-01-02"),
        ("rate", "9999"),
        ("penalises_lateness", "off"),
        ("ignores_site_tasks", "on"),
    ];
    for changed in dear {
        manager.post(&page, &with("1", &[changed])).await.is(409, OWN);
    }
    manager.post(&format!("{page}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, OWN);
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.is(409, OWN);
    has_no_say_in_its_tasks(&cafe, &page).await;
    manager.post("/me/language", &[("language", "ru")]).await;
    manager.post(&page, &with("1", &[("ends", "23:00")])).await.is(409, OWN_IN_RUSSIAN).is(409, "У вас есть место");
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.is(409, OWN_IN_RUSSIAN);
    // What pays her nothing she keeps in order, and what is somebody else's too.
    manager.post(&page, &with("1", &[("title", "Cashier"), ("capacity", "3")])).await.leads_to(&page);
    let (doors, shifts) = (Sites::of_app(&cafe.cabinet.app), Shifts::of_app(&cafe.cabinet.app));
    let about = AboutSlot::usual("2026-01-02".parse().unwrap(), Hours::new(10 * 60, 12 * 60));
    let his = doors.create_slot(&cafe.may, cafe.site, about.clone()).await.unwrap();
    shifts.plan(&cafe.boris, cafe.boris.id, his).await.unwrap();
    let longer = AboutSlot { hours: Hours::new(10 * 60, 13 * 60), ..about };
    doors.edit_slot(&cafe.may, his, 1, longer).await.unwrap();
    doors.delete_slot(&cafe.may, his, 2).await.unwrap();

    // She comes, and goes home: her hours end with the slot, as long as no owner says anything else.
    let shift = cafe.opens(&cafe.may, cafe.plans[0]).await;
    manager.post(&page, &with("2", &[("ends", "23:00"), ("capacity", "3")])).await.is(409, OWN_IN_RUSSIAN);
    owner.post(&page, &with("2", &[("ends", "18:00"), ("capacity", "3")])).await.leads_to(&page);
    cafe.cabinet.clock.advance(Duration::from_secs(9 * 3600));
    jobs::close_overdue(cafe.cabinet.app.clone()).await.unwrap();
    let lines = cafe.cabinet.app.payroll.of_shift(shift).await.unwrap();
    let amounts: Vec<_> = lines.iter().map(|line| line.amount.kopecks()).collect();
    assert_eq!(amounts, [58_367, -35_000], "two hours and twenty minutes, and 35 minutes late");
    cafe.cabinet.close().await;
}

/// The tasks of her slot are paid to her; those of the whole site are everybody's.
async fn has_no_say_in_its_tasks(cafe: &Cafe, page: &str) {
    let (owner, manager) = (cafe.cabinet.signed_in(ANNA).await, cafe.cabinet.signed_in(MAY).await);
    let doors = Sites::of_app(&cafe.cabinet.app);
    let hers = doors.create_task(&cafe.anna, cafe.site, Some(cafe.slot), task("Sweep", 100)).await.unwrap();
    assert!(!manager.get(page).await.body.contains("task\""), "no form for one");
    owner.get(page).await.is(200, "data-testid=\"save-task\"");
    let dear = [("text", "Sweep"), ("amount", "50000"), ("version", "1")];
    let of_task = format!("{page}/tasks/{hers}");
    for path in [format!("{page}/tasks"), of_task.clone(), format!("{of_task}/delete")] {
        manager.post(&path, &dear).await.is(409, OWN);
    }
    doors.delete_task(&cafe.anna, hers, 1).await.unwrap();
    manager.post(&format!("{of_task}/restore"), &[]).await.is(409, OWN);
    let everybodys = doors.create_task(&cafe.may, cafe.site, None, task("Lock up", -100)).await.unwrap();
    doors.delete_task(&cafe.may, everybodys, 1).await.unwrap();
}

#[tokio::test]
async fn a_managers_own_shift_is_closed_in_the_bot_or_by_an_owner() {
    let cafe = Cafe::new().await;
    let (owner, manager) = (cafe.cabinet.signed_in(ANNA).await, cafe.cabinet.signed_in(MAY).await);
    let (hers, his) = (cafe.opens(&cafe.may, cafe.plans[0]).await, cafe.opens(&cafe.boris, cafe.plans[1]).await);
    cafe.cabinet.clock.advance(Duration::from_secs(3600));
    let page = |shift: i64| format!("/shifts/{shift}");
    let close = |shift: i64| format!("/shifts/{shift}/close");
    let shown = manager.get(&page(hers)).await;
    assert!(!shown.body.contains("data-testid=\"close-shift\""), "{}", shown.body);
    manager.get(&page(his)).await.is(200, "data-testid=\"close-shift\"");
    let half_past = [("end", "at"), ("time", "2026-01-01T15:30")];
    for end in [&[][..], &half_past, &[("end", "by_itself")]] {
        manager.post(&close(hers), end).await.is(409, OWN);
    }
    let shifts = Shifts::of_app(&cafe.cabinet.app);
    assert_eq!(shifts.of(hers).await.unwrap().unwrap().status, ShiftStatus::Active);

    // Who says when a shift ended is asked about it later; so it stands in the audit.
    manager.post(&close(his), &half_past).await.leads_to(&page(his));
    owner.post(&close(hers), &[]).await.leads_to(&page(hers));
    let told = async |shift: i64| {
        let lines = audit::about(&cafe.cabinet.app.domain, ("shift", shift)).await.unwrap();
        lines.into_iter().map(|line| (line.actor, line.detail)).collect::<Vec<_>>()
    };
    let ended_at = NOON.plus(Duration::from_secs(1800));
    assert_eq!(told(his).await, [(Some(cafe.may.id), serde_json::json!({ "ended_at": ended_at }))]);
    assert_eq!(told(hers).await, [(Some(cafe.anna.id), serde_json::json!({}))]);
    cafe.cabinet.close().await;
}
