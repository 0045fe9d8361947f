//! Any instance may put updates into the inbox, and their order is that of their coming.

use futures_util::future::join_all;

use super::Subject;
use super::scene::{ALL, BOT, OTHER_BOT, Scene, effect, granted, holder, mark, outcome, person, update};
use crate::store::{Delivered, InboxRow, Incoming, Origin, Receipt, Seq, Store, Taken};

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

/// Before there is a leader, and after one has gone.
pub async fn an_update_is_delivered_while_nobody_holds_the_lease(subject: Subject) {
    let anna = person(101);
    let delivered = deliver(&**subject.store(), vec![update(&anna, 1)]).await;
    assert!(matches!(delivered[..], [Delivered::First(_)]), "{delivered:?}");
    let scene = Scene::open(subject).await;
    scene.store().release(BOT, scene.epoch).await.expect("released");
    deliver(&**scene.store(), vec![update(&anna, 2)]).await;
    granted(scene.store().claim(BOT, &holder("second"), None).await);
    assert_eq!(marks(&scene.inbox().await), [1, 2]);
    assert_eq!(scene.inbox().await[0].incoming, update(&anna, 1));
}

/// Telegram brings an update again, perhaps to another instance.
pub async fn an_update_is_delivered_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let twice = deliver(&**scene.store(), vec![update(&anna, 1), update(&anna, 1)]).await;
    assert!(matches!(twice[..], [Delivered::First(_), Delivered::Known]), "{twice:?}");
    assert_eq!(deliver(&**scene.store(), vec![update(&anna, 1)]).await, [Delivered::Known]);
    assert_eq!(scene.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    scene.receive(update(&anna, 2)).await;
    assert_eq!(deliver(&**scene.store(), vec![update(&anna, 2)]).await, [Delivered::Known]);
    assert_eq!(marks(&scene.inbox().await), [1, 2]);
}

/// What a turn has taken is not delivered again.
pub async fn a_taken_update_is_not_delivered_again(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let delivered = deliver(&**scene.store(), vec![update(&anna, 1)]).await;
    let [Delivered::First(seq)] = delivered[..] else { panic!("{delivered:?}") };
    let takes = vec![Taken::Update { seq, mark: mark(BOT, 1) }];
    scene.turn(&anna, |commit| commit.takes = takes).await;
    scene.restart().await;
    assert_eq!(deliver(&**scene.store(), vec![update(&anna, 1)]).await, [Delivered::Known]);
    assert!(scene.inbox().await.is_empty());
}

/// Also if it comes many times at once.
pub async fn of_many_deliveries_of_an_update_one_is_kept(subject: Subject) {
    let scene = Scene::open(subject).await;
    for id in 1..=10 {
        let all = join_all((0..8).map(|_| deliver(&**scene.store(), vec![update(&person(100 + id), id)]))).await;
        let new = all.concat().into_iter().filter(|delivered| *delivered != Delivered::Known).count();
        assert_eq!(new, 1, "{all:?}");
    }
    assert_eq!(scene.inbox().await.len(), 10);
}

/// The order is that of the coming, whoever brings an input, and whoever holds the lease.
pub async fn what_is_delivered_stands_in_the_order_of_its_coming(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let asked = scene.turn(&anna, |commit| commit.effects = vec![effect("fetch"), effect("fetch")]).await.effects;
    let mut expected = Vec::new();
    for round in 0..3 {
        let id = 30 - 3 * round;
        deliver(&**scene.store(), vec![update(&anna, id), update(&person(102), 100 + id)]).await;
        scene.receive(update(&anna, id - 1)).await;
        expected.extend([id, id - 1]);
        if let Some(asked) = asked.get(usize::try_from(round).unwrap_or_default()) {
            let finished = scene.store().finish_effect(scene.epoch, *asked, outcome(&anna, *asked)).await;
            assert!(matches!(finished, Ok(Receipt::New(_))), "{finished:?}");
            expected.push(0);
        }
        deliver(&**scene.store(), vec![update(&anna, id - 2)]).await;
        expected.push(id - 2);
        scene.restart().await;
    }
    let rows = scene.store().waiting_for(&anna, Seq(i64::MIN), ALL).await.expect("answered");
    assert!(rows.is_sorted_by(|earlier, later| earlier.seq < later.seq), "{rows:?}");
    assert_eq!(marks(&rows), expected);
}

/// Who delivers is told whether its turn could begin.
pub async fn it_is_told_whether_others_wait(subject: Subject) {
    let scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    let delivered = deliver(&**scene.store(), vec![update(&anna, 1), update(&boris, 2), update(&anna, 3)]).await;
    let [Delivered::First(first), Delivered::First(_), Delivered::Behind(behind)] = delivered[..] else {
        panic!("{delivered:?}")
    };
    assert!(first < behind);
    let again = deliver(&**scene.store(), vec![update(&boris, 4)]).await;
    assert!(matches!(again[..], [Delivered::Behind(_)]), "{again:?}");
    let takes = [(first, 1), (behind, 3)].map(|(seq, id)| Taken::Update { seq, mark: mark(BOT, id) });
    scene.turn(&anna, |commit| commit.takes = takes.into()).await;
    let alone = deliver(&**scene.store(), vec![update(&anna, 5)]).await;
    assert!(matches!(alone[..], [Delivered::First(_)]), "{alone:?}");
}

/// Delivered means durable.
pub async fn what_was_delivered_waits_after_a_restart(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    deliver(&**scene.store(), (1..=3).map(|id| update(&person(101), id)).collect()).await;
    let before = scene.inbox().await;
    scene.restart().await;
    assert_eq!(before.len(), 3);
    assert_eq!(scene.inbox().await, before);
}

/// How much waits is asked often, and must not cost more the more waits.
pub async fn what_waits_is_counted_up_to_a_limit(subject: Subject) {
    let scene = Scene::open(subject).await;
    let backlog = async |limit| scene.store().backlog(BOT, limit).await.expect("counted");
    assert_eq!(backlog(10).await, 0);
    deliver(&**scene.store(), (1..=5).map(|id| update(&person(100 + id), id)).collect()).await;
    assert_eq!((backlog(10).await, backlog(3).await), (5, 3));
    let others = scene.store().backlog(OTHER_BOT, 10).await.expect("counted");
    assert_eq!(others, 0);
}
