//! Jobs of the shifts room, each of which acts once: reminders, no-shows, overdue shifts, missing amounts, next year's
//! slots.

use std::time::Duration;

use chrono_tz::America::New_York;
use chrono_tz::Asia::Vladivostok;
use chrono_tz::Europe::Berlin;
use opora::clock::Millis;
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::payroll;
use workforce::shifts::jobs;
use workforce::sites::{AboutSite, AboutSlot, Hours, Period};
use workforce::texts::Language;

use super::{
    Workplace, about_site, chooses_from_menu, closes, first_day, first_day_at, opens, person, plans, shares_position,
};
use crate::kit::firm::{NOON, StorageKind, on_every_database};
use crate::kit::queries::QueryCounter;
use crate::kit::sql::run_sql;

/// 2027, in Moscow.
const NEXT_YEAR: Period = Period { from: Millis(1_798_750_800_000), to: Millis(1_830_286_800_000) };
/// From noon to the first of December, three in the morning in Moscow.
const UNTIL_DECEMBER: Duration = Duration::from_secs(334 * 24 * 3600 - 12 * 3600);

on_every_database! {
    an_overdue_shift_is_paid_to_the_end_of_its_slot,
    an_empty_open_site_is_closed_after_its_hours,
    night_shifts_are_paid_correctly_over_clock_changes,
    a_missing_base_amount_is_posted_once,
}

async fn unsent_notices(workplace: &Workplace) -> Vec<(i64, Notice)> {
    let untold = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    untold.into_iter().map(|(_, user, notice)| (user, notice)).collect()
}

async fn an_overdue_shift_is_paid_to_the_end_of_its_slot(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 0, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    workplace.minutes_pass(179).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert!(workplace.adjustments().await.is_empty(), "the tolerance of an hour is not over");
    workplace.minutes_pass(1).await;
    for _ in 0..2 {
        jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    }
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 20_000)]);
    let shift = workplace.rows("SELECT status, closed_by, ended_at FROM shifts").await;
    assert_eq!(shift, [["completed", "time", &(NOON.0 + 7_200_000).to_string()]]);
    assert_eq!(workplace.rows("SELECT closed_by FROM site_openings WHERE closed_at IS NOT NULL").await, [["-"]]);
    let expected =
        Notice::ClosedByTime { site: "Shop".into(), end: first_day_at("17:00"), total: Money::from_roubles(200) };
    assert_eq!(unsent_notices(&workplace).await, [(person(&workplace.firm, &anna).await.id, expected)]);
    anna.sends("/start").await;
    anna.presses("⏹ Clock out").await;
    anna.sees("You're not clocked in.");
}

async fn an_empty_open_site_is_closed_after_its_hours(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    // It is 15:00 in Moscow. Two of the sites close at 17:00, the third never does.
    let hours = Hours::new(9 * 60, 17 * 60);
    let shop = workplace.site_with(AboutSite { hours, ..about_site("Shop") }).await;
    let depot = workplace.site_with(AboutSite { hours, ..about_site("Depot") }).await;
    let kiosk = workplace.site("Kiosk", 10_000).await;
    let anna = workplace.worker("Anna", &[shop, depot, kiosk], |contract| contract.allows_spontaneous = true).await;
    for site in ["Shop", "Depot", "Kiosk"] {
        chooses_from_menu(&anna, "🔓 Open a site").await;
        anna.presses(site).await;
        shares_position(&anna).await;
        anna.sees(&format!("{site} is open."));
    }
    // Boris works at the depot by a plan until 20:00.
    workplace.slot(depot, 60, 4 * 60, |_| {}).await;
    let boris = workplace.worker("Boris", &[depot], |_| {}).await;
    plans(&boris).await;
    opens(&boris, "Depot").await;
    let open = async || {
        for _ in 0..2 {
            jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
        }
        let sql =
            "SELECT name FROM sites JOIN site_openings ON site_id = sites.id WHERE closed_at IS NULL ORDER BY name";
        workplace.rows(sql).await.concat()
    };
    workplace.minutes_pass(179).await;
    assert_eq!(open().await, ["Depot", "Kiosk", "Shop"], "the tolerance of an hour is not over");
    workplace.minutes_pass(1).await;
    assert_eq!(open().await, ["Depot", "Kiosk"]);
    let closed = workplace.rows("SELECT closed_by, closed_at FROM site_openings WHERE closed_at IS NOT NULL").await;
    assert_eq!(closed, [["-", &(NOON.0 + 3 * 3_600_000).to_string()]]);
    let expected = Notice::SiteClosedByTime { site: "Shop".into() };
    assert!(expected.text(Language::En).contains("I closed Shop"));
    assert_eq!(unsent_notices(&workplace).await, [(person(&workplace.firm, &anna).await.id, expected)]);
    // The depot is closed with its last shift.
    workplace.minutes_pass(180).await;
    assert_eq!(open().await, ["Kiosk"]);
    assert!(matches!(&unsent_notices(&workplace).await[1..], [(_, Notice::ClosedByTime { .. })]));
    // A site that is opened after hours stays open for a while.
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    shares_position(&anna).await;
    assert_eq!(open().await, ["Kiosk", "Shop"]);
    workplace.minutes_pass(60).await;
    assert_eq!(open().await, ["Kiosk"]);
}

