//! `/admin/jobs`: what a superadmin sees and does. The table of routes says that no one else may.

use opora::failpoints::{self, Action};
use opora::jobs::{Job, JobFilter, JobRow, JobState, NewJob};
use serde::{Deserialize, Serialize};
use workforce::background;
use workforce::notices::SendNotice;
use workforce::person::Role;
use workforce::rooms::Rooms;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::StorageKind;
use crate::web::live_pages::{Socket, next_message, open_with_topics, serve};

/// A notice without the id that its function reads: it is discarded.
#[derive(Serialize, Deserialize)]
struct Unreadable {}

impl Job for Unreadable {
    const NAME: &'static str = SendNotice::NAME;
    const QUEUE: &'static str = SendNotice::QUEUE;
}

async fn jobs_named(cabinet: &Cabinet, name: &str) -> Vec<JobRow> {
    let filter = JobFilter { bot: cabinet.app.bot_id, name: Some(name.to_owned()), ..JobFilter::default() };
    cabinet.app.domain.store().operator().jobs(&filter, None, 100).await.unwrap()
}

async fn jobs_are(cabinet: &Cabinet, name: &str, state: JobState, count: usize) -> Vec<JobRow> {
    until(state.name(), async || {
        let jobs = jobs_named(cabinet, name).await;
        let fitting = jobs.iter().filter(|job| job.state == state).count();
        (fitting == count).then_some(jobs)
    })
    .await
}

#[tokio::test]
async fn a_failed_job_shows_its_errors_and_is_run_again() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    cabinet.app.bot.enqueue(Unreadable {}).await.unwrap();
    let job = jobs_are(&cabinet, "notice", JobState::Discarded, 1).await.remove(0);
    let list = admin.get("/admin/jobs?state=discarded").await;
    list.is(200, "the job cannot be read").is(200, &format!("notice #{}", job.id.0));
    assert!(!admin.get("/admin/jobs?state=completed").await.body.contains("notice #"));
    let page = format!("/admin/jobs/{}", job.id.0);
    admin.get(&page).await.is(200, "Attempt 1").is(200, "Run again");
    admin.post(&format!("{page}/retry"), &[]).await.redirects_to(&page);
    until("the second attempt", async || (jobs_named(&cabinet, "notice").await[0].attempt == 2).then_some(())).await;
    admin.get("/admin/jobs").await.is(200, &format!("Run again: #{} notice", job.id.0));
    admin.get("/admin/jobs?state=odd").await.is(400, "");
    cabinet.close().await;
}

#[tokio::test]
async fn many_jobs_are_cancelled_and_run_again_by_filter() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    let later = |id: i64| NewJob::from(SendNotice { notice: id }).at(std::time::Duration::from_secs(3600));
    cabinet.app.bot.enqueue_all((1000..1060).map(later).collect()).await.unwrap();
    let page = admin.get("/admin/jobs?name=notice&state=scheduled").await;
    page.is(200, "data-testid=\"older\"").is(200, "Cancel these jobs?").is(200, "name=notice");
    let selected = [("queue", "notifications"), ("state", "scheduled"), ("name", "notice")];
    let back = "/admin/jobs?queue=notifications&state=scheduled&name=notice";
    admin.post("/admin/jobs/cancel", &selected).await.redirects_to(back);
    jobs_are(&cabinet, "notice", JobState::Cancelled, 60).await;
    let cancelled = [("queue", ""), ("state", "cancelled"), ("name", "notice")];
    let back = "/admin/jobs?state=cancelled&name=notice";
    admin.post("/admin/jobs/retry", &cancelled).await.redirects_to(back);
    jobs_are(&cabinet, "notice", JobState::Completed, 60).await;
    admin.get("/admin/jobs").await.is(200, "Cancelled: queue=notifications state=scheduled name=notice");
    cabinet.close().await;
}

#[tokio::test]
async fn a_paused_queue_says_so_and_is_resumed() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    admin.post("/admin/jobs/queues/shifts/pause", &[]).await.redirects_to("/admin/jobs");
    admin.get("/admin/jobs").await.is(200, "paused").is(200, "Queue paused: shifts");
    admin.post("/admin/jobs/queues/shifts/resume", &[]).await.redirects_to("/admin/jobs");
    let page = admin.get("/admin/jobs").await;
    assert!(!page.body.contains("data-testid=\"resume-shifts\""), "{}", page.body);
    admin.post("/admin/jobs/queues/mail/pause", &[]).await.is(404, "");
    cabinet.close().await;
}

#[tokio::test]
async fn schedules_are_listed_and_run_at_once() {
    let more = [("PUBLIC_URL", "http://office.example"), ("CRON_SESSIONS", "off"), ("CRON_PAYROLL", "30 5 * * *")];
    let cabinet = Cabinet::with_settings(StorageKind::Sqlite, Rooms::all(), &more).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    let page = admin.get("/admin/jobs").await;
    page.is(200, "<code>30 5 * * *</code>").is(200, "by the clock of Europe/Moscow").is(200, ">off<");
    // It is noon UTC, and 05:30 of the next day in Moscow is 02:30 UTC.
    page.is(200, "2026-01-02T02:30:00Z");
    admin.post("/admin/jobs/run/payroll", &[]).await.redirects_to("/admin/jobs");
    jobs_are(&cabinet, "payroll", JobState::Completed, 1).await;
    admin.get("/admin/jobs").await.is(200, "Run now: payroll");
    admin.post("/admin/jobs/run/nothing", &[]).await.is(404, "");
    cabinet.close().await;
}

/// The watcher of the product looks at jobs only while a page names them.
#[tokio::test]
async fn an_open_page_is_told_that_jobs_have_changed() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    let watched = cabinet.app.clone();
    let watcher = tokio::spawn(async move { background::watch(&watched).await });
    let address = serve(&cabinet).await;
    assert!(!cabinet.app.events.has_followers("jobs"));
    let mut page = open_with_topics(address, &admin, "jobs").await;
    assert!(cabinet.app.events.has_followers("jobs"));
    let is_told = async |page: &mut Socket| {
        while !next_message(page).await.to_text().unwrap().contains("\"jobs\"") {}
    };
    // The first look shows that there is something to see.
    is_told(&mut page).await;
    cabinet.app.bot.enqueue(Unreadable {}).await.unwrap();
    is_told(&mut page).await;
    jobs_are(&cabinet, "notice", JobState::Discarded, 1).await;
    drop(page);
    until("no page is open", async || (!cabinet.app.events.has_followers("jobs")).then_some(())).await;
    watcher.abort();
    cabinet.close().await;
}

#[tokio::test]
async fn a_running_job_is_cancelled_on_its_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let admin = cabinet.signed_in(ANNA).await;
    failpoints::arm(failpoints::JOB_BEFORE_RUN, Action::Pause, 1).unwrap();
    admin.post("/admin/jobs/run/payroll", &[]).await.redirects_to("/admin/jobs");
    let id = jobs_are(&cabinet, "payroll", JobState::Running, 1).await[0].id.0;
    let page = format!("/admin/jobs/{id}");
    admin.get(&page).await.is(200, "Cancel job");
    admin.post(&format!("{page}/cancel"), &[]).await.redirects_to(&page);
    jobs_are(&cabinet, "payroll", JobState::Cancelled, 1).await;
    admin.get("/admin/jobs").await.is(200, &format!("Cancelled: #{id} payroll"));
    cabinet.close().await;
}
