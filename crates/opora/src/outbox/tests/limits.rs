//! Telegram's limits, kept by the courier.

use super::*;
use crate::telegram::Action;

fn telegram() -> CourierSettings {
    CourierSettings::default()
}

#[tokio::test(start_paused = true)]
async fn the_thirty_first_message_of_a_second_waits() {
    let mut stage = Stage::new(telegram()).await;
    stage.send((1..=100).map(|chat| to(chat, "x")).collect()).await;
    stage.settled().await;
    let at: Vec<_> = stage.seen().iter().map(|seen| seen.after).collect();
    assert!(at[29] < Duration::from_millis(100), "{:?}", at[29]);
    assert!(at.windows(31).all(|some| some[30] - some[0] >= Duration::from_secs(1)), "{at:?}");
    assert!(at[99] < Duration::from_secs(4), "{:?}", at[99]);
}

#[tokio::test(start_paused = true)]
async fn the_fourth_quick_message_delays_only_its_chat() {
    let mut stage = Stage::new(telegram()).await;
    stage.send((0..6).map(|turn| to(1, format!("{turn}"))).collect()).await;
    stage.send(vec![to(2, "other")]).await;
    stage.settled().await;
    let to_first: Vec<_> = stage.seen().iter().filter(|seen| seen.chat == 1).map(|seen| seen.after.as_secs()).collect();
    assert_eq!(to_first, [0, 0, 0, 1, 2, 3]);
    assert_eq!(stage.texts_to(1), ["0", "1", "2", "3", "4", "5"]);
    assert!(stage.seen().iter().any(|seen| seen.chat == 2 && seen.after < Duration::from_millis(100)));
}

#[tokio::test(start_paused = true)]
async fn the_twenty_first_message_of_a_minute_to_a_group_waits() {
    let mut stage = Stage::new(telegram()).await;
    stage.send((0..45).map(|turn| to(-7, format!("{turn}"))).collect()).await;
    stage.settled().await;
    let at: Vec<_> = stage.seen().iter().map(|seen| seen.after).collect();
    assert!(at[19] < Duration::from_secs(20), "{:?}", at[19]);
    assert!(at.windows(21).all(|some| some[20] - some[0] >= Duration::from_secs(60)), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn typing_and_deleting_are_not_counted() {
    let mut stage = Stage::new(telegram()).await;
    stage.send((0..10).map(|_| to(1, Action::typing())).collect()).await;
    stage.settled().await;
    assert!(stage.seen().iter().all(|seen| seen.after < Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn without_limits_nothing_waits() {
    let mut stage = Stage::new(off()).await;
    stage.send((0..500).map(|turn| to(-7, format!("{turn}"))).collect()).await;
    stage.settled().await;
    let last = stage.seen().last().unwrap().after;
    assert!(last < Duration::from_secs(1), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn chats_take_turns_when_all_have_to_wait() {
    let mut stage = Stage::new(telegram()).await;
    stage.send((0..3).flat_map(|turn| (1..=40).map(move |chat| to(chat, format!("{turn}")))).collect()).await;
    stage.settled().await;
    let first_round: Vec<_> = stage.seen().iter().take(40).map(|seen| seen.text.clone()).collect();
    assert!(first_round.iter().all(|text| text == "0"), "{first_round:?}");
}
