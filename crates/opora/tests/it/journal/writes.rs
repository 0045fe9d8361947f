//! Turns that write to the application's tables while Redis is away: what they write happens once, and with the turn.

use std::sync::Arc;
use std::time::Duration;

use opora::key::DialogueKey;
use opora::store::{
    self, Commit, Committed, DomainWrites, Holder, LeaseAnswer, Opened, Refusal, StateChange, Store, StoreError,
    StoreResult, Stored, Taken, Version, WriteError,
};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;
use sqlx::{Connection, PgConnection};
use tokio::sync::Semaphore;

use super::steps::{NOW, anna, asked, begins_anew, lead, update};
use super::{Scene, on_both_databases};
use crate::decided::Tables;
use crate::postgres_store::message;
use crate::stage::{BOT, until};

on_both_databases! {
    what_a_turn_writes_while_redis_is_away_commits_with_it_and_is_not_written_again,
    a_refusal_of_the_writes_leaves_nothing_of_the_turn,
    what_is_written_outside_of_turns_does_not_wait_for_redis,
    what_was_decided_and_is_not_in_redis_waits_for_it,
    what_was_decided_and_redis_has_surely_not_heard_waits_for_it_too,
    a_redis_that_forgets_what_was_replayed_is_told_again,
    a_database_whose_own_conversations_began_higher_makes_no_conflicts,
    nobody_goes_on_from_before_a_turn_that_came_to_redis_later,
    whose_turn_was_surely_not_decided_goes_on_with_the_journal,
    a_turn_that_hangs_decides_nothing_once_the_journal_goes_on,
    a_turn_of_redis_is_refused_once_the_journal_goes_on,
    who_finds_that_another_instance_has_led_meanwhile_stops,
    a_journal_that_has_something_is_not_left_behind,
    who_alone_has_no_redis_stands_by_while_another_leads_with_it,
    an_update_that_was_decided_on_before_writes_nothing_while_redis_is_away,
    an_input_that_redis_has_forgotten_waits_for_it_until_it_knows_that_again,
    whose_conversation_was_reset_while_a_turn_wrote_does_not_go_on_from_before_that,
}

/// Writes a line to the application's table.
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

/// A turn that writes, from a version and by an update of this number.
fn noted(from: i64, number: i64) -> Commit {
    let stored = Stored { value: format!("{{\"turn\":{number}}}").into(), places: Vec::new(), expires_at: None };
    Commit {
        takes: vec![Taken::Fresh(update(number).1)],
        state: StateChange::Set(stored),
        writes: Some(note()),
        ..Commit::new(anna(), Version(from), NOW)
    }
}

impl Scene {
    fn tables(&self) -> &Tables {
        self.tables.as_ref().unwrap()
    }

    /// Leads with Redis; the application has its table, and Anna has had her first turn.
    async fn noted_once(&self) -> Arc<dyn Store> {
        let store = self.store().await;
        self.tables().say("CREATE TABLE notes (person BIGINT NOT NULL)").await;
        let epoch = lead(&*store, "before").await;
        store.open(&anna(), None).await.unwrap();
        store.commit(epoch, noted(0, 1)).await.unwrap();
        store
    }

    /// The same Redis and the same tables without a journal, past the proxy.
    async fn without_journal(&self) -> Result<Arc<dyn Store>, store::OpenError> {
        store::open_with_database(&self.server.url(), Some(&self.tables().url())).await
    }

    async fn version(&self) -> i64 {
        let opened = self.redis.open(&anna(), None).await.unwrap();
        let Opened::At { version, .. } = opened else { panic!("{opened:?}") };
        version.0
    }
}

/// Redis is back, and leads.
async fn comes_back(scene: &Scene, store: &dyn Store) {
    scene.proxy.cut_off(false);
    begins_anew(store).await;
    lead(store, "after").await;
}

