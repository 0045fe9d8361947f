//! What is kept for a time goes after that time, and nothing else does.

use super::Subject;
use super::parking::park;
use super::scene::{ALL, BOT, END_OF_TIME, OTHER_BOT, Scene, at, granted, holder, mark, message, one_of_each};
use super::scene::{parked, person, set, transition, update};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Bounds, Cleaned, Filter, Receipt, Settled, Settlement, StateChange, Version};

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
    let settled = vec![Settled { id: committed.outbox[0], outcome }];
    scene.store().settle(scene.epoch, settled, at(minute)).await.expect("settled");
}

/// Cleans what is old until it is clean; answers how many rows went.
async fn clean(scene: &Scene, marks_before: Millis, records_before: Millis) -> u64 {
    let bounds = Bounds { marks_before, records_before, parked_most: ALL, marks_live: None };
    let cleaned = clean_to(scene, bounds).await;
    assert_eq!(cleaned.parked, 0, "nothing parked is too much");
    cleaned.aged
}

/// Cleans until it is clean; answers what went.
async fn clean_to(scene: &Scene, bounds: Bounds) -> Cleaned {
    let mut gone = Cleaned::default();
    for _ in 0..1_000 {
        let cleaned = scene.store().clean(scene.epoch, bounds).await.expect("cleaned");
        if cleaned.nothing() {
            return gone;
        }
        gone += cleaned;
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
    park(&scene, Vec::new(), parked(&anna, at(1))).await;
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
    let post = || scene.store().post(scene.epoch, "news", vec![(person(101), message(101, "news"))], at(5));
    post().await.expect("posted");
    assert_eq!(clean(&scene, at(5), END_OF_TIME).await, 0);
    post().await.expect("answered");
    assert_eq!(scene.unsent().await.len(), 1);
    assert_eq!(clean(&scene, at(6), at(-1)).await, 1);
    post().await.expect("posted");
    assert_eq!(scene.unsent().await.len(), 2);
}

/// A label goes with its time; a message sent anew under it makes it young again.
pub async fn labels_are_forgotten_after_their_time(subject: Subject) {
    let scene = Scene::open(subject).await;
    let said = vec![message(101, "said"); 4];
    let ids = scene.turn(&person(101), |commit| (commit.state, commit.outgoing) = (set("open"), said)).await.outbox;
    let sent = [("menu", 1), ("list", 1), ("help", 5), ("menu", 5)];
    for ((id, (label, minute)), number) in ids.into_iter().zip(sent).zip(1..) {
        let outcome = Settlement::Sent { labelled: Some((101, label.into(), number)) };
        scene.store().settle(scene.epoch, vec![Settled { id, outcome }], at(minute)).await.expect("settled");
    }
    assert_eq!(clean(&scene, END_OF_TIME, at(1)).await, 0);
    assert_eq!(clean(&scene, at(-1), at(5)).await, 1);
    for (label, message) in [("menu", Some(4)), ("list", None), ("help", Some(3))] {
        assert_eq!(scene.store().labelled(BOT, 101, label).await.expect("answered"), message, "{label}");
    }
}

/// What nobody looks at does not fill the store: beyond a number the oldest parked turns go, and somebody is told.
pub async fn parked_turns_are_kept_up_to_a_number(subject: Subject) {
    let scene = Scene::open(subject).await;
    let other = granted(scene.store().claim(OTHER_BOT, &holder("other"), None).await);
    let theirs = parked(&DialogueKey::private(OTHER_BOT, 101), at(0));
    scene.store().park(other, Vec::new(), theirs, Vec::new()).await.expect("parked");
    for minute in 1..=5 {
        park(&scene, Vec::new(), parked(&person(101), at(minute))).await;
    }
    let bounds =
        |parked_most| Bounds { marks_before: END_OF_TIME, records_before: END_OF_TIME, parked_most, marks_live: None };
    assert_eq!(clean_to(&scene, bounds(5)).await, Cleaned::default(), "age alone drops nothing");
    assert_eq!(clean_to(&scene, bounds(3)).await, Cleaned { aged: 0, parked: 2 });
    let left: Vec<_> = scene.parked().await.into_iter().map(|row| row.at).collect();
    assert_eq!(left, [at(3), at(4), at(5)]);
    let theirs = scene.store().parked(Some(OTHER_BOT), ALL).await.expect("answered");
    assert_eq!(theirs.len(), 1, "each bot has its own number");
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
