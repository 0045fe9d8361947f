//! Timers fire once and in order, and conversations expire in time.

use super::fixture::{BOT, END_OF_TIME, Fixture, already_processed, at, person, set, state, timer};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Commit, InputRef, StateChange, StoredState, TimerChange, TimerId, TimerRow};

async fn timers(fixture: &Fixture, key: &ConversationKey, changes: Vec<TimerChange>) {
    fixture.turn(key, |commit| commit.timers = changes).await;
}

fn names(rows: &[TimerRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.name).collect()
}

async fn set_expiry(fixture: &Fixture, key: &ConversationKey, expires_at: Option<Millis>) {
    let stored = StoredState { expires_at, ..state("open") };
    fixture.turn(key, |commit| commit.state = StateChange::Set(stored)).await;
}

async fn fire(fixture: &Fixture, key: &ConversationKey, id: TimerId) -> crate::store::StoreResult<()> {
    let mut commit = Commit::new(key.clone(), fixture.version(key).await, at(20));
    commit.processed = vec![InputRef::Timer(id)];
    commit.state = set("fired");
    fixture.try_commit(commit).await.map(|_| ())
}

/// Earliest first, none too early, and at most the limit.
pub async fn timers_are_due_in_order(mut fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    timers(&fixture, &anna, vec![timer("third", at(12)), timer("first", at(10))]).await;
    timers(&fixture, &boris, vec![timer("second", at(11))]).await;
    fixture.restart().await;
    assert_eq!(fixture.timers(Millis(at(10).0 - 1)).await, []);
    assert_eq!(names(&fixture.timers(at(10)).await), ["first"]);
    assert_eq!(names(&fixture.timers(at(11)).await), ["first", "second"]);
    let rows = fixture.timers(END_OF_TIME).await;
    assert_eq!(names(&rows), ["first", "second", "third"]);
    assert_eq!((&rows[1].key, rows[1].due_at, &*rows[1].body), (&boris, at(11), r#"{"entry":1}"#));
    assert_eq!(names(&fixture.store().due_timers(BOT, END_OF_TIME, 2).await.expect("answered")), ["first", "second"]);
}

/// A postponed reminder does not come at the old time.
pub async fn a_timer_set_again_replaces_the_old_one(fixture: Fixture) {
    let anna = person(101);
    timers(&fixture, &anna, vec![timer("remind", at(10))]).await;
    let former = fixture.timers(at(10)).await[0].id;
    timers(&fixture, &anna, vec![timer("remind", at(15))]).await;
    assert_eq!(fixture.timers(at(14)).await, []);
    let rows = fixture.timers(END_OF_TIME).await;
    assert_eq!((rows.len(), rows[0].due_at), (1, at(15)));
    assert_ne!(rows[0].id, former);
    already_processed(fire(&fixture, &anna, former).await);
    assert_eq!(fixture.timers(END_OF_TIME).await, rows, "the late firing of the former changes nothing");
    fire(&fixture, &anna, rows[0].id).await.expect("the new one fires");
}

/// A cancelled timer does not fire, not even if it was due.
pub async fn a_cancelled_timer_does_not_fire(fixture: Fixture) {
    let anna = person(101);
    timers(&fixture, &anna, vec![timer("remind", at(10)), timer("close", at(11))]).await;
    let id = fixture.timers(at(10)).await[0].id;
    timers(&fixture, &anna, vec![TimerChange::Cancel("remind".into()), TimerChange::Cancel("unknown".into())]).await;
    assert_eq!(names(&fixture.timers(END_OF_TIME).await), ["close"]);
    already_processed(fire(&fixture, &anna, id).await);
}

/// A timer is processed once.
pub async fn a_timer_fires_once(fixture: Fixture) {
    let anna = person(101);
    timers(&fixture, &anna, vec![timer("remind", at(10))]).await;
    let id = fixture.timers(at(10)).await[0].id;
    fire(&fixture, &anna, id).await.expect("it fires");
    assert_eq!(fixture.timers(END_OF_TIME).await, []);
    let before = fixture.snapshot().await;
    already_processed(fire(&fixture, &anna, id).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// A turn that fires a timer may set it again.
pub async fn a_timer_can_be_set_again_as_it_fires(fixture: Fixture) {
    let anna = person(101);
    timers(&fixture, &anna, vec![timer("daily", at(10))]).await;
    let id = fixture.timers(at(10)).await[0].id;
    let changes = vec![timer("daily", at(20)), TimerChange::Cancel("daily".into()), timer("daily", at(30))];
    fixture
        .turn(&anna, |commit| {
            commit.processed = vec![InputRef::Timer(id)];
            commit.timers = changes;
        })
        .await;
    let due: Vec<_> = fixture.timers(END_OF_TIME).await.into_iter().map(|row| row.due_at).collect();
    assert_eq!(due, [at(30)]);
}

/// Timer names are unique per conversation.
pub async fn timers_of_two_conversations_are_separate(fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    timers(&fixture, &anna, vec![timer("remind", at(10))]).await;
    timers(&fixture, &boris, vec![timer("remind", at(11))]).await;
    timers(&fixture, &boris, vec![TimerChange::Cancel("close".into())]).await;
    let keys: Vec<_> = fixture.timers(END_OF_TIME).await.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, [anna.clone(), boris.clone()]);
    timers(&fixture, &anna, vec![TimerChange::Cancel("remind".into())]).await;
    let keys: Vec<_> = fixture.timers(END_OF_TIME).await.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, [boris]);
}

/// Conversations expire at their time, earliest first; without an expiry they stay.
pub async fn a_conversation_expires_at_its_expiry(mut fixture: Fixture) {
    set_expiry(&fixture, &person(101), Some(at(12))).await;
    set_expiry(&fixture, &person(102), Some(at(10))).await;
    set_expiry(&fixture, &person(103), None).await;
    fixture.restart().await;
    assert_eq!(fixture.expired(Millis(at(10).0 - 1)).await, []);
    assert_eq!(fixture.expired(at(10)).await, [person(102)]);
    assert_eq!(fixture.expired(END_OF_TIME).await, [person(102), person(101)]);
    assert_eq!(fixture.store().expired(BOT, END_OF_TIME, 1).await.expect("answered"), [person(102)]);
    assert!(fixture.state(&person(102)).await.1.is_some(), "only a turn ends it");
}

/// A turn can postpone or remove the expiry.
pub async fn a_turn_postpones_the_expiry(fixture: Fixture) {
    let anna = person(101);
    set_expiry(&fixture, &anna, Some(at(10))).await;
    set_expiry(&fixture, &anna, Some(at(20))).await;
    assert_eq!(fixture.expired(at(19)).await, []);
    assert_eq!(fixture.expired(at(20)).await, std::slice::from_ref(&anna));
    set_expiry(&fixture, &anna, None).await;
    assert_eq!(fixture.expired(END_OF_TIME).await, []);
}

/// The schedule can sleep until this time.
pub async fn the_next_due_time_is_the_earliest(fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    let next = || async { fixture.store().next_due(BOT).await.expect("answered") };
    assert_eq!(next().await, None);
    set_expiry(&fixture, &anna, Some(at(30))).await;
    assert_eq!(next().await, Some(at(30)));
    timers(&fixture, &boris, vec![timer("remind", at(20))]).await;
    assert_eq!(next().await, Some(at(20)));
    set_expiry(&fixture, &anna, Some(at(10))).await;
    assert_eq!(next().await, Some(at(10)));
    fixture.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    timers(&fixture, &boris, vec![TimerChange::Cancel("remind".into())]).await;
    assert_eq!(next().await, None);
}
