//! Watches a run until it is done: restarts the bot, resolves stuck users, measures memory, kills as planned.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bot_process::BotProcess;
use crate::dialogue::Step;
use crate::figures::Kill;
use crate::harness::{Harness, World};
use crate::processes;
use crate::users;

/// Poll interval of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same while kills are due: a fast bot does 1,000 updates in 20 ms.
const POLL_INTERVAL_BEFORE_KILLS: Duration = Duration::from_millis(1);
const MEASURE_MEMORY_EVERY: Duration = Duration::from_millis(500);
/// A bot that ends by itself this often is not started again.
const MAX_DEATHS: u64 = 20;

#[derive(Debug)]
pub struct Watch {
    harness: Arc<Harness>,
    pub bot: BotProcess,
    /// The fractions of progress at which the bot is killed, the next one first.
    kill_plan: Vec<f64>,
    /// How often the bot has ended by itself.
    pub deaths: u64,
    began: Instant,
    memory_measured: Option<Instant>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    GaveUp,
}

impl Watch {
    pub fn new(harness: Arc<Harness>, bot: BotProcess) -> Self {
        let kill_plan = harness.options.kill_plan();
        Self { harness, bot, kill_plan, deaths: 0, began: Instant::now(), memory_measured: None }
    }

    /// Watches until all users are done or the time is over.
    pub async fn run(&mut self) -> io::Result<End> {
        loop {
            let has_kills_left = !self.kill_plan.is_empty();
            tokio::time::sleep(if has_kills_left { POLL_INTERVAL_BEFORE_KILLS } else { POLL_INTERVAL }).await;
            let is_alive = self.restart_if_dead()?;
            let was_killed = {
                let harness = Arc::clone(&self.harness);
                let mut world = harness.world();
                if world.is_done {
                    return Ok(End::Done);
                }
                if !is_alive || self.began.elapsed().as_secs_f64() > harness.options.max_seconds {
                    return Ok(End::GaveUp);
                }
                self.look(&mut world)
            };
            if was_killed {
                self.restart_after_kill().await?;
            }
        }
    }

    /// Starts a bot again that has ended by itself; false once it has done so too often.
    fn restart_if_dead(&mut self) -> io::Result<bool> {
        let Some(status) = self.bot.ended() else { return Ok(true) };
        if self.harness.options.kill_pid_cmd.is_none() {
            eprintln!("bot died by itself: {status}");
            self.deaths += 1;
        }
        self.bot.kill_group();
        if self.deaths >= MAX_DEATHS {
            return Ok(false);
        }
        self.bot.restart()?;
        Ok(true)
    }

    /// Does the work that is due; returns whether the bot was killed.
    fn look(&mut self, world: &mut World) -> bool {
        if self.memory_measured.is_none_or(|at| at.elapsed() > MEASURE_MEMORY_EVERY) {
            self.measure_memory(world);
        }
        users::resolve_stuck(&self.harness, world);
        if self.harness.options.duration.is_some() {
            users::fill_places(&self.harness, world);
        }
        let progress = self.progress(world);
        let due = self.kill_plan.first().copied().filter(|at| progress >= *at);
        if let Some(at) = due {
            self.kill_plan.remove(0);
            self.kill(world, at);
        }
        due.is_some()
    }

    pub fn measure_memory(&mut self, world: &mut World) {
        world.peak_rss_kb = world.peak_rss_kb.max(processes::group_peak_rss_kb(self.bot.group()));
        self.memory_measured = Some(Instant::now());
    }

    /// The progress of the run, from 0 to 1.
    fn progress(&self, world: &World) -> f64 {
        let options = &self.harness.options;
        match options.duration {
            Some(seconds) => world.window_begin.map_or(0.0, |begin| begin.at.elapsed().as_secs_f64() / seconds),
            None => world.counts.replies as f64 / (Step::COUNT as f64 * options.users_in_all() as f64),
        }
    }

    /// kill -9 of the bot. The users in a dialogue give up their places to new ones.
    fn kill(&mut self, world: &mut World, at: f64) {
        world.killed_bots_cpu_s += processes::group_cpu_s(self.bot.group());
        self.measure_memory(world);
        self.kill_bot();
        // Users who still suffer from an earlier kill do not count again.
        let confirmed_unanswered = world.confirmed_unanswered(|user| user.hit_by_kill.is_none());
        let number = world.kills.len() + 1;
        let (mut hit, mut awaiting) = (0, 0);
        for user in &world.active {
            let user = &mut world.users[*user];
            if user.hit_by_kill.is_none() {
                user.hit_by_kill = Some(number);
                hit += 1;
                awaiting += usize::from(user.is_waiting);
            }
        }
        world.without_place += hit;
        world.kills.push(Kill { at, awaiting, confirmed_unanswered, restart_ms: None });
        users::fill_places(&self.harness, world);
        world.killed_at = Some(Instant::now());
    }

    fn kill_bot(&mut self) {
        let Some(command) = &self.harness.options.kill_pid_cmd else {
            self.bot.kill_group();
            return self.bot.wait();
        };
        match Command::new("sh").arg("-c").arg(command).output() {
            Ok(output) => {
                let printed = String::from_utf8_lossy(&output.stdout);
                printed.split_whitespace().filter_map(|id| id.parse().ok()).for_each(processes::kill);
            }
            Err(error) => eprintln!("--kill-pid-cmd cannot run: {error}"),
        }
    }

    /// Starts the bot again after a kill, unless its supervisor does.
    async fn restart_after_kill(&mut self) -> io::Result<()> {
        let options = &self.harness.options;
        let is_supervised = options.kill_pid_cmd.is_some();
        if options.restart_delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(options.restart_delay_ms)).await;
        }
        if is_supervised { Ok(()) } else { self.bot.restart() }
    }
}
