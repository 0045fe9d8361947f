//! What happens by itself, and only once: reminders, no-shows, shifts that nobody closed, amounts that are missing, a year.

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

use super::{Yard, about_site, chooses, closes, is_here, opens, person, plans};
use crate::kit::firm::{Kind, NOON, on_every_database};
use crate::kit::queries::Queries;

/// 2027, in Moscow.
const NEXT_YEAR: Period = Period { from: Millis(1_798_750_800_000), to: Millis(1_830_286_800_000) };
/// From noon to the first of December, three in the morning in Moscow.
const UNTIL_DECEMBER: Duration = Duration::from_secs(334 * 24 * 3600 - 12 * 3600);

on_every_database! {
    a_shift_that_nobody_closed_is_paid_to_the_end_of_its_slot,
    a_site_that_was_opened_and_where_nobody_works_is_closed_after_its_hours,
    a_night_shift_is_paid_by_the_hours_that_passed_also_when_the_clock_is_changed,
    a_shift_without_the_amount_for_its_hours_gets_it_back_and_nothing_twice,
}

async fn notices_of(yard: &Yard) -> Vec<(i64, Notice)> {
    let untold = notices::untold(&yard.firm.app.domain).await.unwrap();
    untold.into_iter().map(|(_, user, notice)| (user, notice)).collect()
}

async fn passes(yard: &Yard, minutes: u64) {
    yard.firm.stage.passes(Duration::from_secs(60 * minutes)).await;
}

async fn a_shift_that_nobody_closed_is_paid_to_the_end_of_its_slot(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 0, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    passes(&yard, 179).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert!(yard.amounts().await.is_empty(), "an hour of patience is not over");
    passes(&yard, 1).await;
    for _ in 0..2 {
        jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    }
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 20_000)]);
    let shift = yard.rows("SELECT status, closed_by, ended_at FROM shifts").await;
    assert_eq!(shift, [["completed", "time", &(NOON.0 + 7_200_000).to_string()]]);
    assert_eq!(yard.rows("SELECT closed_by FROM site_openings WHERE closed_at IS NOT NULL").await, [["-"]]);
    let told = Notice::ClosedByTime { site: "Shop".into(), end: "01.01 17:00".into(), total: Money::from_roubles(200) };
    assert_eq!(notices_of(&yard).await, [(person(&yard.firm, &anna).await.id, told)]);
    anna.sends("/start").await;
    anna.presses("⏹ Close my shift").await;
    anna.sees("You have no open shift.");
}

