//! A manager's own cancellation, plan, hours and contract are decided by owners.

use std::time::Duration;

use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{CancellationDetails, Reason, ShiftStart, ShiftStatus, Shifts, cancel, jobs, open};
use workforce::sites::{AboutContract, AboutSlot, ActionError, Hours, SiteRefusal, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::{MAY, make_site};
use crate::shifts::{Workplace, about_contract, chooses_from_menu, person, plans, task};
use crate::sites::permissions::hire_may;

const OWN_CASE: &str = "This is about you, so an owner decides.";
const OWN_CASE_IN_RUSSIAN: &str = "Это касается вас, поэтому решает владелец.";

/// May manages a cafe and works there beside Boris. Each has a place in a slot from 15:00 to 17:00, in Moscow. It is
/// 15:00.
struct Cafe {
    cabinet: Cabinet,
    anna: Person,
    may: Person,
    boris: Person,
    site: i64,
    slot: i64,
    /// May's and Boris' plans.
    plans: [i64; 2],
}

impl Cafe {
    async fn new() -> Self {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
        let site = make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
        let (room, shifts) = (Sites::of_app(&cabinet.app), Shifts::of_app(&cabinet.app));
        room.set_permissions(&anna, may.id, site, Permission::ALL.to_vec()).await.unwrap();
        let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
        let slot = room.create_slot(&anna, site, AboutSlot { capacity: 2, ..about }).await.unwrap();
        let mut plans = [0; 2];
        for (plan, person) in plans.iter_mut().zip([&may, &boris]) {
            room.create_contract(&anna, person.id, about_contract(&[site], false)).await.unwrap();
            *plan = shifts.plan(person, person.id, slot).await.unwrap();
        }
        Self { cabinet, anna, may, boris, site, slot, plans }
    }

    /// A person opens their planned shift now.
    async fn opens(&self, person: &Person, plan: i64) -> i64 {
        let (plan_id, at) = (Some(plan), self.cabinet.clock.now());
        let start = ShiftStart { user_id: person.id, site_id: self.site, plan_id, position: None, started_at: at, at };
        self.cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap()
    }
}

/// The slot's form with some fields changed.
fn slot_form<'a>(version: &'a str, changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let drawn = [("day", "2026-01-01"), ("starts", "15:00"), ("ends", "17:00"), ("capacity", "2"), ("rate", "")];
    let rest = [("title", ""), ("penalises_lateness", "on"), ("version", version)];
    let is_kept = |(name, _): &(&str, &str)| changed.iter().all(|(other, _)| other != name);
    let kept = drawn.into_iter().chain(rest).filter(is_kept);
    // An unticked box is not sent.
    kept.chain(changed.iter().copied()).filter(|(_, value)| *value != "off").collect()
}

#[tokio::test]
async fn owners_decide_a_managers_own_case_on_the_pages() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let shifts = Shifts::of_app(&cabinet.app);
    room.set_permissions(&anna, may.id, site, Permission::ALL.to_vec()).await.unwrap();
    let own = room.create_contract(&anna, may.id, about_contract(&[site], false)).await.unwrap();
    let theirs = room.create_contract(&anna, boris.id, about_contract(&[site], false)).await.unwrap();

    // Her own contract with a higher rate; and a new one, on the page and by her number.
    let dear = [("status", "active"), ("rate", "9999"), ("version", "1"), (&*format!("site{site}"), "on")];
    let page = format!("/people/{}/contracts", may.id);
    let shown = manager.get(&page).await;
    shown.is(200, "data-testid=\"own-case\"");
    for hidden in ["data-testid=\"save-contract\"", "data-testid=\"new-contract\""] {
        assert!(!shown.body.contains(hidden), "{hidden} in {}", shown.body);
    }
    manager.post(&format!("/contracts/{own}"), &dear).await.is(409, OWN_CASE);
    manager.post(&page, &dear).await.is(409, OWN_CASE);
    manager.post("/contracts/new", &[&dear[..], &[("who", &*MAY.to_string())]].concat()).await.is(409, OWN_CASE);
    assert_eq!(room.contracts_of(may.id).await.unwrap().len(), 1);
    assert_eq!(room.contract(own).await.unwrap().unwrap().about.rate_kopecks, None);
    manager.post(&format!("/contracts/{theirs}"), &dear).await.redirects_to(&format!("/people/{}/contracts", boris.id));

    // Her own plan can only be cancelled with a reason, in the bot.
    let day = "2026-01-02".parse().unwrap();
    let about = AboutSlot { capacity: 2, ..AboutSlot::usual(day, Hours::new(10 * 60, 12 * 60)) };
    let slot = room.create_slot(&anna, site, about).await.unwrap();
    let (hers, his) =
        (shifts.plan(&may, may.id, slot).await.unwrap(), shifts.plan(&boris, boris.id, slot).await.unwrap());
    let page = format!("/calendar/slots/{slot}");
    let shown = manager.get(&page).await;
    shown.is(200, &format!("cancel-{his}"));
    assert!(!shown.body.contains(&format!("cancel-{hers}")), "{}", shown.body);
    manager.post(&format!("{page}/plans/{hers}/cancel"), &[]).await.is(409, OWN_CASE);
    manager.post(&format!("{page}/plans/{his}/cancel"), &[]).await.redirects_to(&page);

    // Her reason waits for an owner.
    let excuse = CancellationDetails { reason: Reason::Illness, words: None, document: None, photo: None };
    let who = (may.id, "May".to_owned());
    let cancelling = cabinet.app.domain.write(move |db| Box::pin(cancel(db, hers, who, excuse, 24, Vec::new(), NOON)));
    cancelling.await.unwrap();
    let id = shifts.cancellations(&[site]).await.unwrap()[0].0.id;
    let judge = format!("/cancellations/{id}/judge");
    let shown = manager.get("/cancellations").await;
    shown.is(200, "data-testid=\"own-case\"");
    assert!(!shown.body.contains(&judge), "{}", shown.body);
    manager.post(&judge, &[("accepted", "true")]).await.is(409, OWN_CASE);
    owner.get("/cancellations").await.is(200, &judge);
    owner.post(&judge, &[("accepted", "false"), ("fine", "100000")]).await.redirects_to("/cancellations");
    let lines = cabinet.app.payroll.of_person(may.id, "2026-01".parse().unwrap()).await.unwrap().lines;
    assert_eq!(lines.len(), 2, "the reason, and the short notice");
    cabinet.close().await;
}

