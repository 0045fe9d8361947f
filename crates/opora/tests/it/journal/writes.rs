//! Turns with SQL writes while Redis is away: the writes happen once, with the turn.

use std::sync::Arc;
use std::time::Duration;

use opora::key::ConversationKey;
use opora::store::{
    self, Commit, Committed, DomainWrites, Holder, InputRef, LeaseAnswer, Opened, Refusal, StateChange, Store,
    StoreError, StoreResult, StoredState, Version, WriteError,
};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;
use sqlx::{Connection, PgConnection};
use tokio::sync::Semaphore;

use super::atomicity::{NOW, anna, asked, lead, update, wait_for_new_claim};
use super::{Fixture, on_both_databases};
use crate::decisions::Tables;
use crate::postgres_store::message;
use crate::stage::{BOT, until};

on_both_databases! {
    writes_during_an_outage_commit_once_with_their_turn,
    refused_writes_leave_nothing_of_the_turn,
    writes_outside_of_turns_do_not_wait_for_redis,
    a_decided_turn_waits_for_redis,
    a_decided_turn_that_redis_refused_waits_for_redis,
    a_redis_that_loses_the_replay_is_replayed_again,
    a_higher_version_floor_of_the_database_is_no_conflict,
    no_turn_starts_before_a_turn_that_reached_redis_late,
    after_an_undecided_turn_the_journal_takes_over,
    a_hanging_turn_decides_nothing_after_the_journal_starts,
    a_turn_of_redis_is_refused_after_the_journal_starts,
    an_instance_stops_if_another_led_meanwhile,
    a_filled_journal_must_not_be_left_out,
    an_instance_without_redis_stands_by_for_one_with_it,
    a_decided_update_writes_nothing_while_redis_is_away,
    an_input_that_redis_lost_waits_for_redis,
    a_reset_during_a_turns_writes_is_kept,
}

/// Inserts a row into the application's table.
fn note() -> DomainWrites {
    DomainWrites::new(|database| {
        Box::pin(async move {
            let line = "INSERT INTO notes (person) VALUES (5)";
            if database.is_postgres() {
                sqlx::query(line).execute(database.postgres()).await?;
            } else {
                sqlx::query(line).execute(database.sqlite()).await?;
            }
            Ok(())
        })
    })
}

/// A turn with a write, from a version and for an update of this number.
fn writing_turn(from: i64, number: i64) -> Commit {
    let stored = StoredState { value: format!("{{\"turn\":{number}}}").into(), states: Vec::new(), expires_at: None };
    Commit {
        processed: vec![InputRef::DirectUpdate(update(number).1)],
        state: StateChange::Set(stored),
        writes: Some(note()),
        ..Commit::new(anna(), Version(from), NOW)
    }
}

impl Fixture {
    fn tables(&self) -> &Tables {
        self.tables.as_ref().unwrap()
    }

    /// Leads with Redis. The application has its table, and Anna has had her first turn.
    async fn first_note(&self) -> Arc<dyn Store> {
        let store = self.store().await;
        self.tables().execute("CREATE TABLE notes (person BIGINT NOT NULL)").await;
        let epoch = lead(&*store, "before").await;
        store.open(&anna(), None).await.unwrap();
        store.commit(epoch, writing_turn(0, 1)).await.unwrap();
        store
    }

    /// The same Redis and tables without a journal and without the proxy.
    async fn without_journal(&self) -> Result<Arc<dyn Store>, store::OpenError> {
        store::open_with_database(&self.server.url(), Some(&self.tables().url())).await
    }

    async fn version(&self) -> i64 {
        let opened = self.redis.open(&anna(), None).await.unwrap();
        let Opened::At { version, .. } = opened else { panic!("{opened:?}") };
        version.0
    }
}

/// Waits until Redis is back and leads.
async fn wait_for_redis(fixture: &Fixture, store: &dyn Store) {
    fixture.proxy.cut_off(false);
    wait_for_new_claim(store).await;
    lead(store, "after").await;
}

