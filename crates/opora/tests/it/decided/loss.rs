//! A Redis that ends in the midst, or forgets: what was decided comes back, and is written once.

use opora::store::{
    Commit, DecidedStore, DomainWrites, Effect, Epoch, LeaseAnswer, Settled, Settlement, Store, StoreError, Taken,
    Version,
};

use super::{
    BOT, Bench, Tables, claim, found_again, is_taken, key, mark, note, note_and_kill, standing, try_claim, turn,
    unsent, write_turn, writing_turn,
};

super::on_both_databases! {
    a_decision_is_carried_out_when_its_conversation_is_opened,
    a_decision_is_carried_out_by_whoever_takes_over,
    an_operator_who_resets_in_between_is_heard_and_nothing_is_lost,
    an_operator_who_resets_while_the_turn_writes_is_heard,
    what_redis_has_forgotten_comes_back_to_who_goes_on,
    what_redis_has_forgotten_comes_back_with_a_takeover,
    a_message_that_was_moved_to_another_chat_comes_back_too,
    an_update_that_redis_has_forgotten_writes_nothing,
    an_epoch_that_redis_has_forgotten_is_not_given_twice,
    an_emptied_redis_is_refused_until_it_is_accepted,
}

/// The tables were dropped and made anew beneath a bot that runs.
#[tokio::test]
async fn tables_that_are_made_anew_are_not_gone_on_with() {
    let bench = Bench::new(Tables::in_a_schema().await).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    bench.tables.say("DROP TABLE opora_generation, opora_fences, opora_decisions, opora_decisions_schema").await;
    let refused = try_claim(&store, "next").await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("is empty")), "{refused:?}");
    bench
        .tables
        .say("CREATE TABLE opora_generation (generation TEXT); INSERT INTO opora_generation VALUES ('x')")
        .await;
    let refused = try_claim(&store, "next").await;
    assert!(matches!(&refused, Err(StoreError::Lost { what }) if what.contains("is another one")), "{refused:?}");
}

/// Somebody who has had a turn, and another whose writes are done and of which Redis knows nothing.
async fn half_done(bench: &Bench, store: &impl Store, epoch: Epoch) {
    write_turn(store, epoch, 1, 11).await.unwrap();
    let half = Commit { writes: Some(note_and_kill(bench, 1)), ..turn(1, 12, Version(1)) };
    let unsure = store.commit(epoch, half).await;
    assert!(matches!(unsure, Err(StoreError::Unavailable(_))), "{unsure:?}");
    bench.redis.lock().start_again();
    found_again(store).await;
}

async fn a_decision_is_carried_out_when_its_conversation_is_opened(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    half_done(&bench, &store, epoch).await;
    assert_eq!(standing(&bench.plain_redis().await, 1).await.0, Version(1), "Redis does not know it");
    assert!(is_taken(&store, 1, 12).await);
    assert_eq!(standing(&store, 1).await, (Version(2), Some("after-12".into())));
    assert_eq!(unsent(&store).await, ["after-11", "after-12"]);
    assert_eq!(bench.tables.notes().await, 2);
    write_turn(&store, epoch, 1, 13).await.unwrap();
}

async fn a_decision_is_carried_out_by_whoever_takes_over(tables: Tables) {
    let bench = Bench::new(tables).await;
    let first = bench.store().await;
    let epoch = claim(&first, "first").await;
    half_done(&bench, &first, epoch).await;
    first.close().await.unwrap();
    let next = bench.store().await;
    claim(&next, "next").await;
    let redis = bench.plain_redis().await;
    assert_eq!(standing(&redis, 1).await, (Version(2), Some("after-12".into())), "nobody had to speak first");
    assert_eq!(unsent(&redis).await, ["after-11", "after-12"]);
    assert!(is_taken(&redis, 1, 12).await);
    assert_eq!(bench.tables.notes().await, 2);
}

