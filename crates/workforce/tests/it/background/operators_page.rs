//! `/admin/jobs`: what a superadmin sees and does. The table of routes says that no one else may.

use opora::jobs::{Job, JobFilter, JobRow, JobState, NewJob};
use serde::{Deserialize, Serialize};
use workforce::notices::SendNotice;
use workforce::person::Role;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::StorageKind;

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
