//! Every route of the product: who may call it, and that no value breaks it.
//!
//! The routes come from the router. A route without a row in [`ROWS`] fails here, so each new route has to list its
//! roles and fields.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use workforce::application;
use workforce::orders::{AboutOrder, Actor, NewOrder, Orders};
use workforce::person::{Permission, Person, Role};
use workforce::rooms::Rooms;
use workforce::sites::{AboutContract, AboutSlot, AboutTask, ContractStatus, Hours, Sites};

use self::rows::{ROWS, Row};
use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::kit::sql::run_sql;
use crate::overview::business_pages::make_site;

mod fuzz;
mod rows;
mod toasts;

const DAN: i64 = 1105;
const MIA: i64 = 1106;
const PAM: i64 = 1107;
const SUE: i64 = 1108;
const ZOE: i64 = 1109;
/// Fewer than the limit of pages per minute.
const PAGES_PER_MINUTE: usize = 25;

/// A firm with one of each thing that a route names.
struct RoutesFixture {
    cabinet: Cabinet,
    /// The ids for `{id}` and the like, by the beginning of a path.
    numbers: BTreeMap<&'static str, i64>,
    calls: usize,
}

impl RoutesFixture {
    /// Boris is an employee with a contract and a shift, Dan a dispatcher, Mia a manager without permissions, Pam a
    /// manager with all permissions at the site, Sue a superadmin. Zoe is there to be blocked.
    async fn open() -> (Self, Browser) {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        let owner = cabinet.signed_in(ANNA).await;
        let staff = [(DAN, Role::Dispatcher), (MIA, Role::Manager), (PAM, Role::Manager), (SUE, Role::Superadmin)];
        for (id, role) in staff.into_iter().chain([(ZOE, Role::Employee)]) {
            cabinet.emulator.post("/users", json!({"id": id, "first_name": "X", "language_code": "en"})).await;
            cabinet.hire(id, &format!("{role} {id}"), role).await;
        }
        let site = make_site(&cabinet, &owner).await;
        let (anna, boris, zoe) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, cabinet.person(ZOE).await);
        let pam = cabinet.person(PAM).await;
        let room = Sites::of_app(&cabinet.app);
        let all = [Permission::View, Permission::Edit, Permission::Delete, Permission::Employees];
        let all = [&all[..], &[Permission::Finances, Permission::Rates, Permission::Schedule]].concat();
        room.set_permissions(&anna, pam.id, site, all).await.unwrap();
        let (status, sites) = (ContractStatus::Active, vec![site]);
        let contract = AboutContract {
            status,
            rate_kopecks: None,
            allows_spontaneous: true,
            sites,
            valid_from: None,
            valid_until: None,
        };
        let contract = room.create_contract(&anna, boris.id, contract).await.unwrap();
        let slot = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
        let slot = room.create_slot(&anna, site, slot).await.unwrap();
        let task = AboutTask { text: "Sweep".into(), amount_kopecks: 0, is_mandatory: false, needs_media: false };
        let task = room.create_task(&anna, site, None, task).await.unwrap();
        let shift = add_shift(&cabinet, &boris, site).await;
        let order = add_order(&cabinet, &anna).await;
        let numbers = BTreeMap::from([
            ("/orders", order),
            ("/orders/clients", 1),
            ("/orders/prices", 1),
            ("/orders/kinds", 1),
            ("/people/{id}/contracts", boris.id),
            ("/people", zoe.id),
            ("/payroll/people", boris.id),
            ("/payroll", 1),
            ("/sites", site),
            ("/calendar/slots", slot),
            ("/schedule/slots", slot),
            ("/contracts", contract),
            ("/managers", cabinet.person(MIA).await.id),
            ("/shifts", shift),
            ("{task}", task),
        ]);
        (Self { cabinet, numbers, calls: 0 }, owner)
    }

    /// The path with ids of existing things.
    fn path(&self, row: &Row) -> String {
        let of =
            |name: &str| self.numbers.iter().rev().find(|(key, _)| name.starts_with(**key)).map_or(1, |(_, id)| *id);
        let path = row
            .path
            .replace("{task}", &of("{task}").to_string())
            .replace("/run/{name}", "/run/payroll")
            .replace("{name}", "style.css");
        let path = path.replace("{id}", &of(row.path).to_string());
        path.replace("{kind}", "staff")
            .replace("{deed}", "edit")
            .replace("{file}", "1")
            .replace("{item}", "1")
            .replace("{rule}", "1")
            .replace("{medium}", "1")
            .replace("{plan}", "1")
            .replace("{token}", "1")
            .replace("{queue}", "shifts")
            .replace("{broadcast}", "1")
    }

    /// Calls a route with these fields, and advances the clock now and then to stay within the rate limit.
    async fn call(&mut self, by: &Browser, row: &Row, path: &str, fields: &[(&str, &str)]) -> PageResponse {
        self.advance_clock_sometimes();
        if row.method == "POST" {
            return by.post(path, fields).await;
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields);
        by.get(&format!("{path}?{}", query.finish())).await
    }

    fn advance_clock_sometimes(&mut self) {
        self.calls += 1;
        if self.calls.is_multiple_of(PAGES_PER_MINUTE) {
            self.cabinet.clock.advance(Duration::from_secs(60));
        }
    }
}