#[tokio::test]
async fn a_night_shift_without_a_plan_ends_when_its_site_closes() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    // From 15:00 to 02:00, in Moscow.
    let bar = AboutSite { hours: Hours::new(15 * 60, 2 * 60), rate_kopecks: 10_000, ..about_site("Bar") };
    let bar = workplace.site_with(bar).await;
    let anna = workplace.worker("Anna", &[bar], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Bar").await;
    workplace.minutes_pass(12 * 60).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 110_000)]);
}

/// Planned, opened and closed by the site's clock; paid by the hours that have passed.
async fn night_shifts_are_paid_correctly_over_clock_changes(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let night = Hours::new(22 * 60, 6 * 60);
    let cases = [
        // The clock goes forward: seven hours. An ordinary night far away: eight. The clock goes back: nine.
        ("Kiosk", New_York, "2026-03-07", 70_000),
        ("Bakery", Berlin, "2026-03-28", 70_000),
        ("Harbour", Vladivostok, "2026-06-30", 80_000),
        ("Bar", Berlin, "2026-10-24", 90_000),
    ];
    for (name, zone, day, kopecks) in cases {
        let about = AboutSite { time_zone: zone, rate_kopecks: 10_000, ..about_site(name) };
        let site = workplace.site_with(about).await;
        let slot = AboutSlot { penalises_lateness: true, ..AboutSlot::usual(day.parse().unwrap(), night) };
        let slot = workplace.sites.create_slot(&workplace.owner, site, slot).await.unwrap();
        let period = workplace.sites.slot(slot).await.unwrap().unwrap().period;
        let until = async |at: Millis| {
            let now = workplace.firm.stage.clock().now();
            workplace.firm.stage.advance(at.since(now)).await;
        };
        let worker = workplace.worker(&format!("Worker of {name}"), &[site], |_| {}).await;
        until(Millis(period.from.0 - 3_600_000)).await;
        plans(&worker).await;
        worker.sees("22:00–06:00");
        until(period.from).await;
        opens(&worker, name).await;
        worker.sees("at 22:00");
        until(period.to).await;
        closes(&worker).await;
        let last = workplace.rows("SELECT kind, amount_kopecks, day FROM adjustments ORDER BY id").await.pop().unwrap();
        assert_eq!(last, ["shift_base", &kopecks.to_string(), day], "{name}");
    }
    assert_eq!(workplace.adjustments().await.len(), cases.len(), "no lateness by the site's clock");
}

#[tokio::test]
async fn reminders_and_no_shows_are_told_once() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 150, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let all = async || {
        for _ in 0..2 {
            jobs::remind(workplace.firm.app.clone()).await.unwrap();
            jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
        }
        unsent_notices(&workplace).await
    };
    assert_eq!(all().await, [], "more than two hours are left");
    workplace.minutes_pass(30).await;
    let anna_id = person(&workplace.firm, &anna).await.id;
    let (site, when) = ("Shop".to_owned(), first_day("17:30", "19:30"));
    let reminder = (anna_id, Notice::Reminder { site: site.clone(), when });
    assert_eq!(all().await, std::slice::from_ref(&reminder));
    workplace.minutes_pass(179).await;
    assert_eq!(all().await.len(), 1, "she may still come");
    workplace.minutes_pass(1).await;
    let you = (anna_id, Notice::YouMissed { site: site.clone(), when });
    let owner = (workplace.owner.id, Notice::Missed { name: "Anna".into(), site, when });
    assert_eq!(all().await, [reminder, you, owner]);
}

#[tokio::test]
async fn a_moved_slot_can_be_missed_again() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 0, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let missed = async || {
        jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
        unsent_notices(&workplace).await.iter().filter(|(_, notice)| matches!(notice, Notice::YouMissed { .. })).count()
    };
    let moves = async |version: i64, from: i64, to: i64| {
        let about = workplace.sites.slot(slot).await.unwrap().unwrap().about;
        let hours = Hours::new(from * 60, to * 60);
        workplace.sites.edit_slot(&workplace.owner, slot, version, AboutSlot { hours, ..about }).await.unwrap();
    };
    workplace.minutes_pass(60).await;
    assert_eq!(missed().await, 1);
    // The slot gets longer, but starts at the same time: still one missed start.
    moves(1, 15, 19).await;
    assert_eq!(missed().await, 1);
    moves(2, 18, 20).await;
    assert_eq!(missed().await, 1, "it has not begun");
    workplace.minutes_pass(180).await;
    assert_eq!((missed().await, missed().await), (2, 2));
}

