//! Quiet hours of the business and of people: what waits, until when, and what is sent at once.

use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Europe::Moscow;
use chrono_tz::Tz;
use opora::clock::Millis;
use opora::jobs::{JobFilter, JobState};
use workforce::notices::{self, Notice};
use workforce::settings::{self, QUIET_HOURS};
use workforce::sites::{AboutSite, BroadcastDraft, DeliveryState, Period};
use workforce::texts::LocalPeriod;

use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::kit::sql::run_sql;
use crate::shifts::{Workplace, about_site, person};

const HOUR: Duration = Duration::from_secs(3600);

on_databases! { [sqlite Sqlite, postgres Postgres]
    news_of_a_shift_that_begins_soon_do_not_wait,
    messages_to_staff_wait_for_quiet_hours,
    notices_wait_for_the_end_of_the_quiet_hours,
}

/// A shift that begins so many hours after noon UTC.
fn shift_in(hours: u32) -> LocalPeriod {
    Period { from: NOON.plus(HOUR * hours), to: NOON.plus(HOUR * (hours + 2)) }.local(Moscow)
}

/// News of a plan of the day after tomorrow, which can wait.
fn cancelled() -> Notice {
    Notice::PlanCancelled { site: "Shop".into(), when: shift_in(48) }
}

fn reminder() -> Notice {
    Notice::Reminder { site: "Shop".into(), when: shift_in(1) }
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

/// It is 22:00 in Vladivostok, and the quiet hours end in ten hours.
async fn asleep_in_vladivostok(kind: StorageKind) -> (Workplace, i64, i64) {
    let workplace = Workplace::open(kind).await;
    set_business(&workplace, "22-8").await;
    let east = AboutSite { time_zone: Tz::Asia__Vladivostok, ..about_site("East") };
    let east = workplace.site_with(east).await;
    let boris = workplace.worker("Boris", &[east], |_| {}).await;
    let boris = person(&workplace.firm, &boris).await.id;
    (workplace, east, boris)
}

async fn news_of_a_shift_that_begins_soon_do_not_wait(kind: StorageKind) {
    let (workplace, _, boris) = asleep_in_vladivostok(kind).await;
    let (soon, morning) = (NOON.plus(Duration::from_secs(5)), NOON.plus(10 * HOUR));
    let site = || "East".to_owned();
    let news = |hours| {
        let when = shift_in(hours);
        let moved = Notice::PlanMoved { site: site(), before: shift_in(48), after: when };
        let brought_forward = Notice::PlanMoved { site: site(), before: when, after: shift_in(48) };
        let made = Notice::PlanMade { site: site(), when };
        let cancelled = Notice::PlanCancelled { site: site(), when };
        [made, cancelled, Notice::PlanRestored { site: site(), when }, moved, brought_forward]
    };
    // Two hours to get ready after eight in the morning.
    for (hours, expected) in [(11, soon), (12, morning)] {
        for notice in news(hours) {
            let shown = format!("{notice:?}");
            assert_eq!(runs_again_at(&workplace, boris, notice).await, expected, "{shown}");
            run_sql(&workplace.firm.app.domain, "DELETE FROM notices").await;
        }
    }
}

async fn messages_to_staff_wait_for_quiet_hours(kind: StorageKind) {
    let (workplace, east, boris) = asleep_in_vladivostok(kind).await;
    let (app, sites) = (&workplace.firm.app, &workplace.sites);
    let draft = BroadcastDraft { text: "Hello".into(), recipients: vec![boris] };
    sites.send_broadcast(&workplace.owner, east, draft).await.unwrap();
    let runs_at = async || {
        workplace.firm.stage.run_jobs(&app.rooms.jobs().workers()).await;
        let filter = JobFilter { bot: app.bot_id, name: Some("broadcast".to_owned()), ..JobFilter::default() };
        let job = app.domain.store().operator().jobs(&filter, None, 1).await.unwrap().remove(0);
        let sent = sites.broadcasts(east).await.unwrap().remove(0);
        (&*job.queue == "notifications", job.run_at, sent.count(DeliveryState::Waiting))
    };
    let morning = NOON.plus(10 * HOUR);
    assert_eq!(runs_at().await, (true, morning, 1));
    workplace.firm.stage.clock().advance(10 * HOUR);
    // No bot takes messages here, so it is tried again after five seconds.
    assert_eq!(runs_at().await, (true, morning.plus(Duration::from_secs(5)), 0));
}

/// After a pause or an outage: the shift has begun.
#[tokio::test]
async fn a_late_reminder_is_not_sent() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let anna = person(&workplace.firm, &anna).await.id;
    let app = &workplace.firm.app;
    let soon = runs_again_at(&workplace, anna, reminder()).await;
    assert_eq!(soon, NOON.plus(Duration::from_secs(5)), "it would be sent now");
    workplace.firm.stage.clock().advance(HOUR);
    let ran = workplace.firm.stage.run_jobs(&app.rooms.jobs().workers()).await;
    assert!(ran.iter().any(|job| &*job.name == "notice" && job.state == JobState::Completed), "{ran:?}");
    assert!(notices::unsent(&app.domain).await.unwrap().is_empty());
}

#[tokio::test]
async fn sent_notices_are_removed_after_thirty_days() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (domain, owner) = (&workplace.firm.app.domain, workplace.owner.id);
    run_sql(domain, "DELETE FROM notices").await;
    let now = NOON.0;
    for (created, is_told) in [(0, true), (0, false), (now - 31 * 86_400_000, true), (now - 29 * 86_400_000, true)] {
        let row = format!("({owner}, '{{}}', {created}, {is_told})");
        run_sql(domain, format!("INSERT INTO notices (user_id, body, created_at, is_told) VALUES {row}")).await;
    }
    workplace.firm.run_job("old-notices").await;
    let left = workplace.rows("SELECT created_at, is_told FROM notices ORDER BY id").await;
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!((left[0][0].as_str(), left[1][0].clone()), ("0", (now - 29 * 86_400_000).to_string()));
}
