//! The pages of the business, through the router: sites, calendar, shifts, today, charts; and their permissions.

use workforce::person::{Permission, Role};
use workforce::sites::{AboutContract, ContractStatus, Sites};

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::kit::queries::QueryCounter;
use crate::kit::sql::run_sql;
use crate::payroll::post_352;

pub const MAY: i64 = 1004;

/// The form of a site.
const SITE: [(&str, &str); 14] = [
    ("name", "Cafe <One>"),
    ("address", "Lenin street, 1"),
    ("position", "55.75, 37.61"),
    ("time_zone", "Europe/Moscow"),
    ("opens", "09:00"),
    ("closes", "21:00"),
    ("rate", "250.50"),
    ("max_distance", "500"),
    ("auto_close", "60"),
    ("late_threshold", "5"),
    ("late_minute", "10"),
    ("d0", "on"),
    ("d1", "on"),
    ("d4", "on"),
];

#[tokio::test]
async fn an_owner_creates_a_site_and_no_edit_is_lost() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/sites").await.is(200, "No sites yet");
    let wrong = site_form_with(&[("rate", "much"), ("position", "here")]);
    owner.post("/sites", &wrong).await.is(422, "Enter an amount").is(422, "value=\"much\"");
    let site = make_site(&cabinet, &owner).await;
    let (path, tasks) = (format!("/sites/{site}"), format!("/sites/{site}/tasks"));
    owner.get("/sites").await.is(200, "Cafe &lt;One&gt;").is(200, "250.50");

    let task = [
        ("text", "Wash the floor"),
        ("price", "penalty"),
        ("amount", "33"),
        ("is_mandatory", "on"),
        ("needs_media", "on"),
    ];
    owner.post(&tasks, &task).await.redirects_to(&tasks);
    let page = owner.get(&tasks).await;
    page.is(200, "Wash the floor").is(200, "penalty 33").is(200, "needs a photo");
    let id = Sites::of_app(&cabinet.app).tasks(site, false).await.unwrap()[0].id;
    let edit = |version: &'static str, text: &'static str| {
        let (owner, path) = (owner.clone(), format!("{tasks}/{id}"));
        async move {
            owner.post(&path, &[("version", version), ("text", text), ("price", "penalty"), ("amount", "50")]).await
        }
    };
    edit("1", "Wash all floors").await.redirects_to(&tasks);
    let stale = edit("1", "Sweep the floor").await;
    stale.is(409, "Someone changed this first").is(409, "value=\"Sweep the floor\"").is(409, "Now: Wash all floors");
    owner.post(&format!("{tasks}/{id}/delete"), &[("version", "2")]).await.redirects_to(&tasks);
    owner.get(&tasks).await.is(200, "Restore");
    owner.post(&format!("{tasks}/{id}/restore"), &[]).await.redirects_to(&tasks);

    let renamed = [&site_form_with(&[("name", "Cafe Two")])[..], &[("version", "1")]].concat();
    owner.post(&path, &renamed).await.redirects_to(&path);
    let stale = [&site_form_with(&[("name", "Cafe Three")])[..], &[("version", "1")]].concat();
    owner.post(&path, &stale).await.is(409, "value=\"Cafe Three\"").is(409, "Now: Cafe Two");
    let version = Sites::of_app(&cabinet.app).site(site).await.unwrap().unwrap().version.to_string();
    owner.post(&format!("{path}/delete"), &[("version", &version)]).await.redirects_to(&path);
    owner.get("/sites").await.is(200, "Deleted sites").is(200, "Cafe Two");
    owner.post(&format!("{path}/restore"), &[]).await.redirects_to(&path);
    cabinet.close().await;
}

