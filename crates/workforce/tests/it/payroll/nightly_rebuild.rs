//! The nightly rebuild of the sums: what it repairs, that one failure does not stop the rest, and when it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use opora::clock::Millis;
use workforce::payroll;
use workforce::rooms::Rooms;

use super::{PayrollFixture, january, post_352, roubles};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

/// Makes the sums differ from their rows.
const WRONG: &str =
    "UPDATE payroll_entries SET bonus_kopecks = 1, total_kopecks = earned_kopecks + deduction_kopecks + 1";

on_every_database! {
    wrong_sums_are_rebuilt,
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

/// The schedule follows the clock of the business.
#[tokio::test]
async fn the_job_runs_at_four_in_the_morning() {
    for (zone, tick) in [("Europe/Moscow", "2026-01-02T01:00:00Z"), ("Asia/Vladivostok", "2026-01-01T18:00:00Z")] {
        let schedules = Rooms::all().jobs().schedules(&BTreeMap::new(), zone.parse().unwrap()).unwrap();
        let payroll = schedules.iter().find(|schedule| schedule.name() == "payroll").unwrap();
        let tick = tick.parse::<DateTime<Utc>>().unwrap().timestamp_millis();
        assert_eq!(payroll.next_after(NOON), Some(Millis(tick)), "{zone}");
    }
}

#[tokio::test]
async fn a_failed_rebuild_is_repeated() {
    let fixture = PayrollFixture::open(StorageKind::Sqlite).await;
    post_352(&fixture.firm.app, fixture.vera.id, "2026-01-01").await;
    fixture.sql(WRONG).await.unwrap();
    let held = "CREATE TRIGGER sums_stay BEFORE UPDATE ON payroll_entries BEGIN SELECT RAISE(ABORT, 'not now'); END";
    fixture.sql(held).await.unwrap();
    let failed = fixture.firm.try_job("payroll").await;
    assert!(failed.errors[0].reason.contains("sums of 2026-01"), "{failed:?}");
    fixture.sql("DROP TRIGGER sums_stay").await.unwrap();
    fixture.firm.stage.clock().advance(Duration::from_secs(60));
    fixture.firm.stage.run_jobs(&fixture.firm.app.rooms.jobs().workers()).await;
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
