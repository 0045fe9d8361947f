//! Managers' permissions: owners give them on a page, and they decide which pay a manager sees.

use workforce::payroll::{Payroll, ShiftFacts, adjustments_of};
use workforce::person::{Permission, Person, Role, SitePermissions};
use workforce::sites::Sites;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::kit::queries::QueryCounter;
use crate::kit::sql::run_sql;
use crate::overview::business_pages::{MAY, make_site, site_form_with};
use crate::payroll::{roubles, shift_352};

const ZOE: i64 = 1005;

#[tokio::test]
async fn an_owner_changes_permissions_with_a_history() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (may, boris) = (hire_may(&cabinet).await, cabinet.person(BORIS).await);
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let path = format!("/managers/{}", may.id);
    let table = owner.get("/managers").await;
    table.is(200, "permissions-table").is(200, &format!("name=\"finances-{site}\" aria-label=\"May: see finances\""));
    owner.get(&format!("/people/{}", may.id)).await.is(200, &path);
    owner.get(&path).await.is(200, "No one has changed these permissions yet.");

    let (finances, edit) = (format!("finances-{site}"), format!("edit-{site}"));
    owner.post(&path, &[("seen", ""), (&finances, "on")]).await.redirects_to(&path);
    let room = Sites::of_app(&cabinet.app);
    let both = SitePermissions::from([(site, [Permission::View, Permission::Finances].into())]);
    assert_eq!(room.site_permissions(may.id).await.unwrap(), both, "every permission includes View");
    let ticked = format!("name=\"finances-{site}\" checked");
    owner.get("/managers").await.is(200, &ticked);
    owner.get(&path).await.is(200, "Cafe &lt;One&gt;: see the site, see finances (before: –)");

    // Another owner had the page open: nothing is overwritten, and nothing typed is lost.
    let stale = owner.post(&path, &[("seen", ""), (&edit, "on")]).await;
    stale.is(409, "Someone changed this first").is(409, &format!("name=\"{edit}\" checked"));
    stale.is(409, &format!("data-testid=\"now-{finances}\">Now: ticked"));
    assert_eq!(room.site_permissions(may.id).await.unwrap(), both);
    let seen = stale.body.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    owner.post(&path, &[("seen", &seen), (&edit, "on")]).await.redirects_to(&path);
    let now = SitePermissions::from([(site, [Permission::View, Permission::Edit].into())]);
    assert_eq!(room.site_permissions(may.id).await.unwrap(), now);
    owner.get(&path).await.is(200, "edit the site and tasks (before: see the site, see finances)");

    for browser in [&manager, &cabinet.signed_in(BORIS).await] {
        browser.get("/managers").await.is(403, "You don't have access to this page");
        browser.get(&path).await.is(403, "You don't have access to this page");
        browser.post(&path, &[("seen", &seen)]).await.is(403, "You don't have access to this page");
    }
    owner.get(&format!("/managers/{}", boris.id)).await.is(404, "Page not found");
    cabinet.close().await;
}

#[tokio::test]
async fn a_row_of_the_table_changes_one_site_only() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (may, owner) = (hire_may(&cabinet).await, cabinet.signed_in(ANNA).await);
    let (here, there) = (make_site(&cabinet, &owner).await, 900);
    let sql = "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, \
                updated_at) VALUES (900, 'Another', 'x', 'Europe/Moscow', 540, 1260, 100, 0, 0)";
    run_sql(&cabinet.app.domain, sql).await;
    let (path, table) = (format!("/managers/{}", may.id), format!("/managers?site={there}"));
    let (own, other) = (format!("view-{here}"), format!("edit-{there}"));
    owner.post(&path, &[("seen", ""), (&own, "on")]).await.redirects_to(&path);
    let row = [("site", "900"), ("seen", ""), (other.as_str(), "on")];
    owner.post(&path, &row).await.redirects_to(&table);
    owner.get(&table).await.is(200, "Permissions saved").is(200, &format!("name=\"{other}\" checked"));
    let both = SitePermissions::from([
        (here, [Permission::View].into()),
        (there, [Permission::View, Permission::Edit].into()),
    ]);
    let room = Sites::of_app(&cabinet.app);
    assert_eq!(room.site_permissions(may.id).await.unwrap(), both, "the other site stays");
    // The same form again is stale: nothing is overwritten, and the ticks stay.
    let stale = owner.post(&path, &[("site", "900"), ("seen", ""), ("rates-900", "on")]).await;
    stale.is(409, "Someone changed this first").is(409, "name=\"rates-900\" checked");
    assert_eq!(room.site_permissions(may.id).await.unwrap(), both);
    cabinet.close().await;
}

#[tokio::test]
async fn assets_need_no_queries() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = hire_may(&cabinet).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let (here, there) = (make_site(&cabinet, &owner).await, 900);
    let sql = "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, \
                updated_at) VALUES (900, 'Another', 'x', 'Europe/Moscow', 540, 1260, 100, 0, 0)";
    run_sql(&cabinet.app.domain, sql).await;
    let ticks = [(format!("finances-{here}"), "on"), (format!("finances-{there}"), "on")];
    let mut fields = vec![("seen", "")];
    fields.extend(ticks.iter().map(|(name, value)| (name.as_str(), *value)));
    owner.post(&format!("/managers/{}", may.id), &fields).await.redirects_to(&format!("/managers/{}", may.id));
    let mut anywhere = Sites::of_app(&cabinet.app).permitted_anywhere(may.id).await.unwrap();
    anywhere.sort_unstable();
    assert_eq!(anywhere, [Permission::View, Permission::Finances], "each permission once");
    let page = manager.get("/").await;
    let style = page.is(200, "/payroll").body.split('"').find(|word| word.starts_with("/assets/style.")).unwrap();
    assert_eq!(queries.count(async || manager.get(style).await).await, 0);
    cabinet.close().await;
}

