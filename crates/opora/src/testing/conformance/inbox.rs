//! What comes in is kept once, in order.

use futures_util::future::{BoxFuture, join_all};

use super::Subject;
use super::scene::{ALL, BOT, OTHER_BOT, Scene, at, granted, holder, mark, new, person, update};
use crate::store::{Commit, Mark, Origin, Receipt, Seq, StoreError, Taken, Version};

/// Telegram delivers again what it was not told to be received.
pub async fn an_update_is_received_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seq = scene.receive(update(&person(101), 1)).await;
    assert_eq!(scene.receive_all(vec![update(&person(101), 1)]).await, [Receipt::Known]);
    let waiting: Vec<_> = scene.inbox().await.into_iter().map(|row| row.seq).collect();
    assert_eq!(waiting, [seq]);
}

/// A batch may contain an update twice.
pub async fn an_update_repeated_in_a_batch_is_received_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let receipts = scene.receive_all(vec![update(&person(101), 1), update(&person(101), 1)]).await;
    assert!(matches!(receipts[..], [Receipt::New(_), Receipt::Known]), "{receipts:?}");
    assert_eq!(scene.inbox().await.len(), 1);
}

/// What a turn has taken does not come in again.
pub async fn an_update_that_was_taken_is_known(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    assert!(!scene.is_taken(&anna, &mark(BOT, 1)).await);
    scene.waiting_update(&anna, 1).await;
    assert!(!scene.is_taken(&anna, &mark(BOT, 1)).await, "what waits is not taken yet");
    let seq = scene.inbox().await[0].seq;
    let takes = vec![Taken::Update { seq, mark: mark(BOT, 1) }];
    scene.turn(&anna, |commit| commit.takes = takes).await;
    assert!(scene.inbox().await.is_empty());
    scene.restart().await;
    assert!(scene.is_taken(&anna, &mark(BOT, 1)).await);
    assert_eq!(scene.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert!(scene.inbox().await.is_empty());
}

/// What waited before a restart comes again from Telegram, too, and maybe while its turn is being committed.
pub async fn an_update_that_comes_again_while_its_turn_commits_is_taken_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let people: Vec<_> = (101..=120).map(person).collect();
    let mut turns = Vec::new();
    for (number, key) in (1..).zip(&people) {
        let takes = vec![scene.waiting_update(key, number).await];
        turns.push(Commit { takes, ..Commit::new(key.clone(), scene.version(key).await, at(1)) });
    }
    // A store may do together what is asked for together. Half of the updates come before their turns, half behind
    // them.
    let scene = &scene;
    let mut at_once = Vec::<BoxFuture<'_, ()>>::new();
    for (number, (key, turn)) in (1..).zip(people.iter().zip(turns)) {
        let comes = async move { drop(scene.receive_all(vec![update(key, number)]).await) };
        let commits = async move { drop(scene.commit(turn).await) };
        let comes: BoxFuture<'_, ()> = Box::pin(comes);
        let commits: BoxFuture<'_, ()> = Box::pin(commits);
        at_once.extend(if number % 2 == 0 { [comes, commits] } else { [commits, comes] });
    }
    join_all(at_once).await;
    assert_eq!(scene.inbox().await, [], "they are taken and do not wait");
    for (number, key) in (1..).zip(&people) {
        assert!(scene.is_taken(key, &mark(BOT, number)).await, "and are known as taken");
    }
}

/// Telegram's ids may restart lower: another content is another update.
pub async fn the_same_id_with_another_identity_is_a_new_update(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.heard(&anna, 1, |_| ()).await;
    let mut other = update(&anna, 1);
    let identity = Mark { identity: "message:77:1800000000".into(), ..mark(BOT, 1) };
    other.origin = Origin::Update(identity.clone());
    assert!(!scene.is_taken(&anna, &identity).await);
    scene.receive(other).await;
    assert_eq!(scene.inbox().await.len(), 1);
}

/// The caller knows by the place in the answer which update is new.
pub async fn receipts_come_in_the_order_of_the_batch(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.receive(update(&anna, 2)).await;
    let receipts = scene.receive_all((1..=4).map(|id| update(&anna, id)).collect()).await;
    let [first, Receipt::Known, third, fourth] = receipts[..] else { panic!("{receipts:?}") };
    assert!(new(first) < new(third) && new(third) < new(fourth), "{receipts:?}");
    let rows = scene.inbox().await;
    let origin = |seq| rows.iter().find(|row| row.seq == seq).map(|row| row.incoming.origin.clone());
    assert_eq!(origin(new(first)), Some(Origin::Update(mark(BOT, 1))));
    assert_eq!(origin(new(fourth)), Some(Origin::Update(mark(BOT, 4))));
}

/// What came later stands later, whoever held the lease.
pub async fn the_inbox_keeps_its_order_over_takeovers(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    // Falling ids: the order is that of their coming.
    for id in (1..=6).rev() {
        scene.receive(update(&person(101), id)).await;
        if id % 2 == 0 {
            scene.restart().await;
        }
    }
    let rows = scene.inbox().await;
    assert!(rows.is_sorted_by(|earlier, later| earlier.seq < later.seq));
    let marks: Vec<_> = rows.into_iter().map(|row| row.incoming.origin).collect();
    let expected: Vec<_> = (1..=6).rev().map(|id| Origin::Update(mark(BOT, id))).collect();
    assert_eq!(marks, expected);
}

