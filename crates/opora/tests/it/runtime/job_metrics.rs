//! Metrics of jobs and their values.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Clock;
use opora::jobs::{Job, JobContext, JobError, JobFilter, JobState, NewJob, QueueSettings};
use opora::prelude::*;
use opora::store::{DomainWrites, JobStart, JobUpdate, LeaseAnswer, Store};
use opora::testing::{NOON, clock_at_noon, holder};
use tokio::sync::Semaphore;

use super::metrics::Metrics;
use crate::stage::{BOT, Running, Stage, memory, until, until_some};

/// Does what its text says.
#[derive(Clone, Serialize, Deserialize)]
struct Act(String);

impl Job for Act {
    const NAME: &'static str = "act";
    const QUEUE: &'static str = "acts";

    fn backoff(_: u32) -> Duration {
        Duration::from_millis(1)
    }
}

fn act(text: &str) -> NewJob {
    Act(text.to_owned()).into()
}

fn acting(bot: Bot, gate: &Arc<Semaphore>) -> Bot {
    let gate = Arc::clone(gate);
    bot.queue("acts", QueueSettings::concurrency(1)).worker(move |Act(what): Act, context: JobContext| {
        let gate = Arc::clone(&gate);
        async move {
            match &*what {
                "fails once" if context.attempt() == 1 => return Err(std::io::Error::other("no").into()),
                "gives up" => return Err(JobError::Discard("in vain".to_owned())),
                "waits" => gate.acquire().await?.forget(),
                "waits and writes" => {
                    gate.acquire().await?.forget();
                    context.finish_with(|_| Box::pin(async { Ok(()) }));
                }
                _ => {}
            }
            Ok(())
        }
    })
}

struct Case {
    stage: Stage,
    metrics: Metrics,
    clock: Clock,
    gate: Arc<Semaphore>,
}

impl Case {
    /// Runs a test in its own runtime, whose metrics go nowhere else.
    fn run(test: impl AsyncFnOnce(Case)) {
        let metrics = Metrics::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&metrics, || {
            runtime.block_on(async {
                let (stage, gate) = (Stage::new().await, Arc::new(Semaphore::new(0)));
                test(Case { stage, metrics: metrics.clone(), clock: clock_at_noon(), gate }).await;
            });
        });
    }

    async fn start(&self, store: &Arc<dyn Store>) -> Running {
        let bot = acting(self.stage.bot(store), &self.gate).clock(self.clock.clone());
        let bot = Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_millis(500)));
        until("the bot", async || bot.handle.is_running()).await;
        bot
    }

    fn value(&self, name: &str) -> f64 {
        self.metrics.of(name).unwrap_or(0.0)
    }

    async fn finished(&self, outcome: &str, value: f64) {
        self.metrics.show(&format!("opora_jobs_finished_total{{queue=acts,name=act,outcome={outcome}}}"), value).await;
    }
}

const ENQUEUED: &str = "opora_jobs_enqueued_total{queue=acts,name=act}";
const STARTED: &str = "opora_jobs_started_total{queue=acts,name=act}";
const SECONDS: &str = "opora_job_seconds{queue=acts,name=act}";
const WAITING: &str = "opora_jobs_waiting{queue=acts,name=act}";
const OLDEST: &str = "opora_jobs_oldest_seconds{queue=acts,name=act}";

#[test]
fn attempts_are_counted_by_their_end() {
    Case::run(async |case| {
        let store = memory();
        let bot = case.start(&store).await;
        for what in ["succeeds", "fails once", "gives up"] {
            bot.handle.enqueue(act(what)).await.unwrap();
        }
        case.finished("discarded", 1.0).await;
        case.finished("failed", 1.0).await;
        // The backoff of the failed job goes by the bot's clock.
        case.clock.advance(Duration::from_secs(1));
        case.finished("completed", 2.0).await;
        assert_eq!([ENQUEUED, STARTED, SECONDS].map(|name| case.value(name)), [3.0, 4.0, 4.0]);
        bot.stops().await;
    });
}

#[test]
fn waiting_jobs_are_shown_by_the_leader_only() {
    Case::run(async |case| {
        let store = memory();
        let bot = case.start(&store).await;
        bot.handle.enqueue_all((0..3).map(|_| act("waits")).collect()).await.unwrap();
        case.metrics.show(STARTED, 1.0).await;
        case.clock.advance(Duration::from_secs(40));
        case.metrics.show(WAITING, 2.0).await;
        case.metrics.show(OLDEST, 40.0).await;
        // Another instance leads now, and this one stands by.
        let epoch = until_some("another leader", async || {
            store.operator().clear_lease(BOT).await.unwrap();
            match store.claim(BOT, &holder("other"), None).await.unwrap() {
                LeaseAnswer::Granted(epoch) => Some(epoch),
                LeaseAnswer::Held(_) => None,
            }
        })
        .await;
        let lead = async {
            loop {
                store.renew(BOT, epoch).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = lead => {}
            () = case.metrics.show(WAITING, 0.0) => {}
        }
        case.metrics.show(OLDEST, 0.0).await;
        bot.stop.stop();
        let _ = bot.ends().await;
    });
}

#[test]
fn a_kind_without_waiting_jobs_falls_to_0() {
    Case::run(async |case| {
        let store = memory();
        let bot = case.start(&store).await;
        bot.handle.enqueue_all((0..2).map(|_| act("waits")).collect()).await.unwrap();
        case.metrics.show(STARTED, 1.0).await;
        case.clock.advance(Duration::from_secs(15));
        case.metrics.show(WAITING, 1.0).await;
        case.gate.add_permits(2);
        case.finished("completed", 2.0).await;
        case.clock.advance(Duration::from_secs(15));
        case.metrics.show(WAITING, 0.0).await;
        case.metrics.show(OLDEST, 0.0).await;
        bot.stops().await;
    });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "wish")]