async fn writes_during_an_outage_commit_once_with_their_turn(fixture: Fixture) {
    let store = fixture.first_note().await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, Commit { outgoing: vec![message(5, "noted")], ..writing_turn(1, 2) }).await.unwrap();
    assert_eq!(fixture.tables().notes().await, 2);
    let again = store.commit(epoch, writing_turn(2, 2)).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    store.close().await.unwrap();

    // A restart continues there, also without Redis.
    let store = fixture.store().await;
    let epoch = lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, writing_turn(2, 3)).await.unwrap();
    wait_for_redis(&fixture, &*store).await;
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (3, 3));
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().outbox, 1);
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), []);
    let taken = store.open(&anna(), Some(&update(3).1)).await.unwrap();
    assert_eq!(taken, Opened::AlreadyProcessed);
    store.close().await.unwrap();
}

async fn refused_writes_leave_nothing_of_the_turn(fixture: Fixture) {
    let store = fixture.first_note().await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    let writes = DomainWrites::new(|database| {
        Box::pin(async move {
            note().run(database).await?;
            Err::<(), WriteError>(Refusal::because("the slot is full"))
        })
    });
    let refused = store.commit(epoch, Commit { writes: Some(writes), ..writing_turn(1, 2) }).await;
    assert!(matches!(&refused, Err(StoreError::Refused(why)) if why.0 == "the slot is full"), "{refused:?}");
    assert_eq!(fixture.tables().notes().await, 1);
    store.commit(epoch, writing_turn(1, 2)).await.unwrap();
    wait_for_redis(&fixture, &*store).await;
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

async fn writes_outside_of_turns_do_not_wait_for_redis(fixture: Fixture) {
    let store = fixture.first_note().await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    store.write(note()).await.unwrap();
    assert_eq!(fixture.tables().notes().await, 2);
    store.close().await.unwrap();
}

async fn a_decided_turn_waits_for_redis(fixture: Fixture) {
    let store = fixture.first_note().await;
    let epoch = lead(&*store, "again").await;
    store.open(&anna(), None).await.unwrap();
    fixture.proxy.drop_reply_to(b"carry_out");
    let lost = store.commit(epoch, writing_turn(1, 2)).await;
    assert!(fixture.proxy.has_dropped_reply() && lost.is_err(), "{lost:?}");
    fixture.proxy.cut_off(true);
    assert_eq!(fixture.tables().notes().await, 2, "it is decided");
    wait_for_new_claim(&*store).await;
    let epoch = lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "she would continue before that turn: {waits:?}");
    // The same update comes again: it is stored, and recognized when Redis is back.
    store.receive(epoch, vec![update(2).0]).await.unwrap();
    wait_for_redis(&fixture, &*store).await;
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 2));
    assert_eq!(fixture.redis.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    store.close().await.unwrap();
}

