//! The inbox stores each input once, in order.

use futures_util::future::{BoxFuture, join_all};

use super::fixture::{ALL, BOT, Fixture, OTHER_BOT, at, granted, holder, mark, new, person, update};
use crate::store::{Commit, InputRef, Mark, Origin, Receipt, Seq, StoreError, Version};

/// Telegram repeats an unacknowledged update.
pub async fn an_update_is_received_once(fixture: Fixture) {
    let seq = fixture.receive(update(&person(101), 1)).await;
    assert_eq!(fixture.receive_all(vec![update(&person(101), 1)]).await, [Receipt::Known]);
    let waiting: Vec<_> = fixture.inbox().await.into_iter().map(|row| row.seq).collect();
    assert_eq!(waiting, [seq]);
}

/// A batch may contain an update twice.
pub async fn an_update_repeated_in_a_batch_is_received_once(fixture: Fixture) {
    let receipts = fixture.receive_all(vec![update(&person(101), 1), update(&person(101), 1)]).await;
    assert!(matches!(receipts[..], [Receipt::New(_), Receipt::Known]), "{receipts:?}");
    assert_eq!(fixture.inbox().await.len(), 1);
}

/// A processed update is not stored again.
pub async fn a_processed_update_is_known(mut fixture: Fixture) {
    let anna = person(101);
    assert!(!fixture.is_processed(&anna, &mark(BOT, 1)).await);
    fixture.waiting_update(&anna, 1).await;
    assert!(!fixture.is_processed(&anna, &mark(BOT, 1)).await, "a waiting update is not processed yet");
    let seq = fixture.inbox().await[0].seq;
    let processed = vec![InputRef::Update { seq, mark: mark(BOT, 1) }];
    fixture.turn(&anna, |commit| commit.processed = processed).await;
    assert!(fixture.inbox().await.is_empty());
    fixture.restart().await;
    assert!(fixture.is_processed(&anna, &mark(BOT, 1)).await);
    assert_eq!(fixture.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert!(fixture.inbox().await.is_empty());
}

/// After a restart Telegram repeats a waiting update, perhaps during the commit of its turn.
pub async fn an_update_repeated_during_its_commit_is_processed_once(fixture: Fixture) {
    let people: Vec<_> = (101..=120).map(person).collect();
    let mut turns = Vec::new();
    for (number, key) in (1..).zip(&people) {
        let processed = vec![fixture.waiting_update(key, number).await];
        turns.push(Commit { processed, ..Commit::new(key.clone(), fixture.version(key).await, at(1)) });
    }
    // A store may group concurrent calls. Half of the updates arrive before their turns, half after them.
    let fixture = &fixture;
    let mut at_once = Vec::<BoxFuture<'_, ()>>::new();
    for (number, (key, turn)) in (1..).zip(people.iter().zip(turns)) {
        let arrival = async move { drop(fixture.receive_all(vec![update(key, number)]).await) };
        let commits = async move { drop(fixture.commit(turn).await) };
        let arrival: BoxFuture<'_, ()> = Box::pin(arrival);
        let commits: BoxFuture<'_, ()> = Box::pin(commits);
        at_once.extend(if number % 2 == 0 { [arrival, commits] } else { [commits, arrival] });
    }
    join_all(at_once).await;
    assert_eq!(fixture.inbox().await, [], "they are processed and do not wait");
    for (number, key) in (1..).zip(&people) {
        assert!(fixture.is_processed(key, &mark(BOT, number)).await, "and are known as processed");
    }
}

/// Telegram's ids may restart lower, so another identity is another update.
pub async fn the_same_id_with_another_identity_is_a_new_update(fixture: Fixture) {
    let anna = person(101);
    fixture.process_update(&anna, 1, |_| ()).await;
    let mut other = update(&anna, 1);
    let identity = Mark { identity: "message:77:1800000000".into(), ..mark(BOT, 1) };
    other.origin = Origin::Update(identity.clone());
    assert!(!fixture.is_processed(&anna, &identity).await);
    fixture.receive(other).await;
    assert_eq!(fixture.inbox().await.len(), 1);
}

/// The caller matches receipts to updates by position.
pub async fn receipts_come_in_the_order_of_the_batch(fixture: Fixture) {
    let anna = person(101);
    fixture.receive(update(&anna, 2)).await;
    let receipts = fixture.receive_all((1..=4).map(|id| update(&anna, id)).collect()).await;
    let [first, Receipt::Known, third, fourth] = receipts[..] else { panic!("{receipts:?}") };
    assert!(new(first) < new(third) && new(third) < new(fourth), "{receipts:?}");
    let rows = fixture.inbox().await;
    let origin = |seq| rows.iter().find(|row| row.seq == seq).map(|row| row.incoming.origin.clone());
    assert_eq!(origin(new(first)), Some(Origin::Update(mark(BOT, 1))));
    assert_eq!(origin(new(fourth)), Some(Origin::Update(mark(BOT, 4))));
}

/// Later inputs have later positions, over takeovers too.
pub async fn the_inbox_keeps_its_order_over_takeovers(mut fixture: Fixture) {
    // Falling update ids: the order is that of arrival.
    for id in (1..=6).rev() {
        fixture.receive(update(&person(101), id)).await;
        if id % 2 == 0 {
            fixture.restart().await;
        }
    }
    let rows = fixture.inbox().await;
    assert!(rows.is_sorted_by(|earlier, later| earlier.seq < later.seq));
    let marks: Vec<_> = rows.into_iter().map(|row| row.incoming.origin).collect();
    let expected: Vec<_> = (1..=6).rev().map(|id| Origin::Update(mark(BOT, id))).collect();
    assert_eq!(marks, expected);
}

/// A starting bot reads a long inbox in pages and misses nothing.
pub async fn the_inbox_is_read_in_pages(fixture: Fixture) {
    fixture.receive_all((1..=25).map(|id| update(&person(100 + id % 3), id)).collect()).await;
    let mut after = Seq(0);
    let mut read = Vec::new();
    let mut pages = 0;
    while pages <= 25 {
        let page = fixture.store().waiting(BOT, after, 10).await.expect("answered");
        assert!(page.len() <= 10);
        let Some(last) = page.last() else { break };
        after = last.seq;
        pages += 1;
        read.extend(page);
    }
    assert_eq!(pages, 3);
    assert_eq!(read, fixture.inbox().await);
    assert_eq!(read.len(), 25);
}

/// The inputs of one conversation can be read in pages.
pub async fn inputs_can_be_read_by_conversation(fixture: Fixture) {
    fixture.receive_all((1..=20).map(|id| update(&person(100 + id % 2), id)).collect()).await;
    let anna = person(101);
    let expected: Vec<_> = fixture.inbox().await.into_iter().filter(|row| row.incoming.key == anna).collect();
    assert_eq!(fixture.store().waiting_for(&anna, Seq(0), ALL).await.expect("answered"), expected);
    let page = fixture.store().waiting_for(&anna, expected[2].seq, 4).await.expect("answered");
    assert_eq!(page, expected[3..7]);
    assert_eq!(fixture.store().waiting_for(&person(999), Seq(0), ALL).await.expect("answered"), []);
}

/// Received inputs are durable.
pub async fn received_updates_survive_a_restart(mut fixture: Fixture) {
    fixture.receive_all((1..=3).map(|id| update(&person(101), id)).collect()).await;
    let before = fixture.inbox().await;
    fixture.restart().await;
    assert_eq!(before.len(), 3);
    assert_eq!(fixture.inbox().await, before);
    assert_eq!(fixture.receive_all(vec![update(&person(101), 2)]).await, [Receipt::Known]);
}

/// Bots that share a store share no updates, even with equal ids.
pub async fn each_bot_has_its_own_inbox(fixture: Fixture) {
    let other = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    fixture.receive(update(&person(101), 1)).await;
    let mut foreign = update(&person(101), 1);
    foreign.key.bot = OTHER_BOT;
    foreign.origin = Origin::Update(mark(OTHER_BOT, 1));
    new(fixture.store().receive(other, vec![foreign.clone()]).await.expect("received")[0]);
    assert_eq!(fixture.inbox().await.len(), 1);
    let theirs = fixture.store().waiting(OTHER_BOT, Seq(0), ALL).await.expect("answered");
    assert_eq!(theirs.into_iter().map(|row| row.incoming).collect::<Vec<_>>(), [foreign]);
    let mut bots = fixture.operator().bots().await.expect("answered");
    bots.sort_unstable();
    assert_eq!(bots, [BOT, OTHER_BOT]);
}

/// The commit of a direct update stores its mark.
pub async fn a_direct_update_needs_no_inbox_row(mut fixture: Fixture) {
    let anna = person(101);
    fixture.turn(&anna, |commit| commit.processed = vec![InputRef::DirectUpdate(mark(BOT, 1))]).await;
    fixture.restart().await;
    assert!(fixture.is_processed(&anna, &mark(BOT, 1)).await);
    assert_eq!(fixture.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert!(fixture.inbox().await.is_empty());
}

/// The turn took long, so its update was stored meanwhile.
pub async fn a_direct_update_leaves_the_inbox(fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    fixture.receive_all(vec![update(&anna, 1), update(&boris, 2)]).await;
    fixture.turn(&anna, |commit| commit.processed = vec![InputRef::DirectUpdate(mark(BOT, 1))]).await;
    let waiting: Vec<_> = fixture.inbox().await.into_iter().map(|row| row.incoming.key).collect();
    assert_eq!(waiting, [boris]);
    assert!(fixture.is_processed(&anna, &mark(BOT, 1)).await);
}

/// Telegram repeats a direct update, which is not in the inbox.
pub async fn a_direct_update_is_processed_once(fixture: Fixture) {
    let anna = person(101);
    let turn = |from| Commit {
        processed: vec![InputRef::DirectUpdate(mark(BOT, 1))],
        ..Commit::new(anna.clone(), from, at(1))
    };
    let first = fixture.commit(turn(fixture.version(&anna).await)).await;
    let before = fixture.snapshot().await;
    assert!(matches!(fixture.try_commit(turn(first.version)).await, Err(StoreError::AlreadyProcessed)));
    assert_eq!(fixture.snapshot().await, before);
}

/// The same update may be queued twice: as an inbox row and as a direct update. Only one is processed, also
/// concurrently.
pub async fn a_direct_update_and_its_inbox_row_are_one_input(fixture: Fixture) {
    let anna = person(101);
    let from = fixture.version(&person(101)).await;
    let row = fixture.waiting_update(&anna, 1).await;
    let turn = |from, processed| Commit { processed: vec![processed], ..Commit::new(anna.clone(), from, at(1)) };
    let (direct, of_row) = futures_util::join!(
        fixture.try_commit(turn(from, InputRef::DirectUpdate(mark(BOT, 1)))),
        fixture.try_commit(turn(Version(from.0 + 1), row.clone())),
    );
    assert!(direct.is_ok(), "{direct:?}");
    assert!(of_row.is_err(), "{of_row:?}");
    let later = fixture.version(&anna).await;
    assert!(matches!(fixture.try_commit(turn(later, row)).await, Err(StoreError::AlreadyProcessed)));
    assert_eq!(fixture.version(&anna).await, later);
}
