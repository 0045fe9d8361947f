//! The pay pages through the router: permissions and forms.

use std::time::Duration;

use chrono_tz::Asia::Vladivostok;
use opora::clock::Millis;
use workforce::person::{Permission, Role};
use workforce::shifts::{self, ClosedBy, ShiftEnd, ShiftStart};
use workforce::sites::{AboutContract, AboutSite, ContractStatus, Sites};

use super::{january, post_352};
use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::queries::QueryCounter;
use crate::kit::sql::run_sql;
use crate::overview::business_pages::{MAY, make_site, sql};
use crate::sites::permissions::hire_may;

on_databases! { [sqlite Sqlite, postgres Postgres]
    before_closing_a_month_open_items_are_shown,
}

#[tokio::test]
async fn an_owner_sees_a_month_and_changes_it() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    owner.get("/payroll").await.is(200, "No earnings this month yet");
    post_352(&cabinet.app, boris, "2026-01-01").await;
    plain(&owner, "/payroll").await.contains_all(&["January 2026", "Boris", "30.77 ₽", "due"]);
    let path = format!("/payroll/people/{boris}?period=2026-01");
    let shown = plain(&owner, &path).await;
    shown.contains_all(&["−100 ₽", "15 min late, 5 forgiven: 10 min at", "“Drive 123 km”: done"]);

    let amounts = format!("/payroll/people/{boris}/amounts");
    let new = |kind: &'static str, amount: &'static str, reason: &'static str| {
        let (owner, amounts) = (owner.clone(), amounts.clone());
        async move {
            let fields = [("period", "2026-01"), ("kind", kind), ("amount", amount), ("reason", reason)];
            owner.post(&amounts, &fields).await
        }
    };
    new("bonus", "=1+1", "A <b>happy</b> client").await.is(422, "A &lt;b&gt;happy&lt;/b&gt; client");
    new("bonus", "-5", "x").await.is(422, "Zero won't do");
    new("bonus", "69.23", "A <b>happy</b> client").await.redirects_to(&path);
    new("deduction", "33", "A broken cup").await.redirects_to(&path);
    let shown = plain(&owner, &path).await;
    shown.contains_all(&["A &lt;b&gt;happy&lt;/b&gt; client", "+69.23 ₽", "−33 ₽", "67 ₽"]);

    let lines = cabinet.app.payroll.of_person(boris, january()).await.unwrap().lines;
    let cup = lines.iter().find(|line| line.reason.as_deref() == Some("A broken cup")).unwrap().id;
    let user = boris.to_string();
    let edit = |version: &'static str, amount: &'static str, reason: &'static str| {
        let (owner, user) = (owner.clone(), user.clone());
        async move {
            let place = [("period", "2026-01"), ("user", user.as_str()), ("version", version)];
            let fields = [&place[..], &[("kind", "deduction"), ("amount", amount), ("reason", reason)]].concat();
            owner.post(&format!("/payroll/amounts/{cup}/change"), &fields).await
        }
    };
    edit("1", "30", "A small cup").await.redirects_to(&path);
    // Another person changed the amount first. Both versions are shown, and nothing is lost.
    let stale = edit("1", "50", "Two cups").await;
    stale.is(409, "Someone changed this first").is(409, "Now: A small cup").is(409, "value=\"Two cups\"");
    stale.is(409, "Now: 30").is(409, "value=\"50\"");
    let place = [("period", "2026-01"), ("user", user.as_str()), ("version", "2"), ("reason", "Removed")];
    owner.post(&format!("/payroll/amounts/{cup}/remove"), &place).await.redirects_to(&path);
    plain(&owner, &path).await.contains_all(&["Restore", "100 ₽"]);
    owner.post(&format!("/payroll/amounts/{cup}/restore"), &place[..2]).await.redirects_to(&path);
    plain(&owner, &path).await.contains_all(&["70 ₽", "Restored", "value=\"70\""]);
    cabinet.close().await;
}