async fn an_operator_who_resets_in_between_is_heard_and_nothing_is_lost(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    half_done(&bench, &store, epoch).await;
    assert!(bench.plain_redis().await.operator().reset(&key(1), super::NOW).await.unwrap());
    assert!(is_taken(&store, 1, 12).await, "its writes are done, so it is not run again");
    assert_eq!(standing(&store, 1).await, (Version(3), None), "the reset stands");
    assert_eq!(unsent(&store).await, ["after-11", "after-12"], "what was said is sent");
    let parked = store.parked(Some(BOT), 9).await.unwrap();
    assert_eq!((parked.len(), &*parked[0].kind), (1, "state"));
    assert!(parked[0].body.contains("after-12"), "{}", parked[0].body);
    assert_eq!(bench.tables.notes().await, 2);
    // The record is done with.
    let again = bench.store().await;
    claim(&again, "next").await;
    assert_eq!(standing(&again, 1).await, (Version(3), None));
    assert_eq!(unsent(&again).await.len(), 2);
}

async fn an_operator_who_resets_while_the_turn_writes_is_heard(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    let redis = bench.plain_redis().await;
    let note_and_reset = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            assert!(redis.operator().reset(&key(1), super::NOW).await?);
            Ok(())
        })
    });
    let late = store.commit(epoch, Commit { writes: Some(note_and_reset), ..turn(1, 12, Version(1)) }).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "the caller looks again: {late:?}");
    assert!(is_taken(&store, 1, 12).await);
    assert_eq!(standing(&store, 1).await, (Version(3), None));
    assert_eq!(unsent(&store).await, ["after-11", "after-12"]);
    assert_eq!((bench.tables.notes().await, store.parked(Some(BOT), 9).await.unwrap().len()), (2, 1));
}

/// Two people write, and one of them is told so; then Redis loses all of it but the lease.
async fn forgotten(bench: &Bench, store: &impl Store, epoch: Epoch) {
    write_turn(store, epoch, 2, 9).await.unwrap();
    let kept_bytes = bench.redis.lock().kept_bytes();
    write_turn(store, epoch, 1, 11).await.unwrap();
    let effect = Effect { kind: "download".into(), body: "{}".into() };
    let asks = Commit { effects: vec![effect], ..writing_turn(1, 12, Version(1)) };
    let sent = store.commit(epoch, asks).await.unwrap().outbox[0];
    write_turn(store, epoch, 2, 13).await.unwrap();
    let settled = vec![Settled { id: sent, outcome: Settlement::Sent { labelled: None } }];
    store.settle(epoch, settled, super::NOW).await.unwrap();
    lose_power(bench, kept_bytes);
    found_again(store).await;
}

fn lose_power(bench: &Bench, kept_bytes: u64) {
    let mut redis = bench.redis.lock();
    redis.lose_power(kept_bytes);
    redis.start_again();
}

/// An instance that goes on after a loss: it is refused at first, and then leads again.
async fn leads_again(bench: &Bench) -> (DecidedStore, Epoch) {
    let url = bench.redis_url() + "?after_loss=go_on";
    let store = bench.store_at(&url, &bench.tables.url()).await;
    let epoch = claim(&store, "first").await;
    forgotten(bench, &store, epoch).await;
    let late = store.commit(epoch, writing_turn(1, 14, Version(2))).await;
    assert!(matches!(late, Err(StoreError::Lost { .. })), "nobody else has the lease: {late:?}");
    let epoch = claim(&store, "again").await;
    (store, epoch)
}

async fn what_redis_has_forgotten_comes_back_to_who_goes_on(tables: Tables) {
    let bench = Bench::new(tables).await;
    let (store, epoch) = leads_again(&bench).await;
    let (version, state) = standing(&store, 1).await;
    assert_eq!(state.as_deref(), Some("after-12"));
    assert!(version > Version(2), "no version comes twice: {version:?}");
    assert_eq!(standing(&store, 2).await.1.as_deref(), Some("after-13"));
    assert!(is_taken(&store, 1, 12).await);
    assert_eq!(store.effects(BOT, Default::default(), 9).await.unwrap().len(), 1, "work is done, if twice");
    store.commit(epoch, writing_turn(1, 14, version)).await.unwrap();
    assert_eq!(bench.tables.notes().await, 5);
}

