//! Limits in memory, no effect run twice, and numbers of attempts.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::clock::Millis;
use crate::store::{Commit, Effect, LeaseAnswer, MemoryStore, Opened};
use crate::testing::holder;

const BOT: i64 = 1;
const EFFECTS: usize = 2500;

/// An empty store and a lease on it.
async fn lease() -> (Arc<dyn Store>, Epoch) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
    (store, epoch)
}

/// Commits a turn that requests effects of these kinds.
async fn request(store: &Arc<dyn Store>, epoch: Epoch, kinds: impl Iterator<Item = &'static str>) {
    let key = ConversationKey::private(BOT, 7);
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("taken") };
    let effects = kinds.map(|kind| Effect { kind: kind.into(), body: "null".into() }).collect();
    store.commit(epoch, Commit { effects, ..Commit::new(key, version, Millis(0)) }).await.unwrap();
}

/// Starts the stored effects.
fn start(store: Arc<dyn Store>, epoch: Epoch, registry: EffectRegistry) -> (Effects, Outcomes) {
    let (sender, outcomes) = mpsc::unbounded_channel();
    let clock = Clock::manual(Millis(0));
    let effects = Effects::new((BOT, epoch), registry, store, clock, EffectSettings::default(), sender);
    effects.reload();
    (effects, outcomes)
}

type Outcomes = mpsc::UnboundedReceiver<(ConversationKey, QueuedInput)>;

/// A store with more effects than fit into memory.
async fn full_store() -> (Arc<dyn Store>, Epoch) {
    let (store, epoch) = lease().await;
    for _ in 0..EFFECTS / 100 {
        request(&store, epoch, std::iter::repeat_n("work", 100)).await;
    }
    (store, epoch)
}

#[tokio::test(start_paused = true)]
async fn effects_in_memory_are_limited_and_each_runs_once() {
    let (store, epoch) = full_store().await;
    let began = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(Semaphore::new(0));
    let mut registry = EffectRegistry::default();
    let count = Arc::clone(&began);
    let open = Arc::clone(&gate);
    registry.add("work", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let open = Arc::clone(&open);
        async move {
            open.acquire().await?.forget();
            Ok(Value::Null)
        }
    });
    let (effects, mut outcomes) = start(store, epoch, registry);
    effects.reload();
    // Time passes only when nothing else is left to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(effects.0.held.lock().len(), MAX_HELD);
    assert_eq!(began.load(Ordering::SeqCst), EffectSettings::default().concurrency);
    gate.add_permits(Semaphore::MAX_PERMITS);
    for _ in 0..EFFECTS {
        outcomes.recv().await.unwrap();
    }
    effects.close().await;
    assert_eq!(began.load(Ordering::SeqCst), EFFECTS);
    assert_eq!(effects.0.held.lock().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_can_have_its_own_number_of_attempts() {
    let (store, epoch) = lease().await;
    request(&store, epoch, ["hasty", "patient"].into_iter()).await;
    let mut registry = EffectRegistry::default();
    let tries = Arc::new(Mutex::new(Vec::new()));
    for kind in ["hasty", "patient"] {
        let tries = Arc::clone(&tries);
        registry.add(kind, move |request| {
            tries.lock().push((kind, request.attempt, request.is_last));
            async { Err(EffectError::Retry("not today".into())) }
        });
    }
    registry.set_attempts("hasty", 1);
    let (sender, mut outcomes) = mpsc::unbounded_channel();
    let settings = EffectSettings { attempts: 2, ..EffectSettings::default() };
    let effects = Effects::new((BOT, epoch), registry, store, Clock::manual(Millis(0)), settings, sender);
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
async fn effects_that_hang_do_not_delay_other_kinds() {
    let (store, epoch) = full_store().await;
    request(&store, epoch, std::iter::repeat_n(DOWNLOAD, 100)).await;
    let mut registry = EffectRegistry::default();
    registry.add("work", |_| std::future::pending());
    registry.add(DOWNLOAD, |_| async { Ok(Value::Null) });
    let (effects, mut outcomes) = start(store, epoch, registry);
    for _ in 0..100 {
        let outcome = tokio::time::timeout(EffectSettings::default().deadline / 2, outcomes.recv()).await;
        let Ok(Some((_, QueuedInput::Inbox(row)))) = outcome else { panic!("{outcome:?}") };
        assert!(row.incoming.body.contains(DOWNLOAD), "{}", row.incoming.body);
    }
    effects.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_panics_at_once_is_tried_again() {
    let (store, epoch) = lease().await;
    request(&store, epoch, ["work"].into_iter()).await;
    let mut registry = EffectRegistry::default();
    registry.add("work", |request| {
        assert!(request.attempt > 1, "the first try fails");
        async move { Ok(request.attempt.into()) }
    });
    let (effects, mut outcomes) = start(store, epoch, registry);
    let outcome = tokio::time::timeout(Duration::from_secs(60), outcomes.recv()).await;
    let Ok(Some((_, QueuedInput::Inbox(row)))) = outcome else { panic!("{outcome:?}") };
    assert!(row.incoming.body.contains(r#""ok":2"#), "{}", row.incoming.body);
    effects.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_effect_without_a_key_uses_its_row_id() {
    let (store, epoch) = lease().await;
    request(&store, epoch, ["work"].into_iter()).await;
    let number = store.effects(BOT, EffectId::default(), 1).await.unwrap()[0].id.0;
    let mut registry = EffectRegistry::default();
    registry.add("work", |request| async move { Ok(request.key.into()) });
    let (effects, mut outcomes) = start(store, epoch, registry);
    let Some((_, QueuedInput::Inbox(row))) = outcomes.recv().await else { panic!("no outcome") };
    assert!(row.incoming.body.contains(&format!(r#""ok":"{BOT}-{number}""#)), "{}", row.incoming.body);
    effects.close().await;
}