#[tokio::test]
async fn an_edited_deduction_stays_one_unless_changed() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (payroll, anna, user) = (&cabinet.app.payroll, cabinet.person(ANNA).await.id, boris.to_string());
    let december = "2025-12".parse().unwrap();
    let minus = super::roubles(-500);
    payroll.add_manual(anna, boris, "2025-12-30".parse().unwrap(), minus, "A broken window").await.unwrap();
    let line = payroll.of_person(boris, december).await.unwrap().lines.remove(0).id;
    let path = format!("/payroll/people/{boris}?period=2025-12");
    let change = async |version: &str, fields: &[(&str, &str)]| {
        let place = [("period", "2025-12"), ("user", user.as_str()), ("version", version), ("reason", "Two windows")];
        owner.post(&format!("/payroll/amounts/{line}/change"), &[&place[..], fields].concat()).await
    };
    let totals = async || {
        let of = async |period| payroll.entry_of(boris, period).await.unwrap().map(|entry| entry.total.kopecks());
        (of(december).await, of(january()).await)
    };
    // The form shows the kind, and the amount without a sign.
    let chosen = "name=\"kind\" value=\"deduction\" required checked";
    owner.get(&path).await.is(200, chosen).is(200, "name=\"amount\" value=\"500\"");
    change("1", &[("kind", "deduction"), ("amount", "600")]).await.redirects_to(&path);
    assert_eq!(totals().await, (Some(-60_000), None));
    change("2", &[("kind", "bonus"), ("amount", "-600")]).await.is(422, "Zero won't do");
    change("2", &[("amount", "600")]).await.is(422, "Zero won't do");
    assert_eq!(totals().await, (Some(-60_000), None));
    // Choosing the other kind makes it a bonus. A later editor sees both versions.
    change("2", &[("kind", "bonus"), ("amount", "20")]).await.redirects_to(&path);
    let stale = change("2", &[("kind", "deduction"), ("amount", "700")]).await;
    stale.is(409, chosen).is(409, "value=\"700\"").is(409, "Now: Bonus").is(409, "Now: 20");
    change("3", &[("kind", "deduction"), ("amount", "600")]).await.redirects_to(&path);

    // In a closed month a larger deduction is a negative correction.
    payroll.close_period(anna, december).await.unwrap();
    owner.get(&path).await.is(200, chosen).is(200, "name=\"amount\" value=\"600\"");
    change("4", &[("kind", "deduction"), ("amount", "700")]).await.redirects_to(&path);
    assert_eq!(totals().await, (Some(-60_000), Some(-10_000)));
    owner.get(&path).await.is(200, chosen).is(200, "name=\"amount\" value=\"700\"");
    cabinet.close().await;
}

#[tokio::test]
async fn a_month_is_paid_closed_and_exported() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    post_352(&cabinet.app, boris, "2025-12-31").await;
    let path = format!("/payroll/people/{boris}?period=2025-12");
    owner.get(&path).await;
    let paid = [("period", "2025-12"), ("version", "1"), ("amount", "30.77")];
    owner.post(&format!("/payroll/people/{boris}/paid"), &paid).await.redirects_to(&path);
    owner.post(&format!("/payroll/people/{boris}/paid"), &paid).await.is(409, "Someone changed this first");
    plain(&owner, "/payroll?period=2025-12").await.contains_all(&["paid", "Close December 2025"]);
    let close = async |period: &str, total: &str, version: &str| {
        owner.post("/payroll/close", &[("period", period), ("total", total), ("version", version)]).await
    };
    close("2026-01", "0", "0").await.is(409, "isn't over yet");
    close("2025-12", "3077", "2").await.redirects_to("/payroll?period=2025-12");
    owner.get("/payroll?period=2025-12").await.is(200, "Closed on");
    close("2025-12", "3077", "2").await.is(409, "This month is closed.");

    let csv = owner.get("/payroll/export.csv?period=2025-12").await;
    csv.is(200, "\"Boris\",0.07,7.77,123.00,-100.00,30.77,30.77,0.00");
    assert_eq!(csv.header("content-disposition"), "attachment; filename=\"payroll-2025-12.csv\"");
    let xlsx = owner.get("/payroll/export.xlsx?period=2025-12").await;
    xlsx.is(200, "PK");
    assert!(xlsx.header("content-type").contains("spreadsheetml"));
    cabinet.close().await;
}