async fn what_a_turn_writes_while_redis_is_away_commits_with_it_and_is_not_written_again(scene: Scene) {
    let store = scene.noted_once().await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, Commit { outgoing: vec![message(5, "noted")], ..noted(1, 2) }).await.unwrap();
    assert_eq!(scene.tables().notes().await, 2);
    let again = store.commit(epoch, noted(2, 2)).await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    store.close().await.unwrap();

    // A restart goes on where it was, also without Redis.
    let store = scene.store().await;
    let epoch = lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, noted(2, 3)).await.unwrap();
    comes_back(&scene, &*store).await;
    assert_eq!((scene.version().await, scene.tables().notes().await), (3, 3));
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().outbox, 1);
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), []);
    let taken = store.open(&anna(), Some(&update(3).1)).await.unwrap();
    assert_eq!(taken, Opened::AlreadyTaken);
    store.close().await.unwrap();
}

async fn a_refusal_of_the_writes_leaves_nothing_of_the_turn(scene: Scene) {
    let store = scene.noted_once().await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    let writes = DomainWrites::new(|database| {
        Box::pin(async move {
            note().run(database).await?;
            Err::<(), WriteError>(Refusal::because("the slot is full"))
        })
    });
    let refused = store.commit(epoch, Commit { writes: Some(writes), ..noted(1, 2) }).await;
    assert!(matches!(&refused, Err(StoreError::Refused(why)) if why.0 == "the slot is full"), "{refused:?}");
    assert_eq!(scene.tables().notes().await, 1);
    store.commit(epoch, noted(1, 2)).await.unwrap();
    comes_back(&scene, &*store).await;
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

async fn what_is_written_outside_of_turns_does_not_wait_for_redis(scene: Scene) {
    let store = scene.noted_once().await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    store.write(note()).await.unwrap();
    assert_eq!(scene.tables().notes().await, 2);
    store.close().await.unwrap();
}

async fn what_was_decided_and_is_not_in_redis_waits_for_it(scene: Scene) {
    let store = scene.noted_once().await;
    let epoch = lead(&*store, "again").await;
    store.open(&anna(), None).await.unwrap();
    scene.proxy.cut_after(b"carry_out");
    let lost = store.commit(epoch, noted(1, 2)).await;
    assert!(scene.proxy.has_cut() && lost.is_err(), "{lost:?}");
    scene.proxy.cut_off(true);
    assert_eq!(scene.tables().notes().await, 2, "it is decided");
    begins_anew(&*store).await;
    let epoch = lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "she would go on from before that turn: {waits:?}");
    // The same update comes again: it is kept, and known when Redis is back.
    store.receive(epoch, vec![update(2).0]).await.unwrap();
    comes_back(&scene, &*store).await;
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 2));
    assert_eq!(scene.redis.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    store.close().await.unwrap();
}

/// A second turn of Anna's writes, and something happens before it is decided.
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
    let (deciding, turn) = (Arc::clone(store), Commit { writes: Some(slow), ..noted(1, 2) });
    let deciding = tokio::spawn(async move { deciding.commit(epoch, turn).await });
    let _ = is_writing.acquire().await.unwrap();
    meanwhile().await;
    may_end.add_permits(1);
    deciding.await.unwrap()
}

/// A turn of Anna's is decided, and Redis has said no to it.
async fn decided_and_not_heard(scene: &Scene) -> Arc<dyn Store> {
    let store = scene.noted_once().await;
    // Redis says no: the turn is decided, and known not to be there.
    let refused = writes_meanwhile(&store, async || drop(scene.server.say(&["REPLICAOF", "127.0.0.1", "1"]))).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    store
}

