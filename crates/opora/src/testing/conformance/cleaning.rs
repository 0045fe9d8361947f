//! Cleaning removes rows beyond their retention, and nothing else.

use super::fixture::{ALL, BOT, END_OF_TIME, Fixture, OTHER_BOT, at, granted, holder, mark, message, one_of_each};
use super::fixture::{parked, person, set, transition, update};
use super::parking::park;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Cleaned, CleaningLimits, Filter, Receipt, Settled, Settlement, StateChange, Version};

/// Adds one row of each kind that ages: a mark, a transition, a failed message, an ended conversation.
async fn add_aging_rows(fixture: &Fixture, user: i64, minute: i64) {
    let key = person(user);
    let update = fixture.waiting_update(&key, user).await;
    let committed = fixture
        .turn(&key, |commit| {
            commit.at = at(minute);
            commit.processed = vec![update];
            commit.outgoing = vec![message(user, "said")];
            commit.transition = Some(transition("asked"));
            commit.state = StateChange::Clear;
        })
        .await;
    let outcome = Settlement::Failed("403: the bot was blocked".into());
    let settled = vec![Settled { id: committed.outbox[0], outcome }];
    fixture.store().settle(fixture.epoch, settled, at(minute)).await.expect("settled");
}

/// Cleans by age until nothing is left to remove. Returns the number of removed rows.
async fn clean(fixture: &Fixture, marks_before: Millis, records_before: Millis) -> u64 {
    let limits = CleaningLimits { marks_before, records_before, max_parked: ALL, mark_ttl: None };
    let cleaned = clean_to(fixture, limits).await;
    assert_eq!(cleaned.parked, 0, "no parked turn is above the limit");
    cleaned.aged
}

/// Cleans until nothing is left to remove. Returns what was removed.
async fn clean_to(fixture: &Fixture, limits: CleaningLimits) -> Cleaned {
    let mut total = Cleaned::default();
    for _ in 0..1_000 {
        let cleaned = fixture.store().clean(fixture.epoch, limits).await.expect("cleaned");
        if cleaned.is_empty() {
            return total;
        }
        total += cleaned;
    }
    panic!("cleaning never comes to an end");
}

async fn ended(fixture: &Fixture) -> Vec<i64> {
    let filter = Filter { ended: true, ..Filter::default() };
    let rows = fixture.store().list(&filter, None, 100).await.expect("answered");
    rows.into_iter().map(|row| row.key.user).collect()
}

/// Old marks, transitions, failed messages and ended conversations are removed, and the count is right.
pub async fn cleaning_removes_old_rows(fixture: Fixture) {
    add_aging_rows(&fixture, 101, 1).await;
    add_aging_rows(&fixture, 102, 1).await;
    assert_eq!(clean(&fixture, at(2), at(2)).await, 8);
    assert!(!fixture.is_processed(&person(101), &mark(BOT, 101)).await);
    assert!(matches!(fixture.receive_all(vec![update(&person(101), 101)]).await[..], [Receipt::New(_)]));
    assert_eq!(fixture.transitions().await, []);
    assert_eq!(fixture.statistics().await.failed, 0);
    assert_eq!(ended(&fixture).await, Vec::<i64>::new());
    assert_eq!(clean(&fixture, at(2), at(2)).await, 0);
}

/// Marks and records have separate limits, and younger rows stay.
pub async fn cleaning_keeps_young_rows(fixture: Fixture) {
    add_aging_rows(&fixture, 101, 1).await;
    add_aging_rows(&fixture, 102, 5).await;
    assert_eq!(clean(&fixture, at(5), at(1)).await, 1, "one mark is old, and no record");
    assert!(!fixture.is_processed(&person(101), &mark(BOT, 101)).await);
    assert!(fixture.is_processed(&person(102), &mark(BOT, 102)).await);
    assert_eq!((fixture.transitions().await.len(), fixture.statistics().await.failed), (2, 2));
    assert_eq!(clean(&fixture, at(5), at(5)).await, 3);
    assert_eq!(ended(&fixture).await, [102]);
    assert_eq!((fixture.transitions().await.len(), fixture.statistics().await.failed), (1, 1));
    assert!(fixture.is_processed(&person(102), &mark(BOT, 102)).await);
}