#[tokio::test]
async fn slots_are_filled_copied_moved_and_deleted() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await.to_string();
    let slot = [("starts", "09:00"), ("ends", "18:00"), ("capacity", "2"), ("rate", ""), ("penalises_lateness", "on")];
    let with = |more: &[(&'static str, &str)]| -> Vec<(String, String)> {
        let all = slot.iter().copied().chain(more.iter().copied()).chain([("site", site.as_str())]);
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let week = format!("/calendar?site={site}&day=2026-01-05");
    post(&owner, "/calendar/slots", &with(&[("day", "someday")]))
        .await
        .is(422, "Enter a date, for example Dec 31, 2026.");
    post(&owner, "/calendar/slots", &with(&[("day", "2026-01-07"), ("title", "Cashier")])).await;
    owner.get(&week).await.is(200, "09:00–18:00").is(200, "0/2").is(200, "Cashier");
    // Working days are Monday, Tuesday and Friday.
    let filled = post(&owner, "/calendar/fill", &with(&[("from", "2026-01-05"), ("to", "2026-01-11")])).await;
    filled.redirects_to(&week);
    owner.get(&week).await.is(200, "3 new shifts.");
    assert_eq!(slots(&owner, &week).await.len(), 4);
    let copied = [("site", site.as_str()), ("from", "2026-01-05"), ("to", "2026-01-12")];
    let next = format!("/calendar?site={site}&day=2026-01-12");
    owner.post("/calendar/copy-week", &copied).await.redirects_to(&next);
    assert_eq!(slots(&owner, &next).await.len(), 4);
    owner.post("/calendar/copy-week", &copied).await.redirects_to(&next);
    owner.get(&next).await.is(200, "No new shifts");
    assert_eq!(slots(&owner, &next).await.len(), 4, "copied once");

    let id = &slots(&owner, &week).await[0];
    let path = format!("/calendar/slots/{id}");
    let moved = [("day", "2026-01-08"), ("version", "1")];
    owner.post(&format!("{path}/move"), &moved).await.redirects_to(&format!("/calendar?site={site}&day=2026-01-08"));
    owner.get(&path).await.is(200, "Jan 8, 2026");
    owner.post(&format!("{path}/move"), &moved).await.is(409, "Someone changed this first");
    let task = [("text", "Bring the keys"), ("price", "penalty"), ("amount", "40")];
    owner.post(&format!("{path}/tasks"), &task).await.redirects_to(&path);
    owner.get(&path).await.is(200, "Bring the keys").is(200, "penalty 40");
    owner.post(&format!("{path}/delete"), &[("version", "2")]).await.redirects_to(&path);
    assert_eq!(slots(&owner, &week).await.len(), 3);
    owner.get(&week).await.is(200, "Deleted shifts").is(200, &format!("deleted-{id}"));
    owner.post(&format!("{path}/restore"), &[]).await.redirects_to(&path);
    assert_eq!(slots(&owner, &week).await.len(), 4);
    owner.get(&format!("/calendar?site={site}&view=month&day=2026-01-05")).await.is(200, "January 2026");
    cabinet.close().await;
}

#[tokio::test]
async fn a_shift_page_shows_tasks_and_explains_amounts() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    add_example_shift(&cabinet, site, boris, 352).await;
    post_352(&cabinet.app, boris, "2026-01-01").await;
    let page = owner.get("/shifts/352").await;
    page.is(200, "Boris").is(200, "15 min late, 5 forgiven: 10 min at").is(200, "Drive 123 km").is(200, "30.77");
    page.is(200, "task-mark done").is(200, "m from the site");
    owner.get("/shifts").await.is(200, "shift-352").is(200, "30.77");
    // A person sees their own shifts only.
    let own = cabinet.signed_in(BORIS).await;
    own.get("/shifts/352").await.is(200, "30.77");
    own.get("/shifts").await.is(200, "shift-352");
    let anna = cabinet.person(ANNA).await.id;
    add_example_shift(&cabinet, site, anna, 353).await;
    own.get("/shifts/353").await.is(403, "You don't have access to this page");
    own.post("/shifts/352/close", &[]).await.is(403, "You don't have access to this page");
    let charts = owner.get("/charts?period=2026-01").await;
    charts.is(200, "<rect").is(200, "30.77");
    // A scale with round numbers and units, and every value as a table.
    charts.is(200, ">1 h</text>").is(200, ">40\u{a0}₽</text>").is(200, ">0.07 h</td>");
    charts.is(200, ">2 late starts</td>").is(200, "aria-label=\"Cost by day, January 2026.");
    cabinet.close().await;
}

