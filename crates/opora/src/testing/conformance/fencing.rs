//! An instance whose lease is over writes nothing, by any way there is.

use super::Subject;
use super::scene::{BOT, Everything, Scene, at, effect, fenced, message, outcome, parked, person, set, update};
use super::scene::{END_OF_TIME, mark, one_of_each, transition};
use crate::store::{Bounds, Commit, IfUnsure, Settled, Settlement};

/// Everything that can be written to is there, and another instance has taken over.
async fn after_a_takeover(subject: Subject) -> (Scene, Everything) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene
        .heard(&anna, 1, |commit| {
            commit.state = set("a");
            commit.outgoing = vec![message(anna.chat, "said")];
            commit.outgoing[0].if_unsure = IfUnsure::Drop;
            commit.effects = vec![effect("download")];
            commit.transition = Some(transition("asked"));
        })
        .await;
    scene.waiting_update(&anna, 2).await;
    scene.take_over().await;
    let before = scene.everything().await;
    (scene, before)
}

/// No update enters the inbox.
pub async fn an_old_instance_cannot_receive(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    fenced(scene.store().receive(scene.epoch, vec![update(&person(101), 3)]).await);
    assert_eq!(scene.everything().await, before);
}

/// No turn commits, not even one that would be refused for another reason too.
pub async fn an_old_instance_cannot_commit(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let anna = person(101);
    for version in [scene.version(&anna).await, Default::default()] {
        let mut commit = Commit::new(anna.clone(), version, at(5));
        one_of_each(&mut commit);
        fenced(scene.try_commit(commit).await);
    }
    assert_eq!(scene.everything().await, before);
}

/// Nothing is set aside.
pub async fn an_old_instance_cannot_park(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let anna = person(101);
    let said = vec![message(anna.chat, "sorry")];
    fenced(scene.store().park(scene.epoch, Vec::new(), parked(&anna, at(5)), said).await);
    assert_eq!(scene.everything().await, before);
}

/// No message becomes one that may have been sent.
pub async fn an_old_instance_cannot_mark_as_sending(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let id = scene.unsent().await[0].id;
    fenced(scene.store().sending(scene.epoch, vec![id]).await);
    assert_eq!(scene.everything().await, before);
}

/// No message that may have been sent becomes one that was not.
pub async fn an_old_instance_cannot_mark_as_not_sent(subject: Subject) {
    let (scene, _) = after_a_takeover(subject).await;
    let id = scene.unsent().await[0].id;
    let epoch = scene.lease().await.epoch;
    scene.store().sending(epoch, vec![id]).await.expect("marked by the new holder");
    let before = scene.everything().await;
    fenced(scene.store().not_sent(scene.epoch, vec![id]).await);
    assert_eq!(scene.everything().await, before);
}

/// No message leaves the outbox.
pub async fn an_old_instance_cannot_settle(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let id = scene.unsent().await[0].id;
    let outcome = Settlement::Sent { labelled: Some((101, "menu".into(), 5)) };
    fenced(scene.store().settle(scene.epoch, vec![Settled { id, outcome }], at(5)).await);
    assert_eq!(scene.everything().await, before);
    assert_eq!(scene.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
}

/// Nothing is posted, and the name of the post stays free.
pub async fn an_old_instance_cannot_post(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let post = || vec![(person(101), message(101, "news"))];
    fenced(scene.store().post(scene.epoch, "news", post(), at(5)).await);
    assert_eq!(scene.everything().await, before);
    let epoch = scene.lease().await.epoch;
    assert_eq!(scene.store().post(epoch, "news", post(), at(5)).await.expect("posted").len(), 1);
}

/// No effect is replaced by its outcome.
pub async fn an_old_instance_cannot_finish_an_effect(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let id = scene.effects().await[0].id;
    fenced(scene.store().finish_effect(scene.epoch, id, outcome(&person(101), id)).await);
    assert_eq!(scene.everything().await, before);
}

/// Nothing is forgotten.
pub async fn an_old_instance_cannot_clean(subject: Subject) {
    let (scene, before) = after_a_takeover(subject).await;
    let all = Bounds { marks_before: END_OF_TIME, records_before: END_OF_TIME, parked_most: 0, marks_live: None };
    fenced(scene.store().clean(scene.epoch, all).await);
    assert_eq!(scene.everything().await, before);
    assert!(scene.is_taken(&person(101), &mark(BOT, 1)).await, "the mark is still there");
}
