//! What survives a restart, a takeover and cleaning.

use sqlx::Connection;

use super::*;
use crate::store::{Cleaned, CleaningLimits, EffectId, StoreError};
use crate::testing::conformance::fixture::parked;

#[tokio::test]
async fn reopening_keeps_everything() {
    let bench = Bench::new().await;
    let update = bench.receive(1, 10).await;
    bench.receive(2, 11).await;
    let done = bench.commit(full_turn(1, Version(0), vec![update])).await.unwrap();
    let broken = bench.receive(3, 12).await;
    let parked = parked(&ConversationKey::private(BOT, 3), NOW);
    bench.store.park(bench.epoch, vec![broken], parked, vec![say("sorry")]).await.unwrap();
    bench.store.sending(bench.epoch, vec![done.outbox[0]]).await.unwrap();
    let before = everything(&bench.store).await;
    bench.store.close().await.unwrap();

    assert_eq!(names(&bench.folder), ["opora.db"], "a closed store is one file");
    let again = reopened(&bench.path("opora.db")).await;
    assert_eq!(everything(&again).await, before);
    let key = ConversationKey::private(BOT, 1);
    assert_eq!(again.open(&key, Some(&mark(10))).await.unwrap(), Opened::AlreadyProcessed);
    let other = Mark { identity: "message:2".into(), ..mark(10) };
    assert!(matches!(again.open(&key, Some(&other)).await.unwrap(), Opened::At { version: Version(1), .. }));
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let bench = Bench::new().await;
    bench.store.close().await.unwrap();
    bench.store.close().await.unwrap();
    let refused = bench.store.renew(BOT, bench.epoch).await.unwrap_err();
    assert_eq!(refused.to_string(), "the store did not answer: the store is closed");
    assert!(bench.store.open(&ConversationKey::private(BOT, 1), None).await.is_err());
}

#[tokio::test]
async fn reopening_under_the_same_epoch_repeats_no_number() {
    let bench = Bench::new().await;
    let first = bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    let settled = first.outbox.iter().map(|id| Settled { id: *id, outcome: Settlement::Sent { labelled: None } });
    bench.store.settle(bench.epoch, settled.collect(), NOW).await.unwrap();
    bench.store.close().await.unwrap();
    let again = reopened(&bench.path("opora.db")).await;
    let second = again.commit(bench.epoch, full_turn(1, Version(1), vec![])).await.unwrap();
    assert!(second.outbox[0] > first.outbox[1] && second.effects[0] > EffectId(first.effects[0].0));
}

#[tokio::test]
async fn epochs_rise_over_all_bots() {
    let bench = Bench::new().await;
    let other = claim(&bench.store, 8).await;
    assert!(other > bench.epoch);
    bench.store.release(BOT, bench.epoch).await.unwrap();
    let again = claim(&bench.store, BOT).await;
    assert!(again > other);
    let late = bench.store.settle(bench.epoch, vec![], NOW).await.unwrap_err();
    assert!(matches!(late, StoreError::Fenced { .. }), "{late}");
    bench.store.settle(other, vec![], NOW).await.unwrap();
}

#[tokio::test]
async fn a_removed_conversation_restarts_above_its_versions() {
    let bench = Bench::new().await;
    let key = ConversationKey::private(BOT, 1);
    for version in 0..3 {
        bench
            .commit(Commit { state: StateChange::Clear, ..Commit::new(key.clone(), Version(version), NOW) })
            .await
            .unwrap();
    }
    bench.commit(full_turn(2, Version(0), vec![])).await.unwrap();
    let later = Millis(NOW.0 + 1);
    // The ended conversation, and the transition record of the other one.
    let limits = CleaningLimits { marks_before: later, records_before: later, max_parked: 0, mark_ttl: None };
    assert_eq!(bench.store.clean(bench.epoch, limits).await.unwrap(), Cleaned { aged: 2, parked: 0 });
    assert!(bench.store.clean(bench.epoch, limits).await.unwrap().is_empty());
    assert_eq!(bench.version(1).await, Version(3));
    assert_eq!(bench.version(2).await, Version(1), "an open conversation is not removed");
    assert_eq!(bench.version(3).await, Version(3), "a new conversation starts there too");
    bench.commit(full_turn(1, Version(3), vec![])).await.unwrap();
    let overtaken = bench.commit(full_turn(3, Version(0), vec![])).await.unwrap_err();
    assert!(matches!(overtaken, StoreError::Overtaken(_)), "{overtaken}");
}