#[tokio::test]
async fn owners_judge_a_managers_own_reason_in_the_bot() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 60, 120, |_| {}).await;
    let max = workplace.firm.member("Max", &[Role::Manager]).await;
    let id = person(&workplace.firm, &max).await.id;
    workplace.sites.create_contract(&workplace.owner, id, about_contract(&[site], false)).await.unwrap();
    let allowed = vec![Permission::View, Permission::Employees];
    workplace.sites.set_permissions(&workplace.owner, id, site, allowed).await.unwrap();
    plans(&max).await;
    chooses_from_menu(&max, "📅 My shifts").await;
    max.presses("✖ Cancel Jan 1, 16:00–18:00").await;
    max.presses("Illness").await;
    max.presses("Skip").await;
    max.presses("Skip").await;
    max.sees("Shift cancelled: Shop");
    let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    let unsent: Vec<_> =
        unsent.iter().filter(|(_, _, notice)| matches!(notice, Notice::Cancelled { .. })).map(|one| one.1).collect();
    assert_eq!(unsent, [workplace.owner.id]);

    chooses_from_menu(&max, "📋 Today").await;
    max.sees("Shop");
    assert!(!max.transcript().contains("Accept"), "{}", max.transcript());
    let waiting = Shifts::of_app(&workplace.firm.app).cancellations(&[site]).await.unwrap()[0].0.id;
    max.presses_data(&format!("judge:yes:{waiting}")).await;
    max.sees_toast(OWN_CASE);
    let by_max = Shifts::of_app(&workplace.firm.app).judge(&person(&workplace.firm, &max).await, waiting, true).await;
    assert!(matches!(by_max, Err(ActionError::Refused(SiteRefusal::OwnCase))), "{by_max:?}");
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "📋 Today").await;
    owner.presses("✅ Accept, no penalty").await;
    owner.sees("Reason accepted, nothing is deducted.");
}

#[tokio::test]
async fn an_owner_may_decide_their_own_case() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    let (owner, shifts) = (&workplace.owner, Shifts::of_app(&workplace.firm.app));
    let id = workplace.sites.create_contract(owner, owner.id, about_contract(&[site], false)).await.unwrap();
    let dear = AboutContract { rate_kopecks: Some(100_000), ..about_contract(&[site], false) };
    workplace.sites.edit_contract(owner, id, 1, dear).await.unwrap();
    let plan = shifts.plan(owner, owner.id, slot).await.unwrap();
    shifts.cancel(owner, plan).await.unwrap();
    shifts.plan(owner, owner.id, slot).await.unwrap();
    let mut seen = workplace.sites.slot(slot).await.unwrap().unwrap();
    seen.about.penalises_lateness = false;
    workplace.sites.edit_slot(owner, slot, seen.version, seen.about).await.unwrap();
    workplace.sites.delete_slot(owner, slot, seen.version + 1).await.unwrap();
}

