//! Who is notified of what on open pages, as a table of events and people. Managers need a permission for the site.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{ShiftEvent, ShiftEventKind, Shifts};
use workforce::sites::{AboutContract, AboutSlot, AboutTask, ContractStatus, Hours, Sites};
use workforce::web::Event;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{make_site, site_form_with};
use crate::web::live_pages::{Socket, next_message, open, serve};

/// Managers who see the site, judge there, see its pay, see another site, and have no permission; a dispatcher; and an
/// employee of the other site. Boris works at the site.
const PEOPLE: [(&str, i64, Role); 7] = [
    ("viewer", 1201, Role::Manager),
    ("judge", 1202, Role::Manager),
    ("payer", 1203, Role::Manager),
    ("elsewhere", 1204, Role::Manager),
    ("unpermitted", 1205, Role::Manager),
    ("dispatcher", 1206, Role::Dispatcher),
    ("other", 1207, Role::Employee),
];
/// Published to all after every event, so that there is an end to wait for.
const END: &str = "end";

struct Audience {
    cabinet: Cabinet,
    anna: Person,
    boris: Person,
    here: i64,
    pages: BTreeMap<&'static str, Socket>,
}

impl Audience {
    async fn open() -> Self {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        let owner = cabinet.signed_in(ANNA).await;
        let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
        let here = make_site(&cabinet, &owner).await;
        owner.post("/sites", &site_form_with(&[("name", "The other place")])).await;
        let room = Sites::of_app(&cabinet.app);
        let there = room.list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
        let mut browsers = vec![("owner", owner), ("worker", cabinet.signed_in(BORIS).await)];
        for (name, id, role) in PEOPLE {
            cabinet.emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
            let person = cabinet.hire(id, name, role).await;
            let permitted = match name {
                "viewer" => Some((here, Permission::View)),
                "judge" => Some((here, Permission::Employees)),
                "payer" => Some((here, Permission::Finances)),
                "elsewhere" => Some((there, Permission::View)),
                _ => None,
            };
            if let Some((site, what)) = permitted {
                room.set_permissions(&anna, person.id, site, vec![what]).await.unwrap();
            }
            browsers.push((name, cabinet.signed_in(id).await));
        }
        let other = cabinet.person(1207).await;
        for (person, site) in [(&boris, here), (&other, there)] {
            let (status, sites) = (ContractStatus::Active, vec![site]);
            let about = AboutContract {
                status,
                rate_kopecks: None,
                allows_spontaneous: false,
                sites,
                valid_from: None,
                valid_until: None,
            };
            room.create_contract(&anna, person.id, about).await.unwrap();
        }
        let address = serve(&cabinet).await;
        let mut pages = BTreeMap::new();
        for (name, browser) in &browsers {
            pages.insert(*name, open(address, browser).await);
        }
        let mut audience = Self { cabinet, anna, boris, here, pages };
        audience.notified().await;
        audience
    }

    fn sites(&self) -> Sites {
        Sites::of_app(&self.cabinet.app)
    }

    /// The pages that were notified since the last call. An exclamation mark means that the page got the details.
    async fn notified(&mut self) -> Vec<String> {
        self.cabinet.app.events.publish(Event::to_roles(END, &Role::ALL));
        let mut messages = Vec::new();
        for (name, page) in &mut self.pages {
            let (mut is_notified, mut has_details) = (false, false);
            loop {
                let news: Value = serde_json::from_str(next_message(page).await.to_text().unwrap()).unwrap();
                let topics = news["changed"].as_array().unwrap();
                is_notified |= topics.iter().any(|topic| topic != END);
                has_details |= !news["updates"].as_array().unwrap().is_empty();
                if topics.contains(&json!(END)) {
                    break;
                }
            }
            if is_notified {
                messages.push(format!("{name}{}", if has_details { "!" } else { "" }));
            }
        }
        messages
    }
}

#[tokio::test]
async fn managers_are_notified_only_with_a_permission() {
    let mut audience = Audience::open().await;
    let (room, shifts) = (audience.sites(), Shifts::of_app(&audience.cabinet.app));
    let (anna, boris, here) = (audience.anna.clone(), audience.boris.clone(), audience.here);

    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = room.create_slot(&anna, here, about).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "viewer!", "worker"], "a new slot");

    let site = room.site(here).await.unwrap().unwrap();
    room.edit(&anna, here, site.version, site.about.clone()).await.unwrap();
    assert_eq!(audience.notified().await, ["owner", "viewer", "worker"], "a changed site");

    let task = AboutTask { text: "Sweep".into(), amount_kopecks: 0, is_mandatory: false, needs_media: false };
    room.create_task(&anna, here, None, task).await.unwrap();
    assert_eq!(audience.notified().await, ["owner", "viewer", "worker"], "a new task");

    let plan = shifts.plan(&boris, boris.id, slot).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "viewer!", "worker!"], "a plan");
    shifts.cancel(&anna, plan).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "viewer!", "worker!"], "a plan that is cancelled");
    shifts.open_site(&anna, here).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "viewer!"], "a site that opens");

    let judged = ShiftEvent::new(ShiftEventKind::CancellationJudged, boris.id).at(here);
    judged.publish(&audience.cabinet.app);
    assert_eq!(audience.notified().await, ["judge!", "owner!", "payer!", "worker!"], "a reason that is judged");
    for happened in [
        ShiftEventKind::PlanMissed,
        ShiftEventKind::ShiftCreated,
        ShiftEventKind::ShiftChanged,
        ShiftEventKind::ShiftClosed,
    ] {
        ShiftEvent::new(happened, boris.id).at(here).publish(&audience.cabinet.app);
        assert_eq!(audience.notified().await, ["owner!", "viewer!", "worker!"], "a shift");
        // Managers are not notified of a shift without a site.
        ShiftEvent::new(happened, boris.id).publish(&audience.cabinet.app);
        assert_eq!(audience.notified().await, ["owner!", "worker!"], "a shift somewhere");
    }
    audience.cabinet.close().await;
}

#[tokio::test]
async fn contracts_and_permissions_are_told_to_few() {
    let mut audience = Audience::open().await;
    let (room, here) = (audience.sites(), audience.here);
    let (anna, unpermitted) = (audience.anna.clone(), audience.cabinet.person(1205).await);
    let site = room.site(here).await.unwrap().unwrap();
    room.create(&anna, site.about.clone()).await.unwrap();
    assert_eq!(audience.notified().await, ["owner"], "a new site");

    let (status, sites) = (ContractStatus::Draft, vec![here]);
    let about = AboutContract {
        status,
        rate_kopecks: None,
        allows_spontaneous: false,
        sites,
        valid_from: None,
        valid_until: None,
    };
    room.create_contract(&anna, unpermitted.id, about).await.unwrap();
    assert_eq!(audience.notified().await, ["owner", "unpermitted", "viewer"], "a contract");

    room.set_permissions(&anna, unpermitted.id, here, vec![Permission::View]).await.unwrap();
    assert_eq!(audience.notified().await, ["owner", "unpermitted"], "a permission");
    // A permission takes effect at once, and so does its removal.
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    room.create_slot(&anna, here, about.clone()).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "unpermitted!", "viewer!", "worker"], "a slot");
    room.set_permissions(&anna, unpermitted.id, here, Vec::new()).await.unwrap();
    audience.notified().await;
    room.create_slot(&anna, here, AboutSlot { title: "Two".into(), ..about }).await.unwrap();
    assert_eq!(audience.notified().await, ["owner!", "viewer!", "worker"], "another slot");
    audience.cabinet.close().await;
}
