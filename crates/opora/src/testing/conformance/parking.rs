//! What fails for good is set aside, seen, and run again when the operator says so.

use super::Subject;
use super::scene::update;
use super::scene::{ALL, BOT, END_OF_TIME, Scene, already_taken, at, mark, message, parked, person, set, timer};
use crate::store::{Commit, Outgoing, Parked, ParkedId, Receipt, SetAside, Taken};

pub(super) async fn park(scene: &Scene, taken: Vec<Taken>, row: Parked) -> SetAside {
    scene.store().park(scene.epoch, taken, row, Vec::new()).await.expect("parked")
}

/// A poisonous update does not come back by itself.
pub async fn a_parked_update_counts_as_taken(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.waiting_update(&anna, 1).await;
    scene.waiting_update(&anna, 2).await;
    let version = scene.version(&anna).await;
    park(&scene, vec![taken.clone()], parked(&anna, at(5))).await;
    scene.restart().await;
    assert!(scene.is_taken(&anna, &mark(BOT, 1)).await);
    assert_eq!(scene.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known]);
    assert_eq!(scene.inbox().await.len(), 1, "the next one goes on");
    assert_eq!(scene.version(&anna).await, version, "parking is no turn");
    let rows = scene.parked().await;
    assert_eq!(rows, [Parked { id: rows[0].id, ..parked(&anna, at(5)) }]);
    let mut late = Commit::new(anna.clone(), version, at(6));
    late.takes = vec![taken];
    already_taken(scene.try_commit(late).await);
}

/// A timer that cannot be handled is not due again.
pub async fn a_parked_timer_is_due_no_more(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.turn(&anna, |commit| commit.timers = vec![timer("remind", at(10))]).await;
    let id = scene.timers(at(10)).await[0].id;
    park(&scene, vec![Taken::Timer(id)], parked(&anna, at(11))).await;
    assert_eq!(scene.timers(END_OF_TIME).await, []);
    assert_eq!(scene.parked().await.len(), 1);
}

/// Parking whose answer was lost can be asked for again without harm.
pub async fn an_input_is_parked_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = vec![scene.waiting_update(&anna, 1).await];
    park(&scene, taken.clone(), parked(&anna, at(5))).await;
    already_taken(scene.store().park(scene.epoch, taken, parked(&anna, at(5)), Vec::new()).await);
    assert_eq!(scene.parked().await.len(), 1);
}

/// Whoever pressed the button of a turn that failed is answered, even if the bot ends right after the parking.
pub async fn what_is_said_with_a_parked_turn_is_sent(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = vec![scene.waiting_update(&anna, 1).await];
    let said = [Outgoing { chat: None, ..message(101, "1") }, message(101, "2")];
    let aside = scene.store().park(scene.epoch, taken, parked(&anna, at(5)), said.to_vec()).await.expect("parked");
    scene.restart().await;
    assert_eq!(aside.id, scene.parked().await[0].id);
    let rows = scene.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), aside.outbox);
    assert_eq!(rows.iter().map(|row| &row.outgoing).collect::<Vec<_>>(), said.iter().collect::<Vec<_>>());
    assert!(rows.iter().all(|row| row.key == anna && row.at == at(5)), "{rows:?}");
}

/// Parking that is refused says nothing either: an answer that was lost is not given twice.
pub async fn a_refused_parking_says_nothing(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.heard(&anna, 1, |commit| commit.state = set("done")).await;
    let before = scene.everything().await;
    let said = vec![message(101, "sorry")];
    already_taken(scene.store().park(scene.epoch, vec![taken], parked(&anna, at(5)), said).await);
    assert_eq!(scene.everything().await, before);
}

