//! Days on the pages follow each site's clock, also over midnight; long ranges are cut.

use workforce::person::Permission;
use workforce::sites::Sites;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, add_example_shift, make_site, site_form_with, sql};
use crate::sites::permissions::hire_may;

#[tokio::test]
async fn late_starts_are_counted_by_the_sites_clock() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (site, boris) = (make_site(&cabinet, &owner).await, cabinet.person(BORIS).await.id);
    // In Moscow: 6 and 5 minutes late with 5 allowed, 30 minutes late in a slot that ignores lateness, and a shift
    // without a plan. In Vladivostok the first of February begins while it is still January elsewhere.
    sql(&cabinet, format!(
        "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, updated_at)
            VALUES (77, 'Far east', 'x', 'Asia/Vladivostok', 0, 0, 100, 0, 0);
        INSERT INTO shifts (user_id, site_id, status, planned_start, planned_end, started_at, ended_at, rate_kopecks,
            penalises_lateness, late_threshold_minutes, late_minute_kopecks)
            VALUES ({boris}, {site}, 'completed', 1767261600000, 1767279600000, 1767261960000, 1767279600000, 1, TRUE, 5, 0),
                ({boris}, {site}, 'completed', 1767348000000, 1767366000000, 1767348359999, 1767366000000, 1, TRUE, 5, 0),
                ({boris}, {site}, 'completed', 1767434400000, 1767452400000, 1767436200000, 1767452400000, 1, FALSE, 5, 0),
                ({boris}, {site}, 'completed', NULL, NULL, 1767436200000, 1767452400000, 1, TRUE, 0, 0),
                ({boris}, 77, 'completed', 1769871600000, 1769900400000, 1769872000000, 1769900400000, 1, TRUE, 5, 0)"
    )).await;
    let charts = owner.get("/charts?period=2026-01").await;
    charts.is(200, "<h2>Late starts</h2><strong>1</strong>").is(200, ">1 late start</td>");
    owner.get("/charts?period=2026-02").await.is(200, "<h2>Late starts</h2><strong>1</strong>");
    cabinet.close().await;
}

#[tokio::test]
async fn today_follows_each_sites_clock_and_keeps_night_slots() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let moscow = make_site(&cabinet, &owner).await;
    let (anna, boris) = (cabinet.person(ANNA).await.id, cabinet.person(BORIS).await.id);
    // From 22:00 to 06:00 in Moscow, and from 06:00 to 14:00 in Vladivostok, which is 23:00 of the day before in
    // Moscow.
    sql(&cabinet, format!(
        "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, updated_at)
            VALUES (77, 'Far east', 'x', 'Asia/Vladivostok', 0, 0, 100, 0, 0);
        INSERT INTO time_slots (id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, capacity, taken,
            created_at, updated_at) VALUES (1, {moscow}, '2026-01-01', 1320, 360, 1767294000000, 1767322800000, 1, 1, 0, 0),
                (2, 77, '2026-01-02', 360, 840, 1767297600000, 1767326400000, 1, 1, 0, 0);
        INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
            VALUES (1, {boris}, 1, {moscow}, 1767294000000, 1767322800000, 'planned', 0, 0),
                (2, {anna}, 2, 77, 1767297600000, 1767326400000, 'planned', 0, 0)"
    )).await;
    let missing = async || {
        let page = owner.get("/").await;
        let found = page.body.split("data-testid=\"today-missing\">").nth(1).unwrap();
        found.split('<').next().unwrap().to_owned()
    };
    let minutes = |count: u64| std::time::Duration::from_secs(60 * count);
    assert_eq!(missing().await, "0");
    // Half past midnight in Moscow.
    cabinet.clock.advance(minutes(9 * 60 + 30));
    assert_eq!(missing().await, "2", "neither night is over");
    // 07:30 in Moscow, and 14:30 in Vladivostok, where it is still that day.
    cabinet.clock.advance(minutes(7 * 60));
    assert_eq!(missing().await, "1");
    // The next day at both sites.
    cabinet.clock.advance(minutes(12 * 60));
    assert_eq!(missing().await, "0");
    cabinet.close().await;
}

#[tokio::test]
async fn own_shifts_are_listed_and_long_ranges_are_cut() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = hire_may(&cabinet).await;
    let (owner, manager, boris) =
        (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await, cabinet.person(BORIS).await.id);
    let here = make_site(&cabinet, &owner).await;
    owner.post("/sites", &site_form_with(&[("name", "The other place")])).await;
    let there = Sites::of_app(&cabinet.app).list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
    let (room, anna) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    room.set_permissions(&anna, may.id, here, vec![Permission::View]).await.unwrap();
    add_example_shift(&cabinet, here, boris, 352).await;
    add_example_shift(&cabinet, there, may.id, 353).await;
    let page = manager.get("/shifts").await;
    page.is(200, "shift-352").is(200, "data-testid=\"mine\"");
    assert!(!page.body.contains("shift-353"), "the site is not hers: {}", page.body);
    let page = manager.get("/shifts?mine=1").await;
    page.is(200, "shift-353").is(200, "The other place").is(200, "name=\"mine\" value=\"1\" checked");
    assert!(!page.body.contains("shift-352"), "{}", page.body);
    let own = cabinet.signed_in(BORIS).await.get("/shifts").await;
    own.is(200, "shift-352");
    assert!(!own.body.contains("data-testid=\"mine\""), "he sees nothing else: {}", own.body);

    // Of a range longer than a year the last days are shown, with a link to the earlier ones.
    assert!(!own.body.contains("data-testid=\"cut\""));
    let page = owner.get("/shifts?from=2024-06-01&to=2026-06-01").await;
    page.is(200, "shift-352").is(200, "days at once, from Jun 1, 2025.");
    page.is(200, "/shifts?from=2024-06-01&amp;to=2025-05-31&amp;site=");
    cabinet.close().await;
}
