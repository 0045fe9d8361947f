//! How much is held in memory, that nothing is done twice, and how often it is tried.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::clock::Millis;
use crate::store::{Commit, Effect, LeaseAnswer, MemoryStore, Opened};
use crate::testing::holder;

const BOT: i64 = 1;
const WISHES: usize = 2500;

/// An empty store, and the right to write there.
async fn lease() -> (Arc<dyn Store>, Epoch) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
    (store, epoch)
}

/// A turn of somebody who asks for work of these kinds.
async fn ask(store: &Arc<dyn Store>, epoch: Epoch, kinds: impl Iterator<Item = &'static str>) {
    let key = DialogueKey::private(BOT, 7);
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("taken") };
    let effects = kinds.map(|kind| Effect { kind: kind.into(), body: "null".into() }).collect();
    store.commit(epoch, Commit { effects, ..Commit::new(key, version, Millis(0)) }).await.unwrap();
}

/// Carries out what the store has.
fn begin(store: Arc<dyn Store>, epoch: Epoch, register: Register) -> (Effects, Outcomes) {
    let (sender, outcomes) = mpsc::unbounded_channel();
    let clock = Clock::set_by_hand(Millis(0));
    let effects = Effects::new((BOT, epoch), register, store, clock, EffectSettings::default(), sender);
    effects.reload();
    (effects, outcomes)
}

type Outcomes = mpsc::UnboundedReceiver<(DialogueKey, Letter)>;

/// A store with more wishes than are held at once.
async fn full_of_wishes() -> (Arc<dyn Store>, Epoch) {
    let (store, epoch) = lease().await;
    for _ in 0..WISHES / 100 {
        ask(&store, epoch, std::iter::repeat_n("work", 100)).await;
    }
    (store, epoch)
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wishes_are_held_and_each_is_done_once() {
    let (store, epoch) = full_of_wishes().await;
    let began = Arc::new(AtomicUsize::new(0));
    let doors = Arc::new(Semaphore::new(0));
    let mut register = Register::default();
    let count = Arc::clone(&began);
    let open = Arc::clone(&doors);
    register.add("work", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let open = Arc::clone(&open);
        async move {
            open.acquire().await?.forget();
            Ok(Value::Null)
        }
    });
    let (effects, mut outcomes) = begin(store, epoch, register);
    effects.reload();
    // Time passes only when nothing else is left to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(effects.0.held.lock().len(), HELD_MOST);
    assert_eq!(began.load(Ordering::SeqCst), EffectSettings::default().at_once);
    doors.add_permits(Semaphore::MAX_PERMITS);
    for _ in 0..WISHES {
        outcomes.recv().await.unwrap();
    }
    effects.close().await;
    assert_eq!(began.load(Ordering::SeqCst), WISHES);
    assert_eq!(effects.0.held.lock().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_work_is_tried_as_often_as_it_says_and_others_as_usual() {
    let (store, epoch) = lease().await;
    ask(&store, epoch, ["hasty", "patient"].into_iter()).await;
    let mut register = Register::default();
    let tries = Arc::new(Mutex::new(Vec::new()));
    for kind in ["hasty", "patient"] {
        let tries = Arc::clone(&tries);
        register.add(kind, move |asked| {
            tries.lock().push((kind, asked.attempt, asked.is_last));
            async { Err(EffectError::Retry("not today".into())) }
        });
    }
    register.set_attempts("hasty", 1);
    let (sender, mut outcomes) = mpsc::unbounded_channel();
    let settings = EffectSettings { attempts: 2, ..EffectSettings::default() };
    let effects = Effects::new((BOT, epoch), register, store, Clock::set_by_hand(Millis(0)), settings, sender);
    effects.reload();
    for _ in 0..2 {
        outcomes.recv().await.unwrap();
    }
    effects.close().await;
    let mut tries = tries.lock().clone();
    tries.sort_unstable();
    assert_eq!(tries, [("hasty", 1, true), ("patient", 1, false), ("patient", 2, true)]);
}

#[tokio::test(start_paused = true)]
async fn downloads_go_on_while_more_work_of_another_kind_hangs_than_is_held() {
    let (store, epoch) = full_of_wishes().await;
    ask(&store, epoch, std::iter::repeat_n(DOWNLOAD, 100)).await;
    let mut register = Register::default();
    register.add("work", |_| std::future::pending());
    register.add(DOWNLOAD, |_| async { Ok(Value::Null) });
    let (effects, mut outcomes) = begin(store, epoch, register);
    for _ in 0..100 {
        let outcome = tokio::time::timeout(EffectSettings::default().deadline / 2, outcomes.recv()).await;
        let Ok(Some((_, Letter::Inbox(row)))) = outcome else { panic!("{outcome:?}") };
        assert!(row.incoming.body.contains(DOWNLOAD), "{}", row.incoming.body);
    }
    effects.close().await;
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_before_it_has_begun_to_wait_is_tried_again() {
    let (store, epoch) = lease().await;
    ask(&store, epoch, ["work"].into_iter()).await;
    let mut register = Register::default();
    register.add("work", |asked| {
        assert!(asked.attempt > 1, "the first try fails");
        async move { Ok(asked.attempt.into()) }
    });
    let (effects, mut outcomes) = begin(store, epoch, register);
    let outcome = tokio::time::timeout(Duration::from_secs(60), outcomes.recv()).await;
    let Ok(Some((_, Letter::Inbox(row)))) = outcome else { panic!("{outcome:?}") };
    assert!(row.incoming.body.contains(r#""ok":2"#), "{}", row.incoming.body);
    effects.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_an_earlier_version_has_stored_is_known_by_its_number() {
    let (store, epoch) = lease().await;
    ask(&store, epoch, ["work"].into_iter()).await;
    let number = store.effects(BOT, EffectId::default(), 1).await.unwrap()[0].id.0;
    let mut register = Register::default();
    register.add("work", |asked| async move { Ok(asked.key.into()) });
    let (effects, mut outcomes) = begin(store, epoch, register);
    let Some((_, Letter::Inbox(row))) = outcomes.recv().await else { panic!("no outcome") };
    assert!(row.incoming.body.contains(&format!(r#""ok":"{BOT}-{number}""#)), "{}", row.incoming.body);
    effects.close().await;
}
