//! Lost answers, deadlocks, and a server that ends during work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use opora::key::ConversationKey;
use opora::store::{
    Commit, DomainWrites, Incoming, InputRef, Opened, Origin, OutboxId, PostgresStore, Receipt, Store, StoreError,
    Version,
};
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use sqlx::{Connection, PgConnection};

use super::{BOT, Fixture, NOW, claim, mark, message, person, talk, version};

async fn behind_a_proxy(server: &PostgresServer) -> (Proxy, PostgresStore) {
    let proxy = Proxy::in_front_of(server.port()).await;
    let url = server.url().replace(&server.port().to_string(), &proxy.port.to_string());
    (proxy, PostgresStore::open(&url).await.unwrap())
}

#[tokio::test]
async fn a_commit_with_a_lost_answer_is_not_repeated() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let turn = || {
        let mut commit = talk(person(1), Version(0));
        commit.processed = vec![InputRef::DirectUpdate(mark(7))];
        store.commit(epoch, commit)
    };
    proxy.drop_reply_to(b"COMMIT");
    let lost = turn().await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(proxy.has_dropped_reply());
    // The runtime then opens the conversation again, with the mark.
    assert_eq!(store.open(&person(1), Some(&mark(7))).await.unwrap(), Opened::AlreadyProcessed);
    let again = turn().await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(1));
    assert_eq!(store.unsent(BOT, OutboxId(0), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_group_with_a_lost_answer_is_not_repeated() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let incoming =
        |id, body: &str| Incoming { key: person(2), origin: Origin::Update(mark(id)), body: body.into(), at: NOW };
    // The first ones read the lease and prepare the statements that the later ones use.
    for id in 1..=2 {
        store.receive(epoch, vec![incoming(id, "{}")]).await.unwrap();
        store
            .commit(
                epoch,
                Commit { processed: vec![InputRef::DirectUpdate(mark(10 + id))], ..talk(person(1), Version(id - 1)) },
            )
            .await
            .unwrap();
    }
    proxy.drop_reply_to(b"lost on the way");
    let lost = store.receive(epoch, vec![incoming(3, "lost on the way")]).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert!(proxy.has_dropped_reply());
    assert_eq!(store.receive(epoch, vec![incoming(3, "lost on the way")]).await.unwrap(), [Receipt::Known]);
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap().len(), 3);

    let turn = || {
        let mut commit = talk(person(1), Version(2));
        commit.processed = vec![InputRef::DirectUpdate(mark(20))];
        commit.outgoing = vec![message(1, "lost as well")];
        store.commit(epoch, commit)
    };
    proxy.drop_reply_to(b"lost as well");
    let lost = turn().await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(store.open(&person(1), Some(&mark(20))).await.unwrap(), Opened::AlreadyProcessed);
    let again = turn().await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(3));
    assert_eq!(store.unsent(BOT, OutboxId(0), 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_operator_gets_the_cause_of_a_failed_begin() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    // The writer checks its connection first, and loses it after that.
    proxy.drop_reply_to(b"BEGIN");
    let lost = store.operator().reset(&person(1), NOW).await;
    assert!(proxy.has_dropped_reply());
    let Err(StoreError::Unavailable(why)) = lost else { panic!("{lost:?}") };
    assert!(!why.to_string().contains("closed"), "the store is open: {why}");
    assert!(store.operator().reset(&person(1), NOW).await.unwrap());
}

#[tokio::test]
async fn a_group_commit_takes_one_round_trip() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let group = ConversationKey { chat: -5, ..person(0) };
    let together = async |from| {
        let keys = (1..=20).map(|user| ConversationKey { user, ..group.clone() });
        let done = join_all(keys.map(|key| store.commit(epoch, talk(key, Version(from))))).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    };
    // The first ones connect, read the lease and prepare the statements that the later ones use.
    together(0).await;
    together(1).await;
    let before = proxy.round_trips();
    together(2).await;
    assert_eq!(proxy.round_trips() - before, 1);
}

#[tokio::test]
async fn reads_on_half_open_connections_delay_no_later_reads() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    claim(&store, "first").await;
    // As many as the pool for readers has connections.
    let three = || join_all([1, 2, 3].map(|_| store.lease(BOT)));
    assert!(three().await.iter().all(Result::is_ok));
    proxy.blackhole();
    let began = Instant::now();
    let lost = three().await;
    assert!(lost.iter().all(|lost| matches!(lost, Err(StoreError::Unavailable(_)))), "{lost:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    proxy.resume();
    let free = Instant::now();
    assert!(three().await.iter().all(Result::is_ok));
    // A read that waited for a connection would have waited for three seconds.
    assert!(free.elapsed() < Duration::from_millis(2_900), "{:?}", free.elapsed());
}