/// Anna's second turn writes, and `meanwhile` runs before the decision.
async fn writes_meanwhile(store: &Arc<dyn Store>, meanwhile: impl AsyncFnOnce()) -> StoreResult<Committed> {
    let epoch = lead(&**store, "again").await;
    store.open(&anna(), None).await.unwrap();
    let (is_writing, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (writes, ends) = (Arc::clone(&is_writing), Arc::clone(&may_end));
    let slow = DomainWrites::new(move |database| {
        Box::pin(async move {
            note().run(database).await?;
            writes.add_permits(1);
            let _ = ends.acquire().await;
            Ok(())
        })
    });
    let (deciding, turn) = (Arc::clone(store), Commit { writes: Some(slow), ..writing_turn(1, 2) });
    let deciding = tokio::spawn(async move { deciding.commit(epoch, turn).await });
    let _ = is_writing.acquire().await.unwrap();
    meanwhile().await;
    may_end.add_permits(1);
    deciding.await.unwrap()
}

/// A turn of Anna's is decided, and Redis has refused it.
async fn decided_and_refused(fixture: &Fixture) -> Arc<dyn Store> {
    let store = fixture.first_note().await;
    // Redis refuses: the turn is decided, and it is certain that Redis does not have it.
    let refused =
        writes_meanwhile(&store, async || drop(fixture.server.command(&["REPLICAOF", "127.0.0.1", "1"]))).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    store
}

async fn a_decided_turn_that_redis_refused_waits_for_redis(fixture: Fixture) {
    let store = decided_and_refused(&fixture).await;
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    fixture.server.command(&["REPLICAOF", "NO", "ONE"]);
    wait_for_redis(&fixture, &*store).await;
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

async fn a_redis_that_loses_the_replay_is_replayed_again(mut fixture: Fixture) {
    let store = fixture.first_note().await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let aof_bytes = fixture.server.aof_bytes();
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, writing_turn(1, 2)).await.unwrap();
    wait_for_redis(&fixture, &*store).await;
    assert_eq!(fixture.version().await, 2);
    store.close().await.unwrap();
    // Redis comes back as it was before the replay.
    fixture.server.lose_power(aof_bytes);
    fixture.server.start_again();
    let address = format!("{}?journal=database", fixture.server.url());
    let store = store::open_with_database(&address, Some(&fixture.tables().url())).await.unwrap();
    lead(&*store, "older").await;
    let opened = store.open(&anna(), None).await.unwrap();
    let Opened::At { version, stored } = opened else { panic!("{opened:?}") };
    assert_eq!((version, &*stored.unwrap().value), (Version(2), "{\"turn\":2}"));
    assert_eq!(fixture.tables().notes().await, 2);
    let taken = store.open(&anna(), Some(&update(2).1)).await.unwrap();
    assert_eq!(taken, Opened::AlreadyProcessed);
    store.close().await.unwrap();
}

async fn a_higher_version_floor_of_the_database_is_no_conflict(fixture: Fixture) {
    let store = fixture.first_note().await;
    // As a cleaning, a restore or an accepted loss leaves it.
    fixture.tables().execute("UPDATE opora_version_floor SET floor = 100").await;
    let boris = ConversationKey::private(BOT, 6);
    store.open(&boris, None).await.unwrap();
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let epoch = lead(&*store, "away").await;
    for (key, from, number) in [(anna(), 1, 2), (boris.clone(), 0, 3)] {
        let opened = store.open(&key, None).await.unwrap();
        assert!(matches!(opened, Opened::At { version: Version(at), .. } if at == from), "{key}: {opened:?}");
        store.commit(epoch, Commit { key, ..writing_turn(from, number) }).await.unwrap();
    }
    wait_for_redis(&fixture, &*store).await;
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 3));
    let opened = fixture.redis.open(&boris, None).await.unwrap();
    assert!(matches!(opened, Opened::At { version: Version(1), stored: Some(_) }), "{opened:?}");
    store.close().await.unwrap();
}

async fn no_turn_starts_before_a_turn_that_reached_redis_late(fixture: Fixture) {
    let store = decided_and_refused(&fixture).await;
    fixture.server.command(&["REPLICAOF", "NO", "ONE"]);
    let known =
        async || store.open(&anna(), Some(&update(2).1)).await.is_ok_and(|known| known == Opened::AlreadyProcessed);
    until("the turn is brought to Redis", known).await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "she would continue before that turn: {waits:?}");
    store.close().await.unwrap();
}

/// She writes in the second in which Redis goes away, before it counts as away.
async fn after_an_undecided_turn_the_journal_takes_over(fixture: Fixture) {
    let store = fixture.first_note().await;
    let epoch = lead(&*store, "again").await;
    store.open(&anna(), None).await.unwrap();
    fixture.proxy.cut_off(true);
    let undecided = store.commit(epoch, writing_turn(1, 2)).await;
    assert!(matches!(undecided, Err(StoreError::Unavailable(_))), "{undecided:?}");
    wait_for_new_claim(&*store).await;
    let away = lead(&*store, "away").await;
    assert!(matches!(store.open(&anna(), None).await, Ok(Opened::At { version: Version(1), .. })), "she need not wait");
    store.commit(away, writing_turn(1, 2)).await.unwrap();
    assert_eq!(fixture.tables().notes().await, 2);
    store.close().await.unwrap();
}