async fn what_was_decided_and_redis_has_surely_not_heard_waits_for_it_too(scene: Scene) {
    let store = decided_and_not_heard(&scene).await;
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    scene.server.say(&["REPLICAOF", "NO", "ONE"]);
    comes_back(&scene, &*store).await;
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

async fn a_redis_that_forgets_what_was_replayed_is_told_again(mut scene: Scene) {
    let store = scene.noted_once().await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let kept_bytes = scene.server.kept_bytes();
    let epoch = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, noted(1, 2)).await.unwrap();
    comes_back(&scene, &*store).await;
    assert_eq!(scene.version().await, 2);
    store.close().await.unwrap();
    // It comes back as it was before the replay.
    scene.server.lose_power(kept_bytes);
    scene.server.start_again();
    let address = format!("{}?journal=database", scene.server.url());
    let store = store::open_with_database(&address, Some(&scene.tables().url())).await.unwrap();
    lead(&*store, "older").await;
    let opened = store.open(&anna(), None).await.unwrap();
    let Opened::At { version, stored } = opened else { panic!("{opened:?}") };
    assert_eq!((version, &*stored.unwrap().value), (Version(2), "{\"turn\":2}"));
    assert_eq!(scene.tables().notes().await, 2);
    let taken = store.open(&anna(), Some(&update(2).1)).await.unwrap();
    assert_eq!(taken, Opened::AlreadyTaken);
    store.close().await.unwrap();
}

async fn a_database_whose_own_conversations_began_higher_makes_no_conflicts(scene: Scene) {
    let store = scene.noted_once().await;
    // As cleaning, a restore, or an accepted loss leaves it.
    scene.tables().say("UPDATE opora_version_floor SET floor = 100").await;
    let boris = DialogueKey::private(BOT, 6);
    store.open(&boris, None).await.unwrap();
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let epoch = lead(&*store, "away").await;
    for (key, from, number) in [(anna(), 1, 2), (boris.clone(), 0, 3)] {
        let opened = store.open(&key, None).await.unwrap();
        assert!(matches!(opened, Opened::At { version: Version(at), .. } if at == from), "{key}: {opened:?}");
        store.commit(epoch, Commit { key, ..noted(from, number) }).await.unwrap();
    }
    comes_back(&scene, &*store).await;
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 3));
    let opened = scene.redis.open(&boris, None).await.unwrap();
    assert!(matches!(opened, Opened::At { version: Version(1), stored: Some(_) }), "{opened:?}");
    store.close().await.unwrap();
}

async fn nobody_goes_on_from_before_a_turn_that_came_to_redis_later(scene: Scene) {
    let store = decided_and_not_heard(&scene).await;
    scene.server.say(&["REPLICAOF", "NO", "ONE"]);
    let known = async || store.open(&anna(), Some(&update(2).1)).await.is_ok_and(|known| known == Opened::AlreadyTaken);
    until("the turn is brought to Redis", known).await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "she would go on from before that turn: {waits:?}");
    store.close().await.unwrap();
}

/// She writes in the very second in which Redis goes away, before anybody calls it away.
async fn whose_turn_was_surely_not_decided_goes_on_with_the_journal(scene: Scene) {
    let store = scene.noted_once().await;
    let epoch = lead(&*store, "again").await;
    store.open(&anna(), None).await.unwrap();
    scene.proxy.cut_off(true);
    let undecided = store.commit(epoch, noted(1, 2)).await;
    assert!(matches!(undecided, Err(StoreError::Unavailable(_))), "{undecided:?}");
    begins_anew(&*store).await;
    let away = lead(&*store, "away").await;
    assert!(matches!(store.open(&anna(), None).await, Ok(Opened::At { version: Version(1), .. })), "she need not wait");
    store.commit(away, noted(1, 2)).await.unwrap();
    assert_eq!(scene.tables().notes().await, 2);
    store.close().await.unwrap();
}