async fn a_site_that_was_opened_and_where_nobody_works_is_closed_after_its_hours(kind: Kind) {
    let yard = Yard::open(kind).await;
    // It is three in the afternoon in Moscow; one closes at five, and one never does.
    let hours = Hours::new(9 * 60, 17 * 60);
    let shop = yard.site_like(AboutSite { hours, ..about_site("Shop") }).await;
    let depot = yard.site_like(AboutSite { hours, ..about_site("Depot") }).await;
    let kiosk = yard.site("Kiosk", 10_000).await;
    let anna = yard.worker("Anna", &[shop, depot, kiosk], |contract| contract.allows_spontaneous = true).await;
    for site in ["Shop", "Depot", "Kiosk"] {
        chooses(&anna, "🔓 Open a site").await;
        anna.presses(site).await;
        is_here(&anna).await;
        anna.sees(&format!("{site} is open."));
    }
    // By a plan that goes on until eight somebody works in one of them.
    yard.slot(depot, 60, 4 * 60, |_| {}).await;
    let boris = yard.worker("Boris", &[depot], |_| {}).await;
    plans(&boris).await;
    opens(&boris, "Depot").await;
    let open = async || {
        for _ in 0..2 {
            jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
        }
        let sql =
            "SELECT name FROM sites JOIN site_openings ON site_id = sites.id WHERE closed_at IS NULL ORDER BY name";
        yard.rows(sql).await.concat()
    };
    passes(&yard, 179).await;
    assert_eq!(open().await, ["Depot", "Kiosk", "Shop"], "an hour of patience is not over");
    passes(&yard, 1).await;
    assert_eq!(open().await, ["Depot", "Kiosk"]);
    let closed = yard.rows("SELECT closed_by, closed_at FROM site_openings WHERE closed_at IS NOT NULL").await;
    assert_eq!(closed, [["-", &(NOON.0 + 3 * 3_600_000).to_string()]]);
    let told = Notice::SiteClosedByTime { site: "Shop".into() };
    assert!(told.words(Language::En).contains("I have closed Shop"));
    assert_eq!(notices_of(&yard).await, [(person(&yard.firm, &anna).await.id, told)]);
    // The other one is closed with the last who works there, as ever.
    passes(&yard, 180).await;
    assert_eq!(open().await, ["Kiosk"]);
    assert!(matches!(&notices_of(&yard).await[1..], [(_, Notice::ClosedByTime { .. })]));
    // Who opens it in the night opens it for a while.
    chooses(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    is_here(&anna).await;
    assert_eq!(open().await, ["Kiosk", "Shop"]);
    passes(&yard, 60).await;
    assert_eq!(open().await, ["Kiosk"]);
}

#[tokio::test]
async fn a_night_shift_without_a_plan_ends_when_its_site_closes() {
    let yard = Yard::open(Kind::Sqlite).await;
    // From three in the afternoon to two in the night, in Moscow.
    let bar = AboutSite { hours: Hours::new(15 * 60, 2 * 60), rate_kopecks: 10_000, ..about_site("Bar") };
    let bar = yard.site_like(bar).await;
    let anna = yard.worker("Anna", &[bar], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Bar").await;
    passes(&yard, 12 * 60).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 110_000)]);
}

/// Planned, opened and closed by the clock of its place; paid by the hours that have passed.
async fn a_night_shift_is_paid_by_the_hours_that_passed_also_when_the_clock_is_changed(kind: Kind) {
    let yard = Yard::open(kind).await;
    let night = Hours::new(22 * 60, 6 * 60);
    let cases = [
        // The clock is put forward: seven hours; an ordinary night far away; and put back: nine.
        ("Kiosk", New_York, "2026-03-07", 70_000),
        ("Bakery", Berlin, "2026-03-28", 70_000),
        ("Harbour", Vladivostok, "2026-06-30", 80_000),
        ("Bar", Berlin, "2026-10-24", 90_000),
    ];
    for (name, zone, day, kopecks) in cases {
        let about = AboutSite { time_zone: zone, rate_kopecks: 10_000, ..about_site(name) };
        let site = yard.site_like(about).await;
        let slot = AboutSlot { penalises_lateness: true, ..AboutSlot::usual(day.parse().unwrap(), night) };
        let slot = yard.sites.create_slot(&yard.owner, site, slot).await.unwrap();
        let period = yard.sites.slot(slot).await.unwrap().unwrap().period;
        let until = async |at: Millis| {
            let now = yard.firm.stage.clock().now();
            yard.firm.stage.passes(at.since(now)).await;
        };
        let worker = yard.worker(&format!("Worker of {name}"), &[site], |_| {}).await;
        until(Millis(period.from.0 - 3_600_000)).await;
        plans(&worker).await;
        worker.sees("22:00–06:00");
        until(period.from).await;
        opens(&worker, name).await;
        worker.sees("is open since 22:00");
        until(period.to).await;
        closes(&worker).await;
        let last = yard.rows("SELECT kind, amount_kopecks, day FROM adjustments ORDER BY id").await.pop().unwrap();
        assert_eq!(last, ["shift_base", &kopecks.to_string(), day], "{name}");
    }
    assert_eq!(yard.amounts().await.len(), cases.len(), "nobody was late by their own clock");
}

