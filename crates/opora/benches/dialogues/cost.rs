//! What turns cost.

use std::fmt;
use std::time::Instant;

use crate::process::{CpuUs, Processes};
use crate::stored::Stock;
use crate::{PARTS, TURNS};

/// What turns cost with few and with many stored conversations, of the part whose ratio is in the middle.
pub(crate) struct Costs {
    /// Of conversations that were not held.
    cold: Pair,
    /// Of those that were.
    warm: Pair,
}

/// The same turns with few and with many, right after each other.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) few: Turns,
    pub(crate) many: Turns,
}

/// What one of many turns took.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    cpu: CpuUs,
    /// Microseconds of the clock on the wall, where 200 are under way at once.
    pub(crate) wall_us: f64,
}

impl Costs {
    /// Measures few and many in turns, so that what else the machine does meets both.
    pub(crate) async fn of(few: &mut Stock, many: &mut Stock, processes: &Processes) -> Self {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        // The first part is for statements to be prepared and buffers to be filled.
        for part in 0..=PARTS {
            let (few_cold, few_warm) = part_of(few, processes).await;
            let (many_cold, many_warm) = part_of(many, processes).await;
            if part > 0 {
                cold.push(Pair { few: few_cold, many: many_cold });
                warm.push(Pair { few: few_warm, many: many_warm });
            }
        }
        Self { cold: Pair::middle(cold), warm: Pair::middle(warm) }
    }

    pub(crate) fn by_name(&self) -> [(&'static str, Pair); 2] {
        [("cold", self.cold), ("warm", self.warm)]
    }
}

/// Cold turns of people at random, and then warm ones of the same.
async fn part_of(stock: &mut Stock, processes: &Processes) -> (Turns, Turns) {
    let mut people = stock.some_people(TURNS);
    let (mut at, mut cold, mut warm) = (Vec::new(), Turns::NONE, Turns::NONE);
    // Where there are few conversations, they are taken in turn.
    let rounds = TURNS.div_ceil(people.len());
    for _ in 0..rounds {
        fastrand::shuffle(&mut people);
        let watch = Watch::start(processes);
        at = stock.cold_turns(&people).await;
        cold.add(watch.stop());
    }
    for _ in 0..rounds {
        let watch = Watch::start(processes);
        at = stock.warm_turns(&at).await;
        warm.add(watch.stop());
    }
    let turns = rounds * people.len();
    (cold.each_of(turns), warm.each_of(turns))
}

impl Pair {
    pub(crate) fn ratio(&self) -> f64 {
        self.many.cpu_us() / self.few.cpu_us()
    }

    fn middle(mut parts: Vec<Self>) -> Self {
        parts.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
        parts[parts.len() / 2]
    }
}

impl Turns {
    const NONE: Self = Self { cpu: CpuUs { own: 0.0, server: 0.0 }, wall_us: 0.0 };

    fn cpu_us(&self) -> f64 {
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
