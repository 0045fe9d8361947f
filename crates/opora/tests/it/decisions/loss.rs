//! A Redis that ends during a turn, or loses data: decided turns come back, and are written once.

use opora::store::{
    Commit, DecisionStore, DomainWrites, Effect, Epoch, Incoming, InputRef, LeaseAnswer, Origin, Receipt, Seq, Settled,
    Settlement, Store, StoreError, Version,
};

use super::{
    BOT, Fixture, Tables, claim, found_again, is_processed, key, mark, note, note_and_kill, try_claim, turn, unsent,
    version_and_state, write_turn, writing_turn,
};

super::on_both_databases! {
    a_decision_is_carried_out_at_the_next_open,
    a_decision_is_carried_out_at_a_takeover,
    a_reset_before_a_decision_is_carried_out_wins,
    a_reset_during_the_writes_wins,
    decisions_that_redis_lost_return_to_the_leader,
    decisions_that_redis_lost_return_with_a_takeover,
    a_message_moved_to_another_chat_is_restored,
    an_update_that_redis_lost_writes_nothing,
    inputs_before_a_restored_turn_leave_the_inbox,
    an_epoch_that_redis_lost_is_not_reused,
    an_emptied_redis_is_refused_until_it_is_accepted,
}

/// The tables were dropped and created again under a running bot.
#[tokio::test]
async fn recreated_tables_are_refused() {
    let fixture = Fixture::new(Tables::in_a_schema().await).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    fixture.tables.execute("DROP TABLE opora_generation, opora_fences, opora_decisions, opora_decisions_schema").await;
    let refused = try_claim(&store, "next").await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("is empty")), "{refused:?}");
    fixture
        .tables
        .execute("CREATE TABLE opora_generation (generation TEXT); INSERT INTO opora_generation VALUES ('x')")
        .await;
    let refused = try_claim(&store, "next").await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("is another one")), "{refused:?}");
}

/// One person has had a turn. The writes of another are done, and Redis does not know of them.
async fn half_done(fixture: &Fixture, store: &impl Store, epoch: Epoch) {
    write_turn(store, epoch, 1, 11).await.unwrap();
    let half = Commit { writes: Some(note_and_kill(fixture, 1)), ..turn(1, 12, Version(1)) };
    let unsure = store.commit(epoch, half).await;
    assert!(matches!(unsure, Err(StoreError::Unavailable(_))), "{unsure:?}");
    fixture.redis.lock().start_again();
    found_again(store).await;
}

async fn a_decision_is_carried_out_at_the_next_open(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    half_done(&fixture, &store, epoch).await;
    assert_eq!(version_and_state(&fixture.plain_redis().await, 1).await.0, Version(1), "Redis does not know it");
    assert!(is_processed(&store, 1, 12).await);
    assert_eq!(version_and_state(&store, 1).await, (Version(2), Some("after-12".into())));
    assert_eq!(unsent(&store).await, ["after-11", "after-12"]);
    assert_eq!(fixture.tables.notes().await, 2);
    write_turn(&store, epoch, 1, 13).await.unwrap();
}

async fn a_decision_is_carried_out_at_a_takeover(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let first = fixture.store().await;
    let epoch = claim(&first, "first").await;
    half_done(&fixture, &first, epoch).await;
    first.close().await.unwrap();
    let next = fixture.store().await;
    claim(&next, "next").await;
    let redis = fixture.plain_redis().await;
    assert_eq!(
        version_and_state(&redis, 1).await,
        (Version(2), Some("after-12".into())),
        "no message was needed first"
    );
    assert_eq!(unsent(&redis).await, ["after-11", "after-12"]);
    assert!(is_processed(&redis, 1, 12).await);
    assert_eq!(fixture.tables.notes().await, 2);
}

async fn a_reset_before_a_decision_is_carried_out_wins(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    half_done(&fixture, &store, epoch).await;
    assert!(fixture.plain_redis().await.operator().reset(&key(1), super::NOW).await.unwrap());
    assert!(is_processed(&store, 1, 12).await, "its writes are done, so it is not run again");
    assert_eq!(version_and_state(&store, 1).await, (Version(3), None), "the reset stands");
    assert_eq!(unsent(&store).await, ["after-11", "after-12"], "messages are sent");
    let parked = store.parked(Some(BOT), 9).await.unwrap();
    assert_eq!((parked.len(), &*parked[0].kind), (1, "state"));
    assert!(parked[0].body.contains("after-12"), "{}", parked[0].body);
    assert_eq!(fixture.tables.notes().await, 2);
    // The record is not used any more.
    let again = fixture.store().await;
    claim(&again, "next").await;
    assert_eq!(version_and_state(&again, 1).await, (Version(3), None));
    assert_eq!(unsent(&again).await.len(), 2);
}

