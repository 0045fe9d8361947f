//! Operations that share a transaction.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::store::{Refusal, StoreError};

/// They form one group: on the single test thread all are sent before the writer wakes up.
async fn together(bench: &Bench, commits: Vec<Commit>) -> Vec<StoreResult<Committed>> {
    futures_util::future::join_all(commits.into_iter().map(|commit| bench.commit(commit))).await
}

#[tokio::test]
async fn a_refused_turn_affects_no_other_of_its_group() {
    let bench = Bench::new().await;
    let update = bench.receive(1, 10).await;
    let answers = together(
        &bench,
        vec![
            full_turn(1, Version(0), vec![update.clone()]),
            full_turn(1, Version(1), vec![update]),
            full_turn(2, Version(5), vec![]),
            full_turn(1, Version(0), vec![]),
            full_turn(1, Version(1), vec![]),
            full_turn(3, Version(0), vec![]),
        ],
    )
    .await;
    let shown: Vec<_> = answers
        .iter()
        .map(|answer| match answer {
            Ok(done) => done.version.0,
            Err(StoreError::AlreadyProcessed) => -1,
            Err(StoreError::Overtaken(_)) => -2,
            Err(other) => panic!("{other}"),
        })
        .collect();
    assert_eq!(shown, [1, -1, -2, -2, 2, 1]);
    assert_eq!(bench.version(1).await, Version(2));
    assert_eq!(bench.version(2).await, Version(0));
    assert_eq!(bench.store.operator().transitions(BOT, 0, 9).await.unwrap().len(), 3);
    let timers = bench.store.due_timers(BOT, Millis(i64::MAX), 9).await.unwrap();
    assert_eq!(timers.len(), 2, "setting a timer again replaces it, also within a group");
}

#[tokio::test]
async fn a_refused_write_is_undone_and_others_commit() {
    let bench = Bench::new().await;
    with_notes(&bench).await;
    let refuse = DomainWrites::new(|db| {
        Box::pin(async move {
            sqlx::query("INSERT INTO notes VALUES ('gone')").execute(db.sqlite()).await?;
            Err(Refusal::because("the slot is full"))
        })
    });
    let fail = DomainWrites::new(|db| {
        Box::pin(async move {
            sqlx::query("INSERT INTO notes VALUES ('gone')").execute(db.sqlite()).await?;
            sqlx::query("INSERT INTO nowhere VALUES (1)").execute(db.sqlite()).await?;
            Ok(())
        })
    });
    let panic = DomainWrites::new(|_| Box::pin(async { panic!("on purpose") }));
    let with = |user, writes| Commit { writes: Some(writes), ..full_turn(user, Version(0), vec![]) };
    let turns = vec![with(1, note("kept")), with(2, refuse), with(3, fail), with(4, panic), with(5, note("kept too"))];
    let answers = together(&bench, turns).await;
    assert!(answers[0].is_ok() && answers[4].is_ok());
    assert!(matches!(&answers[1], Err(StoreError::Refused(Refusal(why))) if why == "the slot is full"));
    assert!(matches!(&answers[2], Err(StoreError::WritesFailed(_))));
    assert!(matches!(&answers[3], Err(StoreError::WritesFailed(_))));
    assert_eq!(bench.count("notes").await, 2);
    assert_eq!(bench.store.statistics(None).await.unwrap().active, 2);
}

#[tokio::test]
async fn writes_of_an_overtaken_turn_are_not_run() {
    let bench = Bench::new().await;
    with_notes(&bench).await;
    let late = Commit { writes: Some(note("gone")), ..full_turn(1, Version(4), vec![]) };
    assert!(matches!(bench.commit(late).await, Err(StoreError::Overtaken(_))));
    assert_eq!(bench.count("notes").await, 0);
}

#[tokio::test]
async fn a_full_disk_fails_the_group_and_not_the_next() {
    let bench = Bench::new().await;
    with_notes(&bench).await;
    let before = everything(&bench.store).await;
    bench.store.write(writes("PRAGMA max_page_count = 1")).await.unwrap();
    let big = "x".repeat(1 << 20);
    let turn = |user| Commit {
        state: StateChange::Set(StoredState { value: big.as_str().into(), ..stored("hours") }),
        ..full_turn(user, Version(0), vec![])
    };
    let answers = together(&bench, vec![full_turn(1, Version(0), vec![]), turn(2), turn(3)]).await;
    for answer in answers {
        let error = answer.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)));
        assert!(error.to_string().contains("database or disk is full"), "{error}");
    }
    assert_eq!(everything(&bench.store).await, before);
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
    assert_eq!(bench.version(1).await, Version(1));
}

#[tokio::test]
async fn a_write_that_ends_the_transaction_fails_only_its_group() {
    let bench = Bench::new().await;
    let bad = Commit { writes: Some(writes("ROLLBACK")), ..full_turn(1, Version(0), vec![]) };
    // The turn must not be retried for ever: the store works.
    assert!(matches!(bench.commit(bad).await, Err(StoreError::WritesFailed(_))));
    bench.commit(full_turn(1, Version(0), vec![])).await.unwrap();
}

