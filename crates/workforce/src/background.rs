//! Background work as an operator sees it: `opora jobs` and `/admin/jobs`.
//!
//! Both read the library's rows of jobs, and change them by requests that need no lease: the leader follows them. So
//! they work beside a running product, on any instance.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::{JobFilter, JobId, JobRequest, JobRow, JobState};
use opora::store::{Store, StoreResult};

use crate::application::App;
use crate::key;
use crate::person::OPERATORS;
use crate::rooms::Room;
use crate::web::ui::Icon;
use crate::web::{Event, NavGroup, NavItem, Routes};

pub mod command;
mod pages;
mod queues;

/// The topic that pages name in `data-live` to follow jobs.
const TOPIC: &str = "jobs";
/// How often open pages are told that jobs have changed.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);
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
        if app.events.count_sockets() == 0 {
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
