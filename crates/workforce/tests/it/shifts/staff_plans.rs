//! Staff manage plans and sites on the pages: put a person into a slot, cancel the plan, open and close a site.

use opora::telegram::Telegram;
use workforce::audit;
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{PlanStatus, Shifts};
use workforce::sites::{AboutSlot, Hours, Sites};
use workforce::texts::Language;

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::{MAY, make_site};
use crate::shifts::about_contract;
use crate::sites::permissions::hire_may;

const ZOE: i64 = 1005;

/// A site where Boris has a contract and May is a manager. Zoe has no contract.
struct Cafe {
    cabinet: Cabinet,
    owner: Browser,
    anna: Person,
    boris: Person,
    may: Person,
    zoe: Person,
    site: i64,
}

impl Cafe {
    async fn open() -> Self {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
        let zoe = cabinet.hire(ZOE, "Zoe", Role::Employee).await;
        let owner = cabinet.signed_in(ANNA).await;
        let site = make_site(&cabinet, &owner).await;
        let cafe = Self { cabinet, owner, anna, boris, may, zoe, site };
        cafe.contract(&cafe.boris).await;
        cafe
    }

    fn sites(&self) -> Sites {
        Sites::of_app(&self.cabinet.app)
    }

    async fn contract(&self, person: &Person) {
        let about = about_contract(&[self.site], false);
        self.sites().create_contract(&self.anna, person.id, about).await.unwrap();
    }

    async fn slot(&self, from: i64, to: i64, title: &str) -> i64 {
        let usual = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(from * 60, to * 60));
        let about = AboutSlot { title: title.into(), capacity: 2, ..usual };
        self.sites().create_slot(&self.anna, self.site, about).await.unwrap()
    }

    async fn set_permissions(&self, allowed: &[Permission]) {
        self.sites().set_permissions(&self.anna, self.may.id, self.site, allowed.to_vec()).await.unwrap();
    }

    /// The audit lines: actor and sentence.
    async fn audit_lines(&self, kind: &str, id: i64) -> Vec<(Option<i64>, String)> {
        let lines = audit::about(&self.cabinet.app.domain, (kind, id)).await.unwrap();
        lines.iter().map(|line| (line.actor, audit::in_words(line, Language::En))).collect()
    }

    /// The people with a plan for a slot.
    async fn people_with_plans(&self, slot: i64) -> Vec<i64> {
        let slot = self.sites().slot(slot).await.unwrap().unwrap();
        let plans = Shifts::of_app(&self.cabinet.app).plans_for(&[slot]).await.unwrap();
        plans.iter().map(|plan| plan.user_id).collect()
    }
}

async fn put_into_slot(browser: &Browser, slot: i64, person: &Person) -> PageResponse {
    browser.post(&format!("/calendar/slots/{slot}/plans"), &[("user", &person.id.to_string())]).await
}

/// The card of a slot in the calendar.
fn card(calendar: &PageResponse, slot: i64) -> String {
    let begin = calendar.body.split(&format!("data-testid=\"slot-{slot}\"")).nth(1);
    begin.and_then(|rest| rest.split("</a>").next()).unwrap_or_else(|| panic!("{}", calendar.body)).to_owned()
}

#[tokio::test]
async fn staff_add_and_cancel_plans() {
    let cafe = Cafe::open().await;
    let (early, late) = (cafe.slot(8, 16, "Early").await, cafe.slot(12, 20, "Late").await);
    let (path, owner) = (format!("/calendar/slots/{early}"), &cafe.owner);
    let page = owner.get(&path).await;
    page.is(200, "Assign someone").is(200, &format!("<option value=\"{}\">Boris</option>", cafe.boris.id));
    assert!(!page.body.contains(">Zoe</option>"), "she has no contract here: {}", page.body);
    put_into_slot(owner, early, &cafe.boris).await.redirects_to(&path);
    assert_eq!(cafe.people_with_plans(early).await, [cafe.boris.id]);
    let card = async |slot: i64| card(&owner.get("/calendar?day=2026-01-05").await, slot);
    assert!(card(early).await.contains("1/2") && card(early).await.contains("Boris"), "{}", card(early).await);
    assert!(card(late).await.contains("no one yet") && !card(late).await.contains("Boris"), "{}", card(late).await);
    // He is not offered for an overlapping slot, and a forced request is refused.
    owner.get(&format!("/calendar/slots/{late}")).await.is(200, "data-testid=\"no-one-free\"");
    put_into_slot(owner, late, &cafe.boris)
        .await
        .is(409, "data-testid=\"notice\"")
        .is(409, "This employee already has another shift");
    put_into_slot(owner, early, &cafe.zoe).await.is(409, "This employee has no active contract");
    owner.post(&format!("{path}/plans"), &[("user", "anyone")]).await.is(422, "data-testid=\"notice\"");
    assert_eq!((cafe.people_with_plans(early).await.len(), cafe.people_with_plans(late).await.len()), (1, 0));

    let shifts = Shifts::of_app(&cafe.cabinet.app);
    let plan = shifts.plans_of(cafe.boris.id, NOON).await.unwrap()[0].id;
    let cancel = format!("{path}/plans/{plan}/cancel");
    owner.get(&path).await.is(200, &format!("cancel-{plan}"));
    // The plan of one slot cannot be cancelled by the path of another.
    owner.post(&format!("/calendar/slots/{late}/plans/{plan}/cancel"), &[]).await.is(404, "Page not found");
    owner.post(&cancel, &[]).await.redirects_to(&path);
    assert_eq!(shifts.plan_of(plan).await.unwrap().unwrap().status, PlanStatus::Cancelled);
    assert!(card(early).await.contains("no one yet") && !card(early).await.contains("Boris"), "{}", card(early).await);
    let noted = ["Employee signed up for a shift", "Scheduled shift cancelled"];
    assert_eq!(cafe.audit_lines("plan", plan).await, noted.map(|words| (Some(cafe.anna.id), words.to_owned())));
    owner.post(&cancel, &[]).await.is(409, "data-testid=\"notice\"");
    put_into_slot(owner, late, &cafe.boris).await.redirects_to(&format!("/calendar/slots/{late}"));
    // Boris reads on his page how to cancel. The link appears when the bot's name is known.
    let (own, emulator) = (cafe.cabinet.signed_in(BORIS).await, &cafe.cabinet.emulator);
    let page = own.get("/schedule").await;
    page.is(200, "To cancel a shift, press");
    assert!(!page.body.contains("Go to the bot"), "{}", page.body);
    let telegram = Telegram::new(&emulator.token, &emulator.base).unwrap();
    cafe.cabinet.app.learn_bot_name(&telegram).await.unwrap();
    let name = emulator.bot("getMe", serde_json::json!({})).await["result"]["username"].clone();
    own.get("/schedule").await.is(200, &format!("href=\"https://t.me/{}\"", name.as_str().unwrap()));
    cafe.cabinet.close().await;
}

