//! Work outside is not forgotten, and its outcome comes back once.

use super::Subject;
use super::scene::{BOT, Scene, already_taken, at, effect, new, outcome, person, set};
use crate::store::{Commit, EffectId, Origin, Receipt, Taken};

async fn asked(scene: &Scene, kinds: &[&str]) -> Vec<EffectId> {
    let effects = kinds.iter().map(|kind| effect(kind)).collect();
    scene.turn(&person(101), |commit| commit.effects = effects).await.effects
}

/// An effect is offered until its outcome is there, in order and in pages.
pub async fn an_effect_waits_until_it_is_finished(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let ids = asked(&scene, &["download", "notify", "export"]).await;
    scene.restart().await;
    let kinds: Vec<_> = scene.effects().await.into_iter().map(|row| (row.id, row.effect.kind)).collect();
    assert_eq!(kinds, [(ids[0], "download".into()), (ids[1], "notify".into()), (ids[2], "export".into())]);
    let page = scene.store().effects(BOT, ids[0], 1).await.expect("answered");
    assert_eq!(page.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[1]]);
    scene.store().finish_effect(scene.epoch, ids[1], outcome(&person(101), ids[1])).await.expect("finished");
    assert_eq!(scene.effects().await.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[0], ids[2]]);
}

/// An effect may be carried out twice; its outcome comes in once.
pub async fn an_effect_is_replaced_by_its_outcome_once(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let id = asked(&scene, &["download"]).await[0];
    let finish = |scene: &Scene| {
        let store = scene.store().clone();
        let epoch = scene.epoch;
        async move { store.finish_effect(epoch, id, outcome(&person(101), id)).await.expect("answered") }
    };
    let seq = new(finish(&scene).await);
    assert_eq!(finish(&scene).await, Receipt::Known);
    scene.restart().await;
    assert_eq!(finish(&scene).await, Receipt::Known);
    assert!(scene.effects().await.is_empty());
    let rows = scene.inbox().await;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [seq]);
    assert_eq!(rows[0].incoming.origin, Origin::Outcome(id));
    assert_eq!(rows[0].incoming, outcome(&person(101), id));
}

/// A turn uses an outcome up, as it does an update.
pub async fn an_outcome_is_taken_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let id = asked(&scene, &["download"]).await[0];
    let seq = new(scene.store().finish_effect(scene.epoch, id, outcome(&anna, id)).await.expect("finished"));
    scene.turn(&anna, |commit| commit.takes = vec![Taken::Outcome(seq)]).await;
    assert!(scene.inbox().await.is_empty());
    let before = scene.everything().await;
    let mut again = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    again.takes = vec![Taken::Outcome(seq)];
    again.state = set("twice");
    already_taken(scene.try_commit(again).await);
    assert_eq!(scene.everything().await, before);
}
