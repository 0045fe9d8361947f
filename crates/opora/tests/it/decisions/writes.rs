//! The application's writes and their turn commit together and once, or not at all.

use futures_util::future::join_all;
use opora::clock::Millis;
use opora::store::{
    CleaningLimits, Commit, DomainWrites, Effect, InputRef, OutgoingExtras, Refusal, StateChange, Store, StoreError,
    TimerChange, TimerId, Version,
};

use super::{
    Fixture, NOW, Tables, claim, found_again, is_processed, key, note, note_and_kill, turn, unsent, version_and_state,
    write_turn, writing_turn,
};
use crate::postgres_store::message;

super::on_both_databases! {
    a_turn_and_its_writes_commit_together,
    a_repeated_update_writes_nothing,
    a_refused_turn_leaves_nothing_and_may_be_retried,
    an_overtaken_turn_runs_no_writes,
    many_conversations_write_concurrently,
    all_turn_output_commits_with_the_writes,
    writes_outside_of_turns_go_to_the_database,
    records_are_cleaned_with_the_marks,
    a_record_does_not_keep_a_secret_that_redis_has,
    a_secret_that_redis_lost_is_restored,
    a_forgotten_person_has_no_record,
}

/// Records that contain these words.
const SECRETS: &str = "SELECT count(*) FROM opora_decisions WHERE body LIKE '%739154%'";

/// A turn with a write and a secret message.
fn secret_turn(person: i64, update_id: i64) -> Commit {
    let mut commit = writing_turn(person, update_id, Version(0));
    commit
        .outgoing
        .insert(0, message(person, "739154").with(OutgoingExtras { secret: true, ..OutgoingExtras::default() }));
    commit
}

async fn a_record_does_not_keep_a_secret_that_redis_has(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    let done = store.commit(epoch, secret_turn(1, 11)).await.unwrap();
    assert_eq!((done.outbox.len(), unsent(&store).await), (2, vec!["739154".to_owned(), "after-11".to_owned()]));
    assert_eq!(fixture.tables.number(SECRETS).await, 0);
    assert_eq!(fixture.tables.number("SELECT count(*) FROM opora_decisions WHERE has_secrets = 0").await, 1);
}

async fn a_secret_that_redis_lost_is_restored(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    let mut commit = secret_turn(1, 11);
    commit.writes = Some(note_and_kill(&fixture, 1));
    store.commit(epoch, commit).await.unwrap_err();
    assert_eq!(fixture.tables.number(SECRETS).await, 1, "it may have to be sent");
    fixture.redis.lock().start_again();
    found_again(&store).await;
    claim(&store, "second").await;
    assert_eq!(unsent(&store).await, ["739154", "after-11"]);
    assert_eq!(fixture.tables.number(SECRETS).await, 0);
}

async fn a_forgotten_person_has_no_record(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    for person in [1, 11] {
        write_turn(&store, epoch, person, 20 + person).await.unwrap();
    }
    assert!(store.forget(super::BOT, 1, NOW).await.unwrap() > 0);
    assert_eq!(fixture.tables.number("SELECT count(*) FROM opora_decisions").await, 1);
    // Nothing is restored, and the decided update is known.
    claim(&store, "second").await;
    assert_eq!(version_and_state(&store, 1).await, (Version(2), None));
    assert_eq!(version_and_state(&store, 11).await.1, Some("after-31".into()));
    assert!(is_processed(&store, 1, 21).await);
}

async fn a_turn_and_its_writes_commit_together(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    assert_eq!(write_turn(&store, epoch, 1, 11).await.unwrap().version, Version(1));
    store.commit(epoch, turn(1, 12, Version(1))).await.unwrap();
    assert_eq!(write_turn(&store, epoch, 1, 13).await.unwrap().version, Version(3));
    assert_eq!(version_and_state(&store, 1).await, (Version(3), Some("after-13".into())));
    assert_eq!(unsent(&store).await, ["after-11", "after-12", "after-13"]);
    assert_eq!(fixture.tables.notes().await, 2);
    assert!(store.describe().contains("Redis") && store.describe().contains("the application's tables"));
}

