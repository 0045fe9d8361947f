//! The result: one JSON object. `run.sh` and `table.py` read it by the names of its fields.

use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Kill, Snapshot};
use crate::harness::World;
use crate::options::Options;

/// How a run went, besides its figures.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub startup: Duration,
    pub gave_up: bool,
    pub bot_deaths: u64,
}

/// The whole result. The window must have an end.
pub fn result(options: &Options, world: &World, course: Course) -> Value {
    let parts = [about(options, world, course), outcome(world), window(world), latencies(world), double_taps(world)];
    parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten().collect()
}

/// The result of a run that did not start.
pub fn failure(options: &Options, error: &str) -> Value {
    json!({"name": options.name, "error": error})
}

fn about(options: &Options, world: &World, course: Course) -> Value {
    json!({
        "name": options.name,
        "users_started": world.users.len(),
        "concurrency": options.concurrency,
        "think_ms": options.think_ms,
        "api_delay_ms": options.api_delay_ms,
        "startup_ms": course.startup.as_millis() as u64,
        "gave_up": course.gave_up,
        "bot_died_by_itself": course.bot_deaths,
        "peak_rss_mb": round(world.peak_rss_kb as f64 / 1024.0),
    })
}

/// What the users have seen.
fn outcome(world: &World) -> Value {
    let counts = &world.counts;
    let kills: Vec<_> = world.kills.iter().map(Kill::to_json).collect();
    json!({
        "completed": counts.completed,
        "wrong": counts.wrong,
        "wrong_samples": world.wrong_samples,
        "stuck": counts.stuck_users,
        "stuck_steps": counts.stuck_steps,
        "stuck_by_step": counts.stuck_by_step,
        "recovered_by_resend": counts.recovered_by_resend,
        "dead": counts.dead,
        "unfinished": world.active.len(),
        "dup_replies": counts.repeated_replies,
        "dup_users": counts.users_with_repeats,
        "unexpected": counts.unexpected,
        "invalid_replies": counts.invalid,
        "unknown_text": counts.unknown_text,
        "bad_keyboard": counts.bad_keyboard,
        "callbacks_unanswered": counts.callbacks_sent.saturating_sub(counts.callbacks_answered),
        "poll_conflicts": counts.poll_conflicts,
        "floods": counts.floods,
        "kills": kills,
    })
}

/// The figures between the end of the warm-up and the start of the last user.
fn window(world: &World) -> Value {
    let Some(end) = world.window_end else { return Value::Null };
    let begin = world.window_begin.unwrap_or(end);
    let seconds = (end.at - begin.at).as_secs_f64().max(1e-9);
    let updates = (end.replies - begin.replies) as f64;
    let spent = |figure: fn(&Snapshot) -> f64| figure(&end) - figure(&begin);
    let bot_cpu_s = spent(|snapshot| snapshot.bot_cpu_s);
    let server_cpu_s = spent(|snapshot| snapshot.server_cpu_s);
    let own_cpu_s = spent(|snapshot| snapshot.own_cpu_s);
    let others_cpu_s = spent(|snapshot| snapshot.machine_busy_s) - bot_cpu_s - server_cpu_s - own_cpu_s;
    let polls = (end.polls - begin.polls) as f64;
    let polled_updates = (end.polled_updates - begin.polled_updates) as f64;
    let api_calls = (end.api_calls - begin.api_calls) as f64;
    json!({
        "window_s": round(seconds),
        "window_updates": updates,
        "updates_per_s": round(updates / seconds),
        "bot_cpu_s": round(bot_cpu_s),
        "bot_cpu_s_per_1000": round_finely(bot_cpu_s * 1000.0 / updates.max(1.0)),
        "bot_cores": round(bot_cpu_s / seconds),
        "redis_cores": round(server_cpu_s / seconds),
        "harness_cores": round(own_cpu_s / seconds),
        "other_cores": round(others_cpu_s.max(0.0) / seconds),
        "updates_per_poll": round(polled_updates / polls.max(1.0)),
        "api_calls_per_update": round(api_calls / updates.max(1.0)),
    })
}

fn latencies(world: &World) -> Value {
    let mut sorted = world.latencies_us.clone();
    sorted.sort_unstable();
    let at = |share: f64| percentile_ms(&sorted, share);
    json!({"p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "max_ms": at(1.0)})
}

fn double_taps(world: &World) -> Value {
    let taps = &world.counts.double_taps;
    json!({
        "double_tap": {
            "pairs": taps.pairs,
            "double_ask": taps.asked_twice,
            "second_won": taps.second_won,
            "stuck": taps.stuck,
            "wrong": taps.wrong,
        },
    })
}

fn percentile_ms(sorted_us: &[u32], share: f64) -> f64 {
    let last = sorted_us.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    sorted_us.get(place).map_or(0.0, |latency_us| f64::from(*latency_us) / 1000.0)
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn round_finely(value: f64) -> f64 {
    (value * 100_000.0).round() / 100_000.0
}