#[tokio::test]
async fn today_shows_working_late_and_missing_people() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let (anna, boris) = (cabinet.person(ANNA).await.id, cabinet.person(BORIS).await.id);
    // Noon in UTC is three in Moscow. Boris came ten minutes late, Anna has not come.
    sql(&cabinet, format!(
        "INSERT INTO time_slots (id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, capacity, taken,
            created_at, updated_at) VALUES (1, {site}, '2026-01-01', 780, 1080, 1767261600000, 1767279600000, 3, 2, 0, 0);
        INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
            VALUES (1, {boris}, 1, {site}, 1767261600000, 1767279600000, 'in_progress', 0, 0),
                (2, {anna}, 1, {site}, 1767261600000, 1767279600000, 'planned', 0, 0);
        INSERT INTO shifts (id, user_id, site_id, slot_id, plan_id, planned_start, planned_end, started_at, rate_kopecks,
            penalises_lateness, late_threshold_minutes, late_minute_kopecks)
            VALUES (1, {boris}, {site}, 1, 1, 1767261600000, 1767279600000, 1767262500000, 100, TRUE, 5, 1000)"
    )).await;
    let page = owner.get("/").await;
    for (name, count) in [("working", 1), ("late", 1), ("missing", 1), ("open", 0)] {
        let found = page.body.split(&format!("data-testid=\"today-{name}\">")).nth(1).unwrap();
        assert!(found.starts_with(&count.to_string()), "{name}: {found:.40}");
    }
    page.is(200, "15 min late, 5 forgiven").is(200, "no-show").is(200, "1 open spot today");
    // The rest of the shift that goes on.
    assert_eq!(page.body.matches("part tone-info planned").count(), 1, "{}", page.body);
    // What needs attention comes first, each with its button.
    page.is(200, "hasn't clocked in").is(200, "1 open spot today").is(200, "/calendar?day=2026-01-01&amp;slot=1");
    page.is(200, "working since 13:15, until 18:00").is(200, "<h1>Thursday, January 1</h1>");
    let other = cabinet.signed_in(BORIS).await.get("/").await;
    assert!(!other.body.contains("today-working"), "{}", other.body);
    cabinet.close().await;
}

#[tokio::test]
async fn managers_need_permissions_for_pages() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = cabinet.hire(MAY, "May", Role::Manager).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    let (owner, employee) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let site = make_site(&cabinet, &owner).await;
    let path = format!("/sites/{site}");
    let manager = cabinet.signed_in(MAY).await;
    for browser in [&employee, &manager] {
        for place in ["/sites", &path, "/calendar", "/cancellations", "/charts", "/people"] {
            browser.get(place).await.is(403, "You don't have access to this page");
        }
        browser.post("/sites", &SITE).await.is(403, "You don't have access to this page");
        browser.post(&format!("{path}/tasks"), &[("text", "x")]).await.is(403, "You don't have access to this page");
    }
    let (room, anna) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    room.set_permissions(&anna, may.id, site, vec![Permission::View]).await.unwrap();
    manager.get(&path).await.is(200, "Lenin street, 1");
    let page = manager.get(&format!("{path}/tasks")).await;
    assert!(!page.is(200, "").body.contains("new-task"), "{}", page.body);
    for tab in ["staff", "settings"] {
        manager.get(&format!("{path}/{tab}")).await.is(403, "You don't have access to this page");
    }
    manager
        .post(&format!("{path}/tasks"), &[("text", "x"), ("price", "free")])
        .await
        .is(403, "You don't have access to this page");
    room.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Edit]).await.unwrap();
    manager
        .post(&format!("{path}/tasks"), &[("text", "Sweep"), ("price", "free")])
        .await
        .redirects_to(&format!("{path}/tasks"));
    cabinet.close().await;
}

#[tokio::test]
async fn owners_create_and_change_contracts() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    let path = format!("/people/{boris}/contracts");
    owner.get(&path).await.is(200, "New contract");
    let ticked = format!("site{site}");
    let contract = [("status", "active"), ("rate", "300"), (ticked.as_str(), "on"), ("allows_spontaneous", "on")];
    owner.post(&path, &contract).await.redirects_to(&path);
    owner.get(&format!("/people/{boris}")).await.is(200, "300\u{a0}₽").is(200, "Cafe &lt;One&gt;");
    let found = Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap().remove(0);
    let expected = AboutContract {
        status: ContractStatus::Active,
        rate_kopecks: Some(30_000),
        allows_spontaneous: true,
        sites: vec![site],
        valid_from: None,
        valid_until: None,
    };
    assert_eq!(found.about, expected);
    let edit = [("status", "suspended"), ("rate", ""), ("version", "1")];
    owner.post(&format!("/contracts/{}", found.id), &edit).await.redirects_to(&path);
    owner.post(&format!("/contracts/{}", found.id), &edit).await.is(409, "Someone changed this first");
    let employee = cabinet.signed_in(BORIS).await;
    employee.post(&path, &contract).await.is(403, "You don't have access to this page");
    // Owners can restore a deleted contract.
    let own = format!("/contracts/{}", found.id);
    owner.post(&format!("{own}/delete"), &[("version", "2")]).await.redirects_to(&path);
    let page = owner.get(&path).await;
    page.is(200, "Deleted contracts").is(200, &format!("action=\"{own}/restore\""));
    employee.post(&format!("{own}/restore"), &[]).await.is(403, "You don't have access to this page");
    owner.post(&format!("{own}/restore"), &[]).await.redirects_to(&path);
    let back = Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap().remove(0);
    assert_eq!((back.deleted_at, back.about.status), (None, ContractStatus::Suspended));
    assert!(!owner.get(&path).await.body.contains("Deleted contracts"));
    cabinet.close().await;
}

