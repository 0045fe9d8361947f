//! A person's own schedule on the pages: free places are taken there, with a warning for long days.

use workforce::person::Role;
use workforce::shifts::Shifts;
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::make_site;
use crate::shifts::about_contract;
use crate::sites::deleted_sites::worked_and_cancelled;

const ZOE: i64 = 1005;

#[tokio::test]
async fn employees_take_free_places_on_the_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let zoe = cabinet.hire(ZOE, "Zoe", Role::Employee).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": ZOE, "first_name": "Zoe", "language_code": "en"})).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    for person in [&boris, &zoe] {
        let about = about_contract(&[site], false);
        room.create_contract(&anna, person.id, about).await.unwrap();
    }
    let slot = async |from: i64, to: i64, title: &str| {
        let hours = Hours::new(from * 60, to * 60);
        let about = AboutSlot { title: title.into(), ..AboutSlot::usual("2026-01-05".parse().unwrap(), hours) };
        room.create_slot(&anna, site, about).await.unwrap()
    };
    let (morning, noon, evening) =
        (slot(8, 16, "Early").await, slot(12, 20, "Middle").await, slot(16, 23, "Late").await);

    let own = cabinet.signed_in(BORIS).await;
    own.get("/").await.is(200, "3 spots left").is(200, "You have no shifts yet.");
    let page = own.get("/schedule").await;
    page.is(200, "Mon Jan 5, 2026, 08:00–16:00").is(200, "Early").is(200, &format!("take-{morning}"));
    own.post(&format!("/schedule/slots/{morning}/take"), &[]).await.redirects_to("/schedule");
    assert_eq!(Shifts::of_app(&cabinet.app).plans_of(boris.id, NOON).await.unwrap()[0].slot_id, morning);
    let page = own.get("/schedule").await;
    assert!(!page.body.contains(&format!("take-{noon}")), "it overlaps a plan: {}", page.body);
    page.is(200, "You already have another shift at that time").is(200, &format!("take-{evening}"));
    page.is(200, "15 hours");

    // A place that is taken, that overlaps a plan, or at a site without a contract is refused.
    let other = cabinet.signed_in(ZOE).await;
    other.post(&format!("/schedule/slots/{morning}/take"), &[]).await.is(409, "data-testid=\"notice\"");
    own.post(&format!("/schedule/slots/{noon}/take"), &[]).await.is(409, "data-testid=\"notice\"");
    owner.post(&format!("/schedule/slots/{evening}/take"), &[]).await.is(403, "You don't have access to this page");
    // Staff see the long day.
    own.post(&format!("/schedule/slots/{evening}/take"), &[]).await.redirects_to("/schedule");
    let calendar = format!("/calendar?site={site}&day=2026-01-05");
    owner.get(&calendar).await.is(200, "Boris: 15\u{a0}h on this day");
    owner.get(&format!("/calendar/slots/{evening}")).await.is(200, "Boris: 15\u{a0}h on this day");
    cabinet.close().await;
}

#[tokio::test]
async fn a_plan_is_shown_with_a_suspended_contract() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let owner = cabinet.signed_in(ANNA).await;
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about = about_contract(&[site], false);
    let contract = room.create_contract(&anna, boris.id, about.clone()).await.unwrap();
    let usual = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(8 * 60, 16 * 60));
    let slot = room.create_slot(&anna, site, AboutSlot { capacity: 2, ..usual }).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    let resting = AboutContract { status: ContractStatus::Suspended, ..about };
    room.edit_contract(&anna, contract, 1, resting).await.unwrap();
    let own = cabinet.signed_in(BORIS).await;
    for page in ["/schedule", "/"] {
        own.get(page).await.is(200, "<strong>Cafe &lt;One&gt;</strong>").is(200, "Mon Jan 5, 2026, 08:00–16:00");
    }
    own.get("/schedule").await.is(200, "No open shifts");
    cabinet.close().await;
}

#[tokio::test]
async fn an_own_shift_links_to_no_forbidden_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, own) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let site = make_site(&cabinet, &owner).await;
    let (shift, _) = worked_and_cancelled(&cabinet, site).await;
    let (page, link) = (format!("/shifts/{shift}"), format!("href=\"/sites/{site}\""));
    owner.get(&page).await.is(200, &link);
    let shown = own.get(&page).await;
    shown.is(200, "<dd>Cafe &lt;One&gt;</dd>");
    assert!(!shown.body.contains(&link), "{}", shown.body);
    cabinet.close().await;
}

#[tokio::test]
async fn free_places_of_three_weeks_can_be_paged() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let owner = cabinet.signed_in(ANNA).await;
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about = about_contract(&[site], false);
    room.create_contract(&anna, boris.id, about).await.unwrap();
    let slot = async |day: &str, from: i64, to: i64, title: &str| {
        let about = AboutSlot::usual(day.parse().unwrap(), Hours::new(from * 60, to * 60));
        room.create_slot(&anna, site, AboutSlot { title: title.into(), ..about }).await.unwrap()
    };
    // It is three in the afternoon there.
    let (over, begun) = (slot("2026-01-01", 8, 15, "").await, slot("2026-01-01", 10, 18, "").await);
    let (far, too_far) = (slot("2026-01-22", 8, 14, "").await, slot("2026-01-23", 8, 14, "").await);
    let own = cabinet.signed_in(BORIS).await;
    let page = own.get("/schedule").await;
    page.is(200, &format!("take-{begun}\"")).is(200, &format!("take-{far}\""));
    for hidden in [over, too_far] {
        assert!(!page.body.contains(&format!("take-{hidden}\"")), "{}", page.body);
    }
    assert!(!page.body.contains("page=2"), "{}", page.body);
    own.post(&format!("/schedule/slots/{begun}/take"), &[]).await.redirects_to("/schedule");

    for number in 0..60 {
        slot("2026-01-06", 10, 12, &format!("Post {number:02}")).await;
    }
    own.get("/").await.is(200, "61 spots left");
    let first = own.get("/schedule").await;
    first.is(200, "Post 59").is(200, "href=\"/schedule?page=2\"");
    assert!(!first.body.contains(&format!("take-{far}\"")), "{}", first.body);
    for after in ["2", "3"] {
        let last = own.get(&format!("/schedule?page={after}")).await;
        last.is(200, &format!("take-{far}\"")).is(200, "href=\"/schedule?page=1\"");
        assert!(!last.body.contains("Post 59"), "{}", last.body);
    }
    cabinet.close().await;
}
