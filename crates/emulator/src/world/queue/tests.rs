//! The queue alone: offsets, lanes, delays and held updates.

use super::*;

fn queue(ids: impl IntoIterator<Item = i64>) -> Queue {
    let mut queue = Queue::default();
    for id in ids {
        queue.set_next_id(id + 1);
        queue.push(update(id));
    }
    queue
}

fn update(id: i64) -> QueuedUpdate {
    let update = QueuedUpdate::new(id, UpdateKind::Message, Lane::Chat(id % 2), 0, Bytes::new());
    QueuedUpdate { expires_ms: 1000, ..update }
}

fn ids(queue: &mut Queue) -> Vec<i64> {
    queue.poll(100, 0).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn an_offset_confirms_what_is_below_it() {
    let mut queue = queue(10..15);
    assert_eq!(queue.confirm(12).len(), 2);
    assert_eq!(ids(&mut queue), [12, 13, 14]);
}

#[test]
fn a_negative_offset_keeps_the_last() {
    let mut queue = queue(10..15);
    queue.confirm(-2);
    assert_eq!(ids(&mut queue), [13, 14]);
}

#[test]
fn an_offset_far_away_confirms_nothing() {
    let mut queue = queue(10..15);
    queue.confirm(15 + MAX_AHEAD + 1);
    assert_eq!(queue.len(), 5);
    queue.confirm(15 + MAX_AHEAD);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_late_update_stays_until_it_is_delivered() {
    let mut queue = queue(10..12);
    queue.push(QueuedUpdate { late: true, ready_ms: 500, ..update(9) });
    queue.set_next_id(12);
    assert_eq!(ids(&mut queue), [10, 11]);
    queue.confirm(12);
    assert_eq!(queue.poll(100, 500).len(), 1);
    queue.confirm(12);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_webhook_gets_one_update_a_lane_at_a_time() {
    let mut queue = queue(10..15);
    let first = queue.take_for_webhook(40, 0);
    assert_eq!(first.iter().map(|it| it.id).collect::<Vec<_>>(), [10, 11]);
    assert!(taken(&mut queue, 0).is_empty());
    queue.delivered(first[0].number);
    queue.not_delivered(first[1].number, 700);
    assert_eq!(queue.next_ready_ms(0), Some(700));
    assert_eq!(taken(&mut queue, 0), [12]);
    assert_eq!(taken(&mut queue, 700), [11]);
    assert_eq!(queue.next_ready_ms(700), None);
}

#[test]
fn a_webhook_gets_no_more_at_once_than_it_takes() {
    let mut queue = queue(10..12);
    assert_eq!(queue.take_for_webhook(1, 0).len(), 1);
    assert!(queue.take_for_webhook(1, 0).is_empty());
    queue.clear_in_flight();
    assert_eq!(taken_at_most(&mut queue, 1), [10]);
}

#[test]
fn a_delayed_update_blocks_no_lane_and_a_repeated_one_waits() {
    let mut queue = queue(10..11);
    queue.push(QueuedUpdate { late: true, ..update(10) });
    queue.push(QueuedUpdate { late: true, ready_ms: 500, ..update(12) });
    queue.push(update(13));
    let first = queue.take_for_webhook(40, 0);
    assert_eq!(first.iter().map(|it| it.id).collect::<Vec<_>>(), [10, 13]);
    assert_eq!(taken(&mut queue, 500), [12]);
    queue.delivered(first[0].number);
    assert_eq!(taken(&mut queue, 500), [10]);
}

#[test]
fn after_a_restart_of_ids_only_delivered_updates_are_confirmed() {
    let mut queue = queue([1_000_000]);
    queue.set_next_id(50);
    queue.push(update(50));
    assert_eq!(ids(&mut queue), [1_000_000, 50]);
    queue.confirm(51);
    assert_eq!(ids(&mut queue), [1_000_000]);
    queue.push(update(51));
    queue.confirm(1_000_001);
    assert_eq!(ids(&mut queue), [51]);
}

#[test]
fn a_held_update_follows_the_next_one_of_its_chat() {
    let mut queue = queue(10..11);
    let held = queue.push(QueuedUpdate { late: true, ready_ms: 500, ..update(11) }).number;
    queue.hold(held, Some(7));
    assert!(queue.take_held(8).is_empty());
    let released = queue.take_held(7);
    assert_eq!((released.len(), released[0].ready_ms), (1, 0));
    assert!(queue.take_held(7).is_empty());
}

#[test]
fn a_long_queue_is_cheap_for_poller_and_webhook() {
    let (mut queue, started) = (queue(1..50_000), crate::clock::Stopwatch::start());
    let first = queue.take_for_webhook(40, 0);
    for update in &first {
        queue.not_delivered(update.number, 700);
    }
    for offset in 1..50_000 {
        queue.expire(0);
        queue.take_for_webhook(40, 0);
        queue.next_ready_ms(0);
        queue.confirm(offset / 2);
    }
    // Scanning the whole queue each time would take minutes.
    assert!(started.elapsed().as_secs() < 10);
}

fn taken(queue: &mut Queue, now_ms: i64) -> Vec<i64> {
    queue.take_for_webhook(40, now_ms).iter().map(|it| it.id).collect()
}

fn taken_at_most(queue: &mut Queue, most: usize) -> Vec<i64> {
    queue.take_for_webhook(most, 0).iter().map(|it| it.id).collect()
}

#[test]
fn an_expired_update_is_forgotten() {
    let mut queue = queue(10..12);
    assert!(queue.expire(999).is_empty());
    queue.push(QueuedUpdate { expires_ms: 2000, ..update(12) });
    assert_eq!(queue.expire(1000).len(), 2);
    assert_eq!(ids(&mut queue), [12]);
    assert_eq!(queue.expire(2000).len(), 1);
}
