//! `/admin/jobs`: queues, jobs by filters, one job with its attempts, and what an operator may do.
//!
//! A request is audited first, in a commit that checks the operator's role again, and then made.

use std::collections::HashMap;

use axum::Form;
use axum::extract::{Path, Query, State};
use maud::Markup;
use opora::jobs::{JobFilter, JobId, JobRequest, JobRow, JobState};
use serde::Deserialize;

use super::queues::{QueueStatus, has_queue, queues};
use super::schedules::{ScheduleStatus, schedules};
use super::{BulkAction, JOB_RUN, QUEUE_PAUSED, QUEUE_RESUMED, SUBJECT, TOPIC};
use super::{all_of, audit_entry, change_all, filter_words, run_now};
use crate::application::App;
use crate::audit;
use crate::people;
use crate::person::OPERATORS;
use crate::text;
use crate::web::ui::PageRedirect;
use crate::web::{Event, Operator, PageError, Visitor};

mod view;

pub const PATH: &str = "/admin/jobs";
/// Jobs on a page.
const PAGE_SIZE: usize = 50;
/// Lines of the audit log on the page.
const AUDIT_LINES: u64 = 10;

/// The filters of the list, as its address names them. Empty ones do not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Filters {
    queue: String,
    state: String,
    name: String,
    /// Only jobs before this id.
    before: Option<i64>,
}

/// The data of the list.
struct JobsPage {
    queues: Vec<QueueStatus>,
    schedules: Vec<ScheduleStatus>,
    filters: Filters,
    filter: JobFilter,
    jobs: Vec<JobRow>,
    /// Whether older jobs follow.
    has_more: bool,
    /// Names of jobs that can be filtered by.
    names: Vec<&'static str>,
    audit: Vec<audit::Line>,
    actors: HashMap<i64, String>,
}

impl Filters {
    fn state(&self) -> Result<Option<JobState>, PageError> {
        match self.state.as_str() {
            "" => Ok(None),
            state => JobState::of_name(state).map(Some).ok_or(PageError::BadRequest),
        }
    }

    fn filter(&self, bot: i64) -> Result<JobFilter, PageError> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(JobFilter { queue: given(&self.queue), name: given(&self.name), state: self.state()?, ..all_of(bot) })
    }

    /// The address of the list with these filters.
    fn path(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("queue", &self.queue), ("state", &self.state), ("name", &self.name)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(before) = self.before {
            query.append_pair("before", &before.to_string());
        }
        match query.finish() {
            query if query.is_empty() => PATH.to_owned(),
            query => format!("{PATH}?{query}"),
        }
    }
}

/// `GET /admin/jobs`.
pub async fn list(
    State(app): State<App>,
    Operator(visitor): Operator,
    Query(filters): Query<Filters>,
) -> Result<Markup, PageError> {
    let (store, now) = (app.domain.store(), app.clock.now());
    let filter = filters.filter(app.bot_id)?;
    let before = filters.before.map(JobId);
    let queues = queues(&**store, app.bot_id, now).await.map_err(anyhow::Error::from)?;
    let schedules = schedules(&app, now).await?;
    let mut jobs = store.operator().jobs(&filter, before, PAGE_SIZE + 1).await.map_err(anyhow::Error::from)?;
    let has_more = jobs.len() > PAGE_SIZE;
    jobs.truncate(PAGE_SIZE);
    let audit = audit::latest(&app.domain, SUBJECT, AUDIT_LINES).await?;
    let actors = app.people.names(audit.iter().filter_map(|line| line.actor)).await?;
    let names = app.rooms.jobs().list().iter().map(|job| job.name).collect();
    Ok(view::list(
        &visitor,
        &JobsPage { queues, schedules, filters, filter, jobs, has_more, names, audit, actors },
        now,
    ))
}

/// `GET /admin/jobs/{id}`.
pub async fn show(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(id): Path<i64>,
) -> Result<Markup, PageError> {
    let job = find(&app, id).await?;
    Ok(view::job(&visitor, &job))
}

async fn find(app: &App, id: i64) -> Result<JobRow, PageError> {
    let filter = JobFilter { id: Some(JobId(id)), ..all_of(app.bot_id) };
    let found = app.domain.store().operator().jobs(&filter, None, 1).await.map_err(anyhow::Error::from)?;
    found.into_iter().next().ok_or(PageError::NotFound)
}

/// `POST /admin/jobs/{id}/retry`.
pub async fn retry(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(id): Path<i64>,
) -> Result<PageRedirect, PageError> {
    change_one(&app, &visitor, id, BulkAction::Retry).await
}

/// `POST /admin/jobs/{id}/cancel`.
pub async fn cancel(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(id): Path<i64>,
) -> Result<PageRedirect, PageError> {
    change_one(&app, &visitor, id, BulkAction::Cancel).await
}