async fn add_order(cabinet: &Cabinet, by: &Person) -> i64 {
    let about = AboutOrder {
        equipment_type: "Oven".into(),
        description: "It does not get warm".into(),
        client_name: "Anna Petrova".into(),
        phone: "+79990000001".into(),
        address: "Lenin street, 5".into(),
        position: None,
        notes: None,
        window: None,
    };
    let new = NewOrder { about, equipment_id: None, files: Vec::new() };
    Orders::of_app(&cabinet.app).create(&Actor::Member(by.clone()), new).await.unwrap().id
}

async fn add_shift(cabinet: &Cabinet, person: &Person, site: i64) -> i64 {
    let sql = format!(
        "INSERT INTO shifts (id, user_id, site_id, started_at, rate_kopecks, penalises_lateness,
        late_threshold_minutes, late_minute_kopecks) VALUES (352, {}, {site}, {}, 100, FALSE, 0, 0)",
        person.id,
        cabinet.app.clock.now().0
    );
    run_sql(&cabinet.app.domain, sql).await;
    352
}

#[test]
fn every_route_of_the_router_has_a_row() {
    let routes = application::routes(&Rooms::all());
    let mut routes: Vec<(&str, &str)> =
        routes.list().iter().map(|route| (route.path, if route.method == "GET" { "GET" } else { "POST" })).collect();
    let mut rows: Vec<(&str, &str)> = ROWS.iter().map(|row| (row.path, row.method)).collect();
    routes.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, routes, "each route has a row, and each row a route");
}

/// Dates such as `31.12.2026` are Russian.
#[tokio::test]
async fn english_pages_have_no_russian_dates() {
    let (mut fixture, owner) = RoutesFixture::open().await;
    for row in ROWS.iter().filter(|row| row.method == "GET" && row.who.contains('o')) {
        let path = fixture.path(row);
        let page = fixture.call(&owner, row, &path, row.fields).await;
        if page.header("content-type").starts_with("text/html") {
            let found = page.body.as_bytes().windows(10).find(|text| is_russian_date(text));
            assert_eq!(found.map(String::from_utf8_lossy), None, "{path}");
        }
    }
    fixture.cabinet.close().await;
}

fn is_russian_date(text: &[u8]) -> bool {
    text.iter().zip(b"00.00.0000").all(|(byte, form)| if *form == b'.' { byte == form } else { byte.is_ascii_digit() })
}

#[tokio::test]
async fn every_route_is_for_the_roles_of_its_row() {
    let (mut fixture, owner) = RoutesFixture::open().await;
    let mut people = vec![('o', owner)];
    for (letter, id) in [('e', BORIS), ('d', DAN), ('m', MIA), ('p', PAM), ('s', SUE)] {
        people.push((letter, fixture.cabinet.signed_in(id).await));
    }
    let guest = fixture.cabinet.browser();
    guest.get("/sign-in").await;
    let mut wrong = Vec::new();
    // Callers without the right come first, because the others' calls may change rights.
    for row in ROWS.iter().filter(|row| row.who != "*") {
        let path = fixture.path(row);
        for (letter, browser) in people.iter().filter(|(letter, _)| !row.who.contains(*letter)) {
            let status = fixture.call(browser, row, &path, row.fields).await.status.as_u16();
            if !matches!(status, 403 | 404) {
                wrong.push(format!("{letter} may not {} {path}: {status}", row.method));
            }
        }
        let answer = fixture.call(&guest, row, &path, row.fields).await;
        if (answer.status.as_u16(), answer.header("location").starts_with("/sign-in")) != (303, true) {
            wrong.push(format!("a guest may not {} {path}: {}", row.method, answer.status));
        }
    }
    for row in ROWS.iter().filter(|row| row.who != "*") {
        let path = fixture.path(row);
        for (letter, browser) in people.iter().filter(|(letter, _)| row.who.contains(*letter)) {
            let answer = fixture.call(browser, row, &path, row.fields).await;
            if answer.status.as_u16() == 403 || answer.header("location").starts_with("/sign-in") {
                wrong.push(format!("{letter} may {} {path}: {}", row.method, answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    fixture.cabinet.close().await;
}
