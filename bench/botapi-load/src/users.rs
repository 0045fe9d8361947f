//! The virtual users: they start, send their steps, receive replies and finish.
//!
//! The loop is closed: a user sends its next step once the reply to the last one is there. Every function here runs
//! under the lock of the [`World`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dialogue::{Answer, Step, Tap, final_answer, judge};
use crate::figures::Snapshot;
use crate::harness::{Harness, VirtualUser, World};
use crate::updates::{FIRST_USER_ID, queue_update};

/// How many wrong answers the result shows.
const WRONG_SAMPLES: usize = 3;

/// A message that the bot has sent or edited.
#[derive(Debug)]
pub struct Reply<'a> {
    pub chat: i64,
    pub text: &'a str,
    pub has_keyboard: bool,
    pub message: i64,
}

/// Starts users until --concurrency is reached; ends the window when no more may start.
pub fn fill_places(harness: &Arc<Harness>, world: &mut World) {
    while world.active.len() - world.without_place < harness.options.concurrency && may_start(harness, world) {
        let user = world.users.len();
        world.users.push(VirtualUser::new());
        world.active.insert(user);
        send_step(harness, world, user);
    }
    if !may_start(harness, world) {
        if world.window_end.is_none() {
            world.window_end = Some(Snapshot::take(harness, world));
        }
        if world.active.is_empty() {
            world.is_done = true;
        }
    }
}

fn may_start(harness: &Harness, world: &World) -> bool {
    let options = &harness.options;
    match options.duration {
        Some(seconds) => world.window_begin.is_none_or(|begin| begin.at.elapsed().as_secs_f64() < seconds),
        None => world.users.len() < options.users_in_all(),
    }
}

/// Ends a user's dialogue, and starts the next user.
pub fn finish(harness: &Arc<Harness>, world: &mut World, user: usize) {
    let finished = &mut world.users[user];
    finished.is_finished = true;
    finished.is_waiting = false;
    if finished.hit_by_kill.is_some() {
        world.without_place -= 1;
    }
    world.active.remove(&user);
    world.finished_users += 1;
    if world.window_begin.is_none() && world.finished_users >= harness.options.warmup_users {
        world.latencies_us.clear();
        world.window_begin = Some(Snapshot::take(harness, world));
    }
    fill_places(harness, world);
}

/// Sends a user's message of its current step, twice if it is double-tapped.
fn send_step(harness: &Arc<Harness>, world: &mut World, user: usize) {
    let sender = &mut world.users[user];
    let step = sender.step;
    sender.is_waiting = true;
    sender.sent_at = Instant::now();
    queue_update(harness, world, user, step, Tap::First);
    let probability = harness.options.double_tap;
    if probability > 0.0 && step.can_be_double_tapped() && world.random.fraction() < probability {
        world.users[user].double_tapped.insert(step);
        world.counts.double_taps.pairs += 1;
        send_second_tap(harness, world, user, step);
    }
}

fn send_second_tap(harness: &Arc<Harness>, world: &mut World, user: usize, step: Step) {
    let gap = Duration::from_millis(harness.options.double_tap_gap_ms);
    if gap.is_zero() {
        return queue_update(harness, world, user, step, Tap::Second);
    }
    let harness = Arc::clone(harness);
    tokio::spawn(async move {
        tokio::time::sleep(gap).await;
        queue_update(&harness, &mut harness.world(), user, step, Tap::Second);
    });
}

/// Passes a reply to the user of its chat.
pub fn receive(harness: &Arc<Harness>, world: &mut World, reply: &Reply<'_>) {
    let user = usize::try_from(reply.chat - FIRST_USER_ID).ok().filter(|user| *user < world.users.len());
    let Some(user) = user else { return world.counts.unknown_text += 1 };
    if reply.text.starts_with("invalid") {
        return world.counts.invalid += 1;
    }
    let Some(step) = Step::of_reply(reply.text) else { return world.counts.unknown_text += 1 };
    if world.users[user].seen.contains(step) {
        return note_repeat(world, user, step);
    }
    if world.users[user].is_finished {
        return world.counts.unexpected += 1;
    }
    if step != world.users[user].step {
        world.counts.unexpected += 1;
        if step != Step::Done {
            return; // A jump ahead: the user keeps waiting for its own step.
        }
    }
    note_reply(world, user, step);
    if step == Step::Done {
        count_answer(world, user, reply.text);
        return finish(harness, world, user);
    }
    if step == Step::Language {
        world.users[user].keyboard_message = reply.message;
        world.counts.bad_keyboard += u64::from(!reply.has_keyboard);
    }
    world.users[user].step = world.users[user].step.next();
    think(harness, world, user);
}

