//! `opora jobs`: lists, runs, retries and cancels jobs, and pauses queues.

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use opora::clock::{Clock, Millis};
use opora::jobs::{JobFilter, JobId, JobRequest, JobRow, JobState};
use opora::store::Store;
use serde_json::json;

use super::queues::{QueueStatus, queues};
use super::{BulkAction, JOB_RUN, QUEUE_PAUSED, QUEUE_RESUMED, RunNow};
use super::{all_of, audit_entry, change_all, filter_words, run_now};
use crate::audit;
use crate::config::DatabaseFlags;
use crate::domain::Domain;
use crate::rooms::Rooms;
use crate::terminal::{Consent, output};

const EXAMPLES: &str = "Examples:
  opora jobs queues                          what waits and runs in each queue
  opora jobs list --state discarded          jobs that failed for good
  opora jobs show 1042                       one job with its attempts and errors
  opora jobs run payroll                     run a scheduled job now
  opora jobs retry 1042                      run a job again
  opora jobs retry --all --state discarded   run all jobs again that failed for good
  opora jobs cancel 1042                     cancel a job, also a running one
  opora jobs pause notifications             start no more jobs of a queue
  opora jobs resume notifications

A request is stored, and the running product follows it within a second; without one, the next start does.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: DatabaseFlags,
    /// The bot, by the number at the start of its token; by default that of BOT_TOKEN, or the only one
    #[arg(long, value_name = "ID", global = true)]
    bot: Option<i64>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List jobs, the newest first
    List {
        #[command(flatten)]
        filters: Filters,
        /// At most so many
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        limit: usize,
        /// Print JSON: an array of objects
        #[arg(long)]
        json: bool,
    },
    /// Show one job with its attempts and errors
    Show {
        /// Its id, as `list` prints it
        #[arg(value_name = "ID")]
        id: i64,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
    },
    /// Show what waits and runs in each queue
    Queues {
        /// Print JSON: an array of objects
        #[arg(long)]
        json: bool,
    },
    /// Run a scheduled job now, in addition to its schedule
    Run {
        /// Its name, such as payroll
        #[arg(value_name = "NAME")]
        name: String,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
    },
    /// Run jobs again as soon as possible
    Retry(Selection),
    /// Cancel jobs; a running attempt is ended
    Cancel(Selection),
    /// Start no more jobs of a queue; running ones finish
    Pause(Queue),
    /// Start jobs of a queue again
    Resume(Queue),
}

#[derive(Debug, Args)]
struct Filters {
    /// Only in this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Only in this state
    #[arg(long, value_name = "STATE")]
    state: Option<StateFlag>,
    /// Only with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, Args)]
struct Selection {
    /// Their ids, as `list` prints them
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<i64>,
    /// All jobs that pass the filters; without --state, `retry` runs only failed ones again
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    consent: Consent,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Queue {
    /// Its name, such as notifications
    #[arg(value_name = "QUEUE")]
    queue: String,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateFlag {
    Scheduled,
    Available,
    Running,
    Completed,
    Discarded,
    Cancelled,
}

/// What every command gets.
struct Jobs<'a> {
    domain: &'a Domain,
    store: &'a dyn Store,
    bot: i64,
    now: Millis,
}

/// `opora jobs`.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let configured = arguments.bot.map_or_else(|| arguments.database.bot_id(), |bot| Ok(Some(bot)))?;
    let domain = Domain::open_existing_for_command(&arguments.database.address()?).await?;
    let done = run_on(&domain, configured, arguments.command).await;
    domain.close().await?;
    done
}

async fn run_on(domain: &Domain, configured: Option<i64>, command: Command) -> anyhow::Result<()> {
    let store = &**domain.store();
    let bot = match configured {
        Some(bot) => bot,
        None => only_bot(store).await?,
    };
    let jobs = Jobs { domain, store, bot, now: Clock::machine().now() };
    match command {
        Command::List { filters, limit, json } => jobs.list(&filters, limit, json).await,
        Command::Show { id, json } => jobs.show(id, json).await,
        Command::Queues { json } => jobs.queues(json).await,
        Command::Run { name, json } => jobs.run(&name, json).await,
        Command::Retry(selection) => jobs.change(BulkAction::Retry, selection).await,
        Command::Cancel(selection) => jobs.change(BulkAction::Cancel, selection).await,
        Command::Pause(queue) => jobs.pause(queue, true).await,
        Command::Resume(queue) => jobs.pause(queue, false).await,
    }
}

async fn only_bot(store: &dyn Store) -> anyhow::Result<i64> {
    match *store.operator().bots().await? {
        [bot] => Ok(bot),
        _ => bail!("which bot? Name it with --bot, or set BOT_TOKEN"),
    }
}

impl Jobs<'_> {
    async fn list(&self, filters: &Filters, limit: usize, is_json: bool) -> anyhow::Result<()> {
        let rows = self.store.operator().jobs(&filters.of(self.bot), None, limit).await?;
        output::list(&rows, is_json, "There are no such jobs.", |rows| table(rows, self.now))
    }

