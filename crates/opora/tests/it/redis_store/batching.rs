//! Concurrent turns in one call, and the counter of changes.

use futures_util::future::join_all;
use opora::clock::Millis;
use opora::store::{
    Commit, Committed, ConversationRow, Effect, EffectId, Incoming, InputRef, Mark, Opened, Origin, OutboxId, ParkedId,
    ParkedTurn, RedisCode, Settled, Settlement, StateChange, StateName, Store, StoreError, StoreResult, StoredState,
    Transition, Version,
};

use super::statistics::{message, reads};
use super::{BOT, Fixture, at_state, person};

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: "message".into() }
}

fn first_turn(user: i64, update_id: i64) -> Commit {
    let mut commit = Commit::new(person(user), Version(0), Millis(user));
    (commit.processed, commit.state) =
        (vec![InputRef::DirectUpdate(mark(update_id))], at_state(&format!("state {}", user % 3)));
    commit.outgoing = vec![message(user)];
    commit
}

#[tokio::test]
async fn concurrent_turns_share_calls_and_get_their_own_answers() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.commit(fixture.epoch, first_turn(1, 1)).await.unwrap();
    let (_, before) = reads(&fixture);
    let mut turns: Vec<_> = (2..=400).map(|user| first_turn(user, user)).collect();
    turns.push(first_turn(1, 1));
    turns.push(first_turn(1, 501));
    let answers = join_all(turns.into_iter().map(|turn| fixture.store.commit(fixture.epoch, turn))).await;
    let (_, after) = reads(&fixture);
    assert!(after - before < 100, "{} calls", after - before);
    let (refused, done) = answers.split_last_chunk::<2>().map(|(done, refused)| (refused, done)).unwrap();
    assert!(matches!(refused, [Err(StoreError::AlreadyProcessed), Err(StoreError::Overtaken(_))]), "{refused:?}");
    let mut outbox: Vec<_> = done.iter().flat_map(|done| done.as_ref().unwrap().outbox.clone()).collect();
    outbox.sort();
    let unsent = fixture.store.unsent(BOT, OutboxId(0), 1_000).await.unwrap();
    assert_eq!(unsent.iter().map(|row| row.id).skip(1).collect::<Vec<_>>(), outbox);
    assert!(unsent.iter().all(|row| row.outgoing == message(row.key.chat)));
    let statistics = fixture.store.statistics(Some(BOT)).await.unwrap();
    let by_state: i64 = statistics.by_state.iter().map(|count| count.conversations).sum();
    assert_eq!((statistics.active, by_state, statistics.outbox), (400, 400, 400));
    let opened = join_all((1..=401).map(async |user| fixture.store.open(&person(user), Some(&mark(user))).await)).await;
    assert!(opened[..400].iter().all(|opened| matches!(opened, Ok(Opened::AlreadyProcessed))), "{opened:?}");
    assert!(matches!(opened[400], Ok(Opened::At { version: Version(0), stored: None })), "{:?}", opened[400]);
}

#[tokio::test]
async fn two_turns_of_a_conversation_may_share_a_call() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let mut second = first_turn(1, 2);
    (second.from, second.state) = (Version(1), StateChange::Keep);
    let (mut third, mut late) = (first_turn(1, 3), first_turn(1, 4));
    (third.from, third.state) = (Version(2), StateChange::Clear);
    late.from = Version(2);
    let turns = [first_turn(1, 1), second, third, late];
    let answers = join_all(turns.map(|turn| fixture.store.commit(fixture.epoch, turn))).await;
    let versions: Vec<_> = answers[..3].iter().map(|answer| answer.as_ref().unwrap().version.0).collect();
    assert_eq!(versions, [1, 2, 3]);
    assert!(matches!(answers[3], Err(StoreError::Overtaken(_))), "{:?}", answers[3]);
    let statistics = fixture.store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((statistics.active, statistics.by_state.len(), statistics.outbox), (0, 0, 3));
}

#[tokio::test]
async fn every_part_of_a_state_is_read_back() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let place = |state: &str| StateName { dialogue: "a \"dialogue\"\n".into(), state: state.into() };
    let states = [
        StoredState { value: "".into(), states: Vec::new(), expires_at: None },
        StoredState { value: "{\"a\":\"\\n\"}\nb 5:c".into(), states: vec![place("x y")], expires_at: Some(Millis(9)) },
        StoredState { value: "ю".into(), states: vec![place(""), place("b"), place("c")], expires_at: None },
    ];
    for (turn, stored) in states.into_iter().enumerate() {
        fixture.turn(1, StateChange::Set(stored.clone())).await.unwrap();
        fixture.turn(1, StateChange::Keep).await.unwrap();
        let version = Version(2 * turn as i64 + 2);
        let opened = fixture.store.open(&person(1), None).await.unwrap();
        assert_eq!(opened, Opened::At { version, stored: Some(stored) });
    }
}