fn note_repeat(world: &mut World, user: usize, step: Step) {
    let state = &mut world.users[user];
    world.counts.repeated_replies += 1;
    if !state.saw_repeat {
        state.saw_repeat = true;
        world.counts.users_with_repeats += 1;
    }
    if state.double_tapped.contains(step) {
        world.counts.double_taps.asked_twice += 1;
    }
}

fn note_reply(world: &mut World, user: usize, step: Step) {
    let state = &mut world.users[user];
    state.seen.insert(step);
    state.is_waiting = false;
    world.counts.replies += 1;
    if state.has_resent {
        state.has_resent = false;
        world.counts.recovered_by_resend += 1;
    } else if world.window_end.is_none() {
        let latency_us = state.sent_at.elapsed().as_micros();
        world.latencies_us.push(u32::try_from(latency_us).unwrap_or(u32::MAX));
    }
}

fn count_answer(world: &mut World, user: usize, text: &str) {
    let doubled = world.users[user].double_tapped;
    let counts = &mut world.counts;
    match judge(text, user, doubled) {
        Answer::Right => counts.completed += 1,
        Answer::SecondWon => {
            counts.completed += 1;
            counts.double_taps.second_won += 1;
        }
        Answer::Wrong => {
            counts.wrong += 1;
            counts.double_taps.wrong += u64::from(!doubled.is_empty());
            if world.wrong_samples.len() < WRONG_SAMPLES {
                let wanted = final_answer(user, Tap::First, Tap::First);
                world.wrong_samples.push(format!("got '{text}' want '{wanted}'"));
            }
        }
    }
}

/// Sends the next step after the user's pause, if there is one.
fn think(harness: &Arc<Harness>, world: &mut World, user: usize) {
    let think_ms = harness.options.think_ms;
    if think_ms == 0 {
        return send_step(harness, world, user);
    }
    // Half as long up to half as long again, so that users do not march in step.
    let pause = Duration::from_millis((think_ms as f64 * (0.5 + world.random.fraction())) as u64);
    let harness = Arc::clone(harness);
    tokio::spawn(async move {
        tokio::time::sleep(pause).await;
        let mut world = harness.world();
        if !world.users[user].is_finished {
            send_step(&harness, &mut world, user);
        }
    });
}

/// Users who have waited too long repeat their message once, or give up.
pub fn resolve_stuck(harness: &Arc<Harness>, world: &mut World) {
    let limit_s = harness.options.timeout;
    let is_late = |user: &VirtualUser| user.is_waiting && user.sent_at.elapsed().as_secs_f64() > limit_s;
    let late: Vec<usize> = world.active.iter().copied().filter(|user| is_late(&world.users[*user])).collect();
    for user in late {
        let has_resent = world.users[user].has_resent;
        if !has_resent {
            note_stuck(world, user);
        }
        if harness.options.resend && !has_resent {
            let stuck = &mut world.users[user];
            stuck.has_resent = true;
            stuck.sent_at = Instant::now();
            let step = stuck.step;
            queue_update(harness, world, user, step, Tap::First);
        } else {
            world.counts.dead += 1;
            finish(harness, world, user);
        }
    }
}

fn note_stuck(world: &mut World, user: usize) {
    let stuck = &mut world.users[user];
    let counts = &mut world.counts;
    counts.stuck_steps += 1;
    counts.stuck_by_step[stuck.step as usize] += 1;
    counts.double_taps.stuck += u64::from(!stuck.double_tapped.is_empty());
    if !stuck.was_stuck {
        stuck.was_stuck = true;
        counts.stuck_users += 1;
    }
}
