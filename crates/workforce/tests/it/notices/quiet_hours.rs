//! Quiet hours of the business and of people: what waits, until when, and what is sent at once.

use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use opora::clock::Millis;
use opora::jobs::{JobFilter, JobState};
use workforce::notices::{self, Notice};
use workforce::settings::{self, QUIET_HOURS};
use workforce::sites::AboutSite;

use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::shifts::{Workplace, about_site, first_day, person};

on_databases! { [sqlite Sqlite, postgres Postgres]
    notices_wait_for_the_end_of_the_quiet_hours,
}

fn cancelled() -> Notice {
    Notice::PlanCancelled { site: "Shop".into(), when: first_day("16:00", "18:00") }
}

fn reminder() -> Notice {
    Notice::Reminder { site: "Shop".into(), when: first_day("16:00", "18:00") }
}

/// Writes a notice and runs its job. Returns when it runs again: no bot takes messages here, so a notice that may be
/// sent is tried again after five seconds.
async fn runs_again_at(workplace: &Workplace, user: i64, notice: Notice) -> Millis {
    let (app, now) = (&workplace.firm.app, workplace.firm.app.clock.now());
    app.domain.write(move |db| Box::pin(notices::write(db, vec![(user, notice)], now))).await.unwrap();
    workplace.firm.stage.run_jobs(&app.rooms.jobs().workers()).await;
    let filter = JobFilter { bot: app.bot_id, name: Some("notice".to_owned()), ..JobFilter::default() };
    let job = app.domain.store().operator().jobs(&filter, None, 1).await.unwrap().remove(0);
    assert!(job.state == JobState::Scheduled && job.errors.is_empty(), "{job:?}");
    job.run_at
}

async fn set_business(workplace: &Workplace, hours: &'static str) {
    let set =
        workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, QUIET_HOURS.name, hours, None, NOON)));
    set.await.unwrap();
}

async fn notices_wait_for_the_end_of_the_quiet_hours(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let east = AboutSite { time_zone: Tz::Asia__Vladivostok, ..about_site("East") };
    let (west, east) = (workplace.site("West", 10_000).await, workplace.site_with(east).await);
    let anna = workplace.worker("Anna", &[west], |_| {}).await;
    let boris = workplace.worker("Boris", &[east], |_| {}).await;
    let [anna_id, boris_id] = [person(&workplace.firm, &anna).await.id, person(&workplace.firm, &boris).await.id];
    let clock = workplace.firm.stage.clock();
    let soon = || clock.now().plus(Duration::from_secs(5));
    // It is 15:00 in Moscow, and 22:00 in Vladivostok.
    assert_eq!(runs_again_at(&workplace, boris_id, cancelled()).await, soon(), "there are no quiet hours yet");
    set_business(&workplace, "22-8").await;
    assert_eq!(runs_again_at(&workplace, anna_id, cancelled()).await, soon());
    let morning = Millis("2026-01-01T22:00:00Z".parse::<DateTime<Utc>>().unwrap().timestamp_millis());
    assert_eq!(runs_again_at(&workplace, boris_id, cancelled()).await, morning, "08:00 in Vladivostok");
    assert_eq!(runs_again_at(&workplace, boris_id, reminder()).await, soon(), "it is urgent");
    // A person's own choice counts more.
    boris.sends("/quiet").await;
    boris.sees("Your quiet hours: Like the team (22:00–08:00)");
    boris.sees_button("🏠 Main menu");
    boris.presses("No quiet hours").await;
    boris.sees("Done. Your quiet hours: No quiet hours");
    assert_eq!(runs_again_at(&workplace, boris_id, cancelled()).await, soon());
    anna.sends("/quiet").await;
    anna.presses("21:00–08:00").await;
    set_business(&workplace, "off").await;
    clock.advance(Duration::from_secs(7 * 3600));
    let morning = Millis("2026-01-02T05:00:00Z".parse::<DateTime<Utc>>().unwrap().timestamp_millis());
    assert_eq!(runs_again_at(&workplace, anna_id, cancelled()).await, morning, "it is 22:00 in Moscow");
    anna.sends("/quiet").await;
    anna.presses("Like the team (No quiet hours)").await;
    assert_eq!(runs_again_at(&workplace, anna_id, cancelled()).await, soon());
}