async fn a_hanging_turn_decides_nothing_after_the_journal_starts(fixture: Fixture) {
    let store = fixture.store().await;
    fixture.tables().execute("CREATE TABLE notes (person BIGINT NOT NULL)").await;
    // The leader on Redis, delayed before the database.
    let hangs = fixture.without_journal().await.unwrap();
    let epoch = lead(&*hangs, "before").await;
    hangs.open(&anna(), None).await.unwrap();
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    let late = hangs.commit(epoch, writing_turn(0, 1)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (0, 0));
    store.close().await.unwrap();
}

async fn a_turn_of_redis_is_refused_after_the_journal_starts(fixture: Fixture) {
    let store = fixture.first_note().await;
    let epoch = lead(&*store, "again").await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    let late = store.commit(epoch, Commit { writes: None, ..writing_turn(1, 2) }).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(fixture.version().await, 1);
    store.close().await.unwrap();
}

async fn an_instance_stops_if_another_led_meanwhile(fixture: Fixture) {
    let store = fixture.first_note().await;
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    // Against the operator's promise.
    let other = fixture.without_journal().await.unwrap();
    let epoch = lead(&*other, "other").await;
    let refused = store.claim(BOT, &holder("away"), None).await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("another instance")), "{refused:?}");
    other.commit(epoch, writing_turn(1, 2)).await.unwrap();
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

/// Against the operator's promise there are two instances, and Redis is away for one of them.
async fn an_instance_without_redis_stands_by_for_one_with_it(mut fixture: Fixture) {
    let address = format!("{}?journal=database", fixture.server.url());
    let with_redis = store::open_with_database(&address, Some(&fixture.tables().url())).await.unwrap();
    fixture.tables().execute("CREATE TABLE notes (person BIGINT NOT NULL)").await;
    let second = fixture.store().await;
    let epoch = lead(&*with_redis, "leads").await;
    with_redis.open(&anna(), None).await.unwrap();
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*second).await;
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    let LeaseAnswer::Held(seen) = claimed else { panic!("it leads beside the other one: {claimed:?}") };
    with_redis.commit(epoch, writing_turn(0, 1)).await.unwrap();
    // The other one is seen to renew.
    with_redis.renew(BOT, epoch).await.unwrap();
    let claimed = second.claim(BOT, &holder("second"), Some(&*seen)).await.unwrap();
    assert!(matches!(&claimed, LeaseAnswer::Held(lease) if lease.renewals > seen.renewals), "{claimed:?}");

    // Redis goes away for the leader: it continues at once.
    fixture.server.kill();
    wait_for_new_claim(&*with_redis).await;
    let claimed = with_redis.claim(BOT, &holder("goes on"), None).await.unwrap();
    let LeaseAnswer::Granted(away) = claimed else { panic!("{claimed:?}") };
    with_redis.open(&anna(), None).await.unwrap();
    with_redis.commit(away, writing_turn(1, 2)).await.unwrap();
    fixture.server.start_again();
    wait_for_new_claim(&*with_redis).await;
    let claimed = with_redis.claim(BOT, &holder("is back"), None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    assert!(matches!(claimed, LeaseAnswer::Held(_)), "{claimed:?}");
    assert_eq!(fixture.tables().notes().await, 2);

    // A released lease can be claimed at once.
    with_redis.release(BOT, epoch).await.unwrap();
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    assert!(matches!(claimed, LeaseAnswer::Granted(_)), "{claimed:?}");
    with_redis.close().await.unwrap();
    second.close().await.unwrap();
}

async fn a_decided_update_writes_nothing_while_redis_is_away(fixture: Fixture) {
    fixture.first_note().await.close().await.unwrap();
    // Another process, which has never seen that update.
    let store = fixture.store().await;
    lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let away = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    let again = store.commit(away, writing_turn(1, 1)).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    store.commit(away, writing_turn(1, 2)).await.unwrap();
    wait_for_redis(&fixture, &*store).await;
    assert_eq!((fixture.version().await, fixture.tables().notes().await), (2, 2));
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    store.close().await.unwrap();
}

