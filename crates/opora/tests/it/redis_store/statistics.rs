//! Statistics without a full scan, and the cost of a turn.

use std::collections::BTreeMap;

use opora::clock::Millis;
use opora::store::{
    CleaningLimits, Commit, ConversationRow, Effect, Filter, InputRef, Mark, OutboxId, Outgoing, RedisCode,
    StateChange, Statistics, Store, StoredState, TimerChange, Transition, Version,
};

use super::{BOT, Fixture, at_state, person, version};

pub(super) fn message(chat: i64) -> Outgoing {
    Outgoing::new(Some(chat), "sendMessage", "{}")
}

/// The same statistics, by reading everything.
async fn scanned(fixture: &Fixture) -> Statistics {
    let store = &fixture.store;
    let open = store.list(&Filter::default(), None, 10_000).await.unwrap();
    let mut by_state = BTreeMap::new();
    for place in open.iter().filter_map(|row| row.stored.as_ref()?.states.first()) {
        *by_state.entry(place.clone()).or_insert(0) += 1;
    }
    let waiting = store.waiting(BOT, Default::default(), 10_000).await.unwrap();
    let effects = store.effects(BOT, Default::default(), 10_000).await.unwrap();
    let unsent = store.unsent(BOT, OutboxId(0), 10_000).await.unwrap();
    let counted = by_state.into_iter();
    Statistics {
        active: open.len() as i64,
        by_state: counted.map(|(state, conversations)| opora::store::StateCount { state, conversations }).collect(),
        inbox: waiting.len() as i64,
        inbox_oldest: waiting.iter().map(|row| row.incoming.at).min(),
        outbox: unsent.len() as i64,
        outbox_oldest: unsent.iter().map(|row| row.at).min(),
        failed: 0,
        timers: store.due_timers(BOT, Millis(i64::MAX), 10_000).await.unwrap().len() as i64,
        effects: effects.len() as i64,
        effects_oldest: effects.iter().map(|row| row.at).min(),
        parked: store.parked(Some(BOT), 10_000).await.unwrap().len() as i64,
    }
}

#[tokio::test]
async fn statistics_equal_a_full_scan() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    // A small generator: the same steps in every run.
    let mut seed = 7_u64;
    let mut roll = move |sides: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % sides) as i64
    };
    for step in 1..=600 {
        let user = 1 + roll(40);
        let mut commit = Commit::new(person(user), version(&fixture.store, user).await.unwrap(), Millis(step));
        match roll(8) {
            0 => commit.state = StateChange::Clear,
            1 => commit.timers = vec![TimerChange::Cancel("remind".into())],
            2 => assert!(
                [true, false].contains(&fixture.store.operator().reset(&person(user), Millis(step)).await.unwrap())
            ),
            3 => {
                let StateChange::Set(stored) = at_state("imported") else { unreachable!() };
                let row = ConversationRow {
                    key: person(user),
                    version: Version(1),
                    stored: Some(StoredState { states: Vec::new(), ..stored }),
                    updated_at: Millis(step),
                };
                fixture.store.operator().import(&row, roll(2) == 0).await.unwrap();
            }
            4 => {
                let bounds = CleaningLimits {
                    marks_before: Millis(step - 50),
                    records_before: Millis(step - 50),
                    max_parked: 5,
                    mark_ttl: None,
                };
                fixture.store.clean(fixture.epoch, bounds).await.unwrap();
            }
            place => {
                commit.state = at_state(&format!("state {}", place % 3));
                commit.outgoing = vec![message(user)];
                commit.timers =
                    vec![TimerChange::Set { name: "remind".into(), due_at: Millis(step + 5), body: "{}".into() }];
            }
        }
        // If the operator was faster, the turn is refused.
        let _ = fixture.store.commit(fixture.epoch, commit).await;
    }
    let counted = fixture.store.statistics(Some(BOT)).await.unwrap();
    assert!(counted.active > 5 && counted.by_state.len() == 3, "{counted:?}");
    assert_eq!(counted, scanned(&fixture).await);
}

