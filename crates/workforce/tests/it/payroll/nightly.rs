//! The nightly look at the sums: what it puts right, what keeps it from nothing else, and when it comes.

use std::time::Duration;

use chrono::NaiveDate;
use workforce::payroll;
use workforce::settings::{self, TIME_ZONE};

use super::{Office, january, post_352, roubles};
use crate::kit::firm::{Kind, NOON, on_every_database};

/// Makes sums that do not agree with their rows.
const WRONG: &str =
    "UPDATE payroll_entries SET bonus_kopecks = 1, total_kopecks = earned_kopecks + deduction_kopecks + 1";

on_every_database! {
    sums_that_are_wrong_are_put_right_at_night,
    the_job_works_once_a_day_from_four_in_the_morning_on_by_the_clock_of_the_business,
}

async fn sums_that_are_wrong_are_put_right_at_night(kind: Kind) {
    let office = Office::open(kind).await;
    post_352(&office.firm.app, office.vera.id, "2026-01-01").await;
    office.sql(WRONG).await.unwrap();
    assert_ne!(office.total("2026-01").await, "30.77");
    payroll::rebuild(&office.firm.app, january()).await.unwrap();
    assert_eq!(office.total("2026-01").await, "30.77");
    office.sql("DELETE FROM payroll_entries").await.unwrap();
    payroll::rebuild(&office.firm.app, january()).await.unwrap();
    assert_eq!(office.total("2026-01").await, "30.77");
}

async fn the_job_works_once_a_day_from_four_in_the_morning_on_by_the_clock_of_the_business(kind: Kind) {
    let office = Office::open(kind).await;
    let clock = office.firm.stage.clock();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    post_352(&office.firm.app, office.vera.id, "2026-01-01").await;
    let after_the_job = async || {
        office.firm.works("payroll").await;
        office.total("2026-01").await
    };
    office.sql(WRONG).await.unwrap();
    assert_eq!(
        after_the_job().await,
        "30.77",
        "it is three in the afternoon in Moscow, and the machine was off at night"
    );
    office.sql(WRONG).await.unwrap();
    clock.advance(minutes(60));
    assert_eq!(after_the_job().await, "-92.22", "it has looked today");
    clock.advance(minutes(12 * 60 - 1));
    assert_eq!(after_the_job().await, "-92.22", "a minute before four in the night");
    clock.advance(minutes(1));
    assert_eq!(after_the_job().await, "30.77");
    // It is eleven in the morning in Vladivostok by now.
    office.sql(WRONG).await.unwrap();
    let domain = &office.firm.app.domain;
    let zone = domain.write(|db| Box::pin(settings::set(db, TIME_ZONE.name, "Asia/Vladivostok", None, NOON)));
    zone.await.unwrap();
    assert_eq!(after_the_job().await, "-92.22", "it is the same day there");
    clock.advance(minutes(17 * 60 - 1));
    assert_eq!(after_the_job().await, "-92.22", "a minute before four there");
    clock.advance(minutes(1));
    assert_eq!(after_the_job().await, "30.77");
}

#[tokio::test]
async fn a_look_that_failed_is_repeated_on_the_same_day() {
    let office = Office::open(Kind::Sqlite).await;
    post_352(&office.firm.app, office.vera.id, "2026-01-01").await;
    office.sql(WRONG).await.unwrap();
    let held = "CREATE TRIGGER sums_stay BEFORE UPDATE ON payroll_entries BEGIN SELECT RAISE(ABORT, 'not now'); END";
    office.sql(held).await.unwrap();
    let job = office.firm.app.rooms.jobs().into_iter().find(|job| job.name == "payroll").unwrap();
    assert!((job.run)(office.firm.app.clone()).await.is_err());
    office.sql("DROP TRIGGER sums_stay").await.unwrap();
    office.firm.works("payroll").await;
    assert_eq!(office.total("2026-01").await, "30.77");
}

#[tokio::test]
async fn a_month_that_cannot_be_put_right_keeps_no_other_from_it() {
    let office = Office::open(Kind::Sqlite).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    for (month, amount) in [(11, 500), (12, 700)] {
        let day = NaiveDate::from_ymd_opt(2025, month, 30).unwrap();
        payroll.add_manual(owner, vera, day, roubles(amount), "A happy client").await.unwrap();
    }
    post_352(&office.firm.app, vera, "2026-01-01").await;
    office.sql(WRONG).await.unwrap();
    let held = "CREATE TRIGGER november_stays BEFORE UPDATE ON payroll_entries WHEN OLD.period = '2025-11'
        BEGIN SELECT RAISE(ABORT, 'not in November'); END";
    office.sql(held).await.unwrap();
    let failed = payroll::rebuild(&office.firm.app, january()).await.unwrap_err();
    assert!(format!("{failed:#}").contains("the sums of 2025-11"), "{failed:#}");
    let totals = [office.total("2025-11").await, office.total("2025-12").await, office.total("2026-01").await];
    assert_eq!(totals, ["0.01", "700.00", "30.77"]);
}