#[tokio::test]
async fn a_restored_slot_is_reminded_and_missed_again() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 90, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let told = async || {
        jobs::remind(workplace.firm.app.clone()).await.unwrap();
        jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
        let all = unsent_notices(&workplace).await;
        let count = |is: fn(&Notice) -> bool| all.iter().filter(|(_, notice)| is(notice)).count();
        let reminded = count(|notice| matches!(notice, Notice::Reminder { .. }));
        (reminded, count(|notice| matches!(notice, Notice::YouMissed { .. })))
    };
    assert_eq!(told().await, (1, 0));
    workplace.sites.delete_slot(&workplace.owner, slot, 1).await.unwrap();
    workplace.sites.restore_slot(&workplace.owner, slot).await.unwrap();
    assert_eq!(told().await, (2, 0), "the restored plan is reminded again");
    workplace.minutes_pass(150).await;
    assert_eq!(told().await, (2, 1));
    // A slot that was missed before it was deleted is not missed twice.
    let version = workplace.sites.slot(slot).await.unwrap().unwrap().version;
    workplace.sites.delete_slot(&workplace.owner, slot, version).await.unwrap();
    workplace.sites.restore_slot(&workplace.owner, slot).await.unwrap();
    assert_eq!(told().await, (2, 1));
}

#[tokio::test]
async fn missing_amounts_are_posted_by_the_job() {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", -500).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let ended = NOON.0 + 1_800_000;
    let sql = format!("UPDATE shifts SET status = 'completed', ended_at = {ended}, closed_by = 'staff'");
    run_sql(&workplace.firm.app.domain, sql).await;
    workplace.minutes_pass(60).await;
    for _ in 0..2 {
        jobs::post_missing(workplace.firm.app.clone()).await.unwrap();
    }
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 5_000), ("task_penalty".to_owned(), -500)]);
}

async fn a_missing_base_amount_is_posted_once(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", -500).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    workplace.minutes_pass(30).await;
    closes(&anna).await;
    let posted = async |kind: &str| {
        let of_kind = format!("SELECT id, amount_kopecks, created_at, version FROM adjustments WHERE kind = '{kind}'");
        workplace.rows(&of_kind).await
    };
    let penalty = posted("task_penalty").await;
    assert_eq!((penalty.len(), posted("shift_base").await.len()), (1, 1));
    let loses_it = async || {
        let lost = "DELETE FROM adjustments WHERE kind = 'shift_base'".to_owned();
        run_sql(&workplace.firm.app.domain, lost).await;
        // As if it had never been posted.
        payroll::rebuild(&workplace.firm.app, "2026-01".parse().unwrap()).await.unwrap();
    };
    let total = async || workplace.rows("SELECT total_kopecks FROM payroll_entries").await;
    loses_it().await;
    assert_eq!(total().await, [["-500"]]);
    for _ in 0..2 {
        workplace.firm.run_job("shift-adjustments").await;
    }
    assert_eq!(workplace.adjustments().await, [("task_penalty".to_owned(), -500), ("shift_base".to_owned(), 5_000)]);
    assert_eq!((posted("task_penalty").await, total().await), (penalty, vec![vec!["4500".to_owned()]]));
    // However old the shift is.
    loses_it().await;
    workplace.firm.stage.clock().advance(Duration::from_secs(3 * 365 * 24 * 3600));
    workplace.firm.run_job("shift-adjustments").await;
    assert_eq!(workplace.adjustments().await.len(), 2);
}

#[tokio::test]
async fn a_shift_that_fails_to_close_does_not_block_others() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let bar = AboutSite { hours: Hours::new(15 * 60, 2 * 60), rate_kopecks: 10_000, ..about_site("Bar") };
    let bar = workplace.site_with(bar).await;
    for name in ["Anna", "Boris"] {
        let someone = workplace.worker(name, &[bar], |contract| contract.allows_spontaneous = true).await;
        opens(&someone, "Bar").await;
    }
    let write = async |sql: &str| run_sql(&workplace.firm.app.domain, sql).await;
    write(
        "CREATE TRIGGER broken BEFORE UPDATE ON shifts WHEN NEW.id = (SELECT MIN(id) FROM shifts) \
         BEGIN SELECT RAISE(ABORT, 'broken'); END",
    )
    .await;
    workplace.minutes_pass(12 * 60).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    let shifts = async || workplace.rows("SELECT status FROM shifts ORDER BY id").await;
    assert_eq!(shifts().await, [["active"], ["completed"]]);
    write("DROP TRIGGER broken").await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(shifts().await, [["completed"], ["completed"]]);
}

