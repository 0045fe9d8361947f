//! Several processes, and several writers of one process.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, ConversationRow, Filter, Incoming, InputRef, LeaseAnswer, Origin, OutboxId, PostgresStore, Receipt,
    Settled, Settlement, StateChange, StateCount, Store, StoreError, Version,
};

use sqlx::{Connection, PgConnection};

use super::{BOT, Fixture, NOW, at_state, claim, holder, mark, message, person, talk, version};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_takeover_fences_all_writers_at_once() {
    let fixture = Fixture::new().await;
    let second = PostgresStore::open_existing(&fixture.server.url).await.unwrap();
    let turns = async {
        for round in 0.. {
            let done =
                join_all((1..=16).map(|user| fixture.store.commit(fixture.epoch, talk(person(user), Version(round)))));
            if done.await.iter().any(|one| matches!(one, Err(StoreError::Fenced { .. }))) {
                return;
            }
        }
    };
    let takeover = async {
        let epoch = claim(&second, "second").await;
        let sums = async || second.operator().transitions(BOT, 0, 1).await.unwrap().len() as i64 + said(&second).await;
        let before = sums().await;
        for _ in 0..20 {
            assert_eq!(sums().await, before, "the first one wrote after it had lost the lease");
        }
        epoch
    };
    let ((), epoch) = tokio::join!(turns, takeover);
    for user in 1..=16 {
        let version = version(&second, &person(user)).await.unwrap();
        second.commit(epoch, talk(person(user), version)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cleared_lease_fences_all_writers_at_once() {
    let fixture = Fixture::new().await;
    let tool = PostgresStore::open_existing(&fixture.server.url).await.unwrap();
    let turns = async {
        for round in 0.. {
            let done =
                join_all((1..=16).map(|user| fixture.store.commit(fixture.epoch, talk(person(user), Version(round)))));
            if done.await.iter().any(|one| matches!(one, Err(StoreError::Fenced { .. }))) {
                return round;
            }
        }
        unreachable!("rounds do not end");
    };
    let clearing = async {
        while said(&tool).await < 100 {
            tokio::task::yield_now().await;
        }
        tool.operator().clear_lease(BOT).await.unwrap();
        let before = said(&tool).await;
        for _ in 0..20 {
            assert_eq!(said(&tool).await, before, "a write under a cleared lease");
        }
    };
    let (rounds, ()) = tokio::join!(turns, clearing);
    assert!(rounds > 0, "there were turns before");
    assert!(matches!(fixture.turn(1).await, Err(StoreError::Fenced { .. })));
}

#[tokio::test]
async fn a_standby_reads_the_lease_without_waiting() {
    let fixture = Fixture::new().await;
    let standby = PostgresStore::open_existing(&fixture.server.url).await.unwrap();
    // A group of the leader is under way for as long as this session lasts.
    let mut writing = PgConnection::connect(&fixture.server.url).await.unwrap();
    let shares = sqlx::query("SELECT pg_advisory_lock_shared(1869639536, hashint8($1))").bind(fixture.epoch.0);
    shares.execute(&mut writing).await.unwrap();
    let looks = async {
        for _ in 0..20 {
            let answer = standby.claim(BOT, &holder("standby"), None).await.unwrap();
            assert!(matches!(answer, LeaseAnswer::Held(_)), "{answer:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(2), looks).await.expect("it waits for a writer");
    writing.close().await.unwrap();
    let epoch = claim(&standby, "standby").await;
    assert!(epoch > fixture.epoch);
}

#[tokio::test]
async fn a_turn_reads_as_few_rows_in_large_tables() {
    const BEGUN: i64 = 2000;
    let fixture = Fixture::new().await;
    let (mut connection, mut turns) = (PgConnection::connect(&fixture.server.url).await.unwrap(), 0);
    let mut round = async |people: std::ops::Range<i64>, from: i64| {
        let turn = |user| {
            turns += 1;
            let processed = vec![InputRef::DirectUpdate(mark(turns))];
            fixture.store.commit(fixture.epoch, Commit { processed, ..talk(person(user), Version(from)) })
        };
        join_all(people.map(turn)).await.into_iter().for_each(|one| drop(one.unwrap()));
        turns
    };
    // The planner has no statistics yet, as in a database's first minutes.
    for first in (0..BEGUN).step_by(100) {
        round(first..first + 100, 0).await;
    }
    // The server updates its counts about once a second.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    for from in 1.. {
        let turns = round(0..100, from).await;
        let read: (i64, i64, i64) = sqlx::query_as(READ).fetch_one(&mut connection).await.unwrap();
        if read.1 >= turns - 200 {
            assert!(read.0 < turns * 20, "{} rows were read for {turns} turns", read.0);
            // Many conversations make the path down an index longer. A new conversation is also looked up in two unique
            // indexes.
            assert!(read.2 < turns + 3 * BEGUN, "conversations were looked up {} times in {turns} turns", read.2);
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "the server does not count: {read:?} of {turns}");
    }
}

/// How many rows were read, how many marks were written, and how often conversations were looked up.
const READ: &str = "
SELECT (sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)))::bigint,
       (sum(n_tup_ins) FILTER (WHERE relname = 'opora_marks'))::bigint,
       (sum(idx_scan) FILTER (WHERE relname = 'opora_conversations'))::bigint
FROM pg_stat_user_tables WHERE schemaname = current_schema()";

async fn said(store: &PostgresStore) -> i64 {
    store.statistics(Some(BOT)).await.unwrap().outbox
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_first_turn_and_a_concurrent_import_one_wins() {
    let fixture = Fixture::new().await;
    let tool = PostgresStore::open_existing(&fixture.server.url).await.unwrap();
    for user in 1..=40 {
        let row = ConversationRow {
            key: person(user),
            version: Version(3),
            stored: Some(at_state("imported")),
            updated_at: NOW,
        };
        let turn = fixture.store.commit(fixture.epoch, talk(person(user), Version(0)));
        let (turned, imported) = tokio::join!(turn, tool.operator().import(&row, false));
        let listed = tool.list(&Filter { user: Some(user), ..Filter::default() }, None, 9).await.unwrap();
        let state = &listed[0].stored.as_ref().unwrap().states[0].state;
        match (&turned, &imported) {
            (Ok(_), Ok(false) | Err(StoreError::Unavailable(_))) => assert_eq!(&**state, "talking"),
            (Err(StoreError::Overtaken(_) | StoreError::Unavailable(_)), Ok(true)) => assert_eq!(&**state, "imported"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_update_received_during_its_commit_is_not_stuck() {
    let fixture = Fixture::new().await;
    for id in 1..=60 {
        let incoming = Incoming { key: person(id), origin: Origin::Update(mark(id)), body: "{}".into(), at: NOW };
        let turn = Commit { processed: vec![InputRef::DirectUpdate(mark(id))], ..talk(person(id), Version(0)) };
        let (received, turned) = tokio::join!(
            fixture.store.receive(fixture.epoch, vec![incoming]),
            fixture.store.commit(fixture.epoch, turn)
        );
        received.unwrap();
        turned.unwrap();
    }
    assert_eq!(fixture.store.waiting(BOT, Default::default(), 99).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_rise_in_every_chat_and_are_unique() {
    let fixture = Fixture::new().await;
    let chats = (1..=12).map(|user| {
        let fixture = &fixture;
        async move {
            let mut ids = Vec::new();
            for round in 0..20 {
                ids.extend(
                    fixture.store.commit(fixture.epoch, talk(person(user), Version(round))).await.unwrap().outbox,
                );
            }
            ids
        }
    });
    let ids = join_all(chats).await;
    assert!(ids.iter().all(|ids| ids.is_sorted()), "{ids:?}");
    let unsent = fixture.store.unsent(BOT, OutboxId(0), 1000).await.unwrap();
    assert_eq!(unsent.len(), 240);
    let batch = (1..=50).map(|id| Incoming {
        key: person(id % 7),
        origin: Origin::Update(mark(id)),
        body: "{}".into(),
        at: NOW,
    });
    let receipts = fixture.store.receive(fixture.epoch, batch.collect()).await.unwrap();
    for chat in 0..7 {
        let of_chat: Vec<_> = (1..=50).zip(&receipts).filter(|(id, _)| id % 7 == chat).map(|(_, one)| *one).collect();
        let seqs = of_chat.iter().map(|one| match one {
            Receipt::New(seq) => *seq,
            Receipt::Known => panic!("all are new"),
        });
        assert!(seqs.is_sorted(), "{of_chat:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn statistics_add_up_all_writers() {
    let fixture = Fixture::new().await;
    let people = (1..=30).map(|user| {
        let fixture = &fixture;
        async move {
            for round in 0..10 {
                let state = match (user + round) % 4 {
                    0 => StateChange::Clear,
                    1 => StateChange::Keep,
                    place => StateChange::Set(at_state(&format!("state {place}"))),
                };
                let from = version(&fixture.store, &person(user)).await.unwrap();
                let turn = Commit { state, ..Commit::new(person(user), from, Millis(round)) };
                fixture.store.commit(fixture.epoch, turn).await.unwrap();
                if (user + round) % 7 == 0 {
                    fixture.store.operator().reset(&person(user), Millis(round)).await.unwrap();
                }
            }
        }
    });
    join_all(people).await;
    let open = fixture.store.list(&Filter::default(), None, 1000).await.unwrap();
    let mut by_state = BTreeMap::new();
    for row in &open {
        *by_state.entry(row.stored.as_ref().unwrap().states[0].clone()).or_insert(0) += 1;
    }
    let statistics = fixture.store.statistics(Some(BOT)).await.unwrap();
    assert_eq!(statistics.active, open.len() as i64);
    let counted = by_state.into_iter().map(|(state, conversations)| StateCount { state, conversations });
    assert_eq!(statistics.by_state, counted.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_message_with_a_nul_is_moved_with_its_chat() {
    let fixture = Fixture::new().await;
    let group = ConversationKey { chat: -5, ..person(1) };
    let mut turn = talk(group, Version(0));
    turn.outgoing = vec![message(-5, "a\0b \u{1a} 'quoted'")];
    let ids = fixture.store.commit(fixture.epoch, turn).await.unwrap().outbox;
    let moved = vec![Settled { id: ids[0], outcome: Settlement::Moved { from: -5, to: -6 } }];
    fixture.store.settle(fixture.epoch, moved, NOW).await.unwrap();
    let row = fixture.store.unsent(BOT, OutboxId(0), 9).await.unwrap().pop().unwrap();
    assert_eq!(row.outgoing, message(-6, "a\0b \u{1a} 'quoted'"));
}
