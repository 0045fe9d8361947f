//! Order and bounds at one instance's door.

use serde_json::json;

use super::*;
use crate::store::{MemoryStore, Origin, Seq};
use crate::testing::faulty::{FaultyStore, Trouble};

const BOT: i64 = 1;

fn update(id: i64) -> String {
    let chat = json!({"id": 5, "type": "private"});
    let from = json!({"id": 5, "is_bot": false, "first_name": "Anna"});
    json!({"update_id": id, "message": {"message_id": id, "date": 1, "chat": chat, "from": from, "text": "x"}})
        .to_string()
}

fn fleet(most: usize) -> (Arc<FaultyStore>, Arc<dyn Store>, Fleet) {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let fleet = Fleet::open(BOT, &store, &Clock::machine(), most);
    (faulty, store, fleet)
}

#[tokio::test(start_paused = true)]
async fn calls_are_stored_in_the_order_of_their_coming() {
    let (faulty, store, fleet) = fleet(1000);
    faulty.fail_next("deliver", 3, Trouble::Delay(Duration::from_millis(50)));
    let ids: Vec<i64> = (0..300).map(|number| (number * 7) % 300).collect();
    // Nobody waits for an answer before the next one comes.
    let calls: Vec<_> = ids.iter().map(|id| fleet.door().receive(update(*id)).unwrap()).collect();
    for call in calls {
        call.await.unwrap();
    }
    let rows = store.waiting(BOT, Seq(i64::MIN), 1000).await.unwrap();
    let stored = rows.iter().map(|row| match &row.incoming.origin {
        Origin::Update(mark) => mark.update_id,
        Origin::Outcome(_) => panic!("nobody asked for anything"),
    });
    assert_eq!(stored.collect::<Vec<_>>(), ids);
    assert!(faulty.calls("deliver") < 10, "calls that wait together are stored together");
    fleet.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_door_is_full_as_soon_as_too_much_waits_and_opens_when_it_does_not() {
    let (_, store, fleet) = fleet(2);
    let door = fleet.door();
    for id in 1..=2 {
        assert!(!door.is_full());
        door.receive(update(id)).unwrap().await.unwrap();
    }
    assert!(door.is_full());
    let rows = store.waiting(BOT, Seq(i64::MIN), 9).await.unwrap();
    assert_eq!(rows.len(), 2);
    // The same once more fills nothing.
    door.receive(update(1)).unwrap().await.unwrap();
    drop(door);
    fleet.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_finishes_the_calls_under_way() {
    let (faulty, store, fleet) = fleet(1000);
    faulty.fail_next("deliver", 1, Trouble::Delay(Duration::from_secs(1)));
    let call = fleet.door().receive(update(1)).unwrap();
    let closing = tokio::spawn(fleet.close());
    call.await.unwrap();
    closing.await.unwrap();
    assert_eq!(store.backlog(BOT, 9).await.unwrap(), 1);
}