#[tokio::test]
async fn a_batch_with_repeats_is_received_once() {
    let bench = Bench::new().await;
    let one = |update_id: i64, identity: &str| Incoming {
        key: ConversationKey::private(BOT, 1),
        origin: Origin::Update(Mark { bot: BOT, update_id, identity: identity.into() }),
        body: "{}".into(),
        at: NOW,
    };
    let batch = || vec![one(1, "a"), one(1, "a"), one(1, "b"), one(2, "a")];
    let is_new = |receipts: Vec<Receipt>| receipts.iter().map(|one| *one != Receipt::Known).collect::<Vec<_>>();
    assert_eq!(is_new(bench.store.receive(bench.epoch, batch()).await.unwrap()), [true, false, true, true]);
    assert_eq!(is_new(bench.store.receive(bench.epoch, batch()).await.unwrap()), [false; 4]);
}

#[tokio::test]
async fn writes_that_end_the_transaction_fail_for_good() {
    let bench = Bench::new().await;
    with_notes(&bench).await;
    for spoil in ["ROLLBACK", "INSERT OR ROLLBACK INTO notes (rowid) VALUES (1), (1)"] {
        let spoiling = Commit { writes: Some(writes(spoil)), ..full_turn(1, Version(0), vec![]) };
        let answers = together(&bench, vec![spoiling, full_turn(2, bench.version(2).await, vec![])]).await;
        // If it were retried, it would fail every group that it is in.
        assert!(matches!(&answers[0], Err(StoreError::WritesFailed(_))), "{spoil}: {:?}", answers[0]);
        assert!(matches!(&answers[1], Err(StoreError::Unavailable(_))), "{spoil}: {:?}", answers[1]);
        bench.commit(full_turn(2, bench.version(2).await, vec![])).await.unwrap();
    }
    assert_eq!((bench.version(1).await, bench.version(2).await), (Version(0), Version(2)));
}

#[tokio::test]
async fn a_lease_is_renewed_during_long_writes() {
    let bench = Bench::new().await;
    let many = 12;
    let done = AtomicUsize::new(0);
    let writing = (0..many).map(|_| async {
        let slow = Duration::from_millis(250);
        let writes = DomainWrites::new(move |_| {
            Box::pin(async move {
                tokio::time::sleep(slow).await;
                Ok(())
            })
        });
        bench.store.write(writes).await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    });
    let renewing = async {
        bench.store.renew(BOT, bench.epoch).await.unwrap();
        done.load(Ordering::Relaxed)
    };
    let (_, before) = tokio::join!(futures_util::future::join_all(writing), renewing);
    assert!(before < many, "all {many} had written when the lease was renewed");
    assert_eq!(done.load(Ordering::Relaxed), many, "and all of them wrote");
}

#[tokio::test]
async fn turns_with_long_writes_keep_their_order() {
    let bench = Bench::new().await;
    with_notes(&bench).await;
    let slow = |from: i64| {
        let writes = DomainWrites::new(move |db| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(400)).await;
                sqlx::query("INSERT INTO notes VALUES ('kept')").execute(db.sqlite()).await?;
                Ok(())
            })
        });
        Commit { writes: Some(writes), ..full_turn(1, Version(from), vec![]) }
    };
    let mut turns: Vec<_> = (0..4).map(slow).collect();
    turns.push(full_turn(1, Version(4), vec![]));
    let versions: Vec<_> = together(&bench, turns).await.into_iter().map(|answer| answer.unwrap().version.0).collect();
    assert_eq!(versions, [1, 2, 3, 4, 5]);
    assert_eq!(bench.count("notes").await, 4);
}

/// Changes the file like another process.
async fn meanwhile(bench: &Bench, change: &'static str) {
    use sqlx::Connection;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(bench.path("opora.db"));
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(change).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn an_optimistic_group_is_refused_like_any_other() {
    let bench = Bench::new().await;
    let direct = |update_id| vec![InputRef::DirectUpdate(mark(update_id))];
    // The first commit reads the lease; later ones rely on it.
    bench.commit(full_turn(1, Version(0), direct(10))).await.unwrap();
    bench.commit(full_turn(1, Version(1), direct(11))).await.unwrap();
    let again = bench.commit(full_turn(1, Version(2), direct(11))).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");

    meanwhile(&bench, "UPDATE opora_conversations SET version = 9").await;
    let overtaken = bench.commit(full_turn(1, Version(2), direct(12))).await;
    assert!(matches!(overtaken, Err(StoreError::Overtaken(_))), "{overtaken:?}");
    let neighbours = vec![full_turn(1, Version(3), direct(13)), full_turn(2, Version(0), direct(14))];
    let answers = together(&bench, neighbours).await;
    assert!(matches!(answers[..], [Err(StoreError::Overtaken(_)), Ok(_)]), "{answers:?}");
    let went_on = bench.commit(full_turn(1, Version(9), direct(15))).await.unwrap();
    assert_eq!(went_on.version, Version(10));

    meanwhile(&bench, "UPDATE opora_leases SET epoch = epoch + 1").await;
    let fenced = bench.commit(full_turn(1, Version(10), direct(16))).await;
    assert!(matches!(fenced, Err(StoreError::Fenced { .. })), "{fenced:?}");
    assert_eq!(bench.version(1).await, Version(10));
    assert_eq!(bench.count("marks").await, 4);
}
