//! The application's writes and their turn come together, or not at all, and once.

use futures_util::future::join_all;
use opora::clock::Millis;
use opora::store::{
    Bounds, Commit, DomainWrites, Effect, Outgoing, Refusal, StateChange, Store, StoreError, Taken, TimerChange,
    TimerId, Version,
};

use super::{
    Bench, NOW, Tables, claim, found_again, is_taken, key, note, note_and_kill, standing, turn, unsent, write_turn,
    writing_turn,
};
use crate::postgres_store::message;

super::on_both_databases! {
    a_turn_and_its_writes_come_together,
    an_update_that_comes_again_writes_nothing,
    a_refusal_leaves_nothing_and_the_turn_may_be_tried_again,
    a_turn_that_does_not_stand_runs_no_writes,
    many_conversations_write_side_by_side,
    everything_that_a_turn_asks_for_comes_with_its_writes,
    writes_outside_of_turns_go_to_the_database,
    records_go_with_the_marks,
    a_record_keeps_no_secret_that_redis_has,
    a_secret_that_redis_never_heard_of_is_brought_back,
    a_forgotten_person_has_no_record,
}

/// Records that hold these words.
const SECRETS: &str = "SELECT count(*) FROM opora_decisions WHERE body LIKE '%739154%'";

/// A turn that writes, and says something that is a secret.
fn secret_turn(person: i64, update_id: i64) -> Commit {
    let mut commit = writing_turn(person, update_id, Version(0));
    commit.outgoing.insert(0, Outgoing { secret: true, ..message(person, "739154") });
    commit
}

async fn a_record_keeps_no_secret_that_redis_has(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    let done = store.commit(epoch, secret_turn(1, 11)).await.unwrap();
    assert_eq!((done.outbox.len(), unsent(&store).await), (2, vec!["739154".to_owned(), "after-11".to_owned()]));
    assert_eq!(bench.tables.number(SECRETS).await, 0);
    assert_eq!(bench.tables.number("SELECT count(*) FROM opora_decisions WHERE has_secrets = 0").await, 1);
}

async fn a_secret_that_redis_never_heard_of_is_brought_back(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    let mut commit = secret_turn(1, 11);
    commit.writes = Some(note_and_kill(&bench, 1));
    store.commit(epoch, commit).await.unwrap_err();
    assert_eq!(bench.tables.number(SECRETS).await, 1, "it may have to be sent");
    bench.redis.lock().start_again();
    found_again(&store).await;
    claim(&store, "second").await;
    assert_eq!(unsent(&store).await, ["739154", "after-11"]);
    assert_eq!(bench.tables.number(SECRETS).await, 0);
}

async fn a_forgotten_person_has_no_record(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    for person in [1, 11] {
        write_turn(&store, epoch, person, 20 + person).await.unwrap();
    }
    assert!(store.forget(super::BOT, 1, NOW).await.unwrap() > 0);
    assert_eq!(bench.tables.number("SELECT count(*) FROM opora_decisions").await, 1);
    // Nothing is brought back, and what was decided on is known.
    claim(&store, "second").await;
    assert_eq!(standing(&store, 1).await, (Version(2), None));
    assert_eq!(standing(&store, 11).await.1, Some("after-31".into()));
    assert!(is_taken(&store, 1, 21).await);
}

async fn a_turn_and_its_writes_come_together(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    assert_eq!(write_turn(&store, epoch, 1, 11).await.unwrap().version, Version(1));
    store.commit(epoch, turn(1, 12, Version(1))).await.unwrap();
    assert_eq!(write_turn(&store, epoch, 1, 13).await.unwrap().version, Version(3));
    assert_eq!(standing(&store, 1).await, (Version(3), Some("after-13".into())));
    assert_eq!(unsent(&store).await, ["after-11", "after-12", "after-13"]);
    assert_eq!(bench.tables.notes().await, 2);
    assert!(store.describe().contains("Redis") && store.describe().contains("what turns write"));
}

async fn an_update_that_comes_again_writes_nothing(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    // Once by a turn that wrote, once by one that did not.
    store.commit(epoch, turn(1, 12, Version(1))).await.unwrap();
    for update_id in [11, 12] {
        let again = write_turn(&store, epoch, 1, update_id).await;
        assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    }
    assert_eq!(bench.tables.notes().await, 1);
    assert_eq!(standing(&store, 1).await.0, Version(2));
}