#[tokio::test]
async fn any_text_is_stored_unchanged() {
    let bench = Bench::new().await;
    let odd = "a\u{0}b \" \\ \n \u{7f} é 漢 \u{1F600} \u{2028}";
    let mut commit = full_turn(1, Version(0), vec![]);
    commit.state = StateChange::Set(StoredState { value: odd.into(), ..stored("hours") });
    commit.outgoing = vec![Outgoing { body: odd.into(), ..say("") }];
    bench.commit(commit).await.unwrap();
    let Opened::At { stored: Some(stored), .. } =
        bench.store.open(&ConversationKey::private(BOT, 1), None).await.unwrap()
    else {
        panic!("nothing is open");
    };
    assert_eq!(&*stored.value, odd);
    assert_eq!(&*bench.store.unsent(BOT, Default::default(), 9).await.unwrap()[0].outgoing.body, odd);
}

/// A killed process does not close its store.
#[tokio::test]
async fn logged_sends_are_not_repeated_by_the_next_leader() {
    let bench = Bench::new().await;
    let first = bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    let second = bench.commit(full_turn(1, Version(1), vec![])).await.unwrap();
    bench.store.log_sent(bench.epoch, &sent(&first.outbox)).await.unwrap();
    let seen = bench.store.lease(BOT).await.unwrap();
    let next = reopened(&bench.path("opora.db")).await;
    let LeaseAnswer::Granted(_) = next.claim(BOT, &holder("b"), seen.as_ref()).await.unwrap() else { panic!() };
    let unsent: Vec<_> = next.unsent(BOT, Default::default(), 10).await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(unsent, second.outbox);
    let names = names(&bench.folder);
    assert!(!names.iter().any(|name| name.contains("-sent-")), "{names:?}");
}

#[tokio::test]
async fn a_settled_store_leaves_no_sent_log() {
    let bench = Bench::new().await;
    let ids = bench.commit(full_turn(1, Version(0), vec![])).await.unwrap().outbox;
    bench.store.log_sent(bench.epoch, &sent(&ids)).await.unwrap();
    bench.store.settle(bench.epoch, sent(&ids), NOW).await.unwrap();
    bench.store.close().await.unwrap();
    assert_eq!(names(&bench.folder), ["opora.db"]);
}

#[tokio::test]
async fn the_log_is_checkpointed_while_the_store_is_open() {
    let bench = Bench::new().await;
    let size = || std::fs::metadata(bench.path("opora.db")).unwrap().len();
    let before = size();
    let mut version = Version(0);
    let deadline = std::time::Duration::from_secs(20);
    let grown = async {
        while size() == before {
            version = bench.commit(full_turn(1, version, vec![])).await.unwrap().version;
        }
    };
    tokio::time::timeout(deadline, grown).await.unwrap();
    // Long before SQLite would checkpoint in the writer.
    assert!(version < Version(400), "{version:?}");
}

/// Deleted data is in no free page: neither long texts, nor replaced ones, nor one text among others.
#[tokio::test]
async fn deleted_text_is_not_left_in_the_file() {
    let bench = Bench::new().await;
    let words = |length: usize| format!("Verozhuravka{}", "x".repeat(length));
    for user in 1..=60 {
        bench.receive(user, 100 + user).await;
        for (turn, length) in [0, 300, 9_000, 40, 5_000].into_iter().enumerate() {
            let text = if user == 30 { words(length) } else { "y".repeat(length + 20) };
            let mut commit = full_turn(user, Version(turn as i64), Vec::new());
            commit.outgoing = vec![Outgoing { chat: Some(user), ..say(&text) }];
            // State names stay in the counts; they are not a person's words.
            let value = format!(r#"{{"at":"{text}"}}"#).into();
            commit.state = StateChange::Set(StoredState { value, ..stored("hours") });
            let done = bench.commit(commit).await.unwrap();
            let sent = Settled { id: done.outbox[0], outcome: Settlement::Sent { labelled: None } };
            if turn % 2 == 0 {
                bench.store.settle(bench.epoch, vec![sent], NOW).await.unwrap();
            }
        }
    }
    let bytes = async || {
        let url = format!("sqlite:{}", bench.path("opora.db").display());
        let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await.unwrap();
        // Read by another process: closing a handle here would drop this process's locks.
        let read = std::process::Command::new("cat").arg(bench.path("opora.db")).output().unwrap();
        String::from_utf8_lossy(&read.stdout).into_owned()
    };
    assert!(bytes().await.contains("Verozhuravka"));
    assert!(bench.store.forget(BOT, 30, NOW).await.unwrap() > 0);
    assert!(!bytes().await.contains("Verozhuravka"));
}