    async fn show(&self, id: i64, is_json: bool) -> anyhow::Result<()> {
        let filter = JobFilter { id: Some(JobId(id)), ..all_of(self.bot) };
        let found = self.store.operator().jobs(&filter, None, 1).await?.pop();
        let row = found.with_context(|| format!("there is no job {id}"))?;
        if is_json { output::json(&row) } else { output::say(&details(&row, self.now)) }
    }

    async fn queues(&self, is_json: bool) -> anyhow::Result<()> {
        let rows = queues(self.store, self.bot, self.now).await?;
        output::list(&rows, is_json, "There are no queues.", queue_table)
    }

    async fn run(&self, name: &str, is_json: bool) -> anyhow::Result<()> {
        let jobs = Rooms::all().jobs();
        let Some(found) = jobs.list().iter().find(|job| job.name == name) else {
            let names: Vec<_> = jobs.list().iter().map(|job| job.name).collect();
            bail!("there is no scheduled job `{name}`; there are {}", names.join(", "));
        };
        self.note(JOB_RUN, found.name).await?;
        let ran = run_now(self.store, self.bot, found.job.clone(), self.now).await?;
        let RunNow { id: JobId(id), is_new, runs_soon } = ran.context("the job was not stored")?;
        if is_json {
            return output::json(&json!({ "id": id, "name": name, "is_new": is_new }));
        }
        let already = if runs_soon { "It runs soon" } else { "It waits for its queue or runs already" };
        output::say(&format!("{already}: job {id}. `opora jobs show {id}` shows how it goes."))
    }

    async fn change(&self, action: BulkAction, selection: Selection) -> anyhow::Result<()> {
        let changed = if selection.all {
            let filter = selection.filters.of(self.bot);
            selection.consent.confirm(&question(action, &filter)).await?;
            self.note(action.action(), filter_words(&filter)).await?;
            change_all(self.store, &filter, action, self.now).await?
        } else {
            let named: Vec<_> = selection.ids.iter().map(|id| format!("#{id}")).collect();
            self.note(action.action(), named.join(" ")).await?;
            let ids = selection.ids.iter().copied().map(JobId).collect();
            self.store.operator().request_jobs(self.bot, action.request(ids), self.now).await?
        };
        if selection.json {
            return output::json(&json!({ "jobs": changed }));
        }
        let jobs = output::counted(changed, "job");
        match action {
            BulkAction::Retry => output::say(&format!("{jobs} will run again.")),
            BulkAction::Cancel => output::say(&format!("{jobs} cancelled.")),
        }
    }

    async fn pause(&self, Queue { queue, json: is_json }: Queue, pauses: bool) -> anyhow::Result<()> {
        let known = queues(self.store, self.bot, self.now).await?;
        let is_known = known.iter().any(|one| one.queue == queue);
        let names: Vec<_> = known.iter().map(|one| one.queue.as_str()).collect();
        ensure!(is_known, "there is no queue `{queue}`; there are {}", names.join(", "));
        let name = queue.as_str().into();
        let request = if pauses { JobRequest::Pause(name) } else { JobRequest::Resume(name) };
        self.note(if pauses { QUEUE_PAUSED } else { QUEUE_RESUMED }, queue.as_str()).await?;
        self.store.operator().request_jobs(self.bot, request, self.now).await?;
        if is_json {
            return output::json(&json!({ "queue": queue, "is_paused": pauses }));
        }
        let words = if pauses { "is paused: its jobs wait" } else { "runs" };
        output::say(&format!("The queue {queue} {words}."))
    }
}