async fn a_repeated_update_writes_nothing(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    // Once for a turn with writes, once for one without.
    store.commit(epoch, turn(1, 12, Version(1))).await.unwrap();
    for update_id in [11, 12] {
        let again = write_turn(&store, epoch, 1, update_id).await;
        assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    }
    assert_eq!(fixture.tables.notes().await, 1);
    assert_eq!(version_and_state(&store, 1).await.0, Version(2));
}

async fn a_refused_turn_leaves_nothing_and_may_be_retried(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
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
    assert_eq!((fixture.tables.notes().await, version_and_state(&store, 1).await), (0, (Version(0), None)));
    assert!(!is_processed(&store, 1, 11).await);
    write_turn(&store, epoch, 1, 11).await.unwrap();
    assert_eq!(fixture.tables.notes().await, 1);
}

async fn an_overtaken_turn_runs_no_writes(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    store.commit(epoch, turn(1, 11, Version(0))).await.unwrap();
    let late = store.commit(epoch, writing_turn(1, 12, Version(0))).await;
    assert!(matches!(late, Err(StoreError::Overtaken(_))), "{late:?}");
    let gone = Commit { processed: vec![InputRef::Timer(TimerId(-1))], ..writing_turn(1, 12, Version(1)) };
    assert!(matches!(store.commit(epoch, gone).await, Err(StoreError::AlreadyProcessed)));
    assert_eq!(fixture.tables.notes().await, 0);
}

async fn many_conversations_write_concurrently(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    for round in 0..3 {
        let turns = (1..=40).map(|person| {
            let commit = writing_turn(person, round * 100 + person, Version(round));
            store.commit(epoch, commit)
        });
        let done = join_all(turns).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }
    assert_eq!(fixture.tables.notes().await, 120);
    assert_eq!(fixture.tables.number("SELECT count(*) FROM opora_decisions").await, 40, "one for each conversation");
}

async fn all_turn_output_commits_with_the_writes(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    let timer = TimerChange::Set { name: "remind".into(), due_at: NOW, body: "{}".into() };
    let effect = Effect { kind: "download".into(), body: "\u{0}".into() };
    let asks = Commit { timers: vec![timer], effects: vec![effect.clone()], ..writing_turn(1, 11, Version(0)) };
    let committed = store.commit(epoch, asks).await.unwrap();
    let effects = store.effects(super::BOT, Default::default(), 9).await.unwrap();
    assert_eq!((effects[0].id, &effects[0].effect), (committed.effects[0], &effect));
    let due = store.due_timers(super::BOT, NOW, 9).await.unwrap();
    let fired = Commit { processed: vec![InputRef::Timer(due[0].id)], ..writing_turn(1, 0, Version(1)) };
    store.commit(epoch, fired).await.unwrap();
    assert_eq!(store.due_timers(super::BOT, NOW, 9).await.unwrap(), []);
    let ended = Commit { state: StateChange::Clear, ..writing_turn(1, 12, Version(2)) };
    store.commit(epoch, ended).await.unwrap();
    assert_eq!(version_and_state(&store, 1).await, (Version(3), None));
    assert_eq!(fixture.tables.notes().await, 3);
}

async fn writes_outside_of_turns_go_to_the_database(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    store.write(note(1)).await.unwrap();
    assert_eq!(fixture.tables.notes().await, 1);
}

async fn records_are_cleaned_with_the_marks(tables: Tables) {
    const RECORDS: &str = "SELECT (SELECT count(*) FROM opora_decisions) + (SELECT count(*) FROM opora_decided_inputs)";
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    write_turn(&store, epoch, 1, 11).await.unwrap();
    let bounds =
        |marks_before| CleaningLimits { marks_before, records_before: Millis(0), max_parked: 9, mark_ttl: None };
    store.clean(epoch, bounds(NOW)).await.unwrap();
    assert_eq!(fixture.tables.number(RECORDS).await, 2);
    let hours_later = Millis(NOW.0 + 2 * 3_600_000);
    assert_eq!(store.clean(epoch, bounds(hours_later)).await.unwrap().aged, 3, "a mark, its input and the record");
    assert_eq!(fixture.tables.number(RECORDS).await, 0);
    // Redis knows the update without the record.
    assert_eq!(version_and_state(&store, 1).await.0, Version(1));
    assert_eq!(write_turn(&store, epoch, 1, 12).await.unwrap().version, Version(2));
    assert!(store.open(&key(1), None).await.is_ok());
}