#[tokio::test]
async fn managers_cannot_change_the_pay_of_their_own_slot() {
    let cafe = Cafe::new().await;
    let (owner, manager) = (cafe.cabinet.signed_in(ANNA).await, cafe.cabinet.signed_in(MAY).await);
    let page = format!("/calendar/slots/{}", cafe.slot);
    let shown = manager.get(&page).await;
    shown.is(200, "data-testid=\"own-case\"").is(200, "data-testid=\"save-slot\"");
    assert!(!shown.body.contains("data-testid=\"delete-slot\""), "{}", shown.body);
    owner.get(&page).await.is(200, "data-testid=\"delete-slot\"");

    // She is late, and cannot change the start, delete the slot, or switch off lateness.
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
        manager.post(&page, &slot_form("1", &[changed])).await.is(409, OWN_CASE);
    }
    manager.post(&format!("{page}/move"), &[("day", "2026-01-02"), ("version", "1")]).await.is(409, OWN_CASE);
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.is(409, OWN_CASE);
    assert_tasks_are_refused(&cafe, &page).await;
    manager.post("/me/language", &[("language", "ru")]).await;
    manager
        .post(&page, &slot_form("1", &[("ends", "23:00")]))
        .await
        .is(409, OWN_CASE_IN_RUSSIAN)
        .is(409, "Вы записаны на эту смену");
    manager.post(&format!("{page}/delete"), &[("version", "1")]).await.is(409, OWN_CASE_IN_RUSSIAN);
    // She may change what does not affect her pay, and slots of others.
    manager.post(&page, &slot_form("1", &[("title", "Cashier"), ("capacity", "3")])).await.redirects_to(&page);
    let (room, shifts) = (Sites::of_app(&cafe.cabinet.app), Shifts::of_app(&cafe.cabinet.app));
    let about = AboutSlot::usual("2026-01-02".parse().unwrap(), Hours::new(10 * 60, 12 * 60));
    let his = room.create_slot(&cafe.may, cafe.site, about.clone()).await.unwrap();
    shifts.plan(&cafe.boris, cafe.boris.id, his).await.unwrap();
    let longer = AboutSlot { hours: Hours::new(10 * 60, 13 * 60), ..about };
    room.edit_slot(&cafe.may, his, 1, longer).await.unwrap();
    room.delete_slot(&cafe.may, his, 2).await.unwrap();

    // Her hours end with the slot, unless an owner changes it.
    let shift = cafe.opens(&cafe.may, cafe.plans[0]).await;
    manager.post(&page, &slot_form("2", &[("ends", "23:00"), ("capacity", "3")])).await.is(409, OWN_CASE_IN_RUSSIAN);
    owner.post(&page, &slot_form("2", &[("ends", "18:00"), ("capacity", "3")])).await.redirects_to(&page);
    cafe.cabinet.clock.advance(Duration::from_secs(9 * 3600));
    jobs::close_overdue(cafe.cabinet.app.clone()).await.unwrap();
    let lines = cafe.cabinet.app.payroll.of_shift(shift).await.unwrap();
    let amounts: Vec<_> = lines.iter().map(|line| line.amount.kopecks()).collect();
    assert_eq!(amounts, [58_367, -35_000], "two hours and twenty minutes, and 35 minutes late");
    cafe.cabinet.close().await;
}

/// The tasks of her slot are paid to her. Those of the site are for all people.
async fn assert_tasks_are_refused(cafe: &Cafe, page: &str) {
    let (owner, manager) = (cafe.cabinet.signed_in(ANNA).await, cafe.cabinet.signed_in(MAY).await);
    let room = Sites::of_app(&cafe.cabinet.app);
    let hers = room.create_task(&cafe.anna, cafe.site, Some(cafe.slot), task("Sweep", 100)).await.unwrap();
    assert!(!manager.get(page).await.body.contains("task\""), "the page has a form for tasks");
    owner.get(page).await.is(200, "data-testid=\"save-task\"");
    let dear = [("text", "Sweep"), ("price", "bonus"), ("amount", "50000"), ("version", "1")];
    let of_task = format!("{page}/tasks/{hers}");
    for path in [format!("{page}/tasks"), of_task.clone(), format!("{of_task}/delete")] {
        manager.post(&path, &dear).await.is(409, OWN_CASE);
    }
    room.delete_task(&cafe.anna, hers, 1).await.unwrap();
    manager.post(&format!("{of_task}/restore"), &[]).await.is(409, OWN_CASE);
    let everybodys = room.create_task(&cafe.may, cafe.site, None, task("Lock up", -100)).await.unwrap();
    room.delete_task(&cafe.may, everybodys, 1).await.unwrap();
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
        manager.post(&close(hers), end).await.is(409, OWN_CASE);
    }
    let shifts = Shifts::of_app(&cafe.cabinet.app);
    assert_eq!(shifts.shift(hers).await.unwrap().unwrap().status, ShiftStatus::Active);

    // The audit records who set the end of a shift.
    manager.post(&close(his), &half_past).await.redirects_to(&page(his));
    owner.post(&close(hers), &[]).await.redirects_to(&page(hers));
    let told = async |shift: i64| {
        let lines = audit::about(&cafe.cabinet.app.domain, ("shift", shift)).await.unwrap();
        lines.into_iter().map(|line| (line.actor, line.detail)).collect::<Vec<_>>()
    };
    let ended_at = NOON.plus(Duration::from_secs(1800));
    assert_eq!(told(his).await, [(Some(cafe.may.id), serde_json::json!({ "ended_at": ended_at }))]);
    assert_eq!(told(hers).await, [(Some(cafe.anna.id), serde_json::json!({}))]);
    cafe.cabinet.close().await;
}