#[tokio::test]
async fn an_overpayment_is_confirmed_and_shown_as_an_advance() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    post_352(&cabinet.app, boris, "2025-12-31").await;
    let path = format!("/payroll/people/{boris}?period=2025-12");
    owner.get(&path).await;
    let pay = async |amount: &str, more: &[(&str, &str)]| {
        let fields = [&[("period", "2025-12"), ("version", "1"), ("amount", amount)], more].concat();
        owner.post(&format!("/payroll/people/{boris}/paid"), &fields).await
    };
    // The form keeps what was typed, and asks whether it is an advance.
    pay("100", &[]).await.is(409, "This is more than is due").is(409, "value=\"100\"").is(409, "name=\"is_advance\"");
    pay("100", &[("is_advance", "yes")]).await.redirects_to(&path);
    plain(&owner, &path).await.contains_all(&["overpaid by 69.23 ₽"]);
    plain(&owner, &format!("/payroll/people/{boris}?period=2026-01")).await.contains_all(&["No earnings this month."]);
    add_bonus(&cabinet, boris).await;
    let next = plain(&owner, &format!("/payroll/people/{boris}?period=2026-01")).await;
    next.contains_all(&["Counted from overpayment", "69.23 ₽", "value=\"30.77\""]);
    assert!(owner.post("/payroll/close", &[("period", "last month")]).await.status.is_client_error());
    cabinet.close().await;
}

#[tokio::test]
async fn an_advance_is_paid_on_a_page_without_earnings() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let path = format!("/payroll/people/{boris}?period=2026-01");
    let pay = async |more: &[(&str, &str)]| {
        let fields = [&[("period", "2026-01"), ("version", "0"), ("amount", "200")], more].concat();
        owner.post(&format!("/payroll/people/{boris}/paid"), &fields).await
    };
    let page = owner.get(&path).await;
    page.is(200, "No earnings this month.").is(200, "name=\"version\" value=\"0\"").is(200, "name=\"is_advance\"");
    pay(&[]).await.is(422, "you can pay an advance").is(422, "value=\"200\"").is(422, "name=\"is_advance\"");
    pay(&[("is_advance", "on")]).await.redirects_to(&path);
    pay(&[("is_advance", "on")]).await.is(409, "Someone changed this first");
    plain(&owner, &path).await.contains_all(&["overpaid by 200 ₽", "data-testid=\"payments\""]);
    plain(&owner, "/payroll?period=2026-01").await.contains_all(&["Boris", "overpaid by 200 ₽"]);
    cabinet.close().await;
}

#[tokio::test]
async fn links_to_future_months_end_with_the_next_month() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let has_ways = async |browser: &Browser, path: &str| {
        let page = browser.get(path).await;
        (
            page.is(200, "data-testid=\"period\"").body.contains("rel=\"next\""),
            page.body.contains("data-testid=\"pay\""),
        )
    };
    let of = |month: &str| format!("/payroll/people/{boris}?period={month}");
    assert_eq!(has_ways(&owner, &of("2026-01")).await, (true, true));
    assert_eq!(has_ways(&owner, &of("2026-02")).await, (false, true));
    assert_eq!(has_ways(&owner, &of("2026-03")).await, (false, false));
    let himself = cabinet.signed_in(BORIS).await;
    assert_eq!(has_ways(&himself, "/earnings?period=2026-01").await, (true, false));
    assert_eq!(has_ways(&himself, "/earnings?period=2026-02").await, (false, false));
    let typed = [("period", "2026-03"), ("version", "0"), ("amount", "200"), ("is_advance", "on")];
    let paid = owner.post(&format!("/payroll/people/{boris}/paid"), &typed).await;
    paid.is(409, "You can mark payments up to next month.");

    // Months with amounts further ahead can be reached.
    let ahead = [("period", "2026-04"), ("kind", "bonus"), ("amount", "500"), ("reason", "For Easter")];
    assert_eq!(owner.post(&format!("/payroll/people/{boris}/amounts"), &ahead).await.status.as_u16(), 303);
    assert_eq!(has_ways(&owner, &of("2026-03")).await, (true, false));
    assert_eq!(has_ways(&owner, "/payroll?period=2026-03").await, (true, false));
    assert_eq!(has_ways(&himself, "/earnings?period=2026-02").await, (true, false));
    assert_eq!(has_ways(&himself, "/earnings?period=2026-04").await, (false, false));
    let other = cabinet.person(ANNA).await.id;
    assert_eq!(has_ways(&owner, &format!("/payroll/people/{other}?period=2026-02")).await, (false, true));
    cabinet.close().await;
}

