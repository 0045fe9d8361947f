//! Jobs for minutes or hours, while their bot is killed or paused: none is lost, no effect is there twice, and memory
//! stays flat.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use opora::bot::{Bot, Handle};
use opora::clock::{Clock, Millis, Stopwatch};
use opora::jobs::{Job, JobContext, JobError, JobState, NewJob, Schedule};
use opora::store::Store;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bots::writing_people;
use super::jobs::{BOT, Sign, sign, start};
use super::process::Process;
use super::stage::Stage;
use crate::stage::until;

/// In an hour these are fewer than a bot keeps.
const JOBS_PER_SECOND: i64 = 20;

/// A job of the soak. Some fail at first, and some are put off.
#[derive(Serialize, Deserialize)]
struct Work {
    number: i64,
    /// Who gets a message, where there are no tables.
    reader: i64,
}

impl Job for Work {
    const NAME: &'static str = "work";

    fn backoff(_: u32) -> Duration {
        Duration::from_secs(1)
    }
}

/// What the schedule enqueues.
#[derive(Serialize, Deserialize)]
struct Tick {}

impl Job for Tick {
    const NAME: &'static str = "tick";
}

/// A bot with the jobs of the soak.
pub fn with_jobs(bot: Bot, has_tables: bool) -> Bot {
    let handle = bot.handle();
    let schedule = Schedule::new("tick", "* * * * *", "UTC", Tick {}).unwrap();
    bot.schedule(schedule).worker(move |job: Work, context| work(job, context, handle.clone(), has_tables)).worker(
        move |_: Tick, context: JobContext| {
            // Below 0, so that it is no number of another job.
            let number = -context.scheduled_at().0 / 60_000;
            sign(Sign { number }, context, has_tables)
        },
    )
}

async fn work(job: Work, context: JobContext, handle: Handle, has_tables: bool) -> Result<(), JobError> {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(..200))).await;
    match (job.number % 50, context.attempt()) {
        (7, 1) => return Err(std::io::Error::other("not at first").into()),
        (13, 1) => return Err(JobError::Snooze(Duration::from_secs(2).into())),
        _ => {}
    }
    if !has_tables {
        handle.post(&context.key(), job.reader, format!("signed {}", job.number)).await?;
    }
    sign(Sign { number: job.number }, context, has_tables).await
}

/// A stream of jobs.
struct Stream<'s> {
    store: &'s Arc<dyn Store>,
    reader: i64,
    jobs: i64,
}

impl Stream<'_> {
    async fn enqueue_for_a_second(&mut self) {
        let numbers = self.jobs + 1..=self.jobs + JOBS_PER_SECOND;
        let new = numbers.map(|number| NewJob::from(Work { number, reader: self.reader })).collect();
        self.store.enqueue_jobs(BOT, new, Clock::machine().now()).await.unwrap();
        self.jobs += JOBS_PER_SECOND;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The first half with kills; then one instance, whose memory is measured.
pub async fn survive_for(duration: Duration, stage: &Stage, store: &Arc<dyn Store>) {
    let watch = Stopwatch::start();
    let reader = stage.post("/users", json!({"first_name": "Anna"})).await["id"].as_i64().unwrap();
    let mut stream = Stream { store, reader, jobs: 0 };
    let mut instances = 0;
    while watch.elapsed() < duration / 2 {
        instances += run_and_kill(stage, &mut stream).await;
    }
    let process = start(stage, String::new());
    process.wait_until_leading().await;
    let mut memory = Vec::new();
    while watch.elapsed() < duration {
        stream.enqueue_for_a_second().await;
        memory.push(process.resident_kib());
    }
    until("all jobs", async || store.job_counts(BOT, None).await.unwrap().is_empty()).await;
    if !stage.backend.has_tables() {
        until("all messages", async || store.statistics(Some(BOT)).await.unwrap().outbox == 0).await;
    }
    process.stop(stage).await;
    check_jobs(store, stream.jobs).await;
    store.close().await.unwrap();
    println!("{} jobs, {instances} instances killed", stream.jobs);
    check_effects(stage, &stream, instances).await;
    check_memory(&memory);
}

/// Runs an instance for some seconds, perhaps pauses it past its lease, and kills it. Returns how many were killed.
async fn run_and_kill(stage: &Stage, stream: &mut Stream<'_>) -> usize {
    let process = start(stage, String::new());
    for _ in 0..fastrand::i64(5..90) {
        stream.enqueue_for_a_second().await;
    }
    if fastrand::u8(..4) > 0 {
        process.kill().await;
        return 1;
    }
    // The next instance takes over before this one wakes up, unless this one has locked an SQLite file.
    process.signal(Signal::STOP);
    let next: Process = start(stage, String::new());
    let _ = tokio::time::timeout(Duration::from_secs(5), next.wait_until_leading()).await;
    process.signal(Signal::CONT);
    tokio::time::sleep(Duration::from_secs(2)).await;
    next.kill().await;
    process.kill().await;
    2
}

async fn check_jobs(store: &Arc<dyn Store>, jobs: i64) {
    let counts = store.job_counts(BOT, Some(Millis(0))).await.unwrap();
    let completed = |name: &str| {
        let counts = counts.iter().filter(|count| count.state == JobState::Completed && *count.name == *name);
        counts.map(|count| count.jobs).sum::<i64>()
    };
    assert_eq!(completed("work"), jobs, "no job is lost: {counts:?}");
    assert!(completed("tick") > 0, "the schedule ran: {counts:?}");
}

async fn check_effects(stage: &Stage, stream: &Stream<'_>, instances: usize) {
    let mut times = BTreeMap::<i64, usize>::new();
    if stage.backend.has_tables() {
        writing_people(stage).await.into_iter().for_each(|number| *times.entry(number).or_default() += 1);
    } else {
        let numbers = stage.transcript(stream.reader).await.into_iter();
        let numbers = numbers.filter_map(|text| text.strip_prefix("signed ")?.parse().ok());
        numbers.for_each(|number| *times.entry(number).or_default() += 1);
    }
    let missing: Vec<_> = (1..=stream.jobs).filter(|number| !times.contains_key(number)).collect();
    assert!(missing.is_empty(), "lost effects: {missing:?}");
    let repeated: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    // A message that was sent and not recorded may come twice after a kill: at most the few that are sent at once.
    let most = if stage.backend.has_tables() { 0 } else { 4 * instances };
    assert!(repeated.len() <= most, "repeated effects: {repeated:?}");
}

/// The median of the last quarter is not above that of the first one, after a warm-up.
fn check_memory(memory: &[u64]) {
    let memory = &memory[memory.len() / 5..];
    let median = |samples: &[u64]| {
        let mut samples = samples.to_vec();
        samples.sort_unstable();
        samples.get(samples.len() / 2).copied().unwrap_or_default()
    };
    let quarter = memory.len() / 4;
    let (early, late) = (median(&memory[..quarter]), median(&memory[memory.len() - quarter..]));
    println!("{} samples of memory: {early} KiB early, {late} KiB late", memory.len());
    assert!(late <= early + early / 10 + 2_048, "memory grows: {early} KiB early, {late} KiB late");
}