#[tokio::test]
async fn people_are_reminded_once_and_who_does_not_come_is_told_of_once() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 150, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let all = async || {
        for _ in 0..2 {
            jobs::remind(yard.firm.app.clone()).await.unwrap();
            jobs::note_missed(yard.firm.app.clone()).await.unwrap();
        }
        notices_of(&yard).await
    };
    assert_eq!(all().await, [], "more than two hours are left");
    passes(&yard, 30).await;
    let anna_id = person(&yard.firm, &anna).await.id;
    let (site, when) = ("Shop".to_owned(), "01.01 17:30–19:30".to_owned());
    let reminder = (anna_id, Notice::Reminder { site: site.clone(), when: when.clone() });
    assert_eq!(all().await, std::slice::from_ref(&reminder));
    passes(&yard, 179).await;
    assert_eq!(all().await.len(), 1, "she may still come");
    passes(&yard, 1).await;
    let you = (anna_id, Notice::YouMissed { site: site.clone(), when: when.clone() });
    let owner = (yard.owner.id, Notice::Missed { name: "Anna".into(), site, when });
    assert_eq!(all().await, [reminder, you, owner]);
}

#[tokio::test]
async fn who_misses_a_slot_again_after_it_was_moved_is_told_of_again() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 0, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let missed = async || {
        jobs::note_missed(yard.firm.app.clone()).await.unwrap();
        notices_of(&yard).await.iter().filter(|(_, notice)| matches!(notice, Notice::YouMissed { .. })).count()
    };
    let moves = async |version: i64, from: i64, to: i64| {
        let about = yard.sites.slot(slot).await.unwrap().unwrap().about;
        let hours = Hours::new(from * 60, to * 60);
        yard.sites.edit_slot(&yard.owner, slot, version, AboutSlot { hours, ..about }).await.unwrap();
    };
    passes(&yard, 60).await;
    assert_eq!(missed().await, 1);
    // It lasts longer, but begins when it did: she has missed it once.
    moves(1, 15, 19).await;
    assert_eq!(missed().await, 1);
    moves(2, 18, 20).await;
    assert_eq!(missed().await, 1, "it has not begun");
    passes(&yard, 180).await;
    assert_eq!((missed().await, missed().await), (2, 2));
}

#[tokio::test]
async fn a_slot_that_comes_back_is_reminded_of_and_missed_like_a_new_one() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 90, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let told = async || {
        jobs::remind(yard.firm.app.clone()).await.unwrap();
        jobs::note_missed(yard.firm.app.clone()).await.unwrap();
        let all = notices_of(&yard).await;
        let count = |is: fn(&Notice) -> bool| all.iter().filter(|(_, notice)| is(notice)).count();
        let reminded = count(|notice| matches!(notice, Notice::Reminder { .. }));
        (reminded, count(|notice| matches!(notice, Notice::YouMissed { .. })))
    };
    assert_eq!(told().await, (1, 0));
    yard.sites.delete_slot(&yard.owner, slot, 1).await.unwrap();
    yard.sites.restore_slot(&yard.owner, slot).await.unwrap();
    assert_eq!(told().await, (2, 0), "in between she did not have to come");
    passes(&yard, 150).await;
    assert_eq!(told().await, (2, 1));
    // What was missed before it went is not missed twice.
    let version = yard.sites.slot(slot).await.unwrap().unwrap().version;
    yard.sites.delete_slot(&yard.owner, slot, version).await.unwrap();
    yard.sites.restore_slot(&yard.owner, slot).await.unwrap();
    assert_eq!(told().await, (2, 1));
}

#[tokio::test]
async fn amounts_that_are_missing_are_posted_by_the_safety_net() {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", -500).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    let ended = NOON.0 + 1_800_000;
    let sql = format!("UPDATE shifts SET status = 'completed', ended_at = {ended}, closed_by = 'staff'");
    yard.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    passes(&yard, 60).await;
    for _ in 0..2 {
        jobs::post_missing(yard.firm.app.clone()).await.unwrap();
    }
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 5_000), ("task_penalty".to_owned(), -500)]);
}

