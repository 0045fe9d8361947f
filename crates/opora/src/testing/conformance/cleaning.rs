//! What is kept for a time goes after that time, and nothing else does.

use super::Subject;
use super::scene::{BOT, END_OF_TIME, Scene, at, mark, message, one_of_each, parked, person, set, transition, update};
use crate::clock::Millis;
use crate::store::{Filter, Receipt, Settled, Settlement, StateChange, Version};

/// Of everything that ages one, made at a minute: a mark, a transition, a failed send, an ended conversation.
async fn aging(scene: &Scene, user: i64, minute: i64) {
    let key = person(user);
    let taken = scene.waiting_update(&key, user).await;
    let committed = scene
        .turn(&key, |commit| {
            commit.at = at(minute);
            commit.takes = vec![taken];
            commit.outgoing = vec![message(user, "said")];
            commit.transition = Some(transition("asked"));
            commit.state = StateChange::Clear;
        })
        .await;
    let outcome = Settlement::Failed("403: the bot was blocked".into());
    scene.store().settle(scene.epoch, vec![Settled { id: committed.outbox[0], outcome }]).await.expect("settled");
}

/// Cleans until it is clean; answers how many rows went.
async fn clean(scene: &Scene, marks_before: Millis, records_before: Millis) -> u64 {
    let mut gone = 0;
    for _ in 0..1_000 {
        match scene.store().clean(scene.epoch, marks_before, records_before).await.expect("cleaned") {
            0 => return gone,
            some => gone += some,
        }
    }
    panic!("cleaning never comes to an end");
}

async fn ended(scene: &Scene) -> Vec<i64> {
    let filter = Filter { ended: true, ..Filter::default() };
    let rows = scene.store().list(&filter, None, 100).await.expect("answered");
    rows.into_iter().map(|row| row.key.user).collect()
}

/// Marks, transitions, failed sends and ended conversations go once they are old, and the count is right.
pub async fn cleaning_removes_what_is_old(subject: Subject) {
    let scene = Scene::open(subject).await;
    aging(&scene, 101, 1).await;
    aging(&scene, 102, 1).await;
    assert_eq!(clean(&scene, at(2), at(2)).await, 8);
    assert!(!scene.is_taken(&person(101), &mark(BOT, 101)).await);
    assert!(matches!(scene.receive_all(vec![update(&person(101), 101)]).await[..], [Receipt::New(_)]));
    assert_eq!(scene.transitions().await, []);
    assert_eq!(scene.statistics().await.failed, 0);
    assert_eq!(ended(&scene).await, Vec::<i64>::new());
    assert_eq!(clean(&scene, at(2), at(2)).await, 0);
}

/// Each kind has its own limit, and what is younger stays.
pub async fn cleaning_keeps_what_is_young(subject: Subject) {
    let scene = Scene::open(subject).await;
    aging(&scene, 101, 1).await;
    aging(&scene, 102, 5).await;
    assert_eq!(clean(&scene, at(5), at(1)).await, 1, "one mark is old, and no record");
    assert!(!scene.is_taken(&person(101), &mark(BOT, 101)).await);
    assert!(scene.is_taken(&person(102), &mark(BOT, 102)).await);
    assert_eq!((scene.transitions().await.len(), scene.statistics().await.failed), (2, 2));
    assert_eq!(clean(&scene, at(5), at(5)).await, 3);
    assert_eq!(ended(&scene).await, [102]);
    assert_eq!((scene.transitions().await.len(), scene.statistics().await.failed), (1, 1));
    assert!(scene.is_taken(&person(102), &mark(BOT, 102)).await);
}

/// Age alone removes nothing that is still needed.
pub async fn cleaning_spares_what_is_still_needed(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.turn(&anna, one_of_each).await;
    scene.waiting_update(&anna, 1).await;
    scene.store().park(scene.epoch, &anna, Vec::new(), parked(&anna, at(1))).await.expect("parked");
    let before = scene.everything().await;
    assert_eq!(clean(&scene, END_OF_TIME, at(0)).await, 0);
    assert_eq!(scene.everything().await, before);
    assert_eq!(clean(&scene, END_OF_TIME, END_OF_TIME).await, 1, "only the transition's record goes");
    assert_eq!(scene.statistics().await, before.statistics);
    assert!(scene.state(&anna).await.1.is_some());
    assert_eq!(scene.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known], "what waits is still recognised");
}

/// The name of a post is free again after its time, and not before.
pub async fn a_post_can_be_repeated_after_its_time(subject: Subject) {
    let scene = Scene::open(subject).await;
    let post = || scene.store().post(scene.epoch, "news", vec![(person(101), message(101, "news"))]);
    post().await.expect("posted");
    assert_eq!(clean(&scene, at(-1_000_000), END_OF_TIME).await, 0);
    post().await.expect("answered");
    assert_eq!(scene.unsent().await.len(), 1);
    assert_eq!(clean(&scene, END_OF_TIME, at(-1)).await, 1);
    post().await.expect("posted");
    assert_eq!(scene.unsent().await.len(), 2);
}

/// A conversation that was forgotten does not repeat its versions: an old button must not fit.
pub async fn a_forgotten_conversation_does_not_restart_its_versions(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    for _ in 0..6 {
        scene.turn(&anna, |commit| commit.state = set("open")).await;
    }
    scene.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    scene.turn(&boris, |commit| commit.state = set("open")).await;
    assert_eq!(clean(&scene, at(2), at(2)).await, 1);
    scene.restart().await;
    let (version, stored) = scene.state(&anna).await;
    assert_eq!(stored, None);
    assert!(version >= Version(7), "{version:?} was there before");
    let begun = scene.turn(&anna, |commit| commit.state = set("anew")).await;
    assert_eq!(begun.version, Version(version.0 + 1));
    assert_eq!(scene.version(&boris).await, Version(1), "others keep theirs");
}
