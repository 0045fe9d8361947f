//! Messages for many chats.

use super::*;
use crate::bot::HandleError;
use crate::effects::{EffectRegistry, EffectSettings, Effects};
use crate::mailbox::QueuedInput;
use crate::outbox::{Broadcast, BroadcastError, Progress};
use crate::store::{Commit, Effect, Opened};
use crate::telegram::{Button, Say};
use crate::testing::faulty::{Fault, FaultyStore};

fn news() -> Say {
    Say::text("news").buttons([[Button::new("Read", "read")]])
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_reaches_all_once_and_lets_dialogues_go_first() {
    let mut stage = Stage::new(CourierSettings::default()).await;
    let broadcast = Broadcast::new("news", news(), 1..=200);
    let watch = broadcast.watch();
    let courier = stage.courier.clone();
    let running = tokio::spawn(async move { broadcast.run(&courier).await });
    for turn in 0..5 {
        let before = timer_now();
        stage.send(vec![to(1_000, format!("{turn}"))]).await;
        stage.until("the dialogue's message", |stage| stage.texts_to(1_000).len() == turn + 1).await;
        assert!(timer_now() - before < Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    running.await.unwrap().unwrap();
    stage.settled().await;
    assert!((1..=200).all(|chat| stage.texts_to(chat) == ["news"]));
    let expected = Progress { total: Some(200), posted: 200, sent: 200, ..Progress::default() };
    assert_eq!(watch.progress(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_sends_answers_before_stored_reminders() {
    let mut earlier = Stage::new(CourierSettings::default()).await;
    let reminder = || Say::text("reminder").low_priority();
    earlier.commit((1..=2_000).map(|chat| to(chat, reminder())).collect()).await;
    let store = earlier.store.clone();
    drop(earlier);
    let mut stage = Stage::over(store, CourierSettings::default()).await;
    stage.courier.reload();
    stage.until("the first reminder", |stage| !stage.seen().is_empty()).await;
    for turn in 0..5 {
        let before = timer_now();
        // Person 1,999 waits for a reminder too. The answer keeps its place behind it, and both overtake the others.
        let waits_too = 1_999 - turn;
        stage.send(vec![to(5_000, format!("{turn}")), to(waits_too, "answer")]).await;
        stage.until("an answer", |stage| stage.texts_to(5_000).len() == turn as usize + 1).await;
        stage.until("her reminder and answer", |stage| stage.texts_to(waits_too).len() == 2).await;
        assert!(timer_now() - before < Duration::from_millis(200));
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    stage.settled().await;
    assert_eq!(stage.texts_to(1_999), ["reminder", "answer"]);
    assert!((1..=1_990).all(|chat| stage.texts_to(chat) == ["reminder"]));
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_goes_on_where_it_stopped() {
    let stage = Stage::new(off()).await;
    stage.api.refuses(3, 403, "Forbidden: bot was blocked by the user");
    stage.api.refuses(4, 400, "Bad Request: message is too long");
    let first = Broadcast::new("news", news(), 1..=40);
    let watch = first.watch();
    first.run(&stage.courier).await.unwrap();
    stage.settled().await;
    let Progress { sent, failed, unreachable, .. } = watch.progress();
    assert_eq!((sent, failed, unreachable), (38, 2, 1));
    let later = Stage::over(stage.store.clone(), off()).await;
    let again = Broadcast::new("news", news(), 1..=70);
    let watch = again.watch();
    again.run(&later.courier).await.unwrap();
    later.settled().await;
    assert_eq!(later.seen().iter().map(|seen| seen.chat).min(), Some(41));
    assert_eq!(
        watch.progress(),
        Progress { total: Some(70), posted: 70, sent: 30, unknown: 40, ..Progress::default() }
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_broadcast_ends_with_the_courier() {
    for is_drained in [true, false] {
        let stage = Stage::new(CourierSettings { max_rows: 20, ..off() }).await;
        (1..=100).for_each(|chat| stage.api.answers(chat, Answer::Never));
        let broadcast = Broadcast::new("news", news(), 1..=100);
        let watch = broadcast.watch();
        let courier = stage.courier.clone();
        let running = tokio::spawn(async move { broadcast.run(&courier).await });
        stage.until("nothing goes on", |_| watch.progress().posted > 0).await;
        if is_drained {
            stage.courier.drain(Duration::ZERO).await;
        } else {
            stage.courier.shared().fenced();
        }
        let ended = tokio::time::timeout(TIMEOUT, running).await.expect("it waits for ever").unwrap();
        assert!(matches!(ended, Err(BroadcastError::Stopped)), "{ended:?}");
        assert!(watch.progress().posted < 100);
    }
}

/// Runs a broadcast to so many people as an effect that may be tried twice, and gives the effect's outcome.
async fn outcome_in_an_effect(stage: &Stage, people: i64) -> String {
    let key = ConversationKey::private(BOT, 1);
    let Opened::At { version, .. } = stage.store.open(&key, None).await.unwrap() else { panic!("taken") };
    let effects = vec![Effect { kind: "broadcast".into(), body: "null".into() }];
    stage.store.commit(stage.epoch, Commit { effects, ..Commit::new(key, version, Millis(0)) }).await.unwrap();
    let mut register = EffectRegistry::default();
    let courier = stage.courier.clone();
    register.add("broadcast", move |_| {
        let courier = courier.clone();
        let news = Broadcast::new("news", news(), 1..=people);
        async move {
            let progress = news.run(&courier).await.map_err(HandleError::from)?;
            Ok(progress.posted.into())
        }
    });
    let settings = EffectSettings { attempts: 2, deadline: Duration::from_secs(5), ..EffectSettings::default() };
    let (sender, mut outcomes) = mpsc::unbounded_channel();
    let store = stage.store.clone();
    let clock = Clock::manual(Millis(0));
    let effects = Effects::new((BOT, stage.epoch), register, store, clock, settings, sender);
    effects.reload();
    let outcome = tokio::time::timeout(TIMEOUT, outcomes.recv()).await.expect("no outcome");
    effects.close().await;
    let Some((_, QueuedInput::Inbox(row))) = outcome else { panic!("{outcome:?}") };
    row.incoming.body.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_in_an_effect_outlives_its_deadline() {
    let stage = Stage::new(CourierSettings::default()).await;
    // A page a second: sixty pages are six times as long as two tries of five seconds.
    let outcome = outcome_in_an_effect(&stage, 1_200).await;
    assert!(outcome.contains(r#""ok":1200"#), "{outcome}");
    stage.settled().await;
    assert!((1..=1_200).all(|chat| stage.texts_to(chat) == ["news"]));
}

#[tokio::test(start_paused = true)]
async fn a_try_that_posts_a_page_is_not_counted() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let stage = Stage::over(Arc::clone(&faulty) as _, off()).await;
    // Each try posts one page more and fails at the next one; the pages before it are known.
    for page in 0..10 {
        faulty.fail_next("post", page + 1, Fault::Delay(Duration::ZERO));
        faulty.fail_next("post", 1, Fault::Before);
    }
    let outcome = outcome_in_an_effect(&stage, 400).await;
    assert!(outcome.contains(r#""ok":400"#), "{outcome}");
    stage.settled().await;
    assert!((1..=400).all(|chat| stage.texts_to(chat) == ["news"]));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_broadcast_fails_for_good() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let stage = Stage::over(Arc::clone(&faulty) as _, off()).await;
    faulty.fail_next("post", 1, Fault::Delay(Duration::ZERO));
    faulty.fail_next("post", 1, Fault::Before);
    // Then every try finds the first page posted and fails at the second.
    for _ in 0..10 {
        faulty.fail_next("post", 1, Fault::Delay(Duration::ZERO));
        faulty.fail_next("post", 1, Fault::Before);
    }
    let before = faulty.calls("post");
    let outcome = outcome_in_an_effect(&stage, 400).await;
    assert!(outcome.contains(r#""ok":null"#), "{outcome}");
    assert_eq!(faulty.calls("post") - before, 6, "a try that got further, and two that did not");
}