#[tokio::test]
async fn a_month_with_many_amounts_is_paged() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris, may) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id, hire_may(&cabinet).await);
    let (site, anna) = (make_site(&cabinet, &owner).await, cabinet.person(ANNA).await);
    let finances = vec![Permission::View, Permission::Finances];
    Sites::of_app(&cabinet.app).set_permissions(&anna, may.id, site, finances).await.unwrap();
    let rows = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, shift_id, site_id, basis, created_at)
            SELECT {boris}, '2026-01', '2026-01-0' || (1 + i % 3), 'shift_base', i, 1000 + i, {site}, '{{\"by\":\"hand\"}}', 0
            FROM n"
    );
    add_bonus(&cabinet, boris).await;
    run_sql(&cabinet.app.domain, rows).await;
    let first = format!("/payroll/people/{boris}?period=2026-01");
    let read = async |browser: &Browser| {
        let (mut next, mut ids, mut pages) = (Some(first.clone()), std::collections::BTreeSet::new(), 0);
        while let Some(path) = next {
            let page = browser.get(&path).await;
            page.is(200, "data-testid=\"amounts\"");
            let found = page.body.split("data-testid=\"amount-").skip(1);
            let found: Vec<_> = found.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
            assert!(found.iter().all(|id| ids.insert(id.clone())), "nothing is shown twice");
            let mut ways = page.body.split("href=\"").map(|rest| rest.split('"').next().unwrap());
            next = ways.find(|way| way.contains("&amp;after=")).map(|way| way.replace("&amp;", "&"));
            pages += 1;
        }
        (pages, ids.len())
    };
    assert_eq!(read(&owner).await, (3, 1201));
    assert_eq!(read(&cabinet.signed_in(MAY).await).await, (3, 1200), "the bonus belongs to no site");
    owner.get(&format!("{first}&after=2026-01-02.1")).await.is(200, "Go to the newest");
    owner.get(&format!("{first}&after=somewhere")).await.is(404, "Page not found");
    cabinet.close().await;
}

#[tokio::test]
async fn a_shift_in_the_sites_next_month_is_linked() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await.id);
    // Noon of the first of January, to half past midnight of the first of February in Vladivostok.
    cabinet.clock.advance(Duration::from_secs(30 * 24 * 3600 + 5 * 1800));
    let room = Sites::of_app(&cabinet.app);
    let far = AboutSite { name: "Far".into(), address: "Far street, 1".into(), ..AboutSite::usual(Vladivostok) };
    let site_id = room.create(&anna, far).await.unwrap();
    let status = ContractStatus::Active;
    let about = AboutContract {
        status,
        rate_kopecks: Some(10_000),
        allows_spontaneous: true,
        sites: vec![site_id],
        valid_from: None,
        valid_until: None,
    };
    room.create_contract(&anna, boris, about).await.unwrap();
    let owner = cabinet.signed_in(ANNA).await;
    let (payroll, charts) = ("href=\"/payroll?period=2026-02\"", "href=\"/charts?period=2026-02\"");
    let before = [owner.get("/payroll").await, owner.get("/charts").await];
    assert!(!before[0].body.contains(payroll) && !before[1].body.contains(charts));

    let (at, domain) = (cabinet.clock.now(), &cabinet.app.domain);
    let start = ShiftStart { user_id: boris, site_id, plan_id: None, position: None, started_at: at, at };
    let shift_id = domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
    let ended_at = Millis(at.0 + 3_600_000);
    let (closed_by, mandatory_task_penalty) = (ClosedBy::Person, super::roubles(50));
    let end =
        ShiftEnd { shift_id, version: None, position: None, closed_by, ended_at, mandatory_task_penalty, at: ended_at };
    domain.write(move |db| Box::pin(shifts::close(db, end))).await.unwrap();
    owner.get("/payroll").await.is(200, "January 2026").is(200, payroll);
    owner.get("/charts").await.is(200, charts);
    let next = plain(&owner, "/payroll?period=2026-02").await;
    next.contains_all(&["February 2026", "Boris", "100 ₽"]);
    assert!(!next.0.contains("period=2026-03"), "{}", next.0);
    cabinet.close().await;
}