async fn a_reset_during_the_writes_wins(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    let redis = fixture.plain_redis().await;
    let note_and_reset = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            assert!(redis.operator().reset(&key(1), super::NOW).await?);
            Ok(())
        })
    });
    let late = store.commit(epoch, Commit { writes: Some(note_and_reset), ..turn(1, 12, Version(1)) }).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "the caller looks again: {late:?}");
    assert!(is_processed(&store, 1, 12).await);
    assert_eq!(version_and_state(&store, 1).await, (Version(3), None));
    assert_eq!(unsent(&store).await, ["after-11", "after-12"]);
    assert_eq!((fixture.tables.notes().await, store.parked(Some(BOT), 9).await.unwrap().len()), (2, 1));
}

/// Two people write, and one of them gets an answer. Then Redis loses everything but the lease.
async fn forgotten(fixture: &Fixture, store: &impl Store, epoch: Epoch) {
    write_turn(store, epoch, 2, 9).await.unwrap();
    let aof_bytes = fixture.redis.lock().aof_bytes();
    write_turn(store, epoch, 1, 11).await.unwrap();
    let effect = Effect { kind: "download".into(), body: "{}".into() };
    let asks = Commit { effects: vec![effect], ..writing_turn(1, 12, Version(1)) };
    let sent = store.commit(epoch, asks).await.unwrap().outbox[0];
    write_turn(store, epoch, 2, 13).await.unwrap();
    let settled = vec![Settled { id: sent, outcome: Settlement::Sent { labelled: None } }];
    store.settle(epoch, settled, super::NOW).await.unwrap();
    lose_power(fixture, aof_bytes);
    found_again(store).await;
}

fn lose_power(fixture: &Fixture, aof_bytes: u64) {
    let mut redis = fixture.redis.lock();
    redis.lose_power(aof_bytes);
    redis.start_again();
}

/// An instance that continues after a loss: it is refused first, and then leads again.
async fn leads_again(fixture: &Fixture) -> (DecisionStore, Epoch) {
    let url = fixture.redis_url() + "?after_loss=go_on";
    let store = fixture.store_at(&url, &fixture.tables.url()).await;
    let epoch = claim(&store, "first").await;
    forgotten(fixture, &store, epoch).await;
    let late = store.commit(epoch, writing_turn(1, 14, Version(2))).await;
    assert!(matches!(late, Err(StoreError::Lost { .. })), "no other instance has the lease: {late:?}");
    let epoch = claim(&store, "again").await;
    (store, epoch)
}

async fn decisions_that_redis_lost_return_to_the_leader(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let (store, epoch) = leads_again(&fixture).await;
    let (version, state) = version_and_state(&store, 1).await;
    assert_eq!(state.as_deref(), Some("after-12"));
    assert!(version > Version(2), "no version comes twice: {version:?}");
    assert_eq!(version_and_state(&store, 2).await.1.as_deref(), Some("after-13"));
    assert!(is_processed(&store, 1, 12).await);
    assert_eq!(store.effects(BOT, Default::default(), 9).await.unwrap().len(), 1, "work is done, if twice");
    store.commit(epoch, writing_turn(1, 14, version)).await.unwrap();
    assert_eq!(fixture.tables.notes().await, 5);
}

async fn decisions_that_redis_lost_return_with_a_takeover(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let first = fixture.store().await;
    let epoch = claim(&first, "first").await;
    forgotten(&fixture, &first, epoch).await;
    first.close().await.unwrap();
    let next = fixture.store().await;
    claim(&next, "next").await;
    let redis = fixture.plain_redis().await;
    assert_eq!(version_and_state(&redis, 1).await, (Version(2), Some("after-12".into())));
    assert_eq!(version_and_state(&redis, 2).await, (Version(2), Some("after-13".into())));
    let mut said = unsent(&redis).await;
    said.sort();
    assert_eq!(said, ["after-12", "after-13", "after-9"], "it is unknown what was sent");
    assert_eq!(fixture.tables.notes().await, 4);
}

async fn a_message_moved_to_another_chat_is_restored(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let url = fixture.redis_url() + "?after_loss=go_on";
    let store = fixture.store_at(&url, &fixture.tables.url()).await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 2, 9).await.unwrap();
    let aof_bytes = fixture.redis.lock().aof_bytes();
    let said = store.commit(epoch, writing_turn(1, 11, Version(0))).await.unwrap().outbox[0];
    let moved = Settled { id: said, outcome: Settlement::Moved { from: 1, to: -1_001 } };
    store.settle(epoch, vec![moved], super::NOW).await.unwrap();
    lose_power(&fixture, aof_bytes);
    found_again(&store).await;
    let late = store.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(late, Err(StoreError::Lost { .. })), "{late:?}");
    claim(&store, "again").await;
    assert!(unsent(&store).await.contains(&"after-11".to_owned()), "it was not sent: {:?}", unsent(&store).await);
}

