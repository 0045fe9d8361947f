//! Order, and what becomes of a row by Telegram's answer.

use super::*;
use crate::store::{Answer as StoreAnswer, Settled, Settlement, StoreLayer};
use crate::telegram::{AnswerCallback, Delete, Edit, Say};
use crate::testing::faulty::{Fault, FaultyStore};

#[tokio::test(start_paused = true)]
async fn rows_keep_their_order_and_chats_are_independent() {
    let mut stage = Stage::with(Arc::new(MemoryStore::new()), off(), Duration::from_millis(10)).await;
    for turn in 0..20 {
        let calls = (1..=200).map(|chat| to(chat, format!("{turn}"))).collect();
        stage.send(calls).await;
    }
    stage.settled().await;
    let expected: Vec<_> = (0..20).map(|turn| turn.to_string()).collect();
    assert!((1..=200).all(|chat| stage.texts_to(chat) == expected));
    // 4,000 calls of 10 ms, 64 at a time.
    let last = stage.seen().last().unwrap().after;
    assert!(last <= Duration::from_millis(10 * (4_000 / 64 + 25)), "{last:?}");
    assert_eq!(stage.statistics().await.outbox, 0);
}

#[tokio::test(start_paused = true)]
async fn a_429_delays_only_its_chat_until_its_time() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Error(ApiError::RetryAfter { seconds: 7 }));
    stage.send(vec![to(1, "a"), to(1, "b"), to(2, "c"), to(2, "d")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1), ["a", "a", "b"]);
    let seen = stage.seen();
    let to_first: Vec<_> = seen.iter().filter(|seen| seen.chat == 1).map(|seen| seen.after).collect();
    assert!(to_first[1] - to_first[0] >= Duration::from_secs(7), "{to_first:?}");
    assert!(seen.iter().filter(|seen| seen.chat == 2).all(|seen| seen.after < Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_new_row_of_a_delayed_chat_waits_too() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Error(ApiError::RetryAfter { seconds: 60 }));
    stage.send(vec![to(1, "a")]).await;
    stage.until("the refusal", |stage| stage.seen().len() == 1).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    stage.send(vec![to(1, "b")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1), ["a", "a", "b"]);
    assert!(stage.seen()[1].after >= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn many_refusals_in_a_row_pause_all_chats() {
    let mut stage = Stage::new(CourierSettings { concurrent: 1, ..off() }).await;
    for chat in 1..=10 {
        stage.api.answers(chat, Answer::Error(ApiError::RetryAfter { seconds: 5 }));
    }
    stage.send((1..=11).map(|chat| to(chat, "x")).collect()).await;
    stage.settled().await;
    let seen = stage.seen();
    assert!(seen.iter().filter(|seen| seen.chat == 11).all(|seen| seen.after >= Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_sent_again_unless_drop_if_unsure() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Error(ApiError::Unsure("reset".into())));
    stage.api.answers(2, Answer::Error(ApiError::Unsure("reset".into())));
    stage.send(vec![to(1, "a"), to(2, Say::text("b").drop_if_unsure()), to(2, "c")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1), ["a", "a"]);
    assert_eq!(stage.texts_to(2), ["b", "c"]);
    assert_eq!(stage.statistics().await.failed, 1);
    assert!(matches!(&stage.take_events()[..], [SendEvent::Failed { chat: Some(2), .. }]));
}

#[tokio::test(start_paused = true)]
async fn a_network_outage_of_minutes_loses_nothing() {
    let mut stage = Stage::new(off()).await;
    for _ in 0..120 {
        stage.api.answers(1, Answer::Error(ApiError::NotSent("refused".into())));
    }
    stage.send(vec![to(1, "a"), to(1, "b")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1).iter().filter(|text| *text == "b").count(), 1);
    assert_eq!((stage.statistics().await.failed, stage.take_events()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_chat_is_reported_and_others_go_on() {
    let mut stage = Stage::new(off()).await;
    stage.api.refuses(1, 403, "Forbidden: bot was blocked by the user");
    stage.api.refuses(2, 400, "Bad Request: chat not found");
    stage.api.refuses(3, 400, "Bad Request: can't parse entities: Can't find end tag");
    stage.send(vec![to(1, "a"), to(2, "b"), to(3, "c"), to(4, "d")]).await;
    stage.settled().await;
    let events = stage.take_events();
    let dead = |chat| {
        events.iter().any(|event| matches!(event, SendEvent::ChatUnreachable { chat: dead, .. } if *dead == chat))
    };
    assert_eq!([1, 2, 3, 4].map(dead), [true, true, false, false]);
    assert_eq!(events.iter().filter(|event| matches!(event, SendEvent::Failed { .. })).count(), 3);
    assert_eq!(stage.statistics().await.failed, 3);
}

#[tokio::test(start_paused = true)]
async fn messages_follow_a_group_that_became_a_supergroup() {
    let mut stage = Stage::new(off()).await;
    let moved = Parameters { migrate_to_chat_id: Some(-1005), ..Parameters::default() };
    let error = classify(400, "Bad Request: group chat was upgraded to a supergroup chat", moved);
    stage.api.answers(-5, Answer::Error(error));
    stage.send(vec![to(-5, "a"), to(-5, "b")]).await;
    stage.until("the move", |stage| stage.seen().len() >= 2).await;
    stage.send(vec![to(-5, "c")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(-5), ["a"]);
    assert_eq!(stage.texts_to(-1005), ["a", "b", "c"]);
    assert_eq!(stage.take_events(), [SendEvent::Moved { from: -5, to: -1005 }]);
    let statistics = stage.statistics().await;
    assert_eq!((statistics.outbox, statistics.failed), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_edit_finds_its_message_by_label_after_a_restart() {
    let mut stage = Stage::new(off()).await;
    stage.send(vec![to(1, Say::text("menu").label("menu")), to(1, Edit::text("menu", "changed"))]).await;
    stage.settled().await;
    assert_eq!(stage.seen()[1].message_id, Some(1));
    let mut later = Stage::over(stage.store.clone(), off()).await;
    later.send(vec![to(1, Delete::message("menu")), to(2, Edit::text("menu", "x"))]).await;
    later.settled().await;
    assert_eq!(later.seen().iter().map(|seen| seen.message_id).collect::<Vec<_>>(), [Some(1)]);
    let events = later.take_events();
    assert!(
        matches!(&events[..], [SendEvent::Failed { chat: Some(2), reason, .. }] if reason.contains("label")),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn callback_answers_go_at_once_and_are_given_up() {
    let mut stage = Stage::new(CourierSettings { concurrent: 1, ..off() }).await;
    stage.api.answers(1, Answer::Never);
    stage.api.refuses(0, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid");
    stage.send(vec![to(1, "hangs"), to(1, AnswerCallback::new("late"))]).await;
    stage.until("the answer", |stage| stage.courier.waiting() == 1).await;
    assert_eq!(stage.statistics().await.failed, 0);
    for _ in 0..6 {
        stage.api.answers(0, Answer::Error(ApiError::NotSent("refused".into())));
    }
    stage.send(vec![to(1, AnswerCallback::new("lost"))]).await;
    stage.until("the end", |stage| stage.courier.waiting() == 1).await;
    assert_eq!(stage.seen().iter().filter(|seen| seen.method == "answerCallbackQuery").count(), 7);
    assert_eq!(stage.statistics().await.failed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_dead_lease_sends_nothing() {
    let mut stage = Stage::new(off()).await;
    stage.lease_ms.store(1_999, Ordering::SeqCst);
    stage.send(vec![to(1, "a"), to(1, AnswerCallback::new("q"))]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.seen(), []);
    stage.lease_ms.store(30_000, Ordering::SeqCst);
    stage.settled().await;
    assert_eq!(stage.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_fenced_courier_stops_and_reports_it() {
    let mut stage = Stage::new(off()).await;
    let rows = stage.commit(vec![to(1, "a"), to(1, Say::text("b").drop_if_unsure())]).await;
    claimed(&*stage.store).await;
    stage.courier.enqueue(rows);
    let event = tokio::time::timeout(TIMEOUT, stage.events.recv()).await.unwrap();
    assert_eq!(event, Some(SendEvent::Fenced));
    stage.courier.enqueue(vec![]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(stage.texts_to(1).len() <= 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_outage_delays_settling_not_sending() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let mut stage = Stage::over(store.clone(), off()).await;
    store.fail_until_cleared("settle", Fault::Before);
    stage.send((0..50).map(|turn| to(1, format!("{turn}"))).collect()).await;
    stage.until("all sent", |stage| stage.seen().len() == 50).await;
    assert_eq!(stage.courier.waiting(), 50);
    store.clear_faults("settle");
    stage.settled().await;
    assert_eq!((stage.seen().len(), stage.statistics().await.outbox), (50, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_keeps_the_rows() {
    let mut stage = Stage::new(off()).await;
    for _ in 0..3 {
        stage.api.refuses(1, 401, "Unauthorized");
    }
    stage.send(vec![to(1, "a")]).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1).len(), 4);
    assert_eq!(stage.take_events(), [SendEvent::TokenRefused]);
}

/// A store that remembers in which order sends were logged and settled.
#[derive(Debug)]
struct Remembers(MemoryStore, Mutex<Vec<(&'static str, Settled)>>);

impl Remembers {
    fn note(&self, what: &'static str, settled: &[Settled]) {
        self.1.lock().extend(settled.iter().map(|settled| (what, settled.clone())));
    }
}

impl StoreLayer for Remembers {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    fn log_sent<'a>(&'a self, _epoch: Epoch, settled: &'a [Settled]) -> StoreAnswer<'a, ()> {
        self.note("logged", settled);
        Box::pin(async { Ok(()) })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> StoreAnswer<'_, ()> {
        self.note("settled", &settled);
        self.0.settle(epoch, settled, at)
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_is_logged_with_its_label_before_it_is_settled() {
    let store = Arc::new(Remembers(MemoryStore::new(), Mutex::default()));
    let mut stage = Stage::over(store.clone(), off()).await;
    stage.send(vec![to(1, "a"), to(2, Say::text("menu").label("menu"))]).await;
    stage.settled().await;
    let calls = store.1.lock().clone();
    let place = |what: &str, is_labelled: bool| {
        let is_it = |settled: &Settled| matches!(&settled.outcome, Settlement::Sent { labelled } if labelled.is_some() == is_labelled);
        calls.iter().position(|(call, settled)| *call == what && is_it(settled)).unwrap()
    };
    assert_eq!(calls.len(), 4, "{calls:?}");
    assert!(place("logged", false) < place("settled", false), "{calls:?}");
    assert!(place("logged", true) < place("settled", true), "{calls:?}");
}
