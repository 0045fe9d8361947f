//! Jobs while Redis is away: with a journal in the application's database they go on, otherwise they wait.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::jobs::{Job, JobContext, JobError, JobFilter, JobRequest, JobRow, JobState, NewJob, QueueSettings};
use opora::prelude::*;
use opora::store::Store;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{Fixture, on_both_databases};
use crate::runtime::form::form;
use crate::stage::{BOT, Running, until};

/// Notes its name when it ends. `slow` waits for the gate.
#[derive(Clone, Serialize, Deserialize)]
struct Note(String);

impl Job for Note {
    const NAME: &'static str = "note";

    fn backoff(_: u32) -> Duration {
        Duration::from_millis(10)
    }
}

fn note(name: &str) -> NewJob {
    Note(name.to_owned()).into()
}

fn now() -> Millis {
    Clock::machine().now()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "notebook")]
enum Notebook {
    Open,
}

/// A notebook of which every page is a job.
fn notebook() -> Dialogue<Notebook> {
    async fn open(turn: &mut Turn, _: Command) -> Step<Notebook> {
        turn.say("What shall I note?");
        Ok(Next::Go(Notebook::Open))
    }
    async fn page(turn: &mut Turn, page: String) -> Step<Notebook> {
        turn.enqueue(note(&page));
        turn.say("Noted.");
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("notebook"), open).on(Notebook::OPEN, text(), page)
}

struct Case {
    store: Arc<dyn Store>,
    bot: Running,
    noted: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
}

impl Case {
    /// A bot with a job that runs.
    async fn start(fixture: &Fixture) -> Self {
        let (noted, gate) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(Semaphore::new(0)));
        let (notes, wait) = (Arc::clone(&noted), Arc::clone(&gate));
        let store = fixture.store().await;
        let bot = fixture.stage.bot(&store).dialogue(form()).dialogue(notebook());
        let bot = bot.queue("default", QueueSettings::concurrency(5)).worker(move |Note(name): Note, _: JobContext| {
            let (notes, wait) = (Arc::clone(&notes), Arc::clone(&wait));
            async move {
                if name == "slow" {
                    wait.acquire().await?.forget();
                }
                notes.lock().push(name);
                Ok::<_, JobError>(())
            }
        });
        let bot = Running::start(bot);
        until("the bot", async || bot.handle.is_running()).await;
        bot.handle.enqueue(note("slow")).await.unwrap();
        let case = Self { store, bot, noted, gate };
        until("the slow job", async || case.count(JobState::Running).await == 1).await;
        case
    }

    /// None while the store of the jobs is away.
    async fn rows(&self) -> Vec<JobRow> {
        let filter = JobFilter { bot: BOT, ..JobFilter::default() };
        self.store.operator().jobs(&filter, None, 100).await.unwrap_or_default()
    }

    async fn count(&self, state: JobState) -> usize {
        self.rows().await.iter().filter(|row| row.state == state).count()
    }

    async fn completes(&self, jobs: usize) {
        until(&format!("{jobs} jobs"), async || self.count(JobState::Completed).await == jobs).await;
    }

    fn times_noted(&self, name: &str) -> usize {
        self.noted.lock().iter().filter(|noted| *noted == name).count()
    }

    async fn notes(&self, name: &str) {
        until(name, async || self.times_noted(name) > 0).await;
    }
}

on_both_databases! {
    jobs_go_on_while_redis_is_away,
}

/// A running, a scheduled and a new job complete without Redis.
async fn jobs_go_on_while_redis_is_away(fixture: Fixture) {
    let (anna, boris) = (fixture.stage.person("Anna").await, fixture.stage.person("Boris").await);
    let case = Case::start(&fixture).await;
    anna.says("/notebook").await;
    anna.receives("What shall I note?").await;
    fixture.cut_off_after_question(&boris, &case.store).await;
    let later = note("later").at(Duration::from_millis(100));
    case.store.enqueue_jobs(BOT, vec![later], now()).await.unwrap();
    anna.says("new").await;
    anna.receives("Noted.").await;
    case.notes("later").await;
    case.notes("new").await;
    // The attempt under the lease in Redis is over. The job runs again under the lease of the journal.
    case.gate.add_permits(2);
    case.completes(3).await;
    let slow = case.rows().await.pop().unwrap();
    assert!(slow.attempt <= 2 && slow.errors.len() + 1 == slow.attempt as usize, "{slow:?}");
    fixture.proxy.cut_off(false);
    fixture.wait_until_replayed().await;
    anna.says("after").await;
    case.notes("after").await;
    case.completes(4).await;
    assert_eq!(["later", "new", "after"].map(|name| case.times_noted(name)), [1, 1, 1]);
    case.bot.stops().await;
}

/// With a journal in a file jobs are in Redis: they wait for it, also those that a turn enqueues meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_in_redis_wait_for_it() {
    let fixture = Fixture::new().await;
    let (anna, boris) = (fixture.stage.person("Anna").await, fixture.stage.person("Boris").await);
    let case = Case::start(&fixture).await;
    anna.says("/notebook").await;
    anna.receives("What shall I note?").await;
    let later = case.bot.handle.enqueue(note("later").at(Duration::from_secs(3600))).await.unwrap().id();
    fixture.cut_off_after_question(&boris, &case.store).await;
    anna.says("new").await;
    anna.receives("Noted.").await;
    let refused = case.store.enqueue_jobs(BOT, vec![note("refused")], now()).await.unwrap_err();
    assert!(refused.to_string().contains("away"), "{refused}");
    assert_eq!(case.times_noted("new"), 0, "it waits");
    fixture.proxy.cut_off(false);
    fixture.wait_until_replayed().await;
    case.gate.add_permits(2);
    case.notes("new").await;
    case.completes(2).await;
    let request = JobRequest::Retry(vec![later]);
    assert_eq!(case.store.operator().request_jobs(BOT, request, now()).await.unwrap(), 1);
    case.completes(3).await;
    assert_eq!(["later", "new", "refused"].map(|name| case.times_noted(name)), [1, 1, 0]);
    case.bot.stops().await;
}
