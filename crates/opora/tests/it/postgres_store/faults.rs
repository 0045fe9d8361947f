//! Lost answers, deadlocks, a server that ends in the midst.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use opora::key::DialogueKey;
use opora::store::{
    Commit, DomainWrites, Incoming, Opened, Origin, OutboxId, PostgresStore, Receipt, Store, StoreError, Taken, Version,
};
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use sqlx::{Connection, PgConnection};

use super::{BOT, Bench, NOW, claim, mark, message, person, talk, version};

async fn behind_a_proxy(server: &PostgresServer) -> (Proxy, PostgresStore) {
    let proxy = Proxy::before(server.port()).await;
    let url = server.url().replace(&server.port().to_string(), &proxy.port.to_string());
    (proxy, PostgresStore::open(&url).await.unwrap())
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_and_not_made_twice() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let turn = || {
        let mut commit = talk(person(1), Version(0));
        commit.takes = vec![Taken::Fresh(mark(7))];
        store.commit(epoch, commit)
    };
    proxy.cut_after(b"COMMIT");
    let lost = turn().await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(proxy.has_cut());
    // What the runtime does then: it opens the conversation anew, with the mark.
    assert_eq!(store.open(&person(1), Some(&mark(7))).await.unwrap(), Opened::AlreadyTaken);
    let again = turn().await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(1));
    assert_eq!(store.unsent(BOT, OutboxId(0), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_group_that_is_written_at_once_and_whose_answer_was_lost_is_found_too() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let incoming =
        |id, body: &str| Incoming { key: person(2), origin: Origin::Update(mark(id)), body: body.into(), at: NOW };
    // The first ones learn of the lease, and prepare what the later ones use.
    for id in 1..=2 {
        store.receive(epoch, vec![incoming(id, "{}")]).await.unwrap();
        store
            .commit(epoch, Commit { takes: vec![Taken::Fresh(mark(10 + id))], ..talk(person(1), Version(id - 1)) })
            .await
            .unwrap();
    }
    proxy.cut_after(b"lost on the way");
    let lost = store.receive(epoch, vec![incoming(3, "lost on the way")]).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(proxy.has_cut());
    assert_eq!(store.receive(epoch, vec![incoming(3, "lost on the way")]).await.unwrap(), [Receipt::Known]);
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap().len(), 3);

    let turn = || {
        let mut commit = talk(person(1), Version(2));
        commit.takes = vec![Taken::Fresh(mark(20))];
        commit.outgoing = vec![message(1, "lost as well")];
        store.commit(epoch, commit)
    };
    proxy.cut_after(b"lost as well");
    let lost = turn().await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(store.open(&person(1), Some(&mark(20))).await.unwrap(), Opened::AlreadyTaken);
    let again = turn().await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(3));
    assert_eq!(store.unsent(BOT, OutboxId(0), 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_operator_whose_transaction_does_not_begin_hears_why() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    // The writer looks first whether its connection is there, and loses it after that.
    proxy.cut_after(b"BEGIN");
    let lost = store.operator().reset(&person(1), NOW).await;
    assert!(proxy.has_cut());
    let Err(StoreError::Unavailable(why)) = lost else { panic!("{lost:?}") };
    assert!(!why.to_string().contains("closed"), "the store is open: {why}");
    assert!(store.operator().reset(&person(1), NOW).await.unwrap());
}

#[tokio::test]
async fn a_group_takes_one_way_to_the_server_and_back() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let group = DialogueKey { chat: -5, ..person(0) };
    let together = async |from| {
        let keys = (1..=20).map(|user| DialogueKey { user, ..group.clone() });
        let done = join_all(keys.map(|key| store.commit(epoch, talk(key, Version(from))))).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    };
    // The first ones connect, learn of the lease, and prepare what the later ones use.
    together(0).await;
    together(1).await;
    let before = proxy.ways();
    together(2).await;
    assert_eq!(proxy.ways() - before, 1);
}

#[tokio::test]
async fn reads_on_connections_that_are_half_dead_hold_up_no_later_ones() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    claim(&store, "first").await;
    // As many as there are places for readers.
    let three = || join_all([1, 2, 3].map(|_| store.lease(BOT)));
    assert!(three().await.iter().all(Result::is_ok));
    proxy.swallow();
    let began = Instant::now();
    let lost = three().await;
    assert!(lost.iter().all(|lost| matches!(lost, Err(StoreError::Unavailable(_)))), "{lost:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    proxy.let_pass();
    let free = Instant::now();
    assert!(three().await.iter().all(Result::is_ok));
    // Who waited for a place would have waited for three seconds.
    assert!(free.elapsed() < Duration::from_millis(2_900), "{:?}", free.elapsed());
}

