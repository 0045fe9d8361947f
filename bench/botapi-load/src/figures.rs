//! What is counted and measured during a run.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use serde_json::{Value, json};

use crate::dialogue::Step;
use crate::harness::{Harness, World};
use crate::processes;

#[derive(Debug, Default)]
pub struct Counts {
    pub completed: u64,
    pub wrong: u64,
    /// Steps without a reply in time.
    pub stuck_steps: u64,
    pub stuck_users: u64,
    pub stuck_by_step: [u64; Step::COUNT],
    pub recovered_by_resend: u64,
    /// Users who never got a reply.
    pub dead: u64,
    pub repeated_replies: u64,
    pub users_with_repeats: u64,
    pub unexpected: u64,
    pub invalid: u64,
    pub unknown_text: u64,
    pub bad_keyboard: u64,
    pub double_taps: DoubleTaps,
    pub callbacks_sent: u64,
    pub callbacks_answered: u64,
    pub api_calls: u64,
    pub polls: u64,
    pub polled_updates: u64,
    pub poll_conflicts: u64,
    pub floods: u64,
    pub replies: u64,
}

/// The replies to steps that were sent twice.
#[derive(Debug, Default)]
pub struct DoubleTaps {
    pub pairs: u64,
    pub asked_twice: u64,
    pub second_won: u64,
    pub stuck: u64,
    pub wrong: u64,
}

/// A kill -9 of the bot.
#[derive(Debug)]
pub struct Kill {
    /// The fraction of progress it was planned for.
    pub at: f64,
    /// Users who waited for a reply.
    pub awaiting: usize,
    /// Those of them whose update the killed bot had confirmed already.
    pub confirmed_unanswered: usize,
    /// How long it took until the restarted bot polled.
    pub restart_ms: Option<u64>,
}

impl Kill {
    pub fn to_json(&self) -> Value {
        json!({
            "at": self.at,
            "awaiting": self.awaiting,
            "confirmed_unanswered": self.confirmed_unanswered,
            "restart_ms": self.restart_ms,
        })
    }
}

/// The running figures at one moment; two of them bound the measured window.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    pub at: Instant,
    pub replies: u64,
    pub bot_cpu_s: f64,
    pub server_cpu_s: f64,
    pub own_cpu_s: f64,
    pub machine_busy_s: f64,
    pub polls: u64,
    pub polled_updates: u64,
    pub api_calls: u64,
}

impl Snapshot {
    pub fn take(harness: &Harness, world: &World) -> Self {
        let counts = &world.counts;
        Self {
            at: Instant::now(),
            replies: counts.replies,
            bot_cpu_s: world.killed_bots_cpu_s + processes::group_cpu_s(harness.process_group.load(Relaxed)),
            server_cpu_s: harness.options.redis_pid.map_or(0.0, processes::server_cpu_s),
            own_cpu_s: processes::own_cpu_s(),
            machine_busy_s: processes::machine_busy_s(),
            polls: counts.polls,
            polled_updates: counts.polled_updates,
            api_calls: counts.api_calls,
        }
    }
}