#[tokio::test]
async fn statistics_cost_the_same_for_many_conversations() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let (mut costs, mut answers, mut there) = (Vec::new(), Vec::new(), 0);
    for many in [10, 1_000] {
        for user in there + 1..=many {
            fixture.turn(user, at_state("asked")).await.unwrap();
        }
        there = many;
        // The cost of the measurement itself is the same both times.
        let (bytes_before, before) = (answered_bytes(&fixture), commands(&fixture));
        let counted = fixture.store.statistics(Some(BOT)).await.unwrap();
        let (after, bytes_after) = (commands(&fixture), answered_bytes(&fixture));
        assert_eq!((counted.active, counted.by_state.len()), (many, 1));
        let cost = after.into_iter().map(|(name, calls)| (calls - before.get(&name).copied().unwrap_or(0), name));
        costs.push(cost.filter(|(calls, _)| *calls > 0).map(|(calls, name)| (name, calls)).collect::<BTreeMap<_, _>>());
        answers.push(bytes_after - bytes_before);
    }
    assert_eq!(costs[0], costs[1]);
    // Hashes that are read completely in each partition are also answered completely, so they would show here.
    let grown = answers[1].saturating_sub(answers[0]);
    assert!(grown < PARTITIONS * 128, "{answers:?}");
    let everything = ["keys", "scan", "sscan", "hscan", "zscan", "smembers", "hkeys", "hvals", "sort", "randomkey"];
    for command in everything {
        assert!(!costs[1].contains_key(command), "{command}: {:?}", costs[1]);
    }
    assert_eq!(costs[1].get("hgetall"), Some(&PARTITIONS), "{:?}", costs[1]);
}

/// The number of partitions of a bot's keys. Each has its own counters.
const PARTITIONS: u64 = 16;

/// How often each command ran, including those within functions.
fn commands(fixture: &Fixture) -> BTreeMap<String, u64> {
    let calls = |line: &str| {
        let (name, calls) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), calls.split(',').next()?.parse().ok()?))
    };
    info(fixture, "commandstats").lines().filter_map(calls).collect()
}

/// How many bytes the server has sent to all clients.
fn answered_bytes(fixture: &Fixture) -> u64 {
    number_in(&info(fixture, "stats"), "total_net_output_bytes:")
}

/// How often the server has read from its sockets, and how many functions were called.
pub(super) fn reads(fixture: &Fixture) -> (u64, u64) {
    let info = info(fixture, "everything");
    (number_in(&info, "total_reads_processed:"), number_in(&info, "cmdstat_fcall:calls="))
}

fn info(fixture: &Fixture, section: &str) -> String {
    let redis::Value::BulkString(info) = fixture.server.command(&["INFO", section]) else { panic!("info is a text") };
    String::from_utf8(info).unwrap()
}

fn number_in(info: &str, begin: &str) -> u64 {
    let line = info.lines().find_map(|line| line.strip_prefix(begin));
    line.map_or(0, |rest| rest.split(',').next().unwrap().trim().parse().unwrap())
}

#[tokio::test]
async fn a_turn_is_one_round_trip() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.open(&person(1), None).await.unwrap();
    // The cost of the measurement itself.
    let (first, _) = reads(&fixture);
    let (second, calls_before) = reads(&fixture);
    for turn in 0..50 {
        let mut commit = Commit::new(person(1), Version(turn), Millis(turn));
        let mark = Mark { bot: BOT, update_id: turn, identity: "message".into() };
        (commit.processed, commit.state) = (vec![InputRef::DirectUpdate(mark)], at_state("asked"));
        commit.outgoing = vec![message(1), message(1)];
        commit.timers = vec![TimerChange::Set { name: "remind".into(), due_at: Millis(turn), body: "{}".into() }];
        commit.effects = vec![Effect { kind: "download".into(), body: "{}".into() }];
        commit.transition = Some(Transition { from: None, to: None, by: "text".into(), took_us: 1 });
        fixture.store.commit(fixture.epoch, commit).await.unwrap();
    }
    let (third, calls_after) = reads(&fixture);
    assert_eq!(calls_after - calls_before, 50);
    assert_eq!(third - second - (second - first), 50);
}
