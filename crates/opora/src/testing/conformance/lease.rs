//! One instance works at a time.

use super::Subject;
use super::scene::{BOT, OTHER_BOT, Scene, fenced, granted, held, holder};
use crate::store::LeaseAnswer;

/// The holder of a free lease is shown as it introduced itself.
pub async fn a_free_lease_is_granted_and_shown(subject: Subject) {
    let store = subject.store();
    assert_eq!(store.lease(BOT).await.expect("answered"), None);
    let epoch = granted(store.claim(BOT, &holder("first"), None).await);
    let lease = store.lease(BOT).await.expect("answered").expect("held");
    assert_eq!((lease.epoch, lease.renewals), (epoch, 0));
    assert_eq!(lease.holder, holder("first"));
}

/// Who has not watched the lease gets to know its holder, and no lease.
pub async fn a_held_lease_is_not_given_away(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seen = held(scene.store().claim(BOT, &holder("second"), None).await);
    assert_eq!(seen, scene.lease().await);
    assert_eq!(seen.epoch, scene.epoch);
}

/// A lease that stood still may be taken over, and the earlier holder is told.
pub async fn a_lease_that_was_not_renewed_is_taken_over(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seen = scene.lease().await;
    let epoch = granted(scene.store().claim(BOT, &holder("second"), Some(&seen)).await);
    assert_eq!(scene.lease().await.holder.token, "second");
    assert_eq!(scene.lease().await.epoch, epoch);
    fenced(scene.store().renew(BOT, scene.epoch).await);
}

/// A renewal since it was seen shows that the holder lives.
pub async fn a_lease_that_was_renewed_is_not_taken_over(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seen = scene.lease().await;
    scene.store().renew(BOT, scene.epoch).await.expect("renewed");
    let now = held(scene.store().claim(BOT, &holder("second"), Some(&seen)).await);
    assert_eq!(now.renewals, seen.renewals + 1);
    scene.store().renew(BOT, scene.epoch).await.expect("the holder works on");
}

/// A lease seen under an earlier holder says nothing about the one now.
pub async fn a_lease_of_a_later_holder_is_not_taken_over(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seen = scene.lease().await;
    scene.take_over().await;
    let now = held(scene.store().claim(BOT, &holder("third"), Some(&seen)).await);
    assert_eq!(now.holder.token, "second");
}

/// Nobody waits for a holder that went in order.
pub async fn a_released_lease_is_free_at_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    scene.store().release(BOT, scene.epoch).await.expect("released");
    assert_eq!(scene.store().lease(BOT).await.expect("answered"), None);
    granted(scene.store().claim(BOT, &holder("second"), None).await);
    fenced(scene.store().renew(BOT, scene.epoch).await);
}

/// The operator's word ends a lease, and with it what its holder may do.
pub async fn a_cleared_lease_fences_its_holder(subject: Subject) {
    let scene = Scene::open(subject).await;
    scene.operator().clear_lease(BOT).await.expect("cleared");
    assert_eq!(scene.store().lease(BOT).await.expect("answered"), None);
    fenced(scene.store().renew(BOT, scene.epoch).await);
    fenced(scene.store().receive(scene.epoch, Vec::new()).await);
    granted(scene.store().claim(BOT, &holder("second"), None).await);
}

/// However a lease ended, the next epoch is larger, and numbers go on from there.
pub async fn epochs_rise_with_every_owner(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let first = scene.epoch;
    let second = scene.take_over().await;
    scene.store().release(BOT, second).await.expect("released");
    let third = granted(scene.store().claim(BOT, &holder("third"), None).await);
    scene.operator().clear_lease(BOT).await.expect("cleared");
    let fourth = granted(scene.store().claim(BOT, &holder("fourth"), None).await);
    scene.restart().await;
    let epochs = [first, second, third, fourth, scene.epoch];
    assert!(epochs.is_sorted_by(|earlier, later| earlier < later), "{epochs:?}");
}

/// Standbys that saw the same lease at the same time do not both get it.
pub async fn of_many_takeovers_one_succeeds(subject: Subject) {
    let scene = Scene::open(subject).await;
    let seen = scene.lease().await;
    let claims = (0..16).map(|number| {
        let store = scene.store().clone();
        let seen = seen.clone();
        tokio::spawn(async move { store.claim(BOT, &holder(&format!("standby {number}")), Some(&seen)).await })
    });
    let mut owners = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        if let LeaseAnswer::Granted(epoch) = claim.await.expect("no panic").expect("answered") {
            owners.push(epoch);
        }
    }
    assert_eq!(owners, [scene.lease().await.epoch]);
}

/// An instance that wakes up too late cannot disturb the one that took over.
pub async fn an_old_holder_can_neither_renew_nor_release(subject: Subject) {
    let scene = Scene::open(subject).await;
    scene.take_over().await;
    let now = scene.lease().await;
    fenced(scene.store().renew(BOT, scene.epoch).await);
    fenced(scene.store().release(BOT, scene.epoch).await);
    assert_eq!(scene.lease().await, now);
}

/// Bots that share a store do not wait for each other.
pub async fn the_leases_of_two_bots_are_apart(subject: Subject) {
    let scene = Scene::open(subject).await;
    let other = granted(scene.store().claim(OTHER_BOT, &holder("other"), None).await);
    scene.take_over().await;
    scene.store().renew(OTHER_BOT, other).await.expect("the other bot works on");
    scene.store().release(OTHER_BOT, other).await.expect("the other bot goes");
    assert_eq!(scene.lease().await.holder.token, "second");
}