async fn a_turn_that_hangs_decides_nothing_once_the_journal_goes_on(scene: Scene) {
    let store = scene.store().await;
    scene.tables().say("CREATE TABLE notes (person BIGINT NOT NULL)").await;
    // Whoever holds the lease on Redis, and was held up before the database.
    let hangs = scene.without_journal().await.unwrap();
    let epoch = lead(&*hangs, "before").await;
    hangs.open(&anna(), None).await.unwrap();
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    let late = hangs.commit(epoch, noted(0, 1)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!((scene.version().await, scene.tables().notes().await), (0, 0));
    store.close().await.unwrap();
}

async fn a_turn_of_redis_is_refused_once_the_journal_goes_on(scene: Scene) {
    let store = scene.noted_once().await;
    let epoch = lead(&*store, "again").await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    let late = store.commit(epoch, Commit { writes: None, ..noted(1, 2) }).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(scene.version().await, 1);
    store.close().await.unwrap();
}

async fn who_finds_that_another_instance_has_led_meanwhile_stops(scene: Scene) {
    let store = scene.noted_once().await;
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    // Against its operator's word.
    let other = scene.without_journal().await.unwrap();
    let epoch = lead(&*other, "other").await;
    let refused = store.claim(BOT, &holder("away"), None).await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("another instance")), "{refused:?}");
    other.commit(epoch, noted(1, 2)).await.unwrap();
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 2));
    store.close().await.unwrap();
}

/// Against the operator's word there are two, and Redis is away from one of them.
async fn who_alone_has_no_redis_stands_by_while_another_leads_with_it(mut scene: Scene) {
    let address = format!("{}?journal=database", scene.server.url());
    let leads = store::open_with_database(&address, Some(&scene.tables().url())).await.unwrap();
    scene.tables().say("CREATE TABLE notes (person BIGINT NOT NULL)").await;
    let second = scene.store().await;
    let epoch = lead(&*leads, "leads").await;
    leads.open(&anna(), None).await.unwrap();
    scene.proxy.cut_off(true);
    begins_anew(&*second).await;
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    let LeaseAnswer::Held(seen) = claimed else { panic!("it leads beside the other one: {claimed:?}") };
    leads.commit(epoch, noted(0, 1)).await.unwrap();
    // It is seen to work.
    leads.renew(BOT, epoch).await.unwrap();
    let claimed = second.claim(BOT, &holder("second"), Some(&*seen)).await.unwrap();
    assert!(matches!(&claimed, LeaseAnswer::Held(lease) if lease.renewals > seen.renewals), "{claimed:?}");

    // Redis goes away from the one that leads: it goes on at once.
    scene.server.kill();
    begins_anew(&*leads).await;
    let claimed = leads.claim(BOT, &holder("goes on"), None).await.unwrap();
    let LeaseAnswer::Granted(away) = claimed else { panic!("{claimed:?}") };
    leads.open(&anna(), None).await.unwrap();
    leads.commit(away, noted(1, 2)).await.unwrap();
    scene.server.start_again();
    begins_anew(&*leads).await;
    let claimed = leads.claim(BOT, &holder("is back"), None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    assert!(matches!(claimed, LeaseAnswer::Held(_)), "{claimed:?}");
    assert_eq!(scene.tables().notes().await, 2);

    // What is given back is to be had at once.
    leads.release(BOT, epoch).await.unwrap();
    let claimed = second.claim(BOT, &holder("second"), None).await.unwrap();
    assert!(matches!(claimed, LeaseAnswer::Granted(_)), "{claimed:?}");
    leads.close().await.unwrap();
    second.close().await.unwrap();
}

async fn an_update_that_was_decided_on_before_writes_nothing_while_redis_is_away(scene: Scene) {
    scene.noted_once().await.close().await.unwrap();
    // Another process, which has never seen that update.
    let store = scene.store().await;
    lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let away = lead(&*store, "away").await;
    store.open(&anna(), None).await.unwrap();
    let again = store.commit(away, noted(1, 1)).await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    store.commit(away, noted(1, 2)).await.unwrap();
    comes_back(&scene, &*store).await;
    assert_eq!((scene.version().await, scene.tables().notes().await), (2, 2));
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    store.close().await.unwrap();
}

async fn an_input_that_redis_has_forgotten_waits_for_it_until_it_knows_that_again(scene: Scene) {
    scene.noted_once().await.close().await.unwrap();
    let store = scene.store().await;
    let epoch = lead(&*store, "restarted").await;
    store.open(&anna(), None).await.unwrap();
    let forget = "for _, key in ipairs(redis.call('KEYS', '*:marks')) do redis.call('DEL', key) end";
    scene.server.say(&["EVAL", forget, "0"]);
    // The database knows it, and Redis cannot be told.
    scene.proxy.cut_after(b"_open");
    let lost = store.commit(epoch, noted(1, 1)).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))) && scene.proxy.has_cut(), "{lost:?}");
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    assert_eq!(scene.tables().notes().await, 1);
    store.close().await.unwrap();
}

