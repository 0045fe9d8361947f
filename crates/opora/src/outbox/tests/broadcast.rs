//! Messages for many chats.

use super::*;
use crate::outbox::{Broadcast, BroadcastError, Progress};
use crate::telegram::{Button, Say};

fn news() -> Say {
    Say::text("news").buttons([[Button::new("Read", "read")]])
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_reaches_everybody_once_and_leaves_room_for_dialogues() {
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
    assert_eq!(watch.progress(), Progress { total: Some(200), posted: 200, sent: 200, failed: 0, untold: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_goes_on_where_it_stopped() {
    let stage = Stage::new(off()).await;
    stage.api.refuses(3, 403, "Forbidden: bot was blocked by the user");
    let first = Broadcast::new("news", news(), 1..=40);
    let watch = first.watch();
    first.run(&stage.courier).await.unwrap();
    stage.settled().await;
    assert_eq!((watch.progress().sent, watch.progress().failed), (39, 1));
    let later = Stage::over(stage.store.clone(), off()).await;
    let again = Broadcast::new("news", news(), 1..=70);
    let watch = again.watch();
    again.run(&later.courier).await.unwrap();
    later.settled().await;
    assert_eq!(later.seen().iter().map(|seen| seen.chat).min(), Some(41));
    assert_eq!(watch.progress(), Progress { total: Some(70), posted: 70, sent: 30, failed: 0, untold: 40 });
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_that_waits_for_room_ends_when_the_courier_does() {
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
        let ended = tokio::time::timeout(PATIENCE, running).await.expect("it waits for ever").unwrap();
        assert!(matches!(ended, Err(BroadcastError::Stopped)), "{ended:?}");
        assert!(watch.progress().posted < 100);
    }
}