#[tokio::test]
async fn a_connection_that_dies_while_it_rests_costs_nobody_an_error() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    proxy.swallow();
    // What rests for so long is asked whether it is there.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    proxy.let_pass();
    let began = Instant::now();
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(1));
    store.commit(epoch, talk(person(1), Version(1))).await.unwrap();
    store.renew(BOT, epoch).await.unwrap();
    assert!(store.lease(BOT).await.unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn writes_on_a_connection_that_died_beneath_them_are_not_blamed() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let proxy = Arc::new(proxy);
    let dying = Arc::clone(&proxy);
    let writes = DomainWrites::new(move |database| {
        Box::pin(async move {
            dying.swallow();
            sqlx::query("SELECT 1").execute(database.postgres()).await?;
            Ok(())
        })
    });
    let began = Instant::now();
    let lost = store.commit(epoch, Commit { writes: Some(writes), ..talk(person(1), Version(0)) }).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "it is to be run again: {lost:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    proxy.let_pass();
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
}

#[tokio::test]
async fn a_deadlock_is_tried_again() {
    let bench = Bench::on(PostgresServer::start(&[])).await;
    let keys = [1, 2].map(|user| DialogueKey { chat: -5, user, ..person(0) });
    for key in &keys {
        bench.store.commit(bench.epoch, talk(key.clone(), Version(0))).await.unwrap();
    }
    let mut other = PgConnection::connect(&bench.server.url()).await.unwrap();
    let lock = async |other: &mut PgConnection, key: &DialogueKey| {
        let lock = sqlx::query("SELECT 1 FROM opora_conversations WHERE key = $1 FOR UPDATE");
        lock.bind(key.to_string()).execute(other).await.unwrap();
    };
    // This one is patient, so it is the group that gives way.
    sqlx::raw_sql("SET deadlock_timeout = '30s'; BEGIN").execute(&mut other).await.unwrap();
    lock(&mut other, &keys[1]).await;
    let group = join_all(keys.iter().map(|key| bench.store.commit(bench.epoch, talk(key.clone(), Version(1)))));
    let crossing = async {
        let mut watch = PgConnection::connect(&bench.server.url()).await.unwrap();
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        while sqlx::query_scalar::<_, i64>(waits).fetch_one(&mut watch).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        lock(&mut other, &keys[0]).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        let found = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";
        while sqlx::query_scalar::<_, i64>(found).fetch_one(&mut watch).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let (committed, ()) = tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(group, crossing) })
        .await
        .expect("nobody waits for ever");
    assert!(committed.iter().all(Result::is_ok), "{committed:?}");
}

#[tokio::test]
async fn a_server_that_ends_and_comes_back_is_used_again() {
    let mut bench = Bench::on(PostgresServer::start(&[])).await;
    for user in 1..=8 {
        bench.turn(user).await.unwrap();
    }
    bench.server.kill();
    let away = bench.store.commit(bench.epoch, talk(person(1), Version(1))).await;
    assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
    assert!(matches!(bench.store.open(&person(1), None).await, Err(StoreError::Unavailable(_))));
    assert!(bench.store.statistics(None).await.is_err());
    bench.server.start_again();
    assert_eq!(bench.store.statistics(None).await.unwrap().active, 8);
    for user in 1..=8 {
        bench.turn(user).await.unwrap();
        assert_eq!(version(&bench.store, &person(user)).await.unwrap(), Version(2));
    }
    bench.store.renew(BOT, bench.epoch).await.unwrap();
}

#[tokio::test]
async fn a_server_that_was_restarted_unnoticed_costs_nothing() {
    let mut bench = Bench::on(PostgresServer::start(&[])).await;
    bench.turn(1).await.unwrap();
    bench.store.statistics(None).await.unwrap();
    bench.server.kill();
    bench.server.start_again();
    bench.turn(1).await.unwrap();
    bench.store.statistics(None).await.unwrap();
    bench.store.renew(BOT, bench.epoch).await.unwrap();
    assert!(bench.store.operator().reset(&person(1), NOW).await.unwrap());
}

#[tokio::test]
async fn an_instance_that_stands_still_in_a_transaction_is_taken_over() {
    let bench = Bench::on(PostgresServer::start(&[])).await;
    bench.turn(1).await.unwrap();
    // It shares the lock of its epoch, as a group does, and goes no further.
    let mut still = PgConnection::connect(&bench.server.url()).await.unwrap();
    let lock = "SET idle_in_transaction_session_timeout = '200ms'; BEGIN;
                SELECT pg_advisory_xact_lock_shared(1869639536, hashint8(epoch)) FROM opora_leases";
    sqlx::raw_sql(lock).execute(&mut still).await.unwrap();
    let epoch = claim(&bench.store, "second").await;
    assert!(epoch > bench.epoch);
    assert!(matches!(bench.turn(1).await, Err(StoreError::Fenced { .. })));
}
