//! A worker that is killed before each of its writes, and a leader that is paused there while a standby takes over: the
//! tables and files are the same as after one run.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use opora::jobs::{JobFilter, JobId, JobState, Workers};
use opora::store::{self, DomainWrites, Epoch, JobUpdate, Store, StoreLayer};
use opora::testing::chat::Stage;
use opora::testing::clock_at_noon;
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore};
use workforce::domain::Address;
use workforce::rooms::Rooms;

use super::work::{UNTIL_DECEMBER, dump, prepare};
use crate::kit::firm::{Firm, StorageKind, TestStorage};

/// More writes than any job makes here.
const MAX_WRITES: i64 = 50;

/// How the first attempt is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interruption {
    Killed,
    /// It goes on when another leader has done the job.
    Paused,
}

/// A store that stops at one write of the application, or at the end of a job.
#[derive(Debug)]
struct StopsAt {
    inner: Arc<dyn Store>,
    /// How many writes are left, including the one that stops.
    left: AtomicI64,
    is_reached: Notify,
    gate: Semaphore,
}

impl StopsAt {
    fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, left: AtomicI64::new(0), is_reached: Notify::new(), gate: Semaphore::new(0) })
    }

    async fn pass(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.is_reached.notify_one();
            self.gate.acquire().await.unwrap().forget();
        }
    }
}

impl StoreLayer for StopsAt {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn write<'a>(&'a self, writes: DomainWrites) -> store::Answer<'a, ()> {
        Box::pin(async move {
            self.pass().await;
            self.inner.write(writes).await
        })
    }

    fn update_jobs<'a>(
        &'a self,
        bot: i64,
        epoch: Epoch,
        updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> store::Answer<'a, Vec<bool>> {
        Box::pin(async move {
            self.pass().await;
            self.inner.update_jobs(bot, epoch, updates, writes).await
        })
    }
}

/// A business with work for each job, and the store that stops.
struct Case {
    firm: Firm,
    store: Arc<StopsAt>,
}

impl Case {
    /// Prepares storage of its own.
    async fn new(kind: StorageKind) -> Self {
        let case = Self::on(TestStorage::with_tables(kind).await).await;
        Self { firm: prepare(case.firm).await.firm, ..case }
    }

    /// A copy of a prepared folder with a database in a file.
    async fn copy(folder: &Path) -> Self {
        let own = tempfile::tempdir().unwrap();
        copy_folder(folder, own.path());
        let state = format!("sqlite:{}/opora.db", own.path().display());
        let database = Address::parse(&state).unwrap();
        let mut case = Self::on(TestStorage::existing(state, database, own)).await;
        case.firm.stage.clock().advance(UNTIL_DECEMBER);
        // The lease in the file is that of the process that prepared it.
        case.firm.stage = case.firm.stage.restart().await;
        case
    }

    async fn on(storage: TestStorage) -> Self {
        let mut layer = None;
        let firm = Firm::with_layer(storage, clock_at_noon(), |inner| {
            let store = StopsAt::new(inner);
            layer = Some(Arc::clone(&store));
            store
        });
        let firm = firm.await;
        Self { firm, store: layer.unwrap() }
    }

