//! Unique jobs that several transactions of PostgreSQL add at the same time: one of them adds the job.

use std::collections::BTreeSet;
use std::sync::Arc;

use opora::clock::Clock;
use opora::jobs::{Enqueued, Job, NewJob, Unique};
use opora::store::{DecisionStore, DomainWrites, PostgresStore, RedisStore, Store};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::crash::query_numbers_at;
use crate::stage::{BOT, until};

#[derive(Serialize, Deserialize)]
struct Mark(i64);

impl Job for Mark {
    const NAME: &'static str = "mark";
}

/// Two transactions that add jobs of one key do not see each other. The second waits for the first.
async fn one_of_two_transactions_adds_a_unique_job([here, there]: [Arc<dyn Store>; 2], schema: &PostgresSchema) {
    let unique = || NewJob::from(Mark(1)).unique(Unique::by("one"));
    let now = Clock::machine().now();
    let (added, is_added) = tokio::sync::oneshot::channel();
    let gate = Arc::new(Semaphore::new(0));
    let wait = Arc::clone(&gate);
    let first = DomainWrites::new(move |database| {
        Box::pin(async move {
            database.enqueue(BOT, unique(), now).await?;
            let _ = added.send(());
            wait.acquire().await?.forget();
            Ok(())
        })
    });
    let first = tokio::spawn(async move { here.write(first).await });
    is_added.await.unwrap();
    let second = tokio::spawn(async move { there.enqueue_jobs(BOT, vec![unique()], now).await });
    until("the second waits, or has not waited", async || second.is_finished() || is_lock_awaited(schema).await).await;
    gate.add_permits(1);
    first.await.unwrap().unwrap();
    assert!(matches!(second.await.unwrap().unwrap()[..], [Enqueued::Known(_)]));
}

/// Whether a transaction waits to add a unique job.
async fn is_lock_awaited(schema: &PostgresSchema) -> bool {
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1869639540 AND NOT granted";
    query_numbers_at(&schema.url, waiting).await != [0]
}

async fn parallel_enqueues_add_one_job(stores: Vec<Arc<dyn Store>>) {
    let now = Clock::machine().now();
    for round in 0..10 {
        let enqueue = |number: usize| {
            let store = Arc::clone(&stores[number % stores.len()]);
            let job = NewJob::from(Mark(round)).unique(Unique::by(round.to_string()));
            tokio::spawn(async move { store.enqueue_jobs(BOT, vec![job], now).await.unwrap()[0] })
        };
        let tasks: Vec<_> = (0..20).map(enqueue).collect();
        let mut new = Vec::new();
        let mut ids = BTreeSet::new();
        for task in tasks {
            let enqueued = task.await.unwrap();
            ids.insert(enqueued.id());
            new.extend(matches!(enqueued, Enqueued::New(_)).then(|| enqueued.id()));
        }
        assert_eq!((new.len(), ids.len()), (1, 1), "round {round}");
    }
}

async fn in_postgres(schema: &PostgresSchema) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(&schema.url).await.unwrap())
}

async fn beside_redis(space: &RedisNamespace, schema: &PostgresSchema) -> Arc<dyn Store> {
    let redis = RedisStore::open(&space.url).await.unwrap();
    let database = PostgresStore::open(&schema.url).await.unwrap();
    Arc::new(DecisionStore::open(redis, database).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_transactions_add_one_job_in_postgres() {
    let schema = PostgresSchema::new().await;
    let stores = [in_postgres(&schema).await, in_postgres(&schema).await];
    one_of_two_transactions_adds_a_unique_job(stores, &schema).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_transactions_add_one_job_beside_redis() {
    let (space, schema) = (RedisNamespace::new(), PostgresSchema::new().await);
    let stores = [beside_redis(&space, &schema).await, beside_redis(&space, &schema).await];
    one_of_two_transactions_adds_a_unique_job(stores, &schema).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_enqueues_add_one_job_in_postgres() {
    let schema = PostgresSchema::new().await;
    let stores = vec![in_postgres(&schema).await, in_postgres(&schema).await, in_postgres(&schema).await];
    parallel_enqueues_add_one_job(stores).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_enqueues_add_one_job_beside_redis() {
    let (space, schema) = (RedisNamespace::new(), PostgresSchema::new().await);
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(beside_redis(&space, &schema).await);
    }
    parallel_enqueues_add_one_job(stores).await;
}
