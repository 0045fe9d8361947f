//! Order and limits of the calls to one instance.

use serde_json::json;

use super::*;
use crate::store::{MemoryStore, Seq};
use crate::testing::faulty::{Fault, FaultyStore};

const BOT: i64 = 1;

fn update(id: i64) -> String {
    let chat = json!({"id": 5, "type": "private"});
    let from = json!({"id": 5, "is_bot": false, "first_name": "Anna"});
    json!({"update_id": id, "message": {"message_id": id, "date": 1, "chat": chat, "from": from, "text": "x"}})
        .to_string()
}

fn intake(limit: usize) -> (Arc<FaultyStore>, Arc<dyn Store>, SharedIntake) {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let intake = SharedIntake::open(BOT, &store, &Clock::machine(), limit);
    (faulty, store, intake)
}

#[tokio::test(start_paused = true)]
async fn calls_are_stored_in_their_order() {
    let (faulty, store, intake) = intake(1000);
    faulty.fail_next("deliver", 3, Fault::Delay(Duration::from_millis(50)));
    let ids: Vec<i64> = (0..300).map(|number| (number * 7) % 300).collect();
    // No call waits for the answer to the one before.
    let calls: Vec<_> = ids.iter().map(|id| intake.queue().receive(update(*id)).unwrap()).collect();
    for call in calls {
        call.await.unwrap();
    }
    let rows = store.waiting(BOT, Seq(i64::MIN), 1000).await.unwrap();
    let stored = rows.iter().map(|row| row.incoming.mark().unwrap().update_id);
    assert_eq!(stored.collect::<Vec<_>>(), ids);
    assert!(faulty.calls("deliver") < 10, "calls that wait together are stored together");
    intake.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_full_when_too_many_updates_wait() {
    let (_, store, intake) = intake(2);
    let queue = intake.queue();
    for id in 1..=2 {
        assert!(!queue.is_full());
        queue.receive(update(id)).unwrap().await.unwrap();
    }
    assert!(queue.is_full());
    let rows = store.waiting(BOT, Seq(i64::MIN), 9).await.unwrap();
    assert_eq!(rows.len(), 2);
    // A repeated update takes no room.
    queue.receive(update(1)).unwrap().await.unwrap();
    drop(queue);
    intake.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_finishes_the_queued_calls() {
    let (faulty, store, intake) = intake(1000);
    faulty.fail_next("deliver", 1, Fault::Delay(Duration::from_secs(1)));
    let call = intake.queue().receive(update(1)).unwrap();
    let closing = tokio::spawn(intake.close());
    call.await.unwrap();
    closing.await.unwrap();
    assert_eq!(store.backlog(BOT, 9).await.unwrap(), 1);
}