async fn change_one(app: &App, visitor: &Visitor, id: i64, action: BulkAction) -> Result<PageRedirect, PageError> {
    let job = find(app, id).await?;
    note(app, visitor, action.action(), format!("#{id} {}", job.name)).await?;
    let changed = request(app, action.request(vec![job.id])).await?;
    let toast = done(visitor, action, changed);
    Ok(visitor.redirect(format!("{PATH}/{id}")).with_toast(toast))
}

/// `POST /admin/jobs/retry`.
pub async fn retry_all(
    State(app): State<App>,
    Operator(visitor): Operator,
    Form(filters): Form<Filters>,
) -> Result<PageRedirect, PageError> {
    change_many(&app, &visitor, filters, BulkAction::Retry).await
}

/// `POST /admin/jobs/cancel`.
pub async fn cancel_all(
    State(app): State<App>,
    Operator(visitor): Operator,
    Form(filters): Form<Filters>,
) -> Result<PageRedirect, PageError> {
    change_many(&app, &visitor, filters, BulkAction::Cancel).await
}

async fn change_many(
    app: &App,
    visitor: &Visitor,
    filters: Filters,
    action: BulkAction,
) -> Result<PageRedirect, PageError> {
    let filter = filters.filter(app.bot_id)?;
    note(app, visitor, action.action(), filter_words(&filter)).await?;
    let changed = change_all(&**app.domain.store(), &filter, action, app.clock.now()).await;
    let changed = changed.map_err(anyhow::Error::from)?;
    followed(app);
    Ok(visitor.redirect(filters.path()).with_toast(done(visitor, action, changed)))
}

/// `POST /admin/jobs/queues/{queue}/pause`.
pub async fn pause(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(queue): Path<String>,
) -> Result<PageRedirect, PageError> {
    require_queue(&app, &queue).await?;
    note(&app, &visitor, QUEUE_PAUSED, queue.as_str()).await?;
    request(&app, JobRequest::Pause(queue.as_str().into())).await?;
    Ok(visitor.redirect(PATH).with_toast(text!(visitor.language(), "background-paused-toast", queue = queue)))
}

/// `POST /admin/jobs/queues/{queue}/resume`.
pub async fn resume(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(queue): Path<String>,
) -> Result<PageRedirect, PageError> {
    require_queue(&app, &queue).await?;
    note(&app, &visitor, QUEUE_RESUMED, queue.as_str()).await?;
    request(&app, JobRequest::Resume(queue.as_str().into())).await?;
    Ok(visitor.redirect(PATH).with_toast(text!(visitor.language(), "background-resumed-toast", queue = queue)))
}

/// `POST /admin/jobs/run/{name}`.
pub async fn run(
    State(app): State<App>,
    Operator(visitor): Operator,
    Path(name): Path<String>,
) -> Result<PageRedirect, PageError> {
    let jobs = app.rooms.jobs();
    let found = jobs.list().iter().find(|job| job.name == name).ok_or(PageError::NotFound)?;
    note(&app, &visitor, JOB_RUN, found.name).await?;
    let ran = run_now(&**app.domain.store(), app.bot_id, found.job.clone(), app.clock.now()).await;
    let runs_soon = ran.map_err(anyhow::Error::from)?.is_some_and(|ran| ran.runs_soon);
    followed(&app);
    let toast = match runs_soon {
        true => text!(visitor.language(), "background-run-toast", job = name),
        false => text!(visitor.language(), "background-runs-already-toast", job = name),
    };
    Ok(visitor.redirect(PATH).with_toast(toast))
}

async fn require_queue(app: &App, queue: &str) -> Result<(), PageError> {
    let is_known = has_queue(&**app.domain.store(), app.bot_id, queue).await.map_err(anyhow::Error::from)?;
    if is_known { Ok(()) } else { Err(PageError::NotFound) }
}

/// Makes a request. Returns how many jobs or queues it changes.
async fn request(app: &App, request: JobRequest) -> Result<u64, PageError> {
    let made = app.domain.store().operator().request_jobs(app.bot_id, request, app.clock.now()).await;
    let changed = made.map_err(anyhow::Error::from)?;
    followed(app);
    Ok(changed)
}

/// A request is stored: the leader looks at it, and open pages show it.
fn followed(app: &App) {
    app.bot.wake_jobs();
    app.events.publish(Event::to_roles(TOPIC, OPERATORS));
}

/// Audits what an operator is about to do. Refused if the person is no operator any more.
async fn note(app: &App, visitor: &Visitor, action: &'static str, what: impl Into<String>) -> Result<(), PageError> {
    let by = visitor.person.clone();
    let entry = audit_entry(app.clock.now(), Some(by.id), action, what);
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            people::require_unchanged(db, &by).await?;
            audit::record(db, entry).await
        })
    });
    Ok(write.await?)
}

fn done(visitor: &Visitor, action: BulkAction, count: u64) -> String {
    match action {
        _ if count == 0 => text!(visitor.language(), "background-unchanged-toast"),
        BulkAction::Retry => text!(visitor.language(), "background-retried-toast", count = count),
        BulkAction::Cancel => text!(visitor.language(), "background-cancelled-toast", count = count),
    }
}
