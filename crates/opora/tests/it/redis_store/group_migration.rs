//! A group that became a supergroup, with more unsent messages than are read at once.

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{OutboxId, Outgoing, RedisCode, Settled, Settlement, Store};
use opora_testkit::redis_server::RedisServer;
use serde_json::json;

use super::statistics::message;
use super::{BOT, Fixture, person};

const OLD: i64 = -500;
const NEW: i64 = -1_002_000_000_500;

#[tokio::test]
async fn all_messages_of_a_group_follow_its_migration() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    // Every third is the group's, in several posts, so in several partitions.
    let chat = |place: i64| if place % 3 == 0 { OLD } else { place };
    let mut ids = Vec::new();
    for post in 0..30 {
        let said = (post * 60..post * 60 + 60)
            .map(|place| (ConversationKey { chat: chat(place), ..person(1) }, message(chat(place))))
            .collect();
        ids.extend(fixture.store.post(fixture.epoch, &post.to_string(), said, Millis(1)).await.unwrap());
    }
    ids.sort_unstable();
    // It is refused at a later one; those before it were sent in between.
    let unsent = || async { fixture.store.unsent(BOT, OutboxId(0), 10_000).await.unwrap() };
    let first = unsent().await.into_iter().filter(|row| row.outgoing.chat == Some(OLD)).nth(40).unwrap().id;
    let moved = Settled { id: first, outcome: Settlement::Moved { from: OLD, to: NEW } };
    let before = unsent().await;
    fixture.store.settle(fixture.epoch, vec![moved], Millis(2)).await.unwrap();
    let after = unsent().await;
    assert_eq!(after.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    for (before, after) in before.into_iter().zip(after) {
        let follows = before.outgoing.chat == Some(OLD) && before.id >= first;
        assert_eq!(after.outgoing.chat, if follows { Some(NEW) } else { before.outgoing.chat }, "{:?}", after.id);
    }
}

/// A test is its own process, so the peak is its own.
#[tokio::test]
async fn moving_messages_takes_little_memory() {
    const TEXT_BYTES: usize = 8 << 10;
    const POSTS: usize = 200;
    const IN_A_POST: usize = 40;
    let fixture = Fixture::on(RedisServer::start(&[]), RedisCode::Functions).await;
    let body = json!({"chat_id": OLD, "text": "a".repeat(TEXT_BYTES)}).to_string();
    let mut first = None;
    for post in 0..POSTS {
        let key = ConversationKey { chat: OLD, ..person(1) };
        let said = vec![(key, Outgoing { body: body.as_str().into(), ..message(OLD) }); IN_A_POST];
        let ids = fixture.store.post(fixture.epoch, &post.to_string(), said, Millis(1)).await.unwrap();
        first = first.or(ids.first().copied());
    }
    let before = peak_bytes();
    let moved = Settled { id: first.unwrap(), outcome: Settlement::Moved { from: OLD, to: NEW } };
    fixture.store.settle(fixture.epoch, vec![moved], Millis(2)).await.unwrap();
    let (grown, waits) = (peak_bytes() - before, POSTS * IN_A_POST * TEXT_BYTES);
    println!("{} of {} MiB", grown >> 20, waits >> 20);
    assert!(grown < waits / 2, "{grown} bytes of {waits} were in memory at once");
    // All messages have moved.
    let mut after = OutboxId(0);
    for _ in 0..POSTS {
        let some = fixture.store.unsent(BOT, after, IN_A_POST).await.unwrap();
        assert!(some.len() == IN_A_POST && some.iter().all(|row| row.outgoing.chat == Some(NEW)));
        after = some.last().unwrap().id;
    }
}

/// The peak memory of this process so far.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    kib.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}