#[tokio::test]
async fn pages_run_no_more_queries_for_many_sites() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    add_example_shift(&cabinet, site, boris, 352).await;
    let pages = ["/", "/sites", "/calendar", "/calendar?view=month", "/shifts", "/shifts/352", "/charts"];
    let count = async |browser: &Browser| {
        let mut counts = Vec::new();
        for page in pages {
            counts.push(queries.count(async || browser.get(page).await).await);
        }
        counts
    };
    let few = count(&owner).await;
    sql(&cabinet, format!(
        "WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 1060)
        INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, updated_at)
            SELECT i, 'Site ' || i, 'x', 'Europe/Moscow', 540, 1260, 100, 0, 0 FROM n;
        INSERT INTO time_slots (site_id, day, starts_minute, ends_minute, starts_at, ends_at, created_at, updated_at)
            SELECT id, '2026-01-01', 780, 1080, 1767261600000, 1767279600000, 0, 0 FROM sites WHERE id > 1000;
        INSERT INTO shifts (user_id, site_id, status, started_at, ended_at, rate_kopecks, penalises_lateness,
            late_threshold_minutes, late_minute_kopecks)
            SELECT {boris}, id, 'completed', 1767261600000, 1767279600000, 100, FALSE, 0, 0 FROM sites WHERE id > 1000"
    )).await;
    let many = count(&owner).await;
    assert_eq!(few, many, "of {pages:?}");
    assert!(many.iter().all(|count| *count <= 16), "{many:?}");
    owner.get("/sites").await.is(200, "1 of 2");
    // Sixty slots of one day are summed up. Those of one site are shown.
    let day = "/calendar?day=2026-01-01";
    owner.get(&format!("{day}&view=month")).await.is(200, "60 shifts, 0 of 60 spots taken");
    assert!(slots(&owner, day).await.is_empty());
    assert_eq!(slots(&owner, &format!("{day}&site=1001")).await.len(), 1);
    let listed = async |path: &str| {
        let page = owner.get(path).await;
        let way = |rel: &str| {
            let link = page.body.split(&format!("rel=\"{rel}\" href=\"")).nth(1)?;
            Some(link.split('"').next()?.replace("&amp;", "&"))
        };
        let ids: Vec<_> =
            page.body.split("data-testid=\"shift-").skip(1).map(|id| id.split('"').next().unwrap()).collect();
        (ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), way("prev"), way("next"))
    };
    // Paging shows every shift exactly once.
    let (first, newer, older) = listed("/shifts").await;
    assert_eq!((first.len(), newer), (50, None));
    let (second, newer, older) = listed(&older.unwrap()).await;
    assert_eq!((second.len(), older), (11, None));
    assert!(first.iter().all(|id| !second.contains(id)));
    assert_eq!(listed(&newer.unwrap()).await.0, first);
    owner.get("/shifts?before=here").await.is(404, "Page not found");
    cabinet.close().await;
}

/// A shift of Boris from one o'clock, planned until two. It is three now.
async fn add_forgotten_shift(cabinet: &Cabinet, site: i64, id: i64) {
    let boris = cabinet.person(BORIS).await.id;
    sql(cabinet, format!(
        "INSERT INTO shifts (id, user_id, site_id, status, planned_start, planned_end, started_at, rate_kopecks,
            penalises_lateness, late_threshold_minutes, late_minute_kopecks)
            VALUES ({id}, {boris}, {site}, 'active', 1767261600000, 1767265200000, 1767261600000, 10000, FALSE, 5, 1000);
        INSERT INTO shift_tasks (shift_id, source, place, text, amount_kopecks, is_mandatory, needs_media)
            VALUES ({id}, 'site', 1, 'Lock the door', -3300, TRUE, FALSE)"
    )).await;
}

