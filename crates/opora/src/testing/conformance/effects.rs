//! Effects wait until they are finished, and an outcome comes back once.

use super::fixture::{BOT, Fixture, already_processed, at, effect, new, outcome, person, set};
use crate::store::{Commit, EffectId, InputRef, Origin, Receipt};

async fn with_effects(fixture: &Fixture, kinds: &[&str]) -> Vec<EffectId> {
    let effects = kinds.iter().map(|kind| effect(kind)).collect();
    fixture.turn(&person(101), |commit| commit.effects = effects).await.effects
}

/// An effect is listed until its outcome is stored, in order and in pages.
pub async fn an_effect_waits_until_it_is_finished(mut fixture: Fixture) {
    let ids = with_effects(&fixture, &["download", "notify", "export"]).await;
    fixture.restart().await;
    let kinds: Vec<_> = fixture.effects().await.into_iter().map(|row| (row.id, row.effect.kind)).collect();
    assert_eq!(kinds, [(ids[0], "download".into()), (ids[1], "notify".into()), (ids[2], "export".into())]);
    let page = fixture.store().effects(BOT, ids[0], 1).await.expect("answered");
    assert_eq!(page.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[1]]);
    fixture.store().finish_effect(fixture.epoch, ids[1], outcome(&person(101), ids[1])).await.expect("finished");
    assert_eq!(fixture.effects().await.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[0], ids[2]]);
}

/// An effect may run twice; its outcome is stored once.
pub async fn an_effect_is_replaced_by_its_outcome_once(mut fixture: Fixture) {
    let id = with_effects(&fixture, &["download"]).await[0];
    let finish = |fixture: &Fixture| {
        let store = fixture.store().clone();
        let epoch = fixture.epoch;
        async move { store.finish_effect(epoch, id, outcome(&person(101), id)).await.expect("answered") }
    };
    let seq = new(finish(&fixture).await);
    assert_eq!(finish(&fixture).await, Receipt::Known);
    fixture.restart().await;
    assert_eq!(finish(&fixture).await, Receipt::Known);
    assert!(fixture.effects().await.is_empty());
    let rows = fixture.inbox().await;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [seq]);
    assert_eq!(rows[0].incoming.origin, Origin::Outcome(id));
    assert_eq!(rows[0].incoming, outcome(&person(101), id));
}

/// An outcome is processed once, like an update.
pub async fn an_outcome_is_processed_once(fixture: Fixture) {
    let anna = person(101);
    let id = with_effects(&fixture, &["download"]).await[0];
    let seq = new(fixture.store().finish_effect(fixture.epoch, id, outcome(&anna, id)).await.expect("finished"));
    fixture.turn(&anna, |commit| commit.processed = vec![InputRef::Outcome(seq)]).await;
    assert!(fixture.inbox().await.is_empty());
    let before = fixture.snapshot().await;
    let mut again = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    again.processed = vec![InputRef::Outcome(seq)];
    again.state = set("twice");
    already_processed(fixture.try_commit(again).await);
    assert_eq!(fixture.snapshot().await, before);
}