#[tokio::test]
async fn an_end_that_moves_during_the_job_is_respected() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 0, 120, |slot| slot.capacity = 2).await;
    for name in ["Anna", "Boris"] {
        let someone = workplace.worker(name, &[site], |_| {}).await;
        plans(&someone).await;
        opens(&someone, "Shop").await;
    }
    // The end of Boris' shift is moved by two hours just when Anna's is closed.
    let meanwhile = "CREATE TRIGGER meanwhile AFTER UPDATE ON shifts \
         WHEN NEW.status = 'completed' AND NEW.id = (SELECT MIN(id) FROM shifts) \
         BEGIN UPDATE shifts SET planned_end = planned_end + 7200000, version = version + 1 WHERE id <> NEW.id; END";
    run_sql(&workplace.firm.app.domain, meanwhile.to_owned()).await;
    workplace.minutes_pass(180).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    let shifts = async || workplace.rows("SELECT status FROM shifts ORDER BY id").await;
    assert_eq!(shifts().await, [["completed"], ["active"]]);
    workplace.minutes_pass(120).await;
    jobs::close_overdue(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(shifts().await, [["completed"], ["completed"]]);
    let hours = |kopecks| ("shift_base".to_owned(), kopecks);
    assert_eq!(workplace.adjustments().await, [hours(20_000), hours(40_000)]);
}

#[tokio::test]
async fn recipients_of_no_shows_are_queried_once() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let others = [workplace.site("Bar", 10_000).await, workplace.site("Kiosk", 10_000).await];
    workplace.slot(site, 0, 120, |slot| slot.capacity = 3).await;
    for name in ["Anna", "Boris", "Vera"] {
        plans(&workplace.worker(name, &[site], |_| {}).await).await;
    }
    workplace.minutes_pass(60).await;
    let write = async |sql: String| run_sql(&workplace.firm.app.domain, sql).await;
    let queries = QueryCounter::install();
    let noted = async || {
        write("UPDATE shift_plans SET missed_at = NULL".to_owned()).await;
        jobs::note_missed(workplace.firm.app.clone()).await.unwrap();
    };
    let at_one = queries.count(&noted).await;
    for (at, site) in (1..).zip(others) {
        let plan = format!("(SELECT id FROM shift_plans ORDER BY id LIMIT 1 OFFSET {at})");
        write(format!("UPDATE shift_plans SET site_id = {site} WHERE id = {plan}")).await;
    }
    assert_eq!(queries.count(&noted).await, at_one);
}

#[tokio::test]
async fn next_years_slots_are_created_in_december() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let about = AboutSite { hours: Hours::new(540, 1080), ..about_site("Shop") };
    let site = workplace.site_with(about).await;
    let slots = async || workplace.sites.slots(&[site], NEXT_YEAR).await.unwrap();
    let fill = async || workplace.firm.run_job("slots-of-next-year").await;
    fill().await;
    assert_eq!(slots().await.len(), 0);
    workplace.firm.stage.clock().advance(UNTIL_DECEMBER);
    fill().await;
    let filled = slots().await;
    assert_eq!(filled.len(), 261, "the working days of 2027");
    workplace.sites.delete_slot(&workplace.owner, filled[0].id, 1).await.unwrap();
    fill().await;
    assert_eq!(slots().await.len(), 260);
}

#[tokio::test]
async fn a_site_that_fails_does_not_block_next_years_slots() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let sites = [workplace.site("Bar", 10_000).await, workplace.site("Shop", 10_000).await];
    let write = async |sql: String| run_sql(&workplace.firm.app.domain, sql).await;
    let broken = format!("WHEN NEW.site_id = {} BEGIN SELECT RAISE(ABORT, 'broken'); END", sites[0]);
    write(format!("CREATE TRIGGER broken BEFORE INSERT ON time_slots {broken}")).await;
    workplace.firm.stage.clock().advance(UNTIL_DECEMBER);
    let filled = async || {
        workplace.firm.run_job("slots-of-next-year").await;
        let slots = workplace.sites.slots(&sites, NEXT_YEAR).await.unwrap();
        sites.map(|site| slots.iter().filter(|slot| slot.site_id == site).count())
    };
    assert_eq!(filled().await, [0, 261]);
    // The year was not recorded as done, so the job completes it later.
    write("DROP TRIGGER broken".to_owned()).await;
    assert_eq!(filled().await, [261, 261]);
}