#[tokio::test]
async fn a_long_history_is_read_completely_and_in_pages() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let turns = (0..1_100).flat_map(|turn| [(1, turn), (2, turn)]).map(|(user, turn)| {
        let mut commit = Commit::new(person(user), Version(turn), Millis(turn));
        let place = |number: i64| Some(StateName { dialogue: "survey".into(), state: format!("{number}").into() });
        // A turn without a transition does not change the history.
        commit.transition = (turn % 10 != 9).then(|| Transition {
            from: place(turn),
            to: if turn % 2 == 0 { place(turn + 1) } else { None },
            by: "text".into(),
            took_us: turn,
        });
        fixture.store.commit(fixture.epoch, commit)
    });
    assert!(join_all(turns).await.iter().all(Result::is_ok));
    let way = fixture.store.operator().transitions_of(&person(1), 0, 10_000).await.unwrap();
    let numbers = |way: &[opora::store::TransitionRow]| way.iter().map(|row| row.version.0 - 1).collect::<Vec<_>>();
    assert_eq!(numbers(&way), (0..1_100).filter(|turn| turn % 10 != 9).collect::<Vec<_>>());
    assert!(way.iter().all(|row| row.key == person(1) && row.took_us == row.at.0 && row.by == "text"));
    assert!(way.iter().all(|row| row.to.is_some() == (row.at.0 % 2 == 0)));
    let some = fixture.store.operator().transitions_of(&person(1), way[499].id, 3).await.unwrap();
    assert_eq!(some, way[500..503]);
    assert_eq!(fixture.store.operator().transitions(BOT, 0, 10_000).await.unwrap().len(), 1_980);
    assert!(fixture.store.operator().transitions_of(&person(3), 0, 10).await.unwrap().is_empty());
}

/// A second turn of person 1, and at the same time a settle of the first turn's message.
async fn commit_and_settle(fixture: &Fixture, sent: OutboxId) -> (StoreResult<Committed>, StoreResult<()>) {
    let settled = Settled { id: sent, outcome: Settlement::Sent { labelled: None } };
    let mut second = first_turn(1, 2);
    second.from = Version(1);
    let settle = fixture.store.settle(fixture.epoch, vec![settled], Millis(1));
    futures_util::join!(fixture.store.commit(fixture.epoch, second), settle)
}

#[tokio::test]
async fn a_settle_shares_the_call_of_a_turn() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let first = fixture.store.commit(fixture.epoch, first_turn(1, 1)).await.unwrap();
    let (_, before) = reads(&fixture);
    let (second, noted) = commit_and_settle(&fixture, first.outbox[0]).await;
    let (_, after) = reads(&fixture);
    noted.unwrap();
    assert_eq!(after - before, 1);
    let unsent = fixture.store.unsent(BOT, OutboxId(0), 10).await.unwrap();
    assert_eq!(unsent.iter().map(|row| row.id).collect::<Vec<_>>(), second.unwrap().outbox);
}

#[tokio::test]
async fn a_full_server_takes_the_settle_without_the_turn() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let first = fixture.store.commit(fixture.epoch, first_turn(1, 1)).await.unwrap();
    fixture.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let (turn, noted) = commit_and_settle(&fixture, first.outbox[0]).await;
    fixture.server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(matches!(turn, Err(StoreError::Unavailable(_))), "{turn:?}");
    noted.unwrap();
    assert!(fixture.store.unsent(BOT, OutboxId(0), 10).await.unwrap().is_empty());
}

/// The counter of changes in the partition of person 1.
fn writes(fixture: &Fixture) -> i64 {
    let seen = (0..16).map(|partition| {
        let header = format!("{{opora:{partition}}}:{BOT}:room");
        match fixture.server.command(&["HGET", &header, "commits"]) {
            redis::Value::BulkString(text) => String::from_utf8(text).unwrap().parse::<i64>().unwrap(),
            _ => 0,
        }
    });
    seen.sum()
}

#[tokio::test]
async fn every_change_is_counted() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let (store, epoch) = (&fixture.store, fixture.epoch);
    let mut counted = writes(&fixture);
    let mut counts = |what: &str, step: i64| {
        counted += step;
        assert_eq!(writes(&fixture), counted, "{what}");
    };
    let update = Incoming { key: person(1), origin: Origin::Update(mark(1)), body: "{}".into(), at: Millis(1) };
    store.receive(epoch, vec![update]).await.unwrap();
    counts("receive", 1);
    let mut commit = first_turn(1, 2);
    commit.effects = vec![Effect { kind: "download".into(), body: "{}".into() }];
    let committed = store.commit(epoch, commit).await.unwrap();
    counts("commit", 1);
    store.commit(epoch, first_turn(1, 2)).await.unwrap_err();
    counts("a commit that is refused", 0);
    let outcome = |effect: EffectId| Incoming {
        key: person(1),
        origin: Origin::Outcome(effect),
        body: "{}".into(),
        at: Millis(1),
    };
    for step in [1, 0] {
        store.finish_effect(epoch, committed.effects[0], outcome(committed.effects[0])).await.unwrap();
        counts("finish_effect", step);
    }
    let settled = Settled { id: committed.outbox[0], outcome: Settlement::Sent { labelled: None } };
    store.settle(epoch, vec![settled], Millis(1)).await.unwrap();
    counts("settle", 1);
    for step in [1, 0] {
        store.post(epoch, "news", vec![(person(1), message(1))], Millis(1)).await.unwrap();
        counts("post", step);
    }
    let parked = ParkedTurn {
        id: ParkedId(0),
        key: person(1),
        kind: "update".into(),
        body: "{}".into(),
        reason: "a bad day".into(),
        attempts: 1,
        at: Millis(1),
        retry: false,
    };
    let aside = store.park(epoch, vec![InputRef::DirectUpdate(mark(3))], parked, vec![message(1)]).await.unwrap();
    counts("park", 1);
    assert!(store.operator().retry_parked(aside.id).await.unwrap());
    counts("retry_parked", 1);
    for step in [1, 0] {
        store.operator().reset(&person(1), Millis(2)).await.unwrap();
        counts("reset", step);
    }
    let row = ConversationRow { key: person(1), version: Version(9), stored: None, updated_at: Millis(1) };
    assert!(store.operator().import(&row, true).await.unwrap());
    counts("import", 1);
}
