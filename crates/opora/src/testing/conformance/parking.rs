//! Parked turns are kept, listed, and run again on request.

use super::fixture::update;
use super::fixture::{
    ALL, BOT, END_OF_TIME, Fixture, already_processed, at, mark, message, parked, person, set, timer,
};
use crate::store::{Commit, InputRef, Outgoing, ParkResult, ParkedId, ParkedTurn, Receipt};

pub(super) async fn park(fixture: &Fixture, processed: Vec<InputRef>, row: ParkedTurn) -> ParkResult {
    fixture.store().park(fixture.epoch, processed, row, Vec::new()).await.expect("parked")
}

/// A parked update does not come back by itself.
pub async fn a_parked_update_counts_as_processed(mut fixture: Fixture) {
    let anna = person(101);
    let processed = fixture.waiting_update(&anna, 1).await;
    fixture.waiting_update(&anna, 2).await;
    let version = fixture.version(&anna).await;
    park(&fixture, vec![processed.clone()], parked(&anna, at(5))).await;
    fixture.restart().await;
    assert!(fixture.is_processed(&anna, &mark(BOT, 1)).await);
    assert_eq!(fixture.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert_eq!(fixture.inbox().await.len(), 1, "the next one goes on");
    assert_eq!(fixture.version(&anna).await, version, "parking is no turn");
    let rows = fixture.parked().await;
    assert_eq!(rows, [ParkedTurn { id: rows[0].id, ..parked(&anna, at(5)) }]);
    let mut late = Commit::new(anna.clone(), version, at(6));
    late.processed = vec![processed];
    already_processed(fixture.try_commit(late).await);
}

/// A parked timer is not due again.
pub async fn a_parked_timer_is_no_longer_due(fixture: Fixture) {
    let anna = person(101);
    fixture.turn(&anna, |commit| commit.timers = vec![timer("remind", at(10))]).await;
    let id = fixture.timers(at(10)).await[0].id;
    park(&fixture, vec![InputRef::Timer(id)], parked(&anna, at(11))).await;
    assert_eq!(fixture.timers(END_OF_TIME).await, []);
    assert_eq!(fixture.parked().await.len(), 1);
}

/// Parking whose answer was lost can be repeated safely.
pub async fn an_input_is_parked_once(fixture: Fixture) {
    let anna = person(101);
    let processed = vec![fixture.waiting_update(&anna, 1).await];
    park(&fixture, processed.clone(), parked(&anna, at(5))).await;
    already_processed(fixture.store().park(fixture.epoch, processed, parked(&anna, at(5)), Vec::new()).await);
    assert_eq!(fixture.parked().await.len(), 1);
}

/// The person of a failed turn gets an answer, even if the bot stops right after the parking.
pub async fn messages_of_a_parked_turn_are_sent(mut fixture: Fixture) {
    let anna = person(101);
    let processed = vec![fixture.waiting_update(&anna, 1).await];
    let messages = [Outgoing { chat: None, ..message(101, "1") }, message(101, "2")];
    let aside =
        fixture.store().park(fixture.epoch, processed, parked(&anna, at(5)), messages.to_vec()).await.expect("parked");
    fixture.restart().await;
    assert_eq!(aside.id, fixture.parked().await[0].id);
    let rows = fixture.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), aside.outbox);
    assert_eq!(rows.iter().map(|row| &row.outgoing).collect::<Vec<_>>(), messages.iter().collect::<Vec<_>>());
    assert!(rows.iter().all(|row| row.key == anna && row.at == at(5)), "{rows:?}");
}

