//! The navigation for each role, its badges, the search, and toasts.

use axum::http::Method;
use serde_json::json;
use workforce::person::Role;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::kit::sql::run_sql;

const MIA: i64 = 1301;
const VERA: i64 = 1302;

/// The captions in the sidebar, in order.
fn sections(body: &str) -> Vec<&str> {
    let nav = body.split_once("id=\"sections\"").unwrap().1.split_once("</nav>").unwrap().0;
    nav.split("<span class=\"caption\">").skip(1).map(|rest| rest.split_once('<').unwrap().0).collect()
}

/// The count beside an item of the sidebar; empty for none.
async fn badge(browser: &Browser, name: &str) -> String {
    let body = browser.get("/me").await.body;
    let Some((_, rest)) = body.split_once(&format!("id=\"badge-{name}\"")) else { return "no badge".to_owned() };
    let badge = rest.split_once("</a>").unwrap().0;
    badge.split_once("count-badge\">").map_or("", |(_, rest)| rest.split_once('<').unwrap().0).to_owned()
}

#[tokio::test]
async fn every_role_sees_its_own_sections() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await.get("/").await;
    let all = ["Today", "Calendar", "Orders", "Shifts", "People", "Payroll", "Cancellations", "Sites", "Settings"];
    assert_eq!(sections(&owner.body), all);
    let employee = cabinet.signed_in(BORIS).await.get("/").await;
    let own = sections(&employee.body);
    assert!(own.starts_with(&["Today"]) && own.len() >= 3, "{own:?}");
    for hidden in ["People", "Payroll", "Cancellations", "Sites", "Settings", "Calendar"] {
        assert!(!own.contains(&hidden), "{own:?}");
    }
    cabinet.emulator.post("/users", json!({"id": MIA, "first_name": "Mia", "language_code": "en"})).await;
    cabinet.hire(MIA, "Mia", Role::Manager).await;
    let manager = cabinet.signed_in(MIA).await.get("/").await;
    assert!(!sections(&manager.body).contains(&"People"), "a manager without permissions");
    cabinet.close().await;
}

#[tokio::test]
async fn pages_that_belong_together_are_tabs() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.signed_in(ANNA).await;
    for (path, other) in [("/people", "/managers"), ("/managers", "/registrations"), ("/charts", "/payroll")] {
        let body = browser.get(path).await.is(200, "class=\"page-tabs\"").body.clone();
        let tabs = body.split_once("class=\"page-tabs\"").unwrap().1.split_once("</nav>").unwrap().0.to_owned();
        assert!(tabs.contains(&format!("href=\"{path}\" aria-current=\"page\"")), "{tabs}");
        assert!(tabs.contains(&format!("href=\"{other}\"")), "{tabs}");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn applications_are_counted_beside_people_for_owners_only() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    assert_eq!(badge(&anna, "people").await, "");
    let vera = cabinet.hire(VERA, "Vera", Role::Employee).await;
    run_sql(&cabinet.app.domain, format!("UPDATE users SET status = 'pending' WHERE id = {}", vera.id)).await;
    assert_eq!(badge(&anna, "people").await, "1");
    assert_eq!(badge(&boris, "people").await, "no badge");
    cabinet.close().await;
}

#[tokio::test]
async fn a_toast_is_shown_once_on_the_next_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.signed_in(ANNA).await;
    browser.post("/me/language", &[("language", "en")]).await.redirects_to("/me");
    // A part of another open page that reloads itself must not use the toast up.
    let live = browser.send(Method::GET, "/people", "", &[("x-opora-live", "1")]).await;
    assert!(!live.body.contains("data-testid=\"toast\""));
    browser.get("/me").await.is(200, "Everything is in English now.");
    assert!(!browser.get("/me").await.body.contains("data-testid=\"toast\""));
    cabinet.close().await;
}

#[tokio::test]
async fn a_toast_of_another_browser_is_not_shown() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    boris.post("/me/language", &[("language", "en")]).await.redirects_to("/me");
    let cookies = boris.cookies();
    let toast = cookies.split("; ").find_map(|pair| pair.strip_prefix("opora_toast=")).unwrap();
    let anna = anna.with_cookie("opora_toast", toast);
    assert!(!anna.get("/me").await.body.contains("data-testid=\"toast\""));
    cabinet.close().await;
}

#[tokio::test]
async fn the_search_finds_only_what_a_person_may_see() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let boris_id = cabinet.person(BORIS).await.id;
    let name = cabinet.person(BORIS).await.full_name;
    let (anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let query = format!("/search?q={}", name.to_lowercase());
    let hit = format!("class=\"hit\" href=\"/people/{boris_id}\"");
    anna.get(&query).await.is(200, &hit);
    assert!(!boris.get(&query).await.is(200, "").body.contains("class=\"hit\" href=\"/people/"));
    anna.get("/search?q=payr").await.is(200, "class=\"hit\" href=\"/payroll\"");
    assert!(!boris.get("/search?q=payr").await.is(200, "").body.contains("href=\"/payroll\""));
    anna.get("/search?q=%00%ff'%25").await.is(200, "data-testid=\"no-hits\"");
    cabinet.close().await;
}

#[tokio::test]
async fn the_page_of_components_is_for_the_demo_only() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.signed_in(ANNA).await;
    browser.get("/design").await.is(404, "");
    run_sql(&cabinet.app.domain, "DELETE FROM settings WHERE name = 'enable_test_users'").await;
    run_sql(
        &cabinet.app.domain,
        "INSERT INTO settings (name, value, changed_at) VALUES ('enable_test_users', 'true', 0)",
    )
    .await;
    let body = browser.get("/design?language=ru").await.is(200, "data-theme=\"dark\"").body.clone();
    assert!(body.contains("Элементы оформления") && !body.contains("design-"), "a text is missing");
    cabinet.close().await;
}

#[tokio::test]
async fn the_operators_page_speaks_one_language() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let browser = cabinet.signed_in(ANNA).await;
    browser.post("/me/language", &[("language", "ru")]).await.redirects_to("/me");
    browser.get("/me").await;
    let body = browser.get("/admin").await.is(200, "после перезапуска всё на месте").body.clone();
    assert!(!body.contains("restart loses"), "{body}");
    cabinet.close().await;
}
