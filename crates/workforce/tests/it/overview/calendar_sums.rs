//! Calendars with more slots than are drawn show sums per day, with warnings and links to the week.

use chrono::{Days, NaiveDate};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{make_site, sql};

const DAYS: u64 = 42;
const POSTS: u64 = 8;
const HOUR_MS: i64 = 3_600_000;
/// The site where Boris works in the evening.
const ELSEWHERE: i64 = 1001;

#[tokio::test]
async fn daily_sums_warn_and_link_to_the_week_on_sqlite() {
    daily_sums_warn_and_link_to_the_week(StorageKind::Sqlite).await;
}

#[tokio::test]
async fn daily_sums_warn_and_link_to_the_week_on_postgres() {
    daily_sums_warn_and_link_to_the_week(StorageKind::Postgres).await;
}

async fn daily_sums_warn_and_link_to_the_week(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    fill(&cabinet, site).await;
    let month = owner.get(&format!("/calendar?site={site}&view=month&day=2026-01-05")).await;
    let week = format!("/calendar?site={site}&view=week&day=2026-01-05");
    let link = format!("href=\"{}\" data-testid=\"sums-2026-01-05\"", week.replace('&', "&amp;"));
    month
        .is(200, &link)
        .is(200, "9 shifts, 0 of 9 spots taken <span class=\"warns\" title=\"2 shifts need attention\">⚠ 2<");
    assert_eq!(month.body.matches("data-testid=\"sums-").count(), 42, "{}", month.body);
    assert_eq!(month.body.matches("data-slot=").count(), 0, "{}", month.body);
    // The week shows every slot, including shifts at other sites.
    let week = owner.get(&week).await;
    week.is(200, "overlaps another shift: 09:00–17:00").is(200, "Boris: 14\u{a0}h on this day");
    assert_eq!(week.body.matches("data-slot=").count(), 57, "{}", week.body);
    // A year later there is nothing.
    let empty = owner.get("/calendar?view=month&day=2027-01-05").await;
    assert_eq!(empty.body.matches("class=\"slot").count(), 0, "{}", empty.body);
    cabinet.close().await;
}

#[tokio::test]
async fn days_with_too_many_slots_are_not_checked_and_say_so() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    fill(&cabinet, site).await;
    // More slots in a day than a page reads.
    let more = "INSERT INTO time_slots (site_id, title, day, starts_minute, ends_minute, starts_at, ends_at, created_at, updated_at)
        SELECT one.site_id, 'More ' || one.id || '-' || other.id, one.day, 0, 60, one.starts_at, one.starts_at + 1, 0, 0
        FROM time_slots one CROSS JOIN time_slots other WHERE one.day = '2026-01-05' AND other.id < 1080";
    sql(&cabinet, more.to_owned()).await;
    let month = format!("/calendar?site={site}&view=month&day=2026-01-05");
    let shown = owner.get(&month).await;
    let of_day = |day: &str| {
        let rest = shown.body.split(&format!("data-testid=\"sums-{day}\">")).nth(1).unwrap();
        rest.split("</a>").next().unwrap().to_owned()
    };
    assert!(
        of_day("2026-01-05").ends_with(" <span class=\"quiet\">· shifts not checked</span>"),
        "{}",
        of_day("2026-01-05")
    );
    assert_eq!(of_day("2026-01-07"), "8 shifts, 0 of 8 spots taken", "no warnings on that day");
    owner.post("/me/language", &[("language", "ru")]).await.redirects_to("/me");
    owner.get(&month).await.is(200, "· смены не проверены</span>");
    cabinet.close().await;
}

/// Eight posts a day, and one of them twice on the fifth. On the sixth Boris works here and then at another site.
async fn fill(cabinet: &Cabinet, site: i64) {
    let monday: NaiveDate = "2025-12-29".parse().unwrap();
    let slot = |id: u64, site: i64, post: u64, day: u64, (from, to): (i64, i64), taken: u8| {
        let day = monday + Days::new(day);
        // Moscow's clock is three hours ahead.
        let at = |hour: i64| day.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp_millis() + (hour - 3) * HOUR_MS;
        let (starts, ends) = (at(from), at(to));
        let (from, to) = (from * 60, to * 60);
        format!("({id}, {site}, 'Post {post}', '{day}', {from}, {to}, {starts}, {ends}, {taken}, 0, 0)")
    };
    let each = |day| (0..POSTS).map(move |post| (day, post));
    let taken = |day, post| u8::from((day, post) == (8, 0));
    let mut rows: Vec<String> = (0..DAYS)
        .flat_map(each)
        .map(|(day, post)| slot(1000 + day * 10 + post, site, post, day, (9, 17), taken(day, post)))
        .collect();
    rows.push(slot(2000, site, 0, 7, (16, 20), 0));
    rows.push(slot(2001, ELSEWHERE, 0, 8, (17, 23), 1));
    let (rows, boris) = (rows.join(", "), cabinet.person(BORIS).await.id);
    sql(
        cabinet,
        format!(
            "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at, updated_at)
                VALUES ({ELSEWHERE}, 'Elsewhere', 'x', 'Europe/Moscow', 540, 1380, 100, 0, 0);
            INSERT INTO time_slots (id, site_id, title, day, starts_minute, ends_minute, starts_at, ends_at, taken, created_at,
                updated_at) VALUES {rows};
            INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
                SELECT {boris}, id, site_id, starts_at, ends_at, 0, 0 FROM time_slots WHERE taken = 1"
        ),
    )
    .await;
}