#[tokio::test]
async fn an_idle_connection_that_dies_causes_no_error() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
    proxy.blackhole();
    // A connection that was idle for so long is checked before use.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    proxy.resume();
    let began = Instant::now();
    assert_eq!(version(&store, &person(1)).await.unwrap(), Version(1));
    store.commit(epoch, talk(person(1), Version(1))).await.unwrap();
    store.renew(BOT, epoch).await.unwrap();
    assert!(store.lease(BOT).await.unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn writes_are_not_blamed_for_a_dead_connection() {
    let server = PostgresServer::start(&[]);
    let (proxy, store) = behind_a_proxy(&server).await;
    let epoch = claim(&store, "first").await;
    let proxy = Arc::new(proxy);
    let dying = Arc::clone(&proxy);
    let writes = DomainWrites::new(move |database| {
        Box::pin(async move {
            dying.blackhole();
            sqlx::query("SELECT 1").execute(database.postgres()).await?;
            Ok(())
        })
    });
    let began = Instant::now();
    let lost = store.commit(epoch, Commit { writes: Some(writes), ..talk(person(1), Version(0)) }).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "it is to be run again: {lost:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    proxy.resume();
    store.commit(epoch, talk(person(1), Version(0))).await.unwrap();
}

#[tokio::test]
async fn a_deadlock_is_retried() {
    let fixture = Fixture::on(PostgresServer::start(&[])).await;
    let keys = [1, 2].map(|user| ConversationKey { chat: -5, user, ..person(0) });
    for key in &keys {
        fixture.store.commit(fixture.epoch, talk(key.clone(), Version(0))).await.unwrap();
    }
    let mut other = PgConnection::connect(&fixture.server.url()).await.unwrap();
    let lock = async |other: &mut PgConnection, key: &ConversationKey| {
        let lock = sqlx::query("SELECT 1 FROM opora_conversations WHERE key = $1 FOR UPDATE");
        lock.bind(key.to_string()).execute(other).await.unwrap();
    };
    // This one has a long deadlock timeout, so the group is ended.
    sqlx::raw_sql("SET deadlock_timeout = '30s'; BEGIN").execute(&mut other).await.unwrap();
    lock(&mut other, &keys[1]).await;
    let group = join_all(keys.iter().map(|key| fixture.store.commit(fixture.epoch, talk(key.clone(), Version(1)))));
    let crossing = async {
        let mut watch = PgConnection::connect(&fixture.server.url()).await.unwrap();
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
        .expect("no deadlock");
    assert!(committed.iter().all(Result::is_ok), "{committed:?}");
}

#[tokio::test]
async fn a_restarted_server_is_used_again() {
    let mut fixture = Fixture::on(PostgresServer::start(&[])).await;
    for user in 1..=8 {
        fixture.turn(user).await.unwrap();
    }
    fixture.server.kill();
    let away = fixture.store.commit(fixture.epoch, talk(person(1), Version(1))).await;
    assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
    assert!(matches!(fixture.store.open(&person(1), None).await, Err(StoreError::Unavailable(_))));
    assert!(fixture.store.statistics(None).await.is_err());
    fixture.server.start_again();
    assert_eq!(fixture.store.statistics(None).await.unwrap().active, 8);
    for user in 1..=8 {
        fixture.turn(user).await.unwrap();
        assert_eq!(version(&fixture.store, &person(user)).await.unwrap(), Version(2));
    }
    fixture.store.renew(BOT, fixture.epoch).await.unwrap();
}

#[tokio::test]
async fn an_unnoticed_restart_causes_no_error() {
    let mut fixture = Fixture::on(PostgresServer::start(&[])).await;
    fixture.turn(1).await.unwrap();
    fixture.store.statistics(None).await.unwrap();
    fixture.server.kill();
    fixture.server.start_again();
    fixture.turn(1).await.unwrap();
    fixture.store.statistics(None).await.unwrap();
    fixture.store.renew(BOT, fixture.epoch).await.unwrap();
    assert!(fixture.store.operator().reset(&person(1), NOW).await.unwrap());
}

#[tokio::test]
async fn an_instance_paused_in_a_transaction_is_taken_over() {
    let fixture = Fixture::on(PostgresServer::start(&[])).await;
    fixture.turn(1).await.unwrap();
    // It shares the lock of its epoch, as a group does, and stops there.
    let mut still = PgConnection::connect(&fixture.server.url()).await.unwrap();
    let lock = "SET idle_in_transaction_session_timeout = '200ms'; BEGIN;
                SELECT pg_advisory_xact_lock_shared(1869639536, hashint8(epoch)) FROM opora_leases";
    sqlx::raw_sql(lock).execute(&mut still).await.unwrap();
    let epoch = claim(&fixture.store, "second").await;
    assert!(epoch > fixture.epoch);
    assert!(matches!(fixture.turn(1).await, Err(StoreError::Fenced { .. })));
}