    /// Interrupts the job before a write, lets the next leader run it, and compares the tables with those after an
    /// uninterrupted run. False if the job makes fewer writes.
    async fn is_interrupted(&self, job: &str, write: i64, how: Interruption, expected: &str) -> bool {
        let jobs = self.firm.app.rooms.jobs();
        let new = jobs.list().iter().find(|one| one.name == job).unwrap().job.clone();
        let (store, bot) = (self.firm.app.domain.store(), self.firm.app.bot_id);
        let id = store.enqueue_jobs(bot, vec![new], self.firm.app.clock.now()).await.unwrap()[0].id();
        self.store.left.store(write, Ordering::SeqCst);
        let (stage, workers) = (self.firm.stage.clone(), jobs.workers());
        let mut first = tokio::spawn(run(stage, workers.clone()));
        tokio::select! {
            () = self.store.is_reached.notified() => {}
            ran = &mut first => {
                ran.unwrap();
                return false;
            }
        }
        let filter = JobFilter { bot, id: Some(id), ..JobFilter::default() };
        let row = async || store.operator().jobs(&filter, None, 1).await.unwrap().remove(0);
        if row().await.state != JobState::Running {
            // It has ended, and this is a write of a job that it has enqueued.
            first.abort();
            return false;
        }
        if how == Interruption::Killed {
            first.abort();
        }
        let next = self.firm.stage.restart().await;
        self.take_over(&next, &workers).await;
        if how == Interruption::Paused {
            self.store.gate.add_permits(1);
        }
        // The former leader fails when it stores the end of the job.
        assert!(first.await.is_err(), "{job}: the former leader completes nothing");
        let row = row().await;
        // No bot runs here, so that files cannot be requested.
        let is_done = row.state == JobState::Completed || job == "attachments";
        assert!(is_done && row.attempt == 2, "{row:?}");
        assert_eq!(dump(&self.firm).await, expected, "{job}, {how:?} before write {write}");
        true
    }

    /// Another leader puts back what ran, as it does at the start of its term, and runs it.
    async fn take_over(&self, next: &Stage, workers: &Workers) {
        next.run_jobs(workers).await;
        let (store, bot) = (self.firm.app.domain.store(), self.firm.app.bot_id);
        let epoch = store.lease(bot).await.unwrap().expect("the next leader holds the lease").epoch;
        let running = store.running_jobs(bot, JobId(0), 10).await.unwrap();
        assert_eq!(running.len(), 1, "{running:?}");
        let now = self.firm.app.clock.now();
        let put_back = |row| JobUpdate { state: JobState::Available, run_at: now, at: now, ..JobUpdate::compare(row) };
        store.update_jobs(bot, epoch, running.iter().map(put_back).collect(), None).await.unwrap();
        next.run_jobs(workers).await;
    }
}

async fn run(stage: Stage, workers: Workers) {
    stage.run_jobs(&workers).await;
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
            continue;
        }
        fs::copy(entry.path(), &target).unwrap();
        let file = fs::File::options().write(true).open(&target).unwrap();
        file.set_modified(entry.metadata().unwrap().modified().unwrap()).unwrap();
    }
}

/// A prepared folder, closed.
async fn prepared_folder() -> TempDir {
    let workplace = prepare(Firm::open(StorageKind::Sqlite).await).await;
    let copy = tempfile::tempdir().unwrap();
    workplace.firm.app.domain.close().await.unwrap();
    copy_folder(workplace.firm.storage.folder.path(), copy.path());
    copy
}

/// Interrupts every job before each of its writes.
async fn interrupt_each_job(how: Interruption) {
    let folder = prepared_folder().await;
    for job in Rooms::all().jobs().list() {
        let whole = Case::copy(folder.path()).await;
        whole.firm.try_job(job.name).await;
        let expected = dump(&whole.firm).await;
        let mut write = 1;
        while Case::copy(folder.path()).await.is_interrupted(job.name, write, how, &expected).await {
            write += 1;
            assert!(write < MAX_WRITES, "{} writes without end", job.name);
        }
        assert!(write > 1, "{} stores nothing", job.name);
    }
}

#[tokio::test]
async fn a_worker_killed_before_any_write_changes_nothing_twice() {
    interrupt_each_job(Interruption::Killed).await;
}

#[tokio::test]
async fn a_leader_paused_before_any_write_changes_nothing_twice() {
    interrupt_each_job(Interruption::Paused).await;
}

/// The same on servers, at the first write of every job.
mod all_redis_and_postgres {
    use super::*;

    #[tokio::test]
    async fn a_leader_paused_before_its_first_write_changes_nothing_twice() {
        for job in Rooms::all().jobs().list() {
            let whole = Case::new(StorageKind::RedisAndPostgres).await;
            whole.firm.try_job(job.name).await;
            let expected = dump(&whole.firm).await;
            let case = Case::new(StorageKind::RedisAndPostgres).await;
            assert!(case.is_interrupted(job.name, 1, Interruption::Paused, &expected).await, "{}", job.name);
        }
    }
}
