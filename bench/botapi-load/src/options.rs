//! The options of the command line.

use clap::Parser;

#[derive(Clone, Debug, Parser)]
#[command(about = "Fake Telegram Bot API + closed-loop load generator")]
pub struct Options {
    /// Label copied into the result
    #[arg(long, default_value = "bot")]
    pub name: String,
    /// Address to serve on (port 0 = any free port)
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: String,
    #[arg(long, default_value = "123456789:AAbenchbenchbenchbenchbenchbenchbench")]
    pub token: String,
    /// Virtual users in all (ignored with --duration)
    #[arg(long, default_value_t = 2000)]
    pub users: usize,
    /// Start new users for this many seconds (after warm-up) instead of a fixed count
    #[arg(long)]
    pub duration: Option<f64>,
    /// Users in a dialogue at once
    #[arg(long, default_value_t = 200)]
    pub concurrency: usize,
    /// Completed users before measuring starts
    #[arg(long, default_value_t = 0)]
    pub warmup_users: usize,
    /// Pause between a reply and the user's next step
    #[arg(long, default_value_t = 0)]
    pub think_ms: u64,
    /// No reply within this many seconds = stuck
    #[arg(long, default_value_t = 10.0)]
    pub timeout: f64,
    /// A stuck user repeats its last message once; tells a lost update from lost state
    #[arg(long)]
    pub resend: bool,
    /// Delay every answer except getUpdates (real Telegram: 20..100 ms)
    #[arg(long, default_value_t = 0)]
    pub api_delay_ms: u64,
    /// Probability that a send/edit is refused with 429 retry_after=1
    #[arg(long, default_value_t = 0.0)]
    pub flood: f64,
    /// Probability that the callback, name and phone steps are sent twice back to back
    #[arg(long, default_value_t = 0.0)]
    pub double_tap: f64,
    /// Pause between the two messages of a double tap
    #[arg(long, default_value_t = 0)]
    pub double_tap_gap_ms: u64,
    /// Command that runs the bot (its own process group; TOKEN and API_URL are set). None: wait for one
    #[arg(long)]
    pub bot_cmd: Option<String>,
    /// Bot's stdout and stderr go here
    #[arg(long, default_value = "/dev/null")]
    pub bot_log: String,
    /// kill -9 the bot at these fractions of progress, e.g. 0.3,0.6
    #[arg(long, value_delimiter = ',')]
    pub kill_at: Vec<f64>,
    /// kill -9 the bot each time this fraction of progress has passed, e.g. 0.25
    #[arg(long)]
    pub kill_every: Option<f64>,
    /// Command printing the pids to kill -9 (default: the whole process group of --bot-cmd)
    #[arg(long)]
    pub kill_pid_cmd: Option<String>,
    /// Pause between kill and restart
    #[arg(long, default_value_t = 0)]
    pub restart_delay_ms: u64,
    /// Also report the CPU time of this process (redis)
    #[arg(long)]
    pub redis_pid: Option<i32>,
    /// Give up after this many seconds whatever happens
    #[arg(long, default_value_t = 180.0)]
    pub max_seconds: f64,
    /// Worker threads of the harness (1 = current-thread runtime)
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Options {
    /// All users that are started, where their number is fixed.
    pub fn users_in_all(&self) -> usize {
        self.users + self.warmup_users
    }

    /// The fractions of progress at which the bot is killed, the first one first.
    pub fn kill_plan(&self) -> Vec<f64> {
        let mut plan = self.kill_at.clone();
        if let Some(every) = self.kill_every.filter(|every| *every > 0.0) {
            let mut at = every;
            while at < 0.999 {
                plan.push(at);
                at += every;
            }
        }
        plan.sort_by(f64::total_cmp);
        plan
    }
}