async fn a_shift_without_the_amount_for_its_hours_gets_it_back_and_nothing_twice(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", -500).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    passes(&yard, 30).await;
    closes(&anna).await;
    let posted = async |kind: &str| {
        let of_kind = format!("SELECT id, amount_kopecks, created_at, version FROM adjustments WHERE kind = '{kind}'");
        yard.rows(&of_kind).await
    };
    let penalty = posted("task_penalty").await;
    assert_eq!((penalty.len(), posted("shift_base").await.len()), (1, 1));
    let loses_it = async || {
        let lost = "DELETE FROM adjustments WHERE kind = 'shift_base'".to_owned();
        yard.firm.app.domain.write(move |db| Box::pin(run(db, lost))).await.unwrap();
        // As if it had never been posted.
        payroll::rebuild(&yard.firm.app, "2026-01".parse().unwrap()).await.unwrap();
    };
    let total = async || yard.rows("SELECT total_kopecks FROM payroll_entries").await;
    loses_it().await;
    assert_eq!(total().await, [["-500"]]);
    for _ in 0..2 {
        yard.firm.works("shift-adjustments").await;
    }
    assert_eq!(yard.amounts().await, [("task_penalty".to_owned(), -500), ("shift_base".to_owned(), 5_000)]);
    assert_eq!((posted("task_penalty").await, total().await), (penalty, vec![vec!["4500".to_owned()]]));
    // It looks back seven days.
    loses_it().await;
    yard.firm.stage.clock().advance(Duration::from_secs(7 * 24 * 3600));
    yard.firm.works("shift-adjustments").await;
    assert_eq!(yard.amounts().await.len(), 1);
}

#[tokio::test]
async fn a_shift_that_cannot_be_closed_keeps_no_other_open() {
    let yard = Yard::open(Kind::Sqlite).await;
    let bar = AboutSite { hours: Hours::new(15 * 60, 2 * 60), rate_kopecks: 10_000, ..about_site("Bar") };
    let bar = yard.site_like(bar).await;
    for name in ["Anna", "Boris"] {
        let someone = yard.worker(name, &[bar], |contract| contract.allows_spontaneous = true).await;
        opens(&someone, "Bar").await;
    }
    let write = async |sql: &str| {
        let sql = sql.to_owned();
        yard.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    };
    write(
        "CREATE TRIGGER broken BEFORE UPDATE ON shifts WHEN NEW.id = (SELECT MIN(id) FROM shifts) \
         BEGIN SELECT RAISE(ABORT, 'broken'); END",
    )
    .await;
    passes(&yard, 12 * 60).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    let shifts = async || yard.rows("SELECT status FROM shifts ORDER BY id").await;
    assert_eq!(shifts().await, [["active"], ["completed"]]);
    write("DROP TRIGGER broken").await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert_eq!(shifts().await, [["completed"], ["completed"]]);
}

#[tokio::test]
async fn a_shift_whose_end_is_moved_while_others_are_closed_is_looked_at_again() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 0, 120, |slot| slot.capacity = 2).await;
    for name in ["Anna", "Boris"] {
        let someone = yard.worker(name, &[site], |_| {}).await;
        plans(&someone).await;
        opens(&someone, "Shop").await;
    }
    // As if somebody had made it two hours longer for Boris just when Anna's was closed.
    let meanwhile = "CREATE TRIGGER meanwhile AFTER UPDATE ON shifts \
         WHEN NEW.status = 'completed' AND NEW.id = (SELECT MIN(id) FROM shifts) \
         BEGIN UPDATE shifts SET planned_end = planned_end + 7200000, version = version + 1 WHERE id <> NEW.id; END";
    yard.firm.app.domain.write(move |db| Box::pin(run(db, meanwhile.to_owned()))).await.unwrap();
    passes(&yard, 180).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    let shifts = async || yard.rows("SELECT status FROM shifts ORDER BY id").await;
    assert_eq!(shifts().await, [["completed"], ["active"]]);
    passes(&yard, 120).await;
    jobs::close_overdue(yard.firm.app.clone()).await.unwrap();
    assert_eq!(shifts().await, [["completed"], ["completed"]]);
    let hours = |kopecks| ("shift_base".to_owned(), kopecks);
    assert_eq!(yard.amounts().await, [hours(20_000), hours(40_000)]);
}

