//! The nightly rebuild of the sums: what it repairs, that one failure does not stop the rest, and when it runs.

use std::time::Duration;

use chrono::NaiveDate;
use workforce::payroll;
use workforce::settings::{self, TIME_ZONE};

use super::{PayrollFixture, january, post_352, roubles};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

/// Makes the sums differ from their rows.
const WRONG: &str =
    "UPDATE payroll_entries SET bonus_kopecks = 1, total_kopecks = earned_kopecks + deduction_kopecks + 1";

on_every_database! {
    wrong_sums_are_rebuilt,
    the_job_runs_once_a_day_after_four_in_the_morning,
}

async fn wrong_sums_are_rebuilt(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    post_352(&fixture.firm.app, fixture.vera.id, "2026-01-01").await;
    fixture.sql(WRONG).await.unwrap();
    assert_ne!(fixture.total("2026-01").await, "30.77");
    payroll::rebuild(&fixture.firm.app, january()).await.unwrap();
    assert_eq!(fixture.total("2026-01").await, "30.77");
    fixture.sql("DELETE FROM payroll_entries").await.unwrap();
    payroll::rebuild(&fixture.firm.app, january()).await.unwrap();
    assert_eq!(fixture.total("2026-01").await, "30.77");
}

async fn the_job_runs_once_a_day_after_four_in_the_morning(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let clock = fixture.firm.stage.clock();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    post_352(&fixture.firm.app, fixture.vera.id, "2026-01-01").await;
    let after_the_job = async || {
        fixture.firm.run_job("payroll").await;
        fixture.total("2026-01").await
    };
    fixture.sql(WRONG).await.unwrap();
    assert_eq!(after_the_job().await, "30.77", "it is 15:00 in Moscow, and the job has not run today");
    fixture.sql(WRONG).await.unwrap();
    clock.advance(minutes(60));
    assert_eq!(after_the_job().await, "-92.22", "the job has run today");
    clock.advance(minutes(12 * 60 - 1));
    assert_eq!(after_the_job().await, "-92.22", "a minute before four in the morning");
    clock.advance(minutes(1));
    assert_eq!(after_the_job().await, "30.77");
    // It is eleven in the morning in Vladivostok.
    fixture.sql(WRONG).await.unwrap();
    let domain = &fixture.firm.app.domain;
    let zone = domain.write(|db| Box::pin(settings::set(db, TIME_ZONE.name, "Asia/Vladivostok", None, NOON)));
    zone.await.unwrap();
    assert_eq!(after_the_job().await, "-92.22", "it is the same day there");
    clock.advance(minutes(17 * 60 - 1));
    assert_eq!(after_the_job().await, "-92.22", "a minute before four there");
    clock.advance(minutes(1));
    assert_eq!(after_the_job().await, "30.77");
}

#[tokio::test]
async fn a_failed_rebuild_is_repeated_on_the_same_day() {
    let fixture = PayrollFixture::open(StorageKind::Sqlite).await;
    post_352(&fixture.firm.app, fixture.vera.id, "2026-01-01").await;
    fixture.sql(WRONG).await.unwrap();
    let held = "CREATE TRIGGER sums_stay BEFORE UPDATE ON payroll_entries BEGIN SELECT RAISE(ABORT, 'not now'); END";
    fixture.sql(held).await.unwrap();
    let job = fixture.firm.app.rooms.jobs().into_iter().find(|job| job.name == "payroll").unwrap();
    assert!((job.run)(fixture.firm.app.clone()).await.is_err());
    fixture.sql("DROP TRIGGER sums_stay").await.unwrap();
    fixture.firm.run_job("payroll").await;
    assert_eq!(fixture.total("2026-01").await, "30.77");
}

#[tokio::test]
async fn a_month_that_fails_does_not_stop_the_others() {
    let fixture = PayrollFixture::open(StorageKind::Sqlite).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    for (month, amount) in [(11, 500), (12, 700)] {
        let day = NaiveDate::from_ymd_opt(2025, month, 30).unwrap();
        payroll.add_manual(owner, vera, day, roubles(amount), "A happy client").await.unwrap();
    }
    post_352(&fixture.firm.app, vera, "2026-01-01").await;
    fixture.sql(WRONG).await.unwrap();
    let held = "CREATE TRIGGER november_stays BEFORE UPDATE ON payroll_entries WHEN OLD.period = '2025-11'
        BEGIN SELECT RAISE(ABORT, 'not in November'); END";
    fixture.sql(held).await.unwrap();
    let failed = payroll::rebuild(&fixture.firm.app, january()).await.unwrap_err();
    assert!(format!("{failed:#}").contains("sums of 2025-11"), "{failed:#}");
    let totals = [fixture.total("2025-11").await, fixture.total("2025-12").await, fixture.total("2026-01").await];
    assert_eq!(totals, ["0.01", "700.00", "30.77"]);
}
