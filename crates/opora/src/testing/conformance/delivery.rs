//! Delivery: any instance may store updates, in the order of arrival.

use futures_util::future::join_all;

use super::fixture::{ALL, BOT, Fixture, OTHER_BOT, effect, granted, holder, mark, outcome, person, update};
use super::{Start, Subject};
use crate::store::{Delivered, InboxRow, Incoming, InputRef, Origin, Receipt, Seq, Store};

async fn deliver(store: &dyn Store, batch: Vec<Incoming>) -> Vec<Delivered> {
    store.deliver(batch).await.expect("updates are delivered")
}

fn marks(rows: &[InboxRow]) -> Vec<i64> {
    let id = |row: &InboxRow| match &row.incoming.origin {
        Origin::Update(mark) => mark.update_id,
        Origin::Outcome(_) => 0,
    };
    rows.iter().map(id).collect()
}

/// Before the first leader, and after a leader has stopped.
pub async fn an_update_is_delivered_without_a_leader(subject: Subject) {
    let anna = person(101);
    let delivered = deliver(&**subject.store(), vec![update(&anna, 1)]).await;
    assert!(matches!(delivered[..], [Delivered::First(_)]), "{delivered:?}");
    let fixture = Fixture::from_subject(subject).await;
    fixture.store().release(BOT, fixture.epoch).await.expect("released");
    deliver(&**fixture.store(), vec![update(&anna, 2)]).await;
    granted(fixture.store().claim(BOT, &holder("second"), None).await);
    assert_eq!(marks(&fixture.inbox().await), [1, 2]);
    assert_eq!(fixture.inbox().await[0].incoming, update(&anna, 1));
}

/// Telegram repeats an update, perhaps to another instance.
pub async fn an_update_is_delivered_once(fixture: Fixture) {
    let anna = person(101);
    let twice = deliver(&**fixture.store(), vec![update(&anna, 1), update(&anna, 1)]).await;
    assert!(matches!(twice[..], [Delivered::First(_), Delivered::Known]), "{twice:?}");
    assert_eq!(deliver(&**fixture.store(), vec![update(&anna, 1)]).await, [Delivered::Known]);
    assert_eq!(fixture.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    fixture.receive(update(&anna, 2)).await;
    assert_eq!(deliver(&**fixture.store(), vec![update(&anna, 2)]).await, [Delivered::Known]);
    assert_eq!(marks(&fixture.inbox().await), [1, 2]);
}

/// A processed update is not delivered again.
pub async fn a_processed_update_is_not_delivered_again(mut fixture: Fixture) {
    let anna = person(101);
    let delivered = deliver(&**fixture.store(), vec![update(&anna, 1)]).await;
    let [Delivered::First(seq)] = delivered[..] else { panic!("{delivered:?}") };
    let processed = vec![InputRef::Update { seq, mark: mark(BOT, 1) }];
    fixture.turn(&anna, |commit| commit.processed = processed).await;
    fixture.restart().await;
    assert_eq!(deliver(&**fixture.store(), vec![update(&anna, 1)]).await, [Delivered::Known]);
    assert!(fixture.inbox().await.is_empty());
}

/// Also with many concurrent deliveries.
pub async fn concurrent_deliveries_keep_one_update(fixture: Fixture) {
    for id in 1..=10 {
        let all = join_all((0..8).map(|_| deliver(&**fixture.store(), vec![update(&person(100 + id), id)]))).await;
        let new = all.concat().into_iter().filter(|delivered| *delivered != Delivered::Known).count();
        assert_eq!(new, 1, "{all:?}");
    }
    assert_eq!(fixture.inbox().await.len(), 10);
}

/// The order is that of arrival, for every instance and over takeovers.
pub async fn deliveries_keep_their_order(mut fixture: Fixture) {
    let anna = person(101);
    let asked = fixture.turn(&anna, |commit| commit.effects = vec![effect("fetch"), effect("fetch")]).await.effects;
    let mut expected = Vec::new();
    for round in 0..3 {
        let id = 30 - 3 * round;
        deliver(&**fixture.store(), vec![update(&anna, id), update(&person(102), 100 + id)]).await;
        fixture.receive(update(&anna, id - 1)).await;
        expected.extend([id, id - 1]);
        if let Some(asked) = asked.get(usize::try_from(round).unwrap_or_default()) {
            let finished = fixture.store().finish_effect(fixture.epoch, *asked, outcome(&anna, *asked)).await;
            assert!(matches!(finished, Ok(Receipt::New(_))), "{finished:?}");
            expected.push(0);
        }
        deliver(&**fixture.store(), vec![update(&anna, id - 2)]).await;
        expected.push(id - 2);
        fixture.restart().await;
    }
    let rows = fixture.store().waiting_for(&anna, Seq(i64::MIN), ALL).await.expect("answered");
    assert!(rows.is_sorted_by(|earlier, later| earlier.seq < later.seq), "{rows:?}");
    assert_eq!(marks(&rows), expected);
}

/// The result says whether other inputs of the conversation wait.
pub async fn a_delivery_reports_whether_others_wait(fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    let delivered = deliver(&**fixture.store(), vec![update(&anna, 1), update(&boris, 2), update(&anna, 3)]).await;
    let [Delivered::First(first), Delivered::First(_), Delivered::Behind(behind)] = delivered[..] else {
        panic!("{delivered:?}")
    };
    assert!(first < behind);
    let again = deliver(&**fixture.store(), vec![update(&boris, 4)]).await;
    assert!(matches!(again[..], [Delivered::Behind(_)]), "{again:?}");
    let processed = [(first, 1), (behind, 3)].map(|(seq, id)| InputRef::Update { seq, mark: mark(BOT, id) });
    fixture.turn(&anna, |commit| commit.processed = processed.into()).await;
    let alone = deliver(&**fixture.store(), vec![update(&anna, 5)]).await;
    assert!(matches!(alone[..], [Delivered::First(_)]), "{alone:?}");
}

/// Delivered updates are durable.
pub async fn delivered_updates_survive_a_restart(mut fixture: Fixture) {
    deliver(&**fixture.store(), (1..=3).map(|id| update(&person(101), id)).collect()).await;
    let before = fixture.inbox().await;
    fixture.restart().await;
    assert_eq!(before.len(), 3);
    assert_eq!(fixture.inbox().await, before);
}

/// The backlog is read often, so its cost is limited.
pub async fn the_backlog_is_counted_up_to_a_limit(fixture: Fixture) {
    let backlog = async |limit| fixture.store().backlog(BOT, limit).await.expect("counted");
    assert_eq!(backlog(10).await, 0);
    deliver(&**fixture.store(), (1..=5).map(|id| update(&person(100 + id), id)).collect()).await;
    assert_eq!((backlog(10).await, backlog(3).await), (5, 3));
    let others = fixture.store().backlog(OTHER_BOT, 10).await.expect("counted");
    assert_eq!(others, 0);
}
