//! What is handed over at once, and what goes into the inbox first.

use futures_util::future::BoxFuture;

use super::*;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::mailbox::{MailboxSettings, Reader};
use crate::store::MemoryStore;

/// Is done with a letter as soon as it has it.
struct Quick;

impl Reader for Quick {
    fn read<'a>(&'a self, _: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move { letters.iter().for_each(Letter::durable) })
    }
}

fn intake() -> Intake {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    Intake {
        bot: 1,
        epoch: Epoch(1),
        mailboxes: Mailboxes::new(Arc::new(Quick), Arc::clone(&store), MailboxSettings::default()),
        store,
        clock: Clock::set_by_hand(Millis(0)),
        unsure: Arc::default(),
        haste: Arc::new(Haste::new(true)),
        arriving: Arriving::default(),
    }
}

fn update(update_id: i64, user: i64) -> Incoming {
    let mark = Mark { bot: 1, update_id, identity: "message:1".into() };
    Incoming { key: DialogueKey::private(1, user), origin: Origin::Update(mark), body: "{}".into(), at: Millis(0) }
}

#[tokio::test]
async fn an_update_does_not_overtake_one_that_is_on_its_way_into_the_inbox() {
    let intake = intake();
    let (first, ..) = intake.hand_over(vec![update(1, 7)]);
    assert_eq!(first.all.len(), 1);
    // The first is under way, so the second has to be stored, behind it.
    let (fresh, rest, on_its_way) = intake.hand_over(vec![update(2, 7), update(3, 8)]);
    assert!(matches!(&rest[..], [Pending::Begun(_), Pending::New(_)]));
    assert_eq!(fresh.all.len(), 1, "another conversation is not concerned");
    assert!(first.arrivals.all_durable(Duration::from_secs(5)).await);
    while intake.mailboxes.waiting() > 0 {
        tokio::task::yield_now().await;
    }
    // The first is done, and the second not there yet.
    let (fresh, rest, _) = intake.hand_over(vec![update(4, 7)]);
    assert!(fresh.all.is_empty() && rest.len() == 1);
    drop(on_its_way);
    let (fresh, ..) = intake.hand_over(vec![update(5, 7)]);
    assert_eq!(fresh.all.len(), 1);
}

#[tokio::test]
async fn of_one_batch_nothing_overtakes_an_album() {
    let intake = intake();
    let mut photo = update(1, 7);
    photo.body =
        r#"{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private","first_name":"Anna"},
        "media_group_id":"1","photo":[]}}"#
            .into();
    let (fresh, rest, _) = intake.hand_over(vec![photo, update(2, 7), update(3, 8)]);
    assert_eq!((fresh.all.len(), rest.len()), (1, 2));
}
