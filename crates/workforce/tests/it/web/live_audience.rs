//! Who hears of what on open pages: a table of events and people. A manager hears of a site only with a permission for it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use workforce::person::{Permission, Person, Role};
use workforce::shifts::{Happened, Shifts, Update};
use workforce::sites::{AboutContract, AboutSlot, AboutTask, ContractStatus, Hours, Sites};
use workforce::web::Event;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::Kind;
use crate::overview::running_a_business::{changed, make_site};
use crate::web::live_pages::{Socket, listening, open, told};

/// Telegram numbers: managers who see the site, judge there, see its pay, see another site, and may nothing; a dispatcher;
/// and an employee of the other site. Boris works at the site.
const PEOPLE: [(&str, i64, Role); 7] = [
    ("viewer", 1201, Role::Manager),
    ("judge", 1202, Role::Manager),
    ("payer", 1203, Role::Manager),
    ("elsewhere", 1204, Role::Manager),
    ("nobody", 1205, Role::Manager),
    ("dispatcher", 1206, Role::Dispatcher),
    ("other", 1207, Role::Employee),
];
/// Told to everybody behind every event, so that there is an end to wait for.
const END: &str = "end";

struct Hall {
    cabinet: Cabinet,
    anna: Person,
    boris: Person,
    here: i64,
    pages: BTreeMap<&'static str, Socket>,
}

impl Hall {
    async fn open() -> Self {
        let cabinet = Cabinet::open(Kind::Sqlite).await;
        let owner = cabinet.signed_in(ANNA).await;
        let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
        let here = make_site(&cabinet, &owner).await;
        owner.post("/sites", &changed(&[("name", "The other place")])).await;
        let doors = Sites::of_app(&cabinet.app);
        let there = doors.list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
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
                doors.permit(&anna, person.id, site, vec![what]).await.unwrap();
            }
            browsers.push((name, cabinet.signed_in(id).await));
        }
        let other = cabinet.person(1207).await;
        for (person, site) in [(&boris, here), (&other, there)] {
            let (status, sites) = (ContractStatus::Active, vec![site]);
            let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites };
            doors.create_contract(&anna, person.id, about).await.unwrap();
        }
        let address = listening(&cabinet).await;
        let mut pages = BTreeMap::new();
        for (name, browser) in &browsers {
            pages.insert(*name, open(address, browser).await);
        }
        let mut hall = Self { cabinet, anna, boris, here, pages };
        hall.heard().await;
        hall
    }

    fn sites(&self) -> Sites {
        Sites::of_app(&self.cabinet.app)
    }

    /// Who has heard something since the last time: with an exclamation mark who was told what exactly.
    async fn heard(&mut self) -> Vec<String> {
        self.cabinet.app.events.publish(Event::to_roles(END, &Role::ALL));
        let mut heard = Vec::new();
        for (name, page) in &mut self.pages {
            let (mut is_told, mut is_told_what) = (false, false);
            loop {
                let news: Value = serde_json::from_str(told(page).await.to_text().unwrap()).unwrap();
                let topics = news["changed"].as_array().unwrap();
                is_told |= topics.iter().any(|topic| topic != END);
                is_told_what |= !news["updates"].as_array().unwrap().is_empty();
                if topics.contains(&json!(END)) {
                    break;
                }
            }
            if is_told {
                heard.push(format!("{name}{}", if is_told_what { "!" } else { "" }));
            }
        }
        heard
    }

    #[track_caller]
    fn is(&self, what: &str, heard: &[String], expected: &[&str]) {
        assert_eq!(heard, expected, "who hears of {what}");
    }
}

#[tokio::test]
async fn managers_hear_of_a_site_only_with_a_permission_for_it() {
    let mut hall = Hall::open().await;
    let (doors, shifts) = (hall.sites(), Shifts::of_app(&hall.cabinet.app));
    let (anna, boris, here) = (hall.anna.clone(), hall.boris.clone(), hall.here);

    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = doors.create_slot(&anna, here, about).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a new slot", &heard, &["owner!", "viewer!", "worker"]);

    let site = doors.of(here).await.unwrap().unwrap();
    doors.edit(&anna, here, site.version, site.about.clone()).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a changed site", &heard, &["owner", "viewer", "worker"]);

    let task = AboutTask { text: "Sweep".into(), amount_kopecks: 0, is_mandatory: false, needs_media: false };
    doors.create_task(&anna, here, None, task).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a new task", &heard, &["owner", "viewer", "worker"]);

    let plan = shifts.plan(&boris, boris.id, slot).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a plan", &heard, &["owner!", "viewer!", "worker!"]);
    shifts.cancel(&anna, plan).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a plan that is cancelled", &heard, &["owner!", "viewer!", "worker!"]);
    shifts.open_site(&anna, here).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a site that opens", &heard, &["owner!", "viewer!"]);

    let judged = Update::new(Happened::CancellationJudged, boris.id).at(here);
    judged.publish(&hall.cabinet.app);
    let heard = hall.heard().await;
    hall.is("a reason that is judged", &heard, &["judge!", "owner!", "payer!", "worker!"]);
    for happened in [Happened::PlanMissed, Happened::ShiftCreated, Happened::ShiftChanged, Happened::ShiftClosed] {
        Update::new(happened, boris.id).at(here).publish(&hall.cabinet.app);
        let heard = hall.heard().await;
        hall.is("a shift", &heard, &["owner!", "viewer!", "worker!"]);
        // Of what has no site managers hear nothing.
        Update::new(happened, boris.id).publish(&hall.cabinet.app);
        let heard = hall.heard().await;
        hall.is("a shift somewhere", &heard, &["owner!", "worker!"]);
    }
    hall.cabinet.close().await;
}

#[tokio::test]
async fn contracts_permissions_and_new_sites_are_told_to_few() {
    let mut hall = Hall::open().await;
    let (doors, here) = (hall.sites(), hall.here);
    let (anna, nobody) = (hall.anna.clone(), hall.cabinet.person(1205).await);
    let site = doors.of(here).await.unwrap().unwrap();
    doors.create(&anna, site.about.clone()).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a new site", &heard, &["owner"]);

    let (status, sites) = (ContractStatus::Draft, vec![here]);
    let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites };
    doors.create_contract(&anna, nobody.id, about).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a contract", &heard, &["nobody", "owner", "viewer"]);

    doors.permit(&anna, nobody.id, here, vec![Permission::View]).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a permission", &heard, &["nobody", "owner"]);
    // It counts at once, and so does its end.
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    doors.create_slot(&anna, here, about.clone()).await.unwrap();
    let heard = hall.heard().await;
    hall.is("a slot", &heard, &["nobody!", "owner!", "viewer!", "worker"]);
    doors.permit(&anna, nobody.id, here, Vec::new()).await.unwrap();
    hall.heard().await;
    doors.create_slot(&anna, here, AboutSlot { title: "Two".into(), ..about }).await.unwrap();
    let heard = hall.heard().await;
    hall.is("another slot", &heard, &["owner!", "viewer!", "worker"]);
    hall.cabinet.close().await;
}
