//! Schedules over a year by the hand-set clock: new year's slots by each site's clock, nights with a time change, the
//! 29th of February, and a machine that was off for days.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use opora::clock::Millis;
use opora::jobs::{JobRow, JobState};
use opora::testing::jobs::JobStage;
use opora::turn::Context;
use workforce::jobs::ConfiguredSchedules;
use workforce::sites::AboutSite;

use crate::kit::firm::{Firm, NOON, StorageKind};
use crate::shifts::{Workplace, about_site};

const HOUR: Duration = Duration::from_secs(3600);

fn at(text: &str) -> Millis {
    Millis(text.parse::<DateTime<Utc>>().unwrap().timestamp_millis())
}

/// The jobs of a firm on its database, with these schedules by the clock of Berlin; the others are off.
fn stage(firm: &Firm, schedules: &[(&str, &str)]) -> JobStage {
    let jobs = firm.app.rooms.jobs();
    let mut configured: ConfiguredSchedules =
        jobs.list().iter().map(|job| (job.name.to_owned(), None)).collect::<BTreeMap<_, _>>();
    configured.extend(schedules.iter().map(|(name, cron)| ((*name).to_owned(), Some((*cron).to_owned()))));
    let schedules = jobs.schedules(&configured, Tz::Europe__Berlin).unwrap();
    let (store, clock) = (firm.app.domain.store().clone(), firm.app.clock.clone());
    JobStage::on(jobs.workers(), Context::new().with(firm.app.clone()), store, clock).schedules(schedules)
}

/// Moves the clock to a time in half days, and returns when jobs with this name ran, as `month-day hour:minute` in UTC.
async fn runs_until(stage: &JobStage, end: Millis, name: &str) -> Vec<String> {
    let mut runs = Vec::new();
    while stage.clock().now() < end {
        let done: Vec<JobRow> = stage.advance((12 * HOUR).min(end.since(stage.clock().now()))).await;
        for job in done.into_iter().filter(|job| *job.name == *name) {
            assert_eq!(job.state, JobState::Completed, "{job:?}");
            let at = DateTime::from_timestamp_millis(job.run_at.0).unwrap();
            runs.push(at.format("%m-%d %H:%M").to_string());
        }
    }
    runs
}

#[tokio::test]
async fn a_job_at_half_past_two_runs_once_in_every_night() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let stage = stage(&firm, &[("payroll", "30 2 * * *")]);
    stage.run_due().await;
    let runs = runs_until(&stage, at("2027-01-01T12:00:00Z"), "payroll").await;
    assert_eq!(runs.len(), 365, "once a night");
    // 02:30 does not exist on 29 March, and comes twice on 25 October.
    for (night, run) in [("03-29", "03-29 01:00"), ("10-25", "10-25 00:30")] {
        let of_night: Vec<_> = runs.iter().filter(|at| at.starts_with(night)).collect();
        assert_eq!(of_night, [run]);
    }
}

#[tokio::test]
async fn a_job_of_the_29th_of_february_runs_in_leap_years() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let stage = stage(&firm, &[("payroll", "0 4 29 2 *")]);
    stage.run_due().await;
    assert_eq!(runs_until(&stage, at("2026-03-02T00:00:00Z"), "payroll").await, [""; 0]);
    stage.clock().advance(at("2028-02-28T00:00:00Z").since(stage.clock().now()));
    assert_eq!(runs_until(&stage, at("2028-03-02T00:00:00Z"), "payroll").await, ["02-29 03:00"]);
}

#[tokio::test]
async fn each_site_gets_next_years_slots_by_its_own_clock() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    for (name, zone) in [("East", Tz::Asia__Vladivostok), ("West", Tz::America__New_York)] {
        workplace.site_with(AboutSite { time_zone: zone, ..about_site(name) }).await;
    }
    let stage = stage(&workplace.firm, &[("slots-of-next-year", "0 * * * *")]);
    stage.run_due().await;
    let filled = async || {
        let sql = "SELECT name FROM sites WHERE id IN (SELECT site_id FROM time_slots) ORDER BY name";
        workplace.rows(sql).await.concat()
    };
    stage.clock().advance(at("2026-11-30T16:00:00Z").since(NOON));
    let mut first = BTreeMap::new();
    while first.len() < 2 && stage.clock().now() < at("2026-12-02T00:00:00Z") {
        stage.advance(HOUR).await;
        for site in filled().await {
            first.entry(site).or_insert(stage.clock().now());
        }
    }
    // Three in the morning of 1 December in Vladivostok and in New York.
    let expected = [("East", "2026-11-30T17:00:00Z"), ("West", "2026-12-01T08:00:00Z")];
    assert_eq!(first, expected.map(|(site, time)| (site.to_owned(), at(time))).into());
    let slots = async || workplace.rows("SELECT COUNT(*) FROM time_slots").await;
    let made = slots().await;
    stage.advance(30 * 24 * HOUR).await;
    assert_eq!(slots().await, made, "later runs add nothing");
}

#[tokio::test]
async fn three_days_off_are_made_up_for_by_one_run() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let usual: Vec<_> = firm.app.rooms.jobs().list().iter().map(|job| (job.name, job.usual_cron)).collect();
    // No bot runs here, so that files cannot be requested.
    let usual: Vec<_> = usual.into_iter().filter(|(name, _)| *name != "attachments").collect();
    let stage = stage(&firm, &usual);
    assert!(stage.run_due().await.is_empty(), "schedules begin now");
    let mut ran: Vec<_> = stage.advance(3 * 24 * HOUR).await.into_iter().map(|job| job.name.to_string()).collect();
    ran.sort_unstable();
    let mut names: Vec<_> = usual.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.sort_unstable();
    assert_eq!(ran, names);
    assert!(stage.run_due().await.is_empty());
}
