//! The state that the Bot API server, the virtual users and the watch share.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicI32, AtomicU64};
use std::sync::{Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use crate::dialogue::{Step, StepSet};
use crate::figures::{Counts, Kill, Snapshot};
use crate::options::Options;
use crate::random::Random;

/// Update ids start at the same number in every run.
const FIRST_UPDATE: i64 = 700_000_000;
const FIRST_MESSAGE: i64 = 1000;

#[derive(Debug)]
pub struct Harness {
    pub options: Options,
    world: Mutex<World>,
    /// Wakes polls and webhook workers: there are new updates, or a newer poll.
    pub news: Notify,
    /// Wakes the start of the run: the bot has polled or set its webhook.
    pub bot_ready: Notify,
    /// The number of the latest poll; an older one in flight ends.
    pub latest_poll: AtomicU64,
    /// The bot's process group; 0 where the bot was started by someone else.
    pub process_group: AtomicI32,
}

#[derive(Debug)]
pub struct World {
    /// Updates that the bot has not confirmed, the oldest first.
    pub queue: VecDeque<QueuedUpdate>,
    pub last_update: i64,
    pub last_message: i64,
    pub users: Vec<VirtualUser>,
    /// The users whose dialogue is open, by their index in `users`.
    pub active: HashSet<usize>,
    /// Active users who no longer count for --concurrency, because of a kill.
    pub without_place: usize,
    pub finished_users: usize,
    pub latencies_us: Vec<u32>,
    pub counts: Counts,
    pub window_begin: Option<Snapshot>,
    pub window_end: Option<Snapshot>,
    pub webhook: Option<String>,
    /// Rises with every change of the webhook; workers of an older one end.
    pub webhook_generation: u64,
    pub is_bot_ready: bool,
    pub random: Random,
    pub killed_bots_cpu_s: f64,
    pub peak_rss_kb: u64,
    pub kills: Vec<Kill>,
    /// When the bot was killed, until it polls again.
    pub killed_at: Option<Instant>,
    pub is_done: bool,
    pub wrong_samples: Vec<String>,
}

#[derive(Debug)]
pub struct QueuedUpdate {
    pub id: i64,
    pub json: String,
}

#[derive(Clone, Debug)]
pub struct VirtualUser {
    pub step: Step,
    /// Replies seen so far.
    pub seen: StepSet,
    pub double_tapped: StepSet,
    pub is_waiting: bool,
    pub is_finished: bool,
    pub saw_repeat: bool,
    /// Has repeated its message and not been answered since.
    pub has_resent: bool,
    pub was_stuck: bool,
    /// The number of the kill that hit it in a dialogue.
    pub hit_by_kill: Option<usize>,
    pub last_update: i64,
    /// The message with the keyboard that it presses.
    pub keyboard_message: i64,
    pub sent_at: Instant,
}

impl Harness {
    pub fn new(options: Options) -> Self {
        let world = Mutex::new(World::new(options.seed));
        let (news, bot_ready) = (Notify::new(), Notify::new());
        let (latest_poll, process_group) = (AtomicU64::new(0), AtomicI32::new(0));
        Self { options, world, news, bot_ready, latest_poll, process_group }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        // After a panic the figures are wrong, so the run must not end with a result.
        self.world.lock().expect("no holder of the lock has panicked")
    }
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            last_update: FIRST_UPDATE,
            last_message: FIRST_MESSAGE,
            users: Vec::new(),
            active: HashSet::new(),
            without_place: 0,
            finished_users: 0,
            latencies_us: Vec::new(),
            counts: Counts::default(),
            window_begin: None,
            window_end: None,
            webhook: None,
            webhook_generation: 0,
            is_bot_ready: false,
            random: Random::new(seed),
            killed_bots_cpu_s: 0.0,
            peak_rss_kb: 0,
            kills: Vec::new(),
            killed_at: None,
            is_done: false,
            wrong_samples: Vec::new(),
        }
    }

    /// How many users of a group wait for the reply to an update that the bot has confirmed.
    pub fn confirmed_unanswered(&self, is_of_group: impl Fn(&VirtualUser) -> bool) -> usize {
        let first_unconfirmed = self.queue.front().map_or(i64::MAX, |update| update.id);
        let users = self.active.iter().map(|user| &self.users[*user]).filter(|user| is_of_group(user));
        users.filter(|user| user.is_waiting && user.last_update < first_unconfirmed).count()
    }
}

impl VirtualUser {
    pub fn new() -> Self {
        Self {
            step: Step::Language,
            seen: StepSet::default(),
            double_tapped: StepSet::default(),
            is_waiting: false,
            is_finished: false,
            saw_repeat: false,
            has_resent: false,
            was_stuck: false,
            hit_by_kill: None,
            last_update: 0,
            keyboard_message: 0,
            sent_at: Instant::now(),
        }
    }
}

/// The time of messages.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
