//! What is handed over at once, and what goes into the inbox first.

use futures_util::future::BoxFuture;

use super::*;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::mailbox::{MailboxSettings, Reader};
use crate::store::{LeaseAnswer, MemoryStore};

/// Is done with a letter as soon as it has it.
struct Quick;

impl Reader for Quick {
    fn process<'a>(&'a self, _: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move { letters.iter().for_each(Letter::durable) })
    }
}

/// Is never done with those of one person, in its handler or behind it, and at once with those of others.
struct Stuck {
    person: i64,
    in_hand: bool,
}

impl Reader for Stuck {
    fn process<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if key.user == self.person {
                letters.iter().for_each(|letter| letter.in_hand(self.in_hand));
                std::future::pending::<()>().await;
            }
            letters.iter().for_each(Letter::durable);
        })
    }
}

fn intake() -> Intake {
    read_by(Arc::new(MemoryStore::new()), Epoch(1), Arc::new(Quick))
}

fn read_by(store: Arc<dyn Store>, epoch: Epoch, reader: Arc<dyn Reader>) -> Intake {
    Intake {
        bot: 1,
        epoch,
        mailboxes: Mailboxes::new(reader, Arc::clone(&store), MailboxSettings::default()),
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

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_holds_up_the_intake_for_less_than_a_commit_does() {
    for (in_hand, most) in [(true, 5), (false, 30)] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let holder = serde_json::from_value(serde_json::json!({
            "host": "h", "pid": 1, "process_start": 1, "boot_id": "b", "pid_namespace": "n", "since": 0, "token": "t",
            "ttl_ms": 60_000,
        }));
        let LeaseAnswer::Granted(epoch) = store.claim(1, &holder.unwrap(), None).await.unwrap() else {
            panic!("the lease is free");
        };
        let intake = read_by(Arc::clone(&store), epoch, Arc::new(Stuck { person: 7, in_hand }));
        let began = tokio::time::Instant::now();
        let (handed, ..) = intake.hand_over(vec![update(1, 7), update(2, 8), update(3, 9)]);
        intake.wait_for(handed).await.unwrap();
        let took = began.elapsed();
        assert!(took <= Duration::from_millis(most) && took >= A_LOOK * 2, "{took:?}");
        let stored = store.waiting_for(&DialogueKey::private(1, 7), Seq(i64::MIN), 9).await.unwrap();
        assert_eq!(stored.len(), 1, "it is durable");
        assert!(!intake.haste.is_on(), "the next batch waits for nobody");
    }
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
