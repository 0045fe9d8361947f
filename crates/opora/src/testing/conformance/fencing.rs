//! Fencing: an instance that has lost its lease writes nothing.

use super::fixture::{BOT, Fixture, Snapshot, at, effect, fenced, message, outcome, parked, person, set, update};
use super::fixture::{END_OF_TIME, mark, one_of_each, transition};
use crate::store::{CleaningLimits, Commit, IfUnsure, Settled, Settlement};

/// A store with rows of every kind, after a takeover by another instance.
async fn after_a_takeover(fixture: Fixture) -> (Fixture, Snapshot) {
    let anna = person(101);
    fixture
        .process_update(&anna, 1, |commit| {
            commit.state = set("a");
            commit.outgoing = vec![message(anna.chat, "said")];
            commit.outgoing[0].extras.if_unsure = IfUnsure::Drop;
            commit.effects = vec![effect("download")];
            commit.transition = Some(transition("asked"));
        })
        .await;
    fixture.waiting_update(&anna, 2).await;
    fixture.take_over().await;
    let before = fixture.snapshot().await;
    (fixture, before)
}

/// No update enters the inbox.
pub async fn an_old_instance_cannot_receive(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    fenced(fixture.store().receive(fixture.epoch, vec![update(&person(101), 3)]).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// No turn commits, not even one that would be refused for another reason too.
pub async fn an_old_instance_cannot_commit(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let anna = person(101);
    for version in [fixture.version(&anna).await, Default::default()] {
        let mut commit = Commit::new(anna.clone(), version, at(5));
        one_of_each(&mut commit);
        fenced(fixture.try_commit(commit).await);
    }
    assert_eq!(fixture.snapshot().await, before);
}

/// Nothing is parked.
pub async fn an_old_instance_cannot_park(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let anna = person(101);
    let messages = vec![message(anna.chat, "sorry")];
    fenced(fixture.store().park(fixture.epoch, Vec::new(), parked(&anna, at(5)), messages).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// No message is marked as being sent.
pub async fn an_old_instance_cannot_mark_as_sending(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let id = fixture.unsent().await[0].id;
    fenced(fixture.store().sending(fixture.epoch, vec![id]).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// No message is marked as not sent.
pub async fn an_old_instance_cannot_mark_as_not_sent(fixture: Fixture) {
    let (fixture, _) = after_a_takeover(fixture).await;
    let id = fixture.unsent().await[0].id;
    let epoch = fixture.lease().await.epoch;
    fixture.store().sending(epoch, vec![id]).await.expect("marked by the new holder");
    let before = fixture.snapshot().await;
    fenced(fixture.store().not_sent(fixture.epoch, vec![id]).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// No message leaves the outbox.
pub async fn an_old_instance_cannot_settle(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let id = fixture.unsent().await[0].id;
    let outcome = Settlement::Sent { labelled: Some((101, "menu".into(), 5)) };
    fenced(fixture.store().settle(fixture.epoch, vec![Settled { id, outcome }], at(5)).await);
    assert_eq!(fixture.snapshot().await, before);
    assert_eq!(fixture.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
}

/// Nothing is posted, and the key of the post stays free.
pub async fn an_old_instance_cannot_post(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let post = || vec![(person(101), message(101, "news"))];
    fenced(fixture.store().post(fixture.epoch, "news", post(), at(5)).await);
    assert_eq!(fixture.snapshot().await, before);
    let epoch = fixture.lease().await.epoch;
    assert_eq!(fixture.store().post(epoch, "news", post(), at(5)).await.expect("posted").len(), 1);
}

/// No effect is replaced by its outcome.
pub async fn an_old_instance_cannot_finish_an_effect(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let id = fixture.effects().await[0].id;
    fenced(fixture.store().finish_effect(fixture.epoch, id, outcome(&person(101), id)).await);
    assert_eq!(fixture.snapshot().await, before);
}

/// Nothing is removed.
pub async fn an_old_instance_cannot_clean(fixture: Fixture) {
    let (fixture, before) = after_a_takeover(fixture).await;
    let all = CleaningLimits { marks_before: END_OF_TIME, records_before: END_OF_TIME, max_parked: 0, mark_ttl: None };
    fenced(fixture.store().clean(fixture.epoch, all).await);
    assert_eq!(fixture.snapshot().await, before);
    assert!(fixture.is_processed(&person(101), &mark(BOT, 1)).await, "the mark is still there");
}