async fn an_update_that_redis_lost_writes_nothing(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let (store, epoch) = leads_again(&fixture).await;
    // Its record was replaced by a later one, so Redis does not get it from there.
    assert!(!is_processed(&store, 1, 11).await);
    let again = write_turn(&store, epoch, 1, 11).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    assert!(is_processed(&store, 1, 11).await, "now Redis knows");
    assert_eq!(version_and_state(&store, 1).await.1, Some("after-12".into()));
    assert_eq!(fixture.tables.notes().await, 4);
}

/// Redis loses two turns, so their inputs wait again. The record of the second turn restores a state that is past them.
async fn inputs_before_a_restored_turn_leave_the_inbox(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let url = fixture.redis_url() + "?after_loss=go_on";
    let store = fixture.store_at(&url, &fixture.tables.url()).await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 10).await.unwrap();
    let update = |update_id| Origin::Update(mark(update_id));
    let incoming = |(person, update_id)| Incoming {
        key: key(person),
        origin: update(update_id),
        body: "{}".into(),
        at: super::NOW,
    };
    let batch = [(1, 11), (1, 12), (1, 13), (2, 14)].map(incoming);
    let receipts = store.receive(epoch, batch.into()).await.unwrap();
    let taken = |place: usize, update_id| {
        let Receipt::New(seq) = receipts[place] else { panic!("{receipts:?}") };
        vec![InputRef::Update { seq, mark: mark(update_id) }]
    };
    let aof_bytes = fixture.redis.lock().aof_bytes();
    store.commit(epoch, Commit { processed: taken(0, 11), ..turn(1, 11, Version(1)) }).await.unwrap();
    store.commit(epoch, Commit { processed: taken(1, 12), ..writing_turn(1, 12, Version(2)) }).await.unwrap();
    lose_power(&fixture, aof_bytes);
    found_again(&store).await;
    let waiting = async || {
        let rows = store.waiting(BOT, Seq(0), 9).await.unwrap();
        let mut origins: Vec<_> = rows.into_iter().map(|row| row.incoming.origin).collect();
        origins.sort_by_key(|origin| format!("{origin:?}"));
        origins
    };
    assert_eq!(waiting().await, [11, 12, 13, 14].map(update), "Redis has lost both turns");
    let late = store.commit(epoch, writing_turn(1, 15, Version(3))).await;
    assert!(matches!(late, Err(StoreError::Lost { .. })), "{late:?}");
    claim(&store, "again").await;
    assert_eq!(waiting().await, [13, 14].map(update), "later inputs and other people's still wait");
    assert!(is_processed(&store, 1, 11).await && is_processed(&store, 1, 12).await);
    assert_eq!(version_and_state(&store, 1).await.1.as_deref(), Some("after-12"));
}

async fn an_epoch_that_redis_lost_is_not_reused(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let first = fixture.store().await;
    let aof_bytes = fixture.redis.lock().aof_bytes();
    let epoch = claim(&first, "first").await;
    write_turn(&first, epoch, 1, 11).await.unwrap();
    lose_power(&fixture, aof_bytes);
    found_again(&first).await;
    let next = fixture.store().await;
    let later = claim(&next, "next").await;
    assert!(later > epoch, "{later:?} is not after {epoch:?}");
    let old = first.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(old, Err(StoreError::Fenced { .. })), "{old:?}");
    assert_eq!(fixture.tables.notes().await, 1);
}

async fn an_emptied_redis_is_refused_until_it_is_accepted(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let first = fixture.store().await;
    let epoch = claim(&first, "first").await;
    write_turn(&first, epoch, 1, 11).await.unwrap();
    fixture.redis.lock().command(&["FLUSHALL"]);
    let gone = first.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(gone, Err(StoreError::Lost { .. })), "{gone:?}");
    let refused = try_claim(&first, "next").await;
    assert!(matches!(refused, Err(StoreError::Unsupported(why)) if why.contains("emptied")), "{refused:?}");
    let next = fixture.store().await;
    let refused = try_claim(&next, "next").await;
    assert!(matches!(refused, Err(StoreError::Unsupported(why)) if why.contains("emptied")), "{refused:?}");
    next.adopt(BOT).await.unwrap();
    let granted = try_claim(&next, "next").await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(later) if later > epoch), "{granted:?}");
    assert_eq!(version_and_state(&next, 1).await, (Version(1), Some("after-11".into())));
    assert_eq!(fixture.tables.notes().await, 1);
    let taken = Commit { processed: vec![InputRef::DirectUpdate(mark(11))], ..turn(1, 11, Version(1)) };
    let LeaseAnswer::Granted(epoch) = granted else { unreachable!() };
    assert!(matches!(next.commit(epoch, taken).await, Err(StoreError::AlreadyProcessed)));
}