enum Wish {
    Made,
}

async fn wish(turn: &mut Turn, _: Command) -> Step<Wish> {
    turn.enqueue(act("succeeds"));
    turn.say("Granted.");
    Ok(Next::Go(Wish::Made))
}

async fn thanks(_: &mut Turn, _: String) -> Step<Wish> {
    Ok(Next::End)
}

/// On SQL, where jobs are writes: they are counted when the commit has succeeded.
#[test]
fn jobs_of_writes_are_counted_after_their_commit() {
    Case::run(async |case| {
        let (store, anna) = (case.stage.sqlite().await, case.stage.person("Anna").await);
        let write = async |succeeds: bool| {
            let writes = DomainWrites::new(move |database| {
                Box::pin(async move {
                    database.enqueue(BOT, act("succeeds"), NOON).await?;
                    if succeeds { Ok(()) } else { Err(Refusal::because("no")) }
                })
            });
            store.write(writes).await
        };
        write(false).await.unwrap_err();
        assert_eq!(case.value(ENQUEUED), 0.0);
        write(true).await.unwrap();
        assert_eq!(case.value(ENQUEUED), 1.0);
        let dialogue = Dialogue::new().start(command("wish"), wish).on(Wish::MADE, text(), thanks);
        let bot = Running::start(acting(case.stage.bot(&store).dialogue(dialogue), &case.gate));
        anna.says("/wish").await;
        case.finished("completed", 2.0).await;
        assert_eq!(case.value(ENQUEUED), 2.0, "a job of a turn is counted once");
        bot.stops().await;
    });
}

#[test]
fn a_job_of_a_turn_without_tables_is_counted_once() {
    Case::run(async |case| {
        let (store, anna) = (memory(), case.stage.person("Anna").await);
        let dialogue = Dialogue::new().start(command("wish"), wish).on(Wish::MADE, text(), thanks);
        let bot = Running::start(acting(case.stage.bot(&store).dialogue(dialogue), &case.gate));
        anna.says("/wish").await;
        case.finished("completed", 1.0).await;
        assert_eq!(case.value(ENQUEUED), 1.0);
        bot.stops().await;
    });
}

/// An attempt of an instance that has ended has no duration here.
#[test]
fn a_rescued_attempt_has_no_duration() {
    Case::run(async |case| {
        let store = memory();
        let LeaseAnswer::Granted(epoch) = store.claim(BOT, &holder("before"), None).await.unwrap() else {
            panic!("no lease")
        };
        store.enqueue_jobs(BOT, vec![act("succeeds")], NOON).await.unwrap();
        let start = JobStart { queues: vec![("acts".into(), 1)], also_scheduled: false, now: NOON };
        assert_eq!(store.start_jobs(BOT, epoch, start).await.unwrap().len(), 1);
        store.release(BOT, epoch).await.unwrap();
        let bot = case.start(&store).await;
        case.finished("completed", 1.0).await;
        case.finished("failed", 1.0).await;
        assert_eq!([STARTED, SECONDS].map(|name| case.value(name)), [1.0, 1.0]);
        bot.stops().await;
    });
}

/// Its row was changed by hand while it ran, with or without last writes.
#[test]
fn an_attempt_that_was_ended_elsewhere_does_not_count() {
    for what in ["waits", "waits and writes"] {
        Case::run(async |case| {
            let store = case.stage.sqlite().await;
            let bot = case.start(&store).await;
            let id = bot.handle.enqueue(act(what)).await.unwrap().id();
            let filter = JobFilter { bot: BOT, id: Some(id), ..JobFilter::default() };
            let row = until_some("the attempt", async || {
                store.operator().jobs(&filter, None, 1).await.unwrap().into_iter().find(|row| row.attempt == 1)
            })
            .await;
            let ended = JobUpdate { state: JobState::Discarded, at: NOON, ..JobUpdate::compare(&row) };
            assert_eq!(store.update_jobs(BOT, row.epoch, vec![ended], None).await.unwrap(), [true]);
            case.gate.add_permits(1);
            // The queue has room for one job.
            bot.handle.enqueue(act("succeeds")).await.unwrap();
            case.finished("completed", 1.0).await;
            assert_eq!(case.value(SECONDS), 1.0, "{what}");
            bot.stops().await;
        });
    }
}
