//! What is counted without looking at everything, and what a turn costs.

use std::collections::BTreeMap;

use opora::clock::Millis;
use opora::store::{
    Bounds, Commit, ConversationRow, Effect, Filter, IfUnsure, Mark, OutboxId, Outgoing, RedisCode, StateChange,
    Statistics, Store, Stored, Taken, TimerChange, Transition, Version,
};

use super::{BOT, Bench, at_state, person, version};

pub(super) fn message(chat: i64) -> Outgoing {
    Outgoing {
        chat: Some(chat),
        method: "sendMessage".into(),
        body: "{}".into(),
        uploads: Vec::new(),
        if_unsure: IfUnsure::Resend,
        label: None,
        edits_label: None,
        secret: false,
    }
}

/// The same numbers, by reading everything.
async fn scanned(bench: &Bench) -> Statistics {
    let store = &bench.store;
    let open = store.list(&Filter::default(), None, 10_000).await.unwrap();
    let mut by_place = BTreeMap::new();
    for place in open.iter().filter_map(|row| row.stored.as_ref()?.places.first()) {
        *by_place.entry(place.clone()).or_insert(0) += 1;
    }
    let unsent = store.unsent(BOT, OutboxId(0), 10_000).await.unwrap();
    let counted = by_place.into_iter();
    Statistics {
        active: open.len() as i64,
        by_place: counted.map(|(place, conversations)| opora::store::PlaceCount { place, conversations }).collect(),
        inbox: store.waiting(BOT, Default::default(), 10_000).await.unwrap().len() as i64,
        outbox: unsent.len() as i64,
        outbox_oldest: unsent.iter().map(|row| row.at).min(),
        failed: 0,
        timers: store.due_timers(BOT, Millis(i64::MAX), 10_000).await.unwrap().len() as i64,
        effects: store.effects(BOT, Default::default(), 10_000).await.unwrap().len() as i64,
        parked: store.parked(Some(BOT), 10_000).await.unwrap().len() as i64,
    }
}

#[tokio::test]
async fn statistics_equal_a_scan_of_everything() {
    let bench = Bench::new(RedisCode::Functions).await;
    // A small generator of its own: the same steps in every run.
    let mut seed = 7_u64;
    let mut roll = move |sides: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % sides) as i64
    };
    for step in 1..=600 {
        let user = 1 + roll(40);
        let mut commit = Commit::new(person(user), version(&bench.store, user).await.unwrap(), Millis(step));
        match roll(8) {
            0 => commit.state = StateChange::Clear,
            1 => commit.timers = vec![TimerChange::Cancel("remind".into())],
            2 => assert!(
                [true, false].contains(&bench.store.operator().reset(&person(user), Millis(step)).await.unwrap())
            ),
            3 => {
                let StateChange::Set(stored) = at_state("imported") else { unreachable!() };
                let row = ConversationRow {
                    key: person(user),
                    version: Version(1),
                    stored: Some(Stored { places: Vec::new(), ..stored }),
                    updated_at: Millis(step),
                };
                bench.store.operator().import(&row, roll(2) == 0).await.unwrap();
            }
            4 => {
                let bounds = Bounds {
                    marks_before: Millis(step - 50),
                    records_before: Millis(step - 50),
                    parked_most: 5,
                    marks_live: None,
                };
                bench.store.clean(bench.epoch, bounds).await.unwrap();
            }
            place => {
                commit.state = at_state(&format!("state {}", place % 3));
                commit.outgoing = vec![message(user)];
                commit.timers =
                    vec![TimerChange::Set { name: "remind".into(), due_at: Millis(step + 5), body: "{}".into() }];
            }
        }
        // Where the operator was faster, the turn is refused.
        let _ = bench.store.commit(bench.epoch, commit).await;
    }
    let counted = bench.store.statistics(Some(BOT)).await.unwrap();
    assert!(counted.active > 5 && counted.by_place.len() == 3, "{counted:?}");
    assert_eq!(counted, scanned(&bench).await);
}