/// An operator resets her, and then Redis goes away.
async fn whose_conversation_was_reset_while_a_turn_wrote_does_not_go_on_from_before_that(scene: Scene) {
    let store = scene.noted_once().await;
    let moved =
        writes_meanwhile(&store, async || assert!(scene.redis.operator().reset(&anna(), NOW).await.unwrap())).await;
    assert!(matches!(&moved, Err(StoreError::Unavailable(why)) if why.to_string().contains("reset")), "{moved:?}");
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    let waits = store.open(&anna(), None).await;
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    store.close().await.unwrap();
}

/// Against the operator's word there are two. Redis is away from one of them, and the other one gets its lease there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_on_a_journal_that_another_one_has_found_empty() {
    const WAITS: &str =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'opora_journal_effects'::regclass";
    let scene = Scene::beside(Tables::in_a_schema().await).await;
    let (quiet, epoch) = scene.led_away().await;
    let address = format!("{}?journal=database", scene.server.url());
    let next = store::open_with_database(&address, Some(&scene.tables().url())).await.unwrap();
    // It looks, finds nothing, and waits before it empties.
    let mut gate = PgConnection::connect(&scene.tables().url()).await.unwrap();
    sqlx::raw_sql("BEGIN; LOCK TABLE opora_journal_effects IN EXCLUSIVE MODE").execute(&mut gate).await.unwrap();
    let claims = Arc::clone(&next);
    let claiming = tokio::spawn(async move { lead(&*claims, "next").await });
    until("it is about to empty the journal", async || scene.tables().number(WAITS).await > 0).await;
    let late = quiet.commit(epoch, asked()).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
    claiming.await.unwrap();
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "it would be gone: {late:?}");
    quiet.close().await.unwrap();
    next.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_of_a_short_lease_does_not_wait_for_a_database_that_is_silent() {
    let (redis, server) = (RedisServer::start(&[]), PostgresServer::start(&[]));
    let proxy = Proxy::before(server.port()).await;
    let tables = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let address = format!("{}?journal=database", redis.url());
    let store = store::open_with_database(&address, Some(&tables)).await.unwrap();
    let claimed = store.claim(BOT, &Holder { ttl_ms: 2_000, ..holder("short") }, None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    proxy.hold();
    // It is renewed after half of its time, and has the other half for that.
    let renewed = tokio::time::timeout(Duration::from_secs(1), store.renew(BOT, epoch)).await;
    assert!(matches!(renewed, Ok(Ok(()))), "{renewed:?}");
    proxy.let_pass();
    store.close().await.unwrap();
}

async fn a_journal_that_has_something_is_not_left_behind(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
    store.commit(epoch, asked()).await.unwrap();
    store.close().await.unwrap();
    let refused = scene.without_journal().await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("journal=database") && refused.contains("Redis has everything"), "{refused}");
    assert_eq!(scene.version().await, 0);
    scene.proxy.cut_off(false);
    let store = scene.store().await;
    lead(&*store, "after").await;
    assert_eq!(scene.version().await, 1);
    store.close().await.unwrap();
    scene.without_journal().await.unwrap().close().await.unwrap();
}