#[tokio::test]
async fn who_is_told_of_no_shows_is_asked_once_and_not_for_each_site() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let others = [yard.site("Bar", 10_000).await, yard.site("Kiosk", 10_000).await];
    yard.slot(site, 0, 120, |slot| slot.capacity = 3).await;
    for name in ["Anna", "Boris", "Vera"] {
        plans(&yard.worker(name, &[site], |_| {}).await).await;
    }
    passes(&yard, 60).await;
    let write = async |sql: String| {
        yard.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    };
    let queries = Queries::counted();
    let noted = async || {
        write("UPDATE shift_plans SET missed_at = NULL".to_owned()).await;
        jobs::note_missed(yard.firm.app.clone()).await.unwrap();
    };
    let at_one = queries.of(&noted).await;
    for (at, site) in (1..).zip(others) {
        let plan = format!("(SELECT id FROM shift_plans ORDER BY id LIMIT 1 OFFSET {at})");
        write(format!("UPDATE shift_plans SET site_id = {site} WHERE id = {plan}")).await;
    }
    assert_eq!(queries.of(&noted).await, at_one);
}

#[tokio::test]
async fn the_slots_of_the_next_year_come_in_december_and_deleted_ones_stay_away() {
    let yard = Yard::open(Kind::Sqlite).await;
    let about = AboutSite { hours: Hours::new(540, 1080), ..about_site("Shop") };
    let site = yard.site_like(about).await;
    let slots = async || yard.sites.slots(&[site], NEXT_YEAR).await.unwrap();
    let fill = async || yard.firm.works("slots-of-next-year").await;
    fill().await;
    assert_eq!(slots().await.len(), 0);
    yard.firm.stage.clock().advance(UNTIL_DECEMBER);
    fill().await;
    let filled = slots().await;
    assert_eq!(filled.len(), 261, "2027 has so many working days");
    yard.sites.delete_slot(&yard.owner, filled[0].id, 1).await.unwrap();
    fill().await;
    assert_eq!(slots().await.len(), 260);
}

#[tokio::test]
async fn a_site_whose_year_cannot_be_written_keeps_no_other_from_its_own() {
    let yard = Yard::open(Kind::Sqlite).await;
    let sites = [yard.site("Bar", 10_000).await, yard.site("Shop", 10_000).await];
    let write = async |sql: String| {
        yard.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    };
    let broken = format!("WHEN NEW.site_id = {} BEGIN SELECT RAISE(ABORT, 'broken'); END", sites[0]);
    write(format!("CREATE TRIGGER broken BEFORE INSERT ON time_slots {broken}")).await;
    yard.firm.stage.clock().advance(UNTIL_DECEMBER);
    let filled = async || {
        yard.firm.works("slots-of-next-year").await;
        let slots = yard.sites.slots(&sites, NEXT_YEAR).await.unwrap();
        sites.map(|site| slots.iter().filter(|slot| slot.site_id == site).count())
    };
    assert_eq!(filled().await, [0, 261]);
    // Nothing of the year was noted as done: it is made as soon as it can be.
    write("DROP TRIGGER broken".to_owned()).await;
    assert_eq!(filled().await, [261, 261]);
}

pub async fn run(db: &workforce::domain::Writing<'_, '_>, sql: String) -> Result<(), opora::store::WriteError> {
    sea_orm::ConnectionTrait::execute_unprepared(db, &sql).await?;
    Ok(())
}