async fn what_redis_has_forgotten_comes_back_with_a_takeover(tables: Tables) {
    let bench = Bench::new(tables).await;
    let first = bench.store().await;
    let epoch = claim(&first, "first").await;
    forgotten(&bench, &first, epoch).await;
    first.close().await.unwrap();
    let next = bench.store().await;
    claim(&next, "next").await;
    let redis = bench.plain_redis().await;
    assert_eq!(standing(&redis, 1).await, (Version(2), Some("after-12".into())));
    assert_eq!(standing(&redis, 2).await, (Version(2), Some("after-13".into())));
    let mut said = unsent(&redis).await;
    said.sort();
    assert_eq!(said, ["after-12", "after-13", "after-9"], "nobody knows what was sent");
    assert_eq!(bench.tables.notes().await, 4);
}

async fn a_message_that_was_moved_to_another_chat_comes_back_too(tables: Tables) {
    let bench = Bench::new(tables).await;
    let url = bench.redis_url() + "?after_loss=go_on";
    let store = bench.store_at(&url, &bench.tables.url()).await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 2, 9).await.unwrap();
    let kept_bytes = bench.redis.lock().kept_bytes();
    let said = store.commit(epoch, writing_turn(1, 11, Version(0))).await.unwrap().outbox[0];
    let moved = Settled { id: said, outcome: Settlement::Moved { from: 1, to: -1_001 } };
    store.settle(epoch, vec![moved], super::NOW).await.unwrap();
    lose_power(&bench, kept_bytes);
    found_again(&store).await;
    let late = store.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(late, Err(StoreError::Lost { .. })), "{late:?}");
    claim(&store, "again").await;
    assert!(unsent(&store).await.contains(&"after-11".to_owned()), "it was not sent: {:?}", unsent(&store).await);
}

async fn an_update_that_redis_has_forgotten_writes_nothing(tables: Tables) {
    let bench = Bench::new(tables).await;
    let (store, epoch) = leads_again(&bench).await;
    // Its record was replaced by a later one, so Redis never hears of it from there.
    assert!(!is_taken(&store, 1, 11).await);
    let again = write_turn(&store, epoch, 1, 11).await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    assert!(is_taken(&store, 1, 11).await, "now Redis knows");
    assert_eq!(standing(&store, 1).await.1, Some("after-12".into()));
    assert_eq!(bench.tables.notes().await, 4);
}

async fn an_epoch_that_redis_has_forgotten_is_not_given_twice(tables: Tables) {
    let bench = Bench::new(tables).await;
    let first = bench.store().await;
    let kept_bytes = bench.redis.lock().kept_bytes();
    let epoch = claim(&first, "first").await;
    write_turn(&first, epoch, 1, 11).await.unwrap();
    lose_power(&bench, kept_bytes);
    found_again(&first).await;
    let next = bench.store().await;
    let later = claim(&next, "next").await;
    assert!(later > epoch, "{later:?} is not after {epoch:?}");
    let old = first.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(old, Err(StoreError::Fenced { .. })), "{old:?}");
    assert_eq!(bench.tables.notes().await, 1);
}

async fn an_emptied_redis_is_refused_until_it_is_accepted(tables: Tables) {
    let bench = Bench::new(tables).await;
    let first = bench.store().await;
    let epoch = claim(&first, "first").await;
    write_turn(&first, epoch, 1, 11).await.unwrap();
    bench.redis.lock().say(&["FLUSHALL"]);
    let gone = first.commit(epoch, writing_turn(1, 12, Version(1))).await;
    assert!(matches!(gone, Err(StoreError::Lost { .. })), "{gone:?}");
    let refused = try_claim(&first, "next").await;
    assert!(matches!(refused, Err(StoreError::Unsupported(why)) if why.contains("emptied")), "{refused:?}");
    let next = bench.store().await;
    let refused = try_claim(&next, "next").await;
    assert!(matches!(refused, Err(StoreError::Unsupported(why)) if why.contains("emptied")), "{refused:?}");
    next.adopt(BOT).await.unwrap();
    let granted = try_claim(&next, "next").await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(later) if later > epoch), "{granted:?}");
    assert_eq!(standing(&next, 1).await, (Version(1), Some("after-11".into())));
    assert_eq!(bench.tables.notes().await, 1);
    let taken = Commit { takes: vec![Taken::Fresh(mark(11))], ..turn(1, 11, Version(1)) };
    let LeaseAnswer::Granted(epoch) = granted else { unreachable!() };
    assert!(matches!(next.commit(epoch, taken).await, Err(StoreError::AlreadyTaken)));
}
