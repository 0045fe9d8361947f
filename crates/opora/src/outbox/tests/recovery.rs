//! Restarts, stops, and an outbox that does not fit into memory.

use super::*;
use crate::telegram::Say;
use crate::testing::faulty::{Fault, FaultyStore};

#[tokio::test(start_paused = true)]
async fn a_restart_sends_only_unsettled_rows() {
    let mut stage = Stage::new(off()).await;
    stage.send(vec![to(1, "a"), to(2, "b")]).await;
    stage.settled().await;
    stage.api.answers(1, Answer::Never);
    stage.send(vec![to(1, "c"), to(1, "d")]).await;
    stage.until("the hanging call", |stage| stage.seen().len() == 3).await;
    let store = stage.store.clone();
    drop(stage);
    let mut later = Stage::over(store, off()).await;
    later.courier.reload();
    later.send(vec![to(1, "e")]).await;
    later.until("three sends", |stage| stage.seen().len() == 3).await;
    later.settled().await;
    assert_eq!(later.texts_to(1), ["c", "d", "e"]);
    assert_eq!(later.statistics().await.outbox, 0);
}

#[tokio::test(start_paused = true)]
async fn a_restart_drops_what_may_have_been_sent_if_asked_to() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Never);
    stage.send(vec![to(1, Say::text("once").drop_if_unsure()), to(1, Say::text("later").drop_if_unsure())]).await;
    stage.until("the hanging call", |stage| stage.seen().len() == 1).await;
    let store = stage.store.clone();
    drop(stage);
    let mut next = Stage::over(store, off()).await;
    next.courier.reload();
    next.until("the send", |stage| stage.seen().len() == 1).await;
    next.settled().await;
    assert_eq!(next.texts_to(1), ["later"]);
    assert_eq!(next.statistics().await.failed, 1);
    assert!(matches!(&next.take_events()[..], [SendEvent::Failed { .. }]));
}

#[tokio::test(start_paused = true)]
async fn a_restart_sends_what_was_certainly_not_sent() {
    let refused = || ApiError::NotSent("refused".into());
    let errors = [refused(), ApiError::RetryAfter { seconds: 600 }, classify(500, "restart", Parameters::default())];
    for error in errors {
        for waits in [Duration::ZERO, Duration::from_millis(50)] {
            let what = format!("{error} after {waits:?}");
            let mut stage = Stage::new(off()).await;
            stage.api.answers(1, Answer::Error(error.clone()));
            stage.send(vec![to(1, Say::text("once").drop_if_unsure())]).await;
            stage.until("the first try", |stage| stage.seen().len() == 1).await;
            tokio::time::sleep(waits).await;
            assert_eq!(stage.courier.drain(Duration::from_secs(5)).await.left, 1, "{what}");
            let mut next = Stage::over(stage.store.clone(), off()).await;
            next.courier.reload();
            next.settled_all().await;
            assert_eq!(next.texts_to(1), ["once"], "{what}");
            assert_eq!((next.statistics().await.failed, next.take_events().len()), (0, 0), "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_outbox_larger_than_memory_is_sent_in_order() {
    let settings = CourierSettings { max_rows: 40, page: 7, ..off() };
    let mut stage = Stage::new(settings).await;
    for turn in 0..25 {
        stage.commit((1..=10).map(|chat| to(chat, format!("{turn}"))).collect()).await;
    }
    stage.courier.reload();
    for turn in 25..50 {
        stage.send((1..=10).map(|chat| to(chat, format!("{turn}"))).collect()).await;
        assert!(stage.courier.waiting() <= 40);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stage.until("all sent", |stage| stage.seen().len() >= 500).await;
    stage.settled().await;
    let expected: Vec<_> = (0..50).map(|turn| turn.to_string()).collect();
    for chat in 1..=10 {
        assert_eq!(stage.texts_to(chat), expected);
    }
    assert_eq!(stage.statistics().await.outbox, 0);
}

#[tokio::test(start_paused = true)]
async fn a_row_found_by_a_reload_is_not_sent_twice() {
    let mut stage = Stage::new(off()).await;
    let rows = stage.commit(vec![to(1, "a")]).await;
    stage.courier.reload();
    stage.until("the send", |stage| stage.seen().len() == 1).await;
    stage.settled().await;
    stage.courier.enqueue(rows);
    stage.send(vec![to(1, "b")]).await;
    stage.until("the next", |stage| stage.seen().len() >= 2).await;
    stage.settled().await;
    assert_eq!(stage.texts_to(1), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_start_waits_for_a_store_that_is_away() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let mut stage = Stage::over(store.clone(), off()).await;
    stage.commit(vec![to(1, "a")]).await;
    store.fail_next("unsent", 5, Fault::Before);
    stage.courier.reload();
    stage.until("the send", |stage| stage.seen().len() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_sends_ready_rows_and_keeps_the_rest() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Error(ApiError::NotSent("refused".into())));
    stage.send(vec![to(1, "a"), to(1, "b"), to(2, "c"), to(2, "d")]).await;
    let drained = stage.courier.drain(Duration::from_secs(5)).await;
    assert_eq!((drained.left, drained.more), (2, false));
    assert_eq!((stage.texts_to(1).len(), stage.texts_to(2).len()), (1, 2));
    assert_eq!(stage.statistics().await.outbox, 2);
    let later = Stage::over(stage.store.clone(), off()).await;
    later.courier.reload();
    later.until("the rest", |stage| stage.seen().len() == 2).await;
    assert_eq!(later.texts_to(1), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_call_that_hangs() {
    let mut stage = Stage::new(off()).await;
    stage.api.answers(1, Answer::Never);
    stage.send(vec![to(1, "a"), to(2, "b")]).await;
    let drained = stage.courier.drain(Duration::from_secs(5)).await;
    assert_eq!(drained.left, 1);
    let at_once = Stage::new(off()).await.courier.drain(Duration::ZERO).await;
    assert_eq!(at_once.left, 0);
}