impl Jobs<'_> {
    /// Audits what the operator is about to do.
    async fn note(&self, action: &'static str, what: impl Into<String>) -> anyhow::Result<()> {
        let entry = audit_entry(self.now, None, action, what);
        Ok(self.domain.write(move |db| Box::pin(audit::record(db, entry))).await?)
    }
}

impl Filters {
    fn of(&self, bot: i64) -> JobFilter {
        let Self { queue, state, name } = self;
        JobFilter { queue: queue.clone(), name: name.clone(), state: state.map(Into::into), ..all_of(bot) }
    }
}

impl From<StateFlag> for JobState {
    fn from(flag: StateFlag) -> Self {
        match flag {
            StateFlag::Scheduled => Self::Scheduled,
            StateFlag::Available => Self::Available,
            StateFlag::Running => Self::Running,
            StateFlag::Completed => Self::Completed,
            StateFlag::Discarded => Self::Discarded,
            StateFlag::Cancelled => Self::Cancelled,
        }
    }
}

fn question(action: BulkAction, filter: &JobFilter) -> String {
    let verb = if action == BulkAction::Retry { "Run again" } else { "Cancel" };
    let of = |title: &str, value: Option<&str>| value.map(|value| format!(" {title} {value}")).unwrap_or_default();
    let state = of("in state", filter.state.map(JobState::name));
    format!("{verb} all jobs{}{}{state}?", of("of queue", filter.queue.as_deref()), of("named", filter.name.as_deref()))
}

fn table(rows: &[JobRow], now: Millis) -> String {
    let row = |job: &JobRow| {
        let error = job.errors.last().map(|error| output::short(&error.reason)).unwrap_or_default();
        [
            job.id.0.to_string(),
            job.name.to_string(),
            job.queue.to_string(),
            job.state.name().to_owned(),
            format!("{}/{}", job.attempt, job.max_attempts),
            output::time(job.run_at, now),
            error,
        ]
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    output::columns(["ID", "NAME", "QUEUE", "STATE", "ATTEMPTS", "RUNS AT", "LAST ERROR"], &rows)
}

fn queue_table(queues: &[QueueStatus]) -> String {
    let row = |queue: &QueueStatus| {
        let oldest = if queue.waiting == 0 { Millis::default() } else { Millis(1) };
        [
            queue.queue.clone(),
            if queue.is_paused { "yes" } else { "no" }.to_owned(),
            queue.waiting.to_string(),
            output::age(oldest, Millis(queue.oldest_ms + 1)),
            queue.scheduled.to_string(),
            queue.running.to_string(),
            queue.completed_lately.to_string(),
        ]
    };
    let rows: Vec<_> = queues.iter().map(row).collect();
    output::columns(["QUEUE", "PAUSED", "WAITING", "OLDEST", "SCHEDULED", "RUNNING", "DONE IN 10 MIN"], &rows)
}

fn details(job: &JobRow, now: Millis) -> String {
    let time = |at: Option<Millis>| at.map_or_else(|| "-".to_owned(), |at| output::time(at, now));
    let mut text = format!(
        "Job        {}\nName       {}\nQueue      {}\nState      {}\nPriority   {}\nAttempts   {} of {}\nEnqueued   {}\n\
         Runs at    {}\nStarted    {}\nFinished   {}\nArguments  {}\nResult     {}",
        job.id.0,
        job.name,
        job.queue,
        job.state.name(),
        job.priority,
        job.attempt,
        job.max_attempts,
        time(Some(job.enqueued_at)),
        time(Some(job.run_at)),
        time(job.started_at),
        time(job.finished_at),
        job.args,
        job.result.as_deref().unwrap_or("-"),
    );
    if job.cancel_requested {
        text.push_str("\nAn operator has asked to cancel it.");
    }
    for error in &job.errors {
        text.push_str(&format!("\n\nAttempt {}  {}\n{}", error.attempt, output::time(error.at, now), error.reason));
    }
    text
}