#[tokio::test]
async fn a_site_is_opened_and_closed_on_its_page() {
    let cafe = Cafe::open().await;
    let (path, owner, shifts) = (format!("/sites/{}", cafe.site), &cafe.owner, Shifts::of_app(&cafe.cabinet.app));
    owner.get(&path).await.is(200, "data-testid=\"open-site\"");
    owner.post(&format!("{path}/close"), &[]).await.is(409, "data-testid=\"notice\"");
    owner.post(&format!("{path}/open"), &[]).await.redirects_to(&path);
    owner.get(&path).await.is(200, "data-testid=\"close-site\"").is(200, ">open</span>");
    assert_eq!(shifts.openings(&[cafe.site]).await.unwrap().len(), 1);
    owner.post(&format!("{path}/open"), &[]).await.is(409, "data-testid=\"notice\"");
    owner.post(&format!("{path}/close"), &[]).await.redirects_to(&path);
    assert!(shifts.openings(&[cafe.site]).await.unwrap().is_empty());
    let noted = ["Site added", "Site opened", "Site closed"];
    assert_eq!(cafe.audit_lines("site", cafe.site).await, noted.map(|words| (Some(cafe.anna.id), words.to_owned())));
    cafe.cabinet.close().await;
}

#[tokio::test]
async fn managers_need_the_schedule_permission() {
    let cafe = Cafe::open().await;
    let slot = cafe.slot(8, 16, "Early").await;
    // She has a contract too, but needs the permission for plans here.
    cafe.contract(&cafe.may).await;
    put_into_slot(&cafe.owner, slot, &cafe.boris).await.redirects_to(&format!("/calendar/slots/{slot}"));
    let plan = Shifts::of_app(&cafe.cabinet.app).plans_of(cafe.boris.id, NOON).await.unwrap()[0].id;
    let (manager, employee) = (cafe.cabinet.signed_in(MAY).await, cafe.cabinet.signed_in(BORIS).await);
    let (page, site) = (format!("/calendar/slots/{slot}"), format!("/sites/{}", cafe.site));
    let deeds = [format!("{page}/plans/{plan}/cancel"), format!("{site}/open"), format!("{site}/close")];
    cafe.set_permissions(&[Permission::View, Permission::Edit, Permission::Employees]).await;
    for browser in [&manager, &employee] {
        for person in [&cafe.may, &cafe.boris] {
            put_into_slot(browser, slot, person).await.is(403, "You don't have access to this page");
        }
        for deed in &deeds {
            browser.post(deed, &[]).await.is(403, "You don't have access to this page");
        }
    }
    let shown = [manager.get(&page).await.body, manager.get(&site).await.body].concat();
    for hidden in ["data-testid=\"put\"", "data-testid=\"cancel-", "data-testid=\"open-site\""] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
    assert_eq!(cafe.people_with_plans(slot).await, [cafe.boris.id]);

    cafe.set_permissions(&[Permission::View, Permission::Schedule]).await;
    manager.get(&page).await.is(200, "data-testid=\"put\"");
    put_into_slot(&manager, slot, &cafe.may).await.redirects_to(&page);
    for (deed, back) in deeds.iter().zip([&page, &site, &site]) {
        manager.post(deed, &[]).await.redirects_to(back);
    }
    assert_eq!(cafe.people_with_plans(slot).await, [cafe.may.id]);
    cafe.cabinet.close().await;
}