#[tokio::test]
async fn statistics_ask_no_more_of_a_thousand_conversations_than_of_ten() {
    let bench = Bench::new(RedisCode::Functions).await;
    let (mut costs, mut answers, mut there) = (Vec::new(), Vec::new(), 0);
    for many in [10, 1_000] {
        for user in there + 1..=many {
            bench.turn(user, at_state("asked")).await.unwrap();
        }
        there = many;
        // What the asking itself costs is the same both times.
        let (bytes_before, before) = (answered_bytes(&bench), commands(&bench));
        let counted = bench.store.statistics(Some(BOT)).await.unwrap();
        let (after, bytes_after) = (commands(&bench), answered_bytes(&bench));
        assert_eq!((counted.active, counted.by_place.len()), (many, 1));
        let cost = after.into_iter().map(|(name, calls)| (calls - before.get(&name).copied().unwrap_or(0), name));
        costs.push(cost.filter(|(calls, _)| *calls > 0).map(|(calls, name)| (name, calls)).collect::<BTreeMap<_, _>>());
        answers.push(bytes_after - bytes_before);
    }
    assert_eq!(costs[0], costs[1]);
    // What is looked at whole in each partition, `HGETALL` of the counts, is answered whole too; so it would show here.
    let grown = answers[1].saturating_sub(answers[0]);
    assert!(grown < PARTITIONS * 128, "{answers:?}");
    let everything = ["keys", "scan", "sscan", "hscan", "zscan", "smembers", "hkeys", "hvals", "sort", "randomkey"];
    for command in everything {
        assert!(!costs[1].contains_key(command), "{command}: {:?}", costs[1]);
    }
    assert_eq!(costs[1].get("hgetall"), Some(&PARTITIONS), "{:?}", costs[1]);
}

/// In so many parts the keys of a bot lie, each with counts of its own.
const PARTITIONS: u64 = 16;

/// How often each command was carried out, within functions too.
fn commands(bench: &Bench) -> BTreeMap<String, u64> {
    let calls = |line: &str| {
        let (name, calls) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), calls.split(',').next()?.parse().ok()?))
    };
    info(bench, "commandstats").lines().filter_map(calls).collect()
}

/// How much the server has answered to anybody.
fn answered_bytes(bench: &Bench) -> u64 {
    number_in(&info(bench, "stats"), "total_net_output_bytes:")
}

/// How often the server has read from its sockets, and how many functions were called.
pub(super) fn reads(bench: &Bench) -> (u64, u64) {
    let info = info(bench, "everything");
    (number_in(&info, "total_reads_processed:"), number_in(&info, "cmdstat_fcall:calls="))
}

fn info(bench: &Bench, section: &str) -> String {
    let redis::Value::BulkString(info) = bench.server.say(&["INFO", section]) else { panic!("info is a text") };
    String::from_utf8(info).unwrap()
}

fn number_in(info: &str, begin: &str) -> u64 {
    let line = info.lines().find_map(|line| line.strip_prefix(begin));
    line.map_or(0, |rest| rest.split(',').next().unwrap().trim().parse().unwrap())
}

#[tokio::test]
async fn a_turn_is_one_round_trip() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.open(&person(1), None).await.unwrap();
    // What the asking itself costs.
    let (first, _) = reads(&bench);
    let (second, calls_before) = reads(&bench);
    for turn in 0..50 {
        let mut commit = Commit::new(person(1), Version(turn), Millis(turn));
        let mark = Mark { bot: BOT, update_id: turn, identity: "message".into() };
        (commit.takes, commit.state) = (vec![Taken::Fresh(mark)], at_state("asked"));
        commit.outgoing = vec![message(1), message(1)];
        commit.timers = vec![TimerChange::Set { name: "remind".into(), due_at: Millis(turn), body: "{}".into() }];
        commit.effects = vec![Effect { kind: "download".into(), body: "{}".into() }];
        commit.transition = Some(Transition { from: None, to: None, by: "text".into(), took_us: 1 });
        bench.store.commit(bench.epoch, commit).await.unwrap();
    }
    let (third, calls_after) = reads(&bench);
    assert_eq!(calls_after - calls_before, 50);
    assert_eq!(third - second - (second - first), 50);
}
