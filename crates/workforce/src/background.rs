//! Background work as an operator sees it: `opora jobs` and `/admin/jobs`.
//!
//! Both read the library's rows of jobs, and change them by requests that need no lease: the leader follows them. So
//! they work beside a running product, on any instance.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::{Enqueued, JobFilter, JobId, JobRequest, JobRow, JobState, NewJob};
use opora::store::{Store, StoreResult};
use serde_json::json;

use crate::application::App;
use crate::audit;
use crate::key;
use crate::person::OPERATORS;
use crate::rooms::Room;
use crate::web::ui::Icon;
use crate::web::{Event, NavGroup, NavItem, Routes};

pub mod command;
mod pages;
mod queues;
mod schedules;

/// The topic that pages name in `data-live` to follow jobs.
const TOPIC: &str = "jobs";
/// How often open pages are told that jobs have changed.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);
/// Actions of the audit log.
const QUEUE_PAUSED: &str = "queue paused";
const QUEUE_RESUMED: &str = "queue resumed";
const JOB_RUN: &str = "job run";
/// How many jobs are read or changed at once.
const PAGE: usize = 500;

#[derive(Debug)]
pub struct BackgroundRoom;

impl Room for BackgroundRoom {
    fn name(&self) -> &'static str {
        "background"
    }

    fn routes(&self) -> Routes {
        Routes::new()
            .get(pages::PATH, pages::list)
            .get("/admin/jobs/{id}", pages::show)
            .post("/admin/jobs/{id}/retry", pages::retry)
            .post("/admin/jobs/{id}/cancel", pages::cancel)
            .post("/admin/jobs/run/{name}", pages::run)
            .post("/admin/jobs/retry", pages::retry_all)
            .post("/admin/jobs/cancel", pages::cancel_all)
            .post("/admin/jobs/queues/{queue}/pause", pages::pause)
            .post("/admin/jobs/queues/{queue}/resume", pages::resume)
    }

    fn nav(&self) -> Vec<NavItem> {
        let item = NavItem::new(key!("background-nav"), pages::PATH, Icon::Clock, OPERATORS);
        vec![item.in_group(NavGroup::Account)]
    }
}

/// Tells open pages when jobs have changed, until dropped.
pub async fn watch(app: &App) {
    let mut seen = None;
    loop {
        tokio::time::sleep(WATCH_INTERVAL).await;
        if !app.events.has_followers(TOPIC) {
            // The page that comes next shows the present state.
            seen = None;
            continue;
        }
        let now = match fingerprint(app).await {
            Ok(now) => Some(now),
            Err(error) => {
                tracing::debug!(%error, "jobs could not be counted");
                continue;
            }
        };
        if now != seen {
            app.events.publish(Event::to_roles(TOPIC, OPERATORS));
            seen = now;
        }
    }
}

/// What changes whenever an open page would show something else: the unfinished jobs, and the newest job.
async fn fingerprint(app: &App) -> StoreResult<String> {
    let store = app.domain.store();
    let counts = store.job_counts(app.bot_id, None).await?;
    let newest = store.operator().jobs(&all_of(app.bot_id), None, 1).await?;
    let paused = store.operator().paused_queues(app.bot_id).await?;
    Ok(format!("{counts:?} {newest:?} {paused:?}"))
}

fn all_of(bot: i64) -> JobFilter {
    JobFilter { bot, ..JobFilter::default() }
}

/// What audit lines about jobs and queues belong to.
const SUBJECT: (&str, i64) = ("jobs", 0);

/// The audit line of a request: its action, and what it is about.
fn audit_entry(at: Millis, actor: Option<i64>, action: &'static str, what: impl Into<String>) -> audit::Entry {
    let what: String = what.into();
    audit::Entry { at, actor, action, subject: SUBJECT, detail: json!({ "what": what }) }
}

/// What a filter selects, for the audit.
fn filter_words(filter: &JobFilter) -> String {
    let state = filter.state.map(JobState::name);
    let named = [("queue", filter.queue.as_deref()), ("state", state), ("name", filter.name.as_deref())];
    let words: Vec<_> = named.iter().filter_map(|(name, value)| Some(format!("{name}={}", (*value)?))).collect();
    if words.is_empty() { "*".to_owned() } else { words.join(" ") }
}

/// Enqueues a scheduled job. If one waits already, such as after a failure, it runs now.
async fn run_now(store: &dyn Store, bot: i64, job: NewJob, now: Millis) -> StoreResult<Option<RunNow>> {
    let enqueued = store.enqueue_jobs(bot, vec![job], now).await?;
    let Some(enqueued) = enqueued.first().copied() else { return Ok(None) };
    let id = enqueued.id();
    let outcome = match enqueued {
        Enqueued::New(_) => RunNow { id, is_new: true, runs_soon: true },
        Enqueued::Known(_) => {
            let waiting = JobFilter { id: Some(id), state: Some(JobState::Scheduled), ..all_of(bot) };
            let waits = !store.operator().jobs(&waiting, None, 1).await?.is_empty();
            if waits {
                store.operator().request_jobs(bot, JobRequest::Retry(vec![id]), now).await?;
            }
            RunNow { id, is_new: false, runs_soon: waits }
        }
    };
    Ok(Some(outcome))
}

/// The outcome of [`run_now`].
#[derive(Clone, Copy, Debug)]
struct RunNow {
    id: JobId,
    is_new: bool,
    /// Otherwise it runs already, or waits for room in its queue.
    runs_soon: bool,
}

/// Which jobs a request for many of them is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BulkAction {
    Retry,
    Cancel,
}

impl BulkAction {
    /// Whether it changes this job among many. Jobs run again if they have failed, and if the filter asks for their
    /// state: what has succeeded, was cancelled or only waits for its time runs again by request alone.
    fn applies_to(self, job: &JobRow, filter: &JobFilter) -> bool {
        let has_failed = match job.state {
            JobState::Discarded => true,
            JobState::Scheduled => !job.errors.is_empty(),
            _ => false,
        };
        match self {
            Self::Retry => has_failed || filter.state == Some(job.state),
            Self::Cancel => !job.state.is_finished(),
        }
    }

    /// The action of audit lines.
    fn action(self) -> &'static str {
        match self {
            Self::Retry => "jobs retried",
            Self::Cancel => "jobs cancelled",
        }
    }

    fn request(self, ids: Vec<JobId>) -> JobRequest {
        match self {
            Self::Retry => JobRequest::Retry(ids),
            Self::Cancel => JobRequest::Cancel(ids),
        }
    }
}

/// Retries or cancels all jobs that pass a filter. Returns how many.
async fn change_all(store: &dyn Store, filter: &JobFilter, action: BulkAction, now: Millis) -> StoreResult<u64> {
    let (mut before, mut changed) = (None, 0);
    loop {
        let page = store.operator().jobs(filter, before, PAGE).await?;
        before = page.last().map(|job| job.id);
        let is_last = page.len() < PAGE;
        let jobs = page.into_iter().filter(|job| action.applies_to(job, filter));
        let ids: Vec<_> = jobs.map(|job| job.id).collect();
        if !ids.is_empty() {
            changed += store.operator().request_jobs(filter.bot, action.request(ids), now).await?;
        }
        if is_last {
            return Ok(changed);
        }
    }
}