async fn an_input_that_redis_lost_waits_for_redis(fixture: Fixture) {
    fixture.first_note().await.close().await.unwrap();
    let store = fixture.store().await;
    let epoch = lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    let forget = "for _, key in ipairs(redis.call('KEYS', '*:marks')) do redis.call('DEL', key) end";
    fixture.server.command(&["EVAL", forget, "0"]);
    // The database knows it, and Redis cannot be reached.
    fixture.proxy.drop_reply_to(b"_open");
    let lost = store.commit(epoch, writing_turn(1, 1)).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))) && fixture.proxy.has_dropped_reply(), "{lost:?}");
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    assert_eq!(fixture.tables().notes().await, 1);
    store.close().await.unwrap();
}

/// An operator resets her conversation, and then Redis goes away.
async fn a_reset_during_a_turns_writes_is_kept(fixture: Fixture) {
    let store = fixture.first_note().await;
    let moved =
        writes_meanwhile(&store, async || assert!(fixture.redis.operator().reset(&anna(), NOW).await.unwrap())).await;
    assert!(matches!(&moved, Err(StoreError::Unavailable(why)) if why.to_string().contains("reset")), "{moved:?}");
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    store.close().await.unwrap();
}

/// Against the operator's promise there are two instances. Redis is away for one, and the other one gets the lease
/// there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_journal_acknowledges_nothing() {
    const WAITS: &str =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'opora_journal_effects'::regclass";
    let fixture = Fixture::beside(Tables::in_a_schema().await).await;
    let (quiet, epoch) = fixture.lead_without_redis().await;
    let address = format!("{}?journal=database", fixture.server.url());
    let next = store::open_with_database(&address, Some(&fixture.tables().url())).await.unwrap();
    // It finds nothing, and waits before it empties the journal.
    let mut gate = PgConnection::connect(&fixture.tables().url()).await.unwrap();
    sqlx::raw_sql("BEGIN; LOCK TABLE opora_journal_effects IN EXCLUSIVE MODE").execute(&mut gate).await.unwrap();
    let claims = Arc::clone(&next);
    let claiming = tokio::spawn(async move { lead(&*claims, "next").await });
    until("it is about to empty the journal", async || fixture.tables().number(WAITS).await > 0).await;
    let late = quiet.commit(epoch, asked()).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
    claiming.await.unwrap();
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "it would be gone: {late:?}");
    quiet.close().await.unwrap();
    next.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewing_a_short_lease_does_not_wait_for_the_database() {
    let (redis, server) = (RedisServer::start(&[]), PostgresServer::start(&[]));
    let proxy = Proxy::in_front_of(server.port()).await;
    let tables = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let address = format!("{}?journal=database", redis.url());
    let store = store::open_with_database(&address, Some(&tables)).await.unwrap();
    let claimed = store.claim(BOT, &Holder { ttl_ms: 2_000, ..holder("short") }, None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    proxy.stall();
    // A renewal starts after half of the lease and has the other half to finish.
    let renewed = tokio::time::timeout(Duration::from_secs(1), store.renew(BOT, epoch)).await;
    assert!(matches!(renewed, Ok(Ok(()))), "{renewed:?}");
    proxy.resume();
    store.close().await.unwrap();
}

async fn a_filled_journal_must_not_be_left_out(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    store.commit(epoch, asked()).await.unwrap();
    store.close().await.unwrap();
    let refused = fixture.without_journal().await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("journal=database") && refused.contains("Redis has everything"), "{refused}");
    assert_eq!(fixture.version().await, 0);
    fixture.proxy.cut_off(false);
    let store = fixture.store().await;
    lead(&*store, "after").await;
    assert_eq!(fixture.version().await, 1);
    store.close().await.unwrap();
    fixture.without_journal().await.unwrap().close().await.unwrap();
}