#[tokio::test]
async fn managers_see_pay_only_with_the_finances_permission() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (may, boris) = (hire_may(&cabinet).await, cabinet.person(BORIS).await);
    let zoe = cabinet.hire(ZOE, "Zoe", Role::Employee).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let here = make_site(&cabinet, &owner).await;
    owner.post("/sites", &site_form_with(&[("name", "The other place")])).await;
    let there = Sites::of_app(&cabinet.app).list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
    post_example_shift(&cabinet, here, &boris, 352).await;
    post_example_shift(&cabinet, there, &boris, 353).await;
    post_example_shift(&cabinet, there, &zoe, 354).await;
    let paid = [("period", "2026-01"), ("kind", "bonus"), ("amount", "500"), ("reason", "A secret")];
    let amounts = format!("/payroll/people/{}/amounts", boris.id);
    assert_eq!(owner.post(&amounts, &paid).await.status.as_u16(), 303);

    let (of_boris, of_zoe) = (month_of(&boris), month_of(&zoe));
    let nothing = async || {
        for path in ["/payroll", &of_boris, &of_zoe, "/payroll/export.csv", "/payroll/timesheet.csv"] {
            manager.get(path).await.is(403, "You don't have access to this page");
        }
        assert!(!manager.get("/").await.body.contains("href=\"/payroll\""), "the navigation has no link");
    };
    nothing().await;
    permit(&owner, &may, &[("view", here), ("schedule", here), ("finances", there)], "").await;
    permit(&owner, &may, &[("view", here), ("schedule", here)], &format!("{here}:view,schedule;{there}:view,finances"))
        .await;
    nothing().await;

    permit(&owner, &may, &[("finances", here)], &format!("{here}:view,schedule")).await;
    let page = manager.get("/payroll").await;
    page.is(200, "Boris").is(200, "30.77").is(200, "Cafe &lt;One&gt;").is(200, "href=\"/payroll\"");
    for hidden in ["Zoe", "561.54", "61.54", "The other place", "export.xlsx", "Close", "data-testid=\"sum-paid\""] {
        assert!(!page.body.contains(hidden), "{hidden} in {}", page.body);
    }
    let page = manager.get(&of_boris).await;
    page.is(200, "“Drive 123 km”: done").is(200, "/shifts/352").is(200, "30.77");
    for hidden in ["A secret", "/shifts/353", "Mark as paid", "name=\"amount\"", "data-testid=\"due\""] {
        assert!(!page.body.contains(hidden), "{hidden} in {}", page.body);
    }
    manager.get(&of_zoe).await.is(403, "You don't have access to this page");
    let timesheet = manager.get("/payroll/timesheet.csv?period=2026-01").await;
    timesheet.is(200, "\"Boris\",\"Cafe <One>\",0.07,");
    for hidden in ["Zoe", "The other place"] {
        assert!(!timesheet.body.contains(hidden), "{hidden} in {}", timesheet.body);
    }
    let timesheet = owner.get("/payroll/timesheet.csv?period=2026-01").await;
    timesheet.is(200, "\"Zoe\",\"The other place\",0.07,").is(200, "\"Boris\",\"All sites\",0.14,");
    assert_eq!(timesheet.header("content-disposition"), "attachment; filename=\"timesheet-2026-01.csv\"");
    owner.get("/payroll/timesheet.xlsx?period=2026-01").await.is(200, "");
    manager.post(&amounts, &paid).await.is(403, "You don't have access to this page");
    for path in ["/payroll/export.csv", "/payroll/export.xlsx"] {
        manager.get(path).await.is(403, "You don't have access to this page");
    }
    cabinet.close().await;
}

pub async fn hire_may(cabinet: &Cabinet) -> Person {
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    cabinet.hire(MAY, "May", Role::Manager).await
}

fn month_of(person: &Person) -> String {
    format!("/payroll/people/{}?period=2026-01", person.id)
}

/// Posts the worked example at a site.
pub async fn post_example_shift(cabinet: &Cabinet, site: i64, person: &Person, shift_id: i64) {
    let (facts, tasks) = shift_352(person.id, "2026-01-01");
    let rows = adjustments_of(&ShiftFacts { shift_id, rate: roubles(111), ..facts }, &tasks);
    let written = cabinet.app.domain.write(move |db| Box::pin(Payroll::post_at(db, site, rows, NOON)));
    written.await.unwrap();
}

async fn permit(owner: &Browser, manager: &Person, allowed: &[(&str, i64)], seen: &str) {
    let path = format!("/managers/{}", manager.id);
    let names: Vec<String> = allowed.iter().map(|(name, site)| format!("{name}-{site}")).collect();
    let fields = names.iter().map(|name| (name.as_str(), "on")).chain([("seen", seen)]).collect::<Vec<_>>();
    owner.post(&path, &fields).await.redirects_to(&path);
}