async fn before_closing_a_month_open_items_are_shown(kind: StorageKind) {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(kind).await;
    let (owner, page) = (cabinet.signed_in(ANNA).await, "/payroll?period=2025-12");
    let asks = async |page: &str| queries.count(async || owner.get(page).await).await;
    let (here, anna) = (make_site(&cabinet, &owner).await, cabinet.person(ANNA).await);
    let far = AboutSite { name: "Far".into(), address: "Far street, 1".into(), ..AboutSite::usual(Vladivostok) };
    let far = Sites::of_app(&cabinet.app).create(&anna, far).await.unwrap();
    let (boris, anna) = (cabinet.person(BORIS).await.id, anna.id);
    let (may, zoe) = (hire_may(&cabinet).await.id, cabinet.hire(1005, "Zoe", Role::Employee).await.id);
    let settled = owner.get(page).await;
    assert!(!settled.body.contains("open-shifts") && !settled.body.contains("pending-cancellations"));
    let asked = asks(page).await;
    // Half past eleven of the last evening here; half past midnight of the first of December and of January there.
    let (last_evening, first, next) = (1_767_213_000_000_i64, 1_764_513_000_000_i64, 1_767_191_400_000_i64);
    let hour = 3_600_000;
    sql(
        &cabinet,
        format!(
            "INSERT INTO shifts (id, user_id, site_id, started_at, rate_kopecks, penalises_lateness,
                late_threshold_minutes, late_minute_kopecks) VALUES (71, {boris}, {here}, {last_evening}, 100, FALSE, 0, 0),
                (72, {zoe}, {far}, {first}, 100, FALSE, 0, 0), (73, {may}, {far}, {next}, 100, FALSE, 0, 0);
            INSERT INTO shifts (id, user_id, site_id, started_at, ended_at, status, rate_kopecks, penalises_lateness,
                late_threshold_minutes, late_minute_kopecks)
                VALUES (74, {anna}, {here}, {last_evening}, {last_evening}, 'completed', 100, FALSE, 0, 0);
            INSERT INTO time_slots (id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, capacity, taken,
                created_at, updated_at) VALUES
                (81, {here}, '2025-12-31', 1410, 1430, {last_evening}, {last_evening} + {hour}, 3, 0, 0, 0),
                (82, {far}, '2026-01-01', 30, 90, {next}, {next} + {hour}, 3, 0, 0, 0);
            INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
                SELECT 90 + users.id, users.id, slot.id, slot.site_id, slot.starts_at, slot.ends_at, 'cancelled', 0, 0
                FROM users, time_slots AS slot WHERE slot.id = 81;
            INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
                VALUES (80, {boris}, 82, {far}, {next}, {next} + {hour}, 'cancelled', 0, 0);
            INSERT INTO plan_cancellations (plan_id, user_id, reason, is_short_notice, cancelled_at, status, decided_at)
                SELECT id, user_id, 'illness', FALSE, 0, 'pending', NULL FROM shift_plans WHERE user_id <> {zoe}"
        ),
    )
    .await;
    let left = owner.get(page).await;
    left.is(200, "2 shifts of this month are still in progress")
        .is(200, "href=\"/shifts/71\"")
        .is(200, "href=\"/shifts/72\"");
    assert!(!left.body.contains("/shifts/73") && !left.body.contains("/shifts/74"), "{}", left.body);
    // Three of four people cancelled in that month, and one of them again later, by the far site's clock.
    left.is(200, "3 cancellations of this month are awaiting approval").is(200, "href=\"/cancellations\"");
    assert_eq!(asks(page).await, asked);
    // Open shifts do not prevent closing the month. Afterwards three queries are not needed any more: shifts,
    // cancellations, and the clocks of their sites. One more asks who closed the month.
    owner.post("/payroll/close", &[("period", "2025-12"), ("total", "0"), ("version", "0")]).await.redirects_to(page);
    let closed = owner.get(page).await;
    assert!(closed.body.contains("Closed on") && !closed.body.contains("open-shifts"), "{}", closed.body);
    assert_eq!(asks(page).await + 2, asked);
    cabinet.close().await;
}

/// Adds a bonus of a hundred in January.
async fn add_bonus(cabinet: &Cabinet, boris: i64) {
    let (anna, day) = (cabinet.person(ANNA).await.id, january().first_day());
    cabinet.app.payroll.add_manual(anna, boris, day, super::roubles(100), "A happy client").await.unwrap();
}