/// A start reads a long inbox page by page and misses nothing.
pub async fn the_inbox_is_read_in_pages(subject: Subject) {
    let scene = Scene::open(subject).await;
    scene.receive_all((1..=25).map(|id| update(&person(100 + id % 3), id)).collect()).await;
    let mut after = Seq(0);
    let mut read = Vec::new();
    let mut pages = 0;
    while pages <= 25 {
        let page = scene.store().waiting(BOT, after, 10).await.expect("answered");
        assert!(page.len() <= 10);
        let Some(last) = page.last() else { break };
        after = last.seq;
        pages += 1;
        read.extend(page);
    }
    assert_eq!(pages, 3);
    assert_eq!(read, scene.inbox().await);
    assert_eq!(read.len(), 25);
}

/// A conversation's inputs can be read apart from all others, page by page.
pub async fn the_inputs_of_a_conversation_are_read_apart(subject: Subject) {
    let scene = Scene::open(subject).await;
    scene.receive_all((1..=20).map(|id| update(&person(100 + id % 2), id)).collect()).await;
    let anna = person(101);
    let expected: Vec<_> = scene.inbox().await.into_iter().filter(|row| row.incoming.key == anna).collect();
    assert_eq!(scene.store().waiting_for(&anna, Seq(0), ALL).await.expect("answered"), expected);
    let page = scene.store().waiting_for(&anna, expected[2].seq, 4).await.expect("answered");
    assert_eq!(page, expected[3..7]);
    assert_eq!(scene.store().waiting_for(&person(999), Seq(0), ALL).await.expect("answered"), []);
}

/// Received means durable.
pub async fn what_was_received_waits_after_a_restart(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    scene.receive_all((1..=3).map(|id| update(&person(101), id)).collect()).await;
    let before = scene.inbox().await;
    scene.restart().await;
    assert_eq!(before.len(), 3);
    assert_eq!(scene.inbox().await, before);
    assert_eq!(scene.receive_all(vec![update(&person(101), 2)]).await, [Receipt::Known]);
}

/// Bots that share a store share no updates, even where ids are the same.
pub async fn each_bot_has_its_own_inbox(subject: Subject) {
    let scene = Scene::open(subject).await;
    let other = granted(scene.store().claim(OTHER_BOT, &holder("other"), None).await);
    scene.receive(update(&person(101), 1)).await;
    let mut foreign = update(&person(101), 1);
    foreign.key.bot = OTHER_BOT;
    foreign.origin = Origin::Update(mark(OTHER_BOT, 1));
    new(scene.store().receive(other, vec![foreign.clone()]).await.expect("received")[0]);
    assert_eq!(scene.inbox().await.len(), 1);
    let theirs = scene.store().waiting(OTHER_BOT, Seq(0), ALL).await.expect("answered");
    assert_eq!(theirs.into_iter().map(|row| row.incoming).collect::<Vec<_>>(), [foreign]);
    let mut bots = scene.operator().bots().await.expect("answered");
    bots.sort_unstable();
    assert_eq!(bots, [BOT, OTHER_BOT]);
}

/// A turn that does not wait for the inbox keeps the mark of its update all the same.
pub async fn a_fresh_update_is_taken_without_the_inbox(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    scene.turn(&anna, |commit| commit.takes = vec![Taken::Fresh(mark(BOT, 1))]).await;
    scene.restart().await;
    assert!(scene.is_taken(&anna, &mark(BOT, 1)).await);
    assert_eq!(scene.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert!(scene.inbox().await.is_empty());
}

/// The turn took long, so its update was stored meanwhile.
pub async fn a_fresh_update_that_came_into_the_inbox_leaves_it(subject: Subject) {
    let scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    scene.receive_all(vec![update(&anna, 1), update(&boris, 2)]).await;
    scene.turn(&anna, |commit| commit.takes = vec![Taken::Fresh(mark(BOT, 1))]).await;
    let waiting: Vec<_> = scene.inbox().await.into_iter().map(|row| row.incoming.key).collect();
    assert_eq!(waiting, [boris]);
    assert!(scene.is_taken(&anna, &mark(BOT, 1)).await);
}

/// Telegram delivers again what it was not told to be received, and nothing of it is in the inbox.
pub async fn a_fresh_update_is_taken_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let turn = |from| Commit { takes: vec![Taken::Fresh(mark(BOT, 1))], ..Commit::new(anna.clone(), from, at(1)) };
    let first = scene.commit(turn(scene.version(&anna).await)).await;
    let before = scene.everything().await;
    assert!(matches!(scene.try_commit(turn(first.version)).await, Err(StoreError::AlreadyTaken)));
    assert_eq!(scene.everything().await, before);
}

/// Two letters may tell of one update: of the row, and of what did not wait for it. Both at once, too.
pub async fn a_fresh_update_is_not_taken_beside_its_row(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let from = scene.version(&person(101)).await;
    let row = scene.waiting_update(&anna, 1).await;
    let turn = |from, takes| Commit { takes: vec![takes], ..Commit::new(anna.clone(), from, at(1)) };
    let (fresh, of_row) = futures_util::join!(
        scene.try_commit(turn(from, Taken::Fresh(mark(BOT, 1)))),
        scene.try_commit(turn(Version(from.0 + 1), row.clone())),
    );
    assert!(fresh.is_ok(), "{fresh:?}");
    assert!(of_row.is_err(), "{of_row:?}");
    let later = scene.version(&anna).await;
    assert!(matches!(scene.try_commit(turn(later, row)).await, Err(StoreError::AlreadyTaken)));
    assert_eq!(scene.version(&anna).await, later);
}