/// Rows that are still needed are not removed at any age.
pub async fn cleaning_keeps_rows_still_needed(fixture: Fixture) {
    let anna = person(101);
    fixture.turn(&anna, one_of_each).await;
    fixture.waiting_update(&anna, 1).await;
    park(&fixture, Vec::new(), parked(&anna, at(1))).await;
    let before = fixture.snapshot().await;
    assert_eq!(clean(&fixture, END_OF_TIME, at(0)).await, 0);
    assert_eq!(fixture.snapshot().await, before);
    assert_eq!(clean(&fixture, END_OF_TIME, END_OF_TIME).await, 1, "only the transition's record goes");
    assert_eq!(fixture.statistics().await, before.statistics);
    assert!(fixture.state(&anna).await.1.is_some());
    assert_eq!(fixture.receive_all(vec![update(&anna, 1)]).await, [Receipt::Known], "a waiting update is still known");
}

/// The key of a post is free again after its retention, and not before.
pub async fn a_post_can_be_repeated_after_its_retention(fixture: Fixture) {
    let post = || fixture.store().post(fixture.epoch, "news", vec![(person(101), message(101, "news"))], at(5));
    post().await.expect("posted");
    assert_eq!(clean(&fixture, at(5), END_OF_TIME).await, 0);
    post().await.expect("answered");
    assert_eq!(fixture.unsent().await.len(), 1);
    assert_eq!(clean(&fixture, at(6), at(-1)).await, 1);
    post().await.expect("posted");
    assert_eq!(fixture.unsent().await.len(), 2);
}

/// Old labels are removed; sending again under a label renews it.
pub async fn old_labels_are_removed(fixture: Fixture) {
    let said = vec![message(101, "said"); 4];
    let ids = fixture.turn(&person(101), |commit| (commit.state, commit.outgoing) = (set("open"), said)).await.outbox;
    let sent = [("menu", 1), ("list", 1), ("help", 5), ("menu", 5)];
    for ((id, (label, minute)), number) in ids.into_iter().zip(sent).zip(1..) {
        let outcome = Settlement::Sent { labelled: Some((101, label.into(), number)) };
        fixture.store().settle(fixture.epoch, vec![Settled { id, outcome }], at(minute)).await.expect("settled");
    }
    assert_eq!(clean(&fixture, END_OF_TIME, at(1)).await, 0);
    assert_eq!(clean(&fixture, at(-1), at(5)).await, 1);
    for (label, message) in [("menu", Some(4)), ("list", None), ("help", Some(3))] {
        assert_eq!(fixture.store().labelled(BOT, 101, label).await.expect("answered"), message, "{label}");
    }
}

/// Parked turns above the limit are removed, oldest first, and counted.
pub async fn parked_turns_are_kept_up_to_a_limit(fixture: Fixture) {
    let other = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    let theirs = parked(&ConversationKey::private(OTHER_BOT, 101), at(0));
    fixture.store().park(other, Vec::new(), theirs, Vec::new()).await.expect("parked");
    for minute in 1..=5 {
        park(&fixture, Vec::new(), parked(&person(101), at(minute))).await;
    }
    let limits = |max_parked| CleaningLimits {
        marks_before: END_OF_TIME,
        records_before: END_OF_TIME,
        max_parked,
        mark_ttl: None,
    };
    assert_eq!(clean_to(&fixture, limits(5)).await, Cleaned::default(), "age alone drops nothing");
    assert_eq!(clean_to(&fixture, limits(3)).await, Cleaned { aged: 0, parked: 2 });
    let left: Vec<_> = fixture.parked().await.into_iter().map(|row| row.at).collect();
    assert_eq!(left, [at(3), at(4), at(5)]);
    let theirs = fixture.store().parked(Some(OTHER_BOT), ALL).await.expect("answered");
    assert_eq!(theirs.len(), 1, "each bot has its own limit");
}

/// A removed conversation does not repeat its versions: an old button must not fit.
pub async fn versions_do_not_restart_after_cleaning(mut fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    for _ in 0..6 {
        fixture.turn(&anna, |commit| commit.state = set("open")).await;
    }
    fixture.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    fixture.turn(&boris, |commit| commit.state = set("open")).await;
    assert_eq!(clean(&fixture, at(2), at(2)).await, 1);
    fixture.restart().await;
    let (version, stored) = fixture.state(&anna).await;
    assert_eq!(stored, None);
    assert!(version >= Version(7), "{version:?} was there before");
    let begun = fixture.turn(&anna, |commit| commit.state = set("open again")).await;
    assert_eq!(begun.version, Version(version.0 + 1));
    assert_eq!(fixture.version(&boris).await, Version(1), "others keep theirs");
}
