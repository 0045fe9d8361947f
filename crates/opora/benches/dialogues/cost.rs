//! The cost of turns.

use std::fmt;
use std::time::Instant;

use crate::filled_store::FilledStore;
use crate::process::{CpuUs, Processes};
use crate::{RUNS, TURNS};

/// The cost of turns with few and with many stored conversations: the run with the median ratio.
pub(crate) struct Costs {
    /// Of conversations that are not in the process's cache.
    cold: Pair,
    /// Of conversations that are.
    warm: Pair,
}

/// The same turns with few and with many conversations, right after each other.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) few: Turns,
    pub(crate) many: Turns,
}

#[derive(Clone, Copy)]
pub(crate) struct Turns {
    cpu: CpuUs,
    /// Wall-clock microseconds, with 200 turns at once.
    pub(crate) wall_us: f64,
}

impl Costs {
    /// Measures few and many alternately, so that other load on the machine affects both.
    pub(crate) async fn of(few: &mut FilledStore, many: &mut FilledStore, processes: &Processes) -> Self {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        // The first run only prepares statements and fills buffers.
        for run in 0..=RUNS {
            let (few_cold, few_warm) = run_of(few, processes).await;
            let (many_cold, many_warm) = run_of(many, processes).await;
            if run > 0 {
                cold.push(Pair { few: few_cold, many: many_cold });
                warm.push(Pair { few: few_warm, many: many_warm });
            }
        }
        Self { cold: Pair::median(cold), warm: Pair::median(warm) }
    }

    pub(crate) fn by_name(&self) -> [(&'static str, Pair); 2] {
        [("cold", self.cold), ("warm", self.warm)]
    }
}

/// Cold turns of random people, then warm turns of the same people.
async fn run_of(filled: &mut FilledStore, processes: &Processes) -> (Turns, Turns) {
    let mut people = filled.random_people(TURNS);
    let (mut at, mut cold, mut warm) = (Vec::new(), Turns::NONE, Turns::NONE);
    // With few conversations they are used in turn.
    let rounds = TURNS.div_ceil(people.len());
    for _ in 0..rounds {
        fastrand::shuffle(&mut people);
        let watch = Stopwatch::start(processes);
        at = filled.cold_turns(&people).await;
        cold.add(watch.stop());
    }
    for _ in 0..rounds {
        let watch = Stopwatch::start(processes);
        at = filled.warm_turns(&at).await;
        warm.add(watch.stop());
    }
    let turns = rounds * people.len();
    (cold.each_of(turns), warm.each_of(turns))
}

impl Pair {
    pub(crate) fn ratio(&self) -> f64 {
        self.many.cpu_us() / self.few.cpu_us()
    }

    fn median(mut runs: Vec<Self>) -> Self {
        runs.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
        runs[runs.len() / 2]
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

/// The time of this process, then the server's after a plus.
impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} + {:.1}", self.cpu.own, self.cpu.server)
    }
}

struct Stopwatch<'p> {
    processes: &'p Processes,
    cpu: CpuUs,
    began: Instant,
}

impl<'p> Stopwatch<'p> {
    fn start(processes: &'p Processes) -> Self {
        Self { processes, cpu: processes.cpu_us(), began: Instant::now() }
    }

    fn stop(self) -> Turns {
        let wall_us = self.began.elapsed().as_secs_f64() * 1e6;
        Turns { cpu: self.processes.cpu_us().since(self.cpu), wall_us }
    }
}