/// The operator looks at one parked turn without reading all of them.
pub async fn a_parked_turn_is_found_by_its_number(subject: Subject) {
    let scene = Scene::open(subject).await;
    park(&scene, Vec::new(), parked(&person(101), at(1))).await;
    let id = park(&scene, Vec::new(), parked(&person(102), at(2))).await.id;
    let found = scene.operator().parked_one(id).await.expect("answered");
    assert_eq!(found, Some(Parked { id, ..parked(&person(102), at(2)) }));
    assert_eq!(scene.operator().parked_one(ParkedId(-1)).await.expect("answered"), None);
}

/// The operator sees what happened first first.
pub async fn parked_turns_are_listed_oldest_first(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    for (user, minute) in [(103, 1), (101, 2), (102, 3)] {
        park(&scene, Vec::new(), parked(&person(user), at(minute))).await;
        scene.restart().await;
    }
    let keys = |rows: Vec<Parked>| rows.into_iter().map(|row| row.key.user).collect::<Vec<_>>();
    assert_eq!(keys(scene.parked().await), [103, 101, 102]);
    assert_eq!(keys(scene.store().parked(None, 2).await.expect("answered")), [103, 101]);
    assert_eq!(scene.store().parked(Some(BOT + 5), ALL).await.expect("answered"), []);
    assert_eq!(scene.statistics().await.parked, 3);
}

/// A parked turn waits for the operator, runs again, and is then gone for good.
pub async fn a_parked_turn_runs_again_when_asked(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    park(&scene, Vec::new(), parked(&anna, at(1))).await;
    park(&scene, Vec::new(), parked(&anna, at(2))).await;
    let id = scene.parked().await[1].id;
    assert_eq!(scene.store().parked_to_retry(BOT, ALL).await.expect("answered"), []);
    assert!(scene.operator().retry_parked(id).await.expect("answered"));
    assert!(!scene.operator().retry_parked(ParkedId(-1)).await.expect("answered"));
    scene.restart().await;
    let wanted = scene.store().parked_to_retry(BOT, ALL).await.expect("answered");
    assert_eq!(wanted.iter().map(|row| (row.id, row.retry)).collect::<Vec<_>>(), [(id, true)]);
    scene.turn(&anna, |commit| commit.takes = vec![Taken::Parked(id)]).await;
    assert_eq!(scene.parked().await.len(), 1);
    assert_eq!(scene.store().parked_to_retry(BOT, ALL).await.expect("answered"), []);
}

/// Two instances that both run a parked turn do not both commit it.
pub async fn a_parked_turn_is_taken_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    park(&scene, Vec::new(), parked(&anna, at(1))).await;
    let id = scene.parked().await[0].id;
    scene.turn(&anna, |commit| commit.takes = vec![Taken::Parked(id)]).await;
    let before = scene.everything().await;
    let mut again = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    again.takes = vec![Taken::Parked(id)];
    again.state = set("twice");
    already_taken(scene.try_commit(again).await);
    assert_eq!(scene.everything().await, before);
}

/// A turn that fails once more is parked once more, not twice.
pub async fn a_parked_turn_can_be_parked_again(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    park(&scene, Vec::new(), parked(&anna, at(1))).await;
    let id = scene.parked().await[0].id;
    assert!(scene.operator().retry_parked(id).await.expect("answered"));
    park(&scene, vec![Taken::Parked(id)], Parked { attempts: 6, ..parked(&anna, at(9)) }).await;
    let rows = scene.parked().await;
    assert_eq!(rows.iter().map(|row| (row.attempts, row.retry)).collect::<Vec<_>>(), [(6, false)]);
}

/// What the operator gives up is gone.
pub async fn a_parked_turn_can_be_dropped(subject: Subject) {
    let scene = Scene::open(subject).await;
    park(&scene, Vec::new(), parked(&person(101), at(1))).await;
    let id = scene.parked().await[0].id;
    assert!(scene.store().drop_parked(id).await.expect("answered"));
    assert!(!scene.store().drop_parked(id).await.expect("answered"));
    assert_eq!(scene.parked().await, []);
}