/// A refused parking sends nothing: an answer that was lost is not given twice.
pub async fn a_refused_parking_sends_nothing(fixture: Fixture) {
    let anna = person(101);
    let processed = fixture.process_update(&anna, 1, |commit| commit.state = set("done")).await;
    let before = fixture.snapshot().await;
    let messages = vec![message(101, "sorry")];
    already_processed(fixture.store().park(fixture.epoch, vec![processed], parked(&anna, at(5)), messages).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// One parked turn can be read without reading all.
pub async fn a_parked_turn_is_found_by_its_id(fixture: Fixture) {
    park(&fixture, Vec::new(), parked(&person(101), at(1))).await;
    let id = park(&fixture, Vec::new(), parked(&person(102), at(2))).await.id;
    let found = fixture.operator().parked_by_id(id).await.expect("answered");
    assert_eq!(found, Some(ParkedTurn { id, ..parked(&person(102), at(2)) }));
    assert_eq!(fixture.operator().parked_by_id(ParkedId(-1)).await.expect("answered"), None);
}

/// Parked turns are listed in the order of parking.
pub async fn parked_turns_are_listed_oldest_first(mut fixture: Fixture) {
    for (user, minute) in [(103, 1), (101, 2), (102, 3)] {
        park(&fixture, Vec::new(), parked(&person(user), at(minute))).await;
        fixture.restart().await;
    }
    let keys = |rows: Vec<ParkedTurn>| rows.into_iter().map(|row| row.key.user).collect::<Vec<_>>();
    assert_eq!(keys(fixture.parked().await), [103, 101, 102]);
    assert_eq!(keys(fixture.store().parked(None, 2).await.expect("answered")), [103, 101]);
    assert_eq!(fixture.store().parked(Some(BOT + 5), ALL).await.expect("answered"), []);
    assert_eq!(fixture.statistics().await.parked, 3);
}

/// A parked turn waits for the operator, runs again, and is gone.
pub async fn a_parked_turn_runs_again_when_asked(mut fixture: Fixture) {
    let anna = person(101);
    park(&fixture, Vec::new(), parked(&anna, at(1))).await;
    park(&fixture, Vec::new(), parked(&anna, at(2))).await;
    let id = fixture.parked().await[1].id;
    assert_eq!(fixture.store().parked_to_retry(BOT, ALL).await.expect("answered"), []);
    assert!(fixture.operator().retry_parked(id).await.expect("answered"));
    assert!(!fixture.operator().retry_parked(ParkedId(-1)).await.expect("answered"));
    fixture.restart().await;
    let wanted = fixture.store().parked_to_retry(BOT, ALL).await.expect("answered");
    assert_eq!(wanted.iter().map(|row| (row.id, row.retry)).collect::<Vec<_>>(), [(id, true)]);
    fixture.turn(&anna, |commit| commit.processed = vec![InputRef::Parked(id)]).await;
    assert_eq!(fixture.parked().await.len(), 1);
    assert_eq!(fixture.store().parked_to_retry(BOT, ALL).await.expect("answered"), []);
}

/// Two attempts to commit a parked turn do not both succeed.
pub async fn a_parked_turn_is_processed_once(fixture: Fixture) {
    let anna = person(101);
    park(&fixture, Vec::new(), parked(&anna, at(1))).await;
    let id = fixture.parked().await[0].id;
    fixture.turn(&anna, |commit| commit.processed = vec![InputRef::Parked(id)]).await;
    let before = fixture.snapshot().await;
    let mut again = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    again.processed = vec![InputRef::Parked(id)];
    again.state = set("twice");
    already_processed(fixture.try_commit(again).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// A turn that fails again replaces its parked row.
pub async fn a_parked_turn_can_be_parked_again(fixture: Fixture) {
    let anna = person(101);
    park(&fixture, Vec::new(), parked(&anna, at(1))).await;
    let id = fixture.parked().await[0].id;
    assert!(fixture.operator().retry_parked(id).await.expect("answered"));
    park(&fixture, vec![InputRef::Parked(id)], ParkedTurn { attempts: 6, ..parked(&anna, at(9)) }).await;
    let rows = fixture.parked().await;
    assert_eq!(rows.iter().map(|row| (row.attempts, row.retry)).collect::<Vec<_>>(), [(6, false)]);
}

/// A dropped parked turn is gone.
pub async fn a_parked_turn_can_be_dropped(fixture: Fixture) {
    park(&fixture, Vec::new(), parked(&person(101), at(1))).await;
    let id = fixture.parked().await[0].id;
    assert!(fixture.store().drop_parked(id).await.expect("answered"));
    assert!(!fixture.store().drop_parked(id).await.expect("answered"));
    assert_eq!(fixture.parked().await, []);
}