#[tokio::test]
async fn only_owners_and_the_person_see_pay() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    hire_may(&cabinet).await;
    let boris = cabinet.person(BORIS).await.id;
    post_352(&cabinet.app, boris, "2026-01-01").await;
    let path = format!("/payroll/people/{boris}?period=2026-01");
    cabinet
        .browser()
        .get(&path)
        .await
        .redirects_to(&format!("/sign-in?next=%2Fpayroll%2Fpeople%2F{boris}%3Fperiod%3D2026-01"));
    let own = cabinet.signed_in(BORIS).await;
    plain(&own, "/").await.contains_all(&["Payroll: January 2026", "30.77 ₽"]);
    for shown in [plain(&own, "/earnings").await, plain(&own, &path).await] {
        shown.contains_all(&["30.77 ₽", "“Drive 123 km”: done"]);
        assert!(!shown.0.contains("Mark as paid") && !shown.0.contains("name=\"amount\""), "{}", shown.0);
    }
    let closing = [("period", "2025-12")];
    own.post("/payroll/close", &closing).await.is(403, "You don't have access to this page");
    let amount = [("period", "2026-01"), ("kind", "bonus"), ("amount", "5"), ("reason", "x")];
    own.post(&format!("/payroll/people/{boris}/amounts"), &amount).await.is(403, "You don't have access to this page");
    let manager = cabinet.signed_in(MAY).await;
    for path in ["/payroll", "/payroll/export.csv", "/payroll/export.xlsx", path.as_str()] {
        manager.get(path).await.is(403, "You don't have access to this page");
    }
    for odd in ["/payroll?period=2026-13", "/payroll?period=%27%20OR%201", "/payroll/people/999999?period=2026-01"] {
        cabinet.signed_in(ANNA).await.get(odd).await.is(404, "Page not found");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn a_large_month_is_paged_without_more_queries() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    post_352(&cabinet.app, boris, "2026-01-01").await;
    let (list, one) = ("/payroll?period=2026-01".to_owned(), format!("/payroll/people/{boris}?period=2026-01"));
    let small =
        (queries.count(async || owner.get(&list).await).await, queries.count(async || owner.get(&one).await).await);
    fill(&cabinet, boris).await;
    let large =
        (queries.count(async || owner.get(&list).await).await, queries.count(async || owner.get(&one).await).await);
    assert_eq!(small, large);
    assert!((3..=13).contains(&small.0) && (3..=15).contains(&small.1), "{small:?}");
    owner.get(&list).await.is(200, "1 of 7");
    owner.get("/payroll?period=2026-01&page=7").await.is(200, "7 of 7");
    cabinet.close().await;
}

/// Three hundred people with pay, and three hundred rows of one person.
async fn fill(cabinet: &Cabinet, user: i64) {
    let people = "WITH RECURSIVE n(i) AS (SELECT 5001 UNION ALL SELECT i + 1 FROM n WHERE i < 5300)
        INSERT INTO users (id, telegram_id, full_name, language, status, enrolled_by, created_at, updated_at)
        SELECT i, i, 'Person ' || i, 'en', 'verified', 'grant', 0, 0 FROM n";
    let entries = "INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
        deduction_kopecks, total_kopecks) SELECT '2026-01', id, 100, id, 0, 0, id FROM users WHERE id > 5000";
    let rows = format!(
        "INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, shift_id, basis, created_at)
        SELECT {user}, '2026-01', '2026-01-02', 'shift_base', 100, id, '{{\"by\":\"hand\"}}', 0 FROM users WHERE id > 5000"
    );
    let statements = [people.to_owned(), entries.to_owned(), rows];
    for sql in statements {
        run_sql(&cabinet.app.domain, sql).await;
    }
}

/// A page with plain spaces, so that amounts can be searched.
pub struct Plain(String);

impl Plain {
    #[track_caller]
    pub fn contains_all(&self, words: &[&str]) {
        for word in words {
            assert!(self.0.contains(word), "no {word:?} in {}", self.0);
        }
    }
}

pub async fn plain(browser: &Browser, path: &str) -> Plain {
    let answer = browser.get(path).await;
    answer.is(200, "");
    Plain(answer.body.replace('\u{a0}', " "))
}
