//! What turns cost.

use std::fmt;
use std::time::Instant;

use crate::process::{CpuUs, Processes};
use crate::stored::Stock;
use crate::{PARTS, TURNS};

/// The cost of a turn with so many conversations as there are.
pub(crate) struct Cost {
    /// Of conversations that were not held.
    pub(crate) cold: Turns,
    /// Of those that were.
    pub(crate) warm: Turns,
}

/// What one of many turns took: of the part that took neither the most nor the least.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    cpu: CpuUs,
    /// Microseconds of the clock on the wall, where 200 are under way at once.
    pub(crate) wall_us: f64,
}

impl Cost {
    pub(crate) async fn of(stock: &mut Stock, processes: &Processes) -> Self {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        // The first part is for statements to be prepared and buffers to be filled.
        for part in 0..=PARTS {
            let mut people = stock.some_people(TURNS);
            let (mut at, mut cold_turns, mut warm_turns) = (Vec::new(), Turns::NONE, Turns::NONE);
            // Where there are few conversations, they are taken in turn.
            let rounds = TURNS.div_ceil(people.len());
            for _ in 0..rounds {
                fastrand::shuffle(&mut people);
                let watch = Watch::start(processes);
                at = stock.cold_turns(&people).await;
                cold_turns.add(watch.stop());
            }
            for _ in 0..rounds {
                let watch = Watch::start(processes);
                at = stock.warm_turns(&at).await;
                warm_turns.add(watch.stop());
            }
            if part > 0 {
                cold.push(cold_turns.each_of(rounds * people.len()));
                warm.push(warm_turns.each_of(rounds * people.len()));
            }
        }
        Self { cold: Turns::middle(cold), warm: Turns::middle(warm) }
    }
}

impl Turns {
    const NONE: Self = Self { cpu: CpuUs { own: 0.0, server: 0.0 }, wall_us: 0.0 };

    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu.own + self.cpu.server
    }

    fn add(&mut self, more: Self) {
        self.cpu.own += more.cpu.own;
        self.cpu.server += more.cpu.server;
        self.wall_us += more.wall_us;
    }

    fn each_of(self, turns: usize) -> Self {
        let each = |all: f64| all / turns as f64;
        let cpu = CpuUs { own: each(self.cpu.own), server: each(self.cpu.server) };
        Self { cpu, wall_us: each(self.wall_us) }
    }

    fn middle(mut parts: Vec<Self>) -> Self {
        parts.sort_by(|one, other| one.cpu_us().total_cmp(&other.cpu_us()));
        parts[parts.len() / 2]
    }
}

/// The process' own time, and the server's behind a plus.
impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} + {:.1}", self.cpu.own, self.cpu.server)
    }
}

struct Watch<'p> {
    processes: &'p Processes,
    cpu: CpuUs,
    began: Instant,
}

impl<'p> Watch<'p> {
    fn start(processes: &'p Processes) -> Self {
        Self { processes, cpu: processes.cpu_us(), began: Instant::now() }
    }

    fn stop(self) -> Turns {
        let wall_us = self.began.elapsed().as_secs_f64() * 1e6;
        Turns { cpu: self.processes.cpu_us().since(self.cpu), wall_us }
    }
}
