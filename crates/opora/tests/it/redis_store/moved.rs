//! A group that became a supergroup, with more to be sent than is read at once.

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{OutboxId, RedisCode, Settled, Settlement, Store};

use super::counting::message;
use super::{BOT, Bench, person};

const OLD: i64 = -500;
const NEW: i64 = -1_002_000_000_500;

#[tokio::test]
async fn all_that_was_said_to_a_group_follows_it_however_much_waits() {
    let bench = Bench::new(RedisCode::Functions).await;
    // Every third is the group's, in several posts, so in several partitions.
    let chat = |place: i64| if place % 3 == 0 { OLD } else { place };
    let mut ids = Vec::new();
    for post in 0..30 {
        let said = (post * 60..post * 60 + 60)
            .map(|place| (DialogueKey { chat: chat(place), ..person(1) }, message(chat(place))))
            .collect();
        ids.extend(bench.store.post(bench.epoch, &post.to_string(), said, Millis(1)).await.unwrap());
    }
    ids.sort_unstable();
    // It is refused at a later one; those before it were sent in between.
    let unsent = || async { bench.store.unsent(BOT, OutboxId(0), 10_000).await.unwrap() };
    let first = unsent().await.into_iter().filter(|row| row.outgoing.chat == Some(OLD)).nth(40).unwrap().id;
    let moved = Settled { id: first, outcome: Settlement::Moved { from: OLD, to: NEW } };
    let before = unsent().await;
    bench.store.settle(bench.epoch, vec![moved], Millis(2)).await.unwrap();
    let after = unsent().await;
    assert_eq!(after.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    for (before, after) in before.into_iter().zip(after) {
        let follows = before.outgoing.chat == Some(OLD) && before.id >= first;
        assert_eq!(after.outgoing.chat, if follows { Some(NEW) } else { before.outgoing.chat }, "{:?}", after.id);
    }
}