#[tokio::test]
async fn closing_a_shift_names_its_hours_and_total() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    add_forgotten_shift(&cabinet, site, 401).await;
    // The undone task costs 33.
    let page = owner.get("/shifts/401").await;
    page.is(200, ">as scheduled: Jan 1, 2026, 14:00 (1.00 h, 67\u{a0}₽)</option>");
    page.is(200, ">now (2.00 h, 167\u{a0}₽)</option>").is(200, "This can't be undone.");
    // A typed time has no total yet. The form comes back with it, and the second press closes the shift.
    let form = [("end", "at"), ("time", "2026-01-01T14:30")];
    let asked = owner.post("/shifts/401/close", &[&form[..], &[("seen", "")]].concat()).await;
    asked
        .is(409, "Until that time it's 1.50 h and 117\u{a0}₽.")
        .is(409, "<dialog class=\"dialog\" id=\"close-shift-now\" open");
    asked.is(409, "name=\"seen\" value=\"1767267000000 11700\"");
    let seen = ("seen", "1767267000000 11700");
    let later = [("end", "at"), ("time", "2026-01-01T14:45"), seen];
    owner.post("/shifts/401/close", &later).await.is(409, "Until that time it's 1.75 h and 142\u{a0}₽.");
    let closed = owner.post("/shifts/401/close", &[&form[..], &[seen]].concat()).await;
    closed.redirects_to("/shifts/401");
    owner.get("/shifts/401").await.is(200, "The shift is over: 1.50 h, 117\u{a0}₽.");
    cabinet.close().await;
}

#[tokio::test]
async fn closing_a_shift_hides_pay_without_permission() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = cabinet.hire(MAY, "May", Role::Manager).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    let (owner, anna) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await);
    let site = make_site(&cabinet, &owner).await;
    add_forgotten_shift(&cabinet, site, 401).await;
    let room = Sites::of_app(&cabinet.app);
    room.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Schedule]).await.unwrap();
    let manager = cabinet.signed_in(MAY).await;
    let page = manager.get("/shifts/401").await;
    page.is(200, ">now (2.00 h)</option>");
    assert!(!page.body.contains("\u{a0}₽"), "{}", page.body);
    let form = [("end", "at"), ("time", "2026-01-01T14:30"), ("seen", "")];
    manager.post("/shifts/401/close", &form).await.redirects_to("/shifts/401");
    let page = manager.get("/shifts/401").await;
    page.is(200, "The shift is over.");
    assert!(!page.body.contains("\u{a0}₽"), "{}", page.body);
    cabinet.close().await;
}

/// The site form with some fields changed.
pub fn site_form_with(fields: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let other = |name: &str| fields.iter().find(|(changed, _)| *changed == name).map(|(_, value)| *value);
    SITE.iter().map(|(name, value)| (*name, other(name).unwrap_or(value))).collect()
}

pub async fn make_site(cabinet: &Cabinet, owner: &Browser) -> i64 {
    owner.get("/sites").await;
    let made = owner.post("/sites", &SITE).await;
    assert_eq!(made.status.as_u16(), 303, "{}", made.body);
    let site = Sites::of_app(&cabinet.app).list().await.unwrap().remove(0);
    made.redirects_to(&format!("/sites/{}", site.id));
    site.id
}

async fn post(browser: &Browser, path: &str, fields: &[(String, String)]) -> PageResponse {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post(path, &fields).await
}

/// The ids of the slots that a page shows.
async fn slots(browser: &Browser, path: &str) -> Vec<String> {
    let page = browser.get(path).await;
    page.is(200, "");
    let found =
        page.body.split("data-testid=\"slot-").skip(1).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    found.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The shift of the worked example, with a completed task.
pub async fn add_example_shift(cabinet: &Cabinet, site: i64, user: i64, id: i64) {
    sql(cabinet, format!(
        "INSERT INTO shifts (id, user_id, site_id, status, planned_start, planned_end, started_at, ended_at, rate_kopecks,
            penalises_lateness, late_threshold_minutes, late_minute_kopecks, opened_latitude, opened_longitude)
            VALUES ({id}, {user}, {site}, 'completed', 1767260700000, 1767279600000, 1767261600000, 1767261852000, 11100,
                TRUE, 5, 1000, 55.751, 37.61);
        INSERT INTO shift_tasks (shift_id, source, place, text, amount_kopecks, is_mandatory, needs_media, done_at)
            VALUES ({id}, 'site', 1, 'Drive 123 km', 12300, FALSE, FALSE, 1767261700000)"
    )).await;
}

pub async fn sql(cabinet: &Cabinet, statements: String) {
    for sql in statements.split(';') {
        run_sql(&cabinet.app.domain, sql).await;
    }
}