async fn a_refusal_leaves_nothing_and_the_turn_may_be_tried_again(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    let refuse = || {
        DomainWrites::new(|database| {
            Box::pin(async move {
                note(1).run(database).await?;
                Err(Refusal::because("the slot is full"))
            })
        })
    };
    let fail = || DomainWrites::new(|_| Box::pin(async { Err(std::fmt::Error.into()) }));
    let refused = store.commit(epoch, Commit { writes: Some(refuse()), ..turn(1, 11, Version(0)) }).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal(why))) if why == "the slot is full"));
    let failed = store.commit(epoch, Commit { writes: Some(fail()), ..turn(1, 11, Version(0)) }).await;
    assert!(matches!(failed, Err(StoreError::WritesFailed(_))), "{failed:?}");
    assert_eq!((bench.tables.notes().await, standing(&store, 1).await), (0, (Version(0), None)));
    assert!(!is_taken(&store, 1, 11).await);
    write_turn(&store, epoch, 1, 11).await.unwrap();
    assert_eq!(bench.tables.notes().await, 1);
}

async fn a_turn_that_does_not_stand_runs_no_writes(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, turn(1, 11, Version(0))).await.unwrap();
    let late = store.commit(epoch, writing_turn(1, 12, Version(0))).await;
    assert!(matches!(late, Err(StoreError::Overtaken(_))), "{late:?}");
    let gone = Commit { takes: vec![Taken::Timer(TimerId(-1))], ..writing_turn(1, 12, Version(1)) };
    assert!(matches!(store.commit(epoch, gone).await, Err(StoreError::AlreadyTaken)));
    assert_eq!(bench.tables.notes().await, 0);
}

async fn many_conversations_write_side_by_side(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    for round in 0..3 {
        let turns = (1..=40).map(|person| {
            let commit = writing_turn(person, round * 100 + person, Version(round));
            store.commit(epoch, commit)
        });
        let done = join_all(turns).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }
    assert_eq!(bench.tables.notes().await, 120);
    assert_eq!(bench.tables.number("SELECT count(*) FROM opora_decisions").await, 40, "one for each conversation");
}

async fn everything_that_a_turn_asks_for_comes_with_its_writes(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    let timer = TimerChange::Set { name: "remind".into(), due_at: NOW, body: "{}".into() };
    let effect = Effect { kind: "download".into(), body: "\u{0}".into() };
    let asks = Commit { timers: vec![timer], effects: vec![effect.clone()], ..writing_turn(1, 11, Version(0)) };
    let committed = store.commit(epoch, asks).await.unwrap();
    let effects = store.effects(super::BOT, Default::default(), 9).await.unwrap();
    assert_eq!((effects[0].id, &effects[0].effect), (committed.effects[0], &effect));
    let due = store.due_timers(super::BOT, NOW, 9).await.unwrap();
    let fired = Commit { takes: vec![Taken::Timer(due[0].id)], ..writing_turn(1, 0, Version(1)) };
    store.commit(epoch, fired).await.unwrap();
    assert_eq!(store.due_timers(super::BOT, NOW, 9).await.unwrap(), []);
    let ended = Commit { state: StateChange::Clear, ..writing_turn(1, 12, Version(2)) };
    store.commit(epoch, ended).await.unwrap();
    assert_eq!(standing(&store, 1).await, (Version(3), None));
    assert_eq!(bench.tables.notes().await, 3);
}

async fn writes_outside_of_turns_go_to_the_database(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    store.write(note(1)).await.unwrap();
    assert_eq!(bench.tables.notes().await, 1);
}

async fn records_go_with_the_marks(tables: Tables) {
    const RECORDS: &str = "SELECT (SELECT count(*) FROM opora_decisions) + (SELECT count(*) FROM opora_decided_inputs)";
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    let bounds = |marks_before| Bounds { marks_before, records_before: Millis(0), parked_most: 9, marks_live: None };
    store.clean(epoch, bounds(NOW)).await.unwrap();
    assert_eq!(bench.tables.number(RECORDS).await, 2);
    let hours_later = Millis(NOW.0 + 2 * 3_600_000);
    assert_eq!(store.clean(epoch, bounds(hours_later)).await.unwrap().aged, 3, "a mark, its input and the record");
    assert_eq!(bench.tables.number(RECORDS).await, 0);
    // What Redis knows it knows without the record, too.
    assert_eq!(standing(&store, 1).await.0, Version(1));
    assert_eq!(write_turn(&store, epoch, 1, 12).await.unwrap().version, Version(2));
    assert!(store.open(&key(1), None).await.is_ok());
}
