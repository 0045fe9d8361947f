//! Leases: one instance leads at a time.

use super::Subject;
use super::fixture::{BOT, Fixture, OTHER_BOT, fenced, granted, held, holder};
use crate::store::LeaseAnswer;

/// A granted lease shows its holder unchanged.
pub async fn a_free_lease_is_granted_and_shown(subject: Subject) {
    let store = subject.store();
    assert_eq!(store.lease(BOT).await.expect("answered"), None);
    let epoch = granted(store.claim(BOT, &holder("first"), None).await);
    let lease = store.lease(BOT).await.expect("answered").expect("held");
    assert_eq!((lease.epoch, lease.renewals), (epoch, 0));
    assert_eq!(lease.holder, holder("first"));
}

/// A claim without a watched lease returns the holder.
pub async fn a_held_lease_is_not_given_away(fixture: Fixture) {
    let seen = held(fixture.store().claim(BOT, &holder("second"), None).await);
    assert_eq!(seen, fixture.lease().await);
    assert_eq!(seen.epoch, fixture.epoch);
}

/// A lease without renewals may be taken over, and its holder is fenced.
pub async fn a_lease_that_was_not_renewed_is_taken_over(fixture: Fixture) {
    let seen = fixture.lease().await;
    let epoch = granted(fixture.store().claim(BOT, &holder("second"), Some(&seen)).await);
    assert_eq!(fixture.lease().await.holder.token, "second");
    assert_eq!(fixture.lease().await.epoch, epoch);
    fenced(fixture.store().renew(BOT, fixture.epoch).await);
}

/// A renewal since the lease was seen prevents a takeover.
pub async fn a_lease_that_was_renewed_is_not_taken_over(fixture: Fixture) {
    let seen = fixture.lease().await;
    fixture.store().renew(BOT, fixture.epoch).await.expect("renewed");
    let now = held(fixture.store().claim(BOT, &holder("second"), Some(&seen)).await);
    assert_eq!(now.renewals, seen.renewals + 1);
    fixture.store().renew(BOT, fixture.epoch).await.expect("the holder works on");
}

/// A lease seen under an earlier leader does not allow a takeover of a later one.
pub async fn a_newer_lease_is_not_taken_over(fixture: Fixture) {
    let seen = fixture.lease().await;
    fixture.take_over().await;
    let now = held(fixture.store().claim(BOT, &holder("third"), Some(&seen)).await);
    assert_eq!(now.holder.token, "second");
}

/// A released lease can be claimed at once.
pub async fn a_released_lease_is_free_at_once(fixture: Fixture) {
    fixture.store().release(BOT, fixture.epoch).await.expect("released");
    assert_eq!(fixture.store().lease(BOT).await.expect("answered"), None);
    granted(fixture.store().claim(BOT, &holder("second"), None).await);
    fenced(fixture.store().renew(BOT, fixture.epoch).await);
}

/// An operator can end a lease, and its holder is fenced.
pub async fn a_cleared_lease_fences_the_leader(fixture: Fixture) {
    fixture.operator().clear_lease(BOT).await.expect("cleared");
    assert_eq!(fixture.store().lease(BOT).await.expect("answered"), None);
    fenced(fixture.store().renew(BOT, fixture.epoch).await);
    fenced(fixture.store().receive(fixture.epoch, Vec::new()).await);
    granted(fixture.store().claim(BOT, &holder("second"), None).await);
}

/// Every new lease has a higher epoch.
pub async fn epochs_rise_with_every_leader(mut fixture: Fixture) {
    let first = fixture.epoch;
    let second = fixture.take_over().await;
    fixture.store().release(BOT, second).await.expect("released");
    let third = granted(fixture.store().claim(BOT, &holder("third"), None).await);
    fixture.operator().clear_lease(BOT).await.expect("cleared");
    let fourth = granted(fixture.store().claim(BOT, &holder("fourth"), None).await);
    fixture.restart().await;
    let epochs = [first, second, third, fourth, fixture.epoch];
    assert!(epochs.is_sorted_by(|earlier, later| earlier < later), "{epochs:?}");
}

/// Of several standbys that saw the same lease, one takes over.
pub async fn concurrent_takeovers_have_one_winner(fixture: Fixture) {
    let seen = fixture.lease().await;
    let claims = (0..16).map(|number| {
        let store = fixture.store().clone();
        let seen = seen.clone();
        tokio::spawn(async move { store.claim(BOT, &holder(&format!("standby {number}")), Some(&seen)).await })
    });
    let mut owners = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        if let LeaseAnswer::Granted(epoch) = claim.await.expect("no panic").expect("answered") {
            owners.push(epoch);
        }
    }
    assert_eq!(owners, [fixture.lease().await.epoch]);
}

/// An instance that wakes up after a takeover cannot disturb the leader.
pub async fn an_old_leader_can_neither_renew_nor_release(fixture: Fixture) {
    fixture.take_over().await;
    let now = fixture.lease().await;
    fenced(fixture.store().renew(BOT, fixture.epoch).await);
    fenced(fixture.store().release(BOT, fixture.epoch).await);
    assert_eq!(fixture.lease().await, now);
}

/// Leases of bots that share a store are independent.
pub async fn leases_of_two_bots_are_independent(fixture: Fixture) {
    let other = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    fixture.take_over().await;
    fixture.store().renew(OTHER_BOT, other).await.expect("the other bot works on");
    fixture.store().release(OTHER_BOT, other).await.expect("the other bot goes");
    assert_eq!(fixture.lease().await.holder.token, "second");
}
