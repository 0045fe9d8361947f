//! Chooses the next row to send.
//!
//! A chat with rows has a lane. Only one row of a lane is in flight at a time, which keeps the order. Lanes take turns.
//! A lane that has to wait is set aside until its time, and an empty lane is removed. This is plain data behind one
//! lock: workers ask for rows, and a timer task wakes them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::broadcast::Tally;
use super::limits::{Limits, SendLimits};
use super::loaded_rows::LoadedRows;
use super::verdict::Attempts;
use crate::clock::timer_now;
use crate::store::OutboxRow;

/// After so many "too many requests" in a row, over all chats, all chats pause: the bot as a whole is too fast.
const REFUSALS_BEFORE_PAUSE: u32 = 10;
/// How long all chats pause.
const GLOBAL_PAUSE: Duration = Duration::from_secs(1);
/// How many moved groups are remembered. For a forgotten one, Telegram names the new chat again.
const MOVED_CHATS_MAX: usize = 1024;

/// A row in the courier.
#[derive(Debug)]
pub(super) struct QueuedRow {
    pub row: OutboxRow,
    pub attempts: Attempts,
    /// The broadcast that it belongs to.
    pub tally: Option<Arc<Tally>>,
    /// Whether a turn of this process sent it. False for rows from the store, where that is unknown.
    pub is_of_turn: bool,
}

/// Which tasks to wake after rows were added.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    /// A worker: lanes got rows.
    pub ordered: bool,
    /// An urgent worker: there are calls outside of order.
    pub urgent: bool,
    /// The loader: the store has rows that are not in memory.
    pub behind: bool,
}

/// The answer to a worker that asks for a row.
#[derive(Debug, Default)]
pub(super) struct NextRow {
    pub item: Option<QueuedRow>,
    /// Whether there are rows for another worker.
    pub more: bool,
    /// Whether the timer task has to compute its next deadline.
    pub rearm_timer: bool,
}

/// All rows in memory, by chat.
#[derive(Debug)]
pub(super) struct Lanes {
    pub loaded: LoadedRows,
    lanes: HashMap<i64, Lane>,
    /// Lanes that may send. Entries are hints: the lane's own state decides.
    ready: VecDeque<i64>,
    /// Lanes that may send and whose first row has low priority.
    ready_low: VecDeque<i64>,
    waiting: BTreeMap<(Instant, u64), i64>,
    urgent: VecDeque<QueuedRow>,
    urgent_waiting: BTreeMap<(Instant, u64), QueuedRow>,
    /// Makes keys with the same time unique.
    next_entry: u64,
    limits: Limits,
    /// No lane may send before this.
    closed_until: Option<Instant>,
    /// No lane of low priority may send before this.
    low_closed_until: Option<Instant>,
    refused_in_a_row: u32,
    moved: HashMap<i64, i64>,
    /// Rows of lanes that are being sent.
    in_flight: usize,
    /// Rows outside of order that are being sent.
    urgent_in_flight: usize,
    is_draining: bool,
}

#[derive(Debug)]
struct Lane {
    rows: VecDeque<QueuedRow>,
    state: LaneState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneState {
    Ready,
    /// When it was sent, if it counts for the limits.
    InFlight(Option<Instant>),
    WaitingUntil(Instant),
}

impl QueuedRow {
    pub fn new(row: OutboxRow, tally: Option<Arc<Tally>>) -> Self {
        Self { row, attempts: Attempts::default(), tally, is_of_turn: false }
    }

    fn is_low(&self) -> bool {
        self.row.outgoing.extras.low_priority
    }
}

impl Lane {
    /// Whether other lanes go first. One message of a dialogue is enough to give the lane its priority.
    fn is_low(&self) -> bool {
        self.rows.iter().all(QueuedRow::is_low)
    }
}

impl Lanes {
    pub fn new(limits: SendLimits, loaded: LoadedRows) -> Self {
        Self {
            loaded,
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            ready_low: VecDeque::new(),
            waiting: BTreeMap::new(),
            urgent: VecDeque::new(),
            urgent_waiting: BTreeMap::new(),
            next_entry: 0,
            limits: Limits::new(limits),
            closed_until: None,
            low_closed_until: None,
            refused_in_a_row: 0,
            moved: HashMap::new(),
            in_flight: 0,
            urgent_in_flight: 0,
            is_draining: false,
        }
    }

    /// Adds committed rows.
    pub fn add_rows(&mut self, items: impl Iterator<Item = QueuedRow>) -> Wakeups {
        let mut wakeups = Wakeups::default();
        for item in items {
            if !self.loaded.add(&item.row) {
                if let Some(tally) = item.tally {
                    tally.lost_row();
                }
                continue;
            }
            wakeups.ordered |= item.row.outgoing.chat.is_some();
            wakeups.urgent |= item.row.outgoing.chat.is_none();
            self.admit(item);
        }
        wakeups.behind = self.loaded.is_behind();
        wakeups
    }

    /// Adds a page of rows from the store. Returns those that may have been sent and must not be sent twice.
    pub fn take_page(&mut self, rows: Vec<OutboxRow>, page: usize) -> Vec<OutboxRow> {
        let last = rows.last().map(|row| row.id);
        let is_last_page = rows.len() < page;
        let missing = rows.into_iter().filter(|row| self.loaded.add_read(row.id));
        let (unsure, unsent): (Vec<_>, Vec<_>) = missing.partition(|row| row.was_sending);
        unsent.into_iter().for_each(|row| self.admit(QueuedRow::new(row, None)));
        self.loaded.end_page(last, is_last_page);
        unsure
    }

    /// Adds a row to the end of its lane.
    fn admit(&mut self, mut item: QueuedRow) {
        let Some(mut chat) = item.row.outgoing.chat else { return self.urgent.push_back(item) };
        if let Some(to) = self.moved.get(&chat) {
            chat = *to;
            item.row.outgoing.redirect(chat);
        }
        let is_low = item.is_low();
        match self.lanes.get_mut(&chat) {
            None => {
                self.lanes.insert(chat, Lane { rows: VecDeque::from([item]), state: LaneState::Ready });
                self.make_ready(chat, is_low);
            }
            Some(lane) => {
                let overtakes = !is_low && lane.state == LaneState::Ready && lane.rows.iter().all(QueuedRow::is_low);
                lane.rows.push_back(item);
                // What is before this row in the chat goes first, so the whole lane gets this row's priority.
                if overtakes {
                    self.ready.push_back(chat);
                }
            }
        }
    }

    /// The next row to send, if fewer than `max` are in flight.
    pub fn next(&mut self, now: Instant, max: usize) -> NextRow {
        let mut next = NextRow::default();
        if self.in_flight >= max || self.is_closed(now, &mut next) {
            return next;
        }
        while let Some((chat, is_low)) = self.pop_ready(now, &mut next) {
            let Some(lane) = self.lanes.get_mut(&chat).filter(|lane| lane.state == LaneState::Ready) else { continue };
            let is_free = lane.rows.front().is_some_and(|item| is_free(&item.row.outgoing.method));
            let closed = if is_free { None } else { self.limits.chat_closed_until(chat, now) };
            if let Some(until) = closed {
                lane.state = LaneState::WaitingUntil(until);
                next.rearm_timer |= self.wait_until(chat, until);
                continue;
            }
            let Some(item) = lane.rows.pop_front() else { continue };
            lane.state = LaneState::InFlight((!is_free).then_some(now));
            if !is_free {
                self.limits.spend(chat, now);
                if is_low {
                    self.limits.spend_low_priority(now);
                }
            }
            self.in_flight += 1;
            next.item = Some(item);
            break;
        }
        let is_low_ready = !self.ready_low.is_empty() && self.low_closed_until.is_none();
        next.more = self.in_flight < max && (!self.ready.is_empty() || is_low_ready);
        next
    }

    /// The next lane that is ready, and whether it has low priority.
    fn pop_ready(&mut self, now: Instant, next: &mut NextRow) -> Option<(i64, bool)> {
        if let Some(chat) = self.ready.pop_front() {
            return Some((chat, false));
        }
        let closed_until = self.limits.low_priority_closed_until(now).filter(|_| !self.ready_low.is_empty());
        next.rearm_timer |= closed_until.is_some() && self.low_closed_until != closed_until;
        self.low_closed_until = closed_until;
        if closed_until.is_some() { None } else { Some((self.ready_low.pop_front()?, true)) }
    }

    /// The next call outside of order and limits.
    pub fn next_urgent(&mut self) -> NextRow {
        let item = self.urgent.pop_front();
        self.urgent_in_flight += usize::from(item.is_some());
        NextRow { item, more: !self.urgent.is_empty(), rearm_timer: false }
    }

    /// Ends a row. The next one of its chat may be sent.
    pub fn done(&mut self, chat: Option<i64>) {
        self.refused_in_a_row = 0;
        self.answered(chat);
        let Some(chat) = chat else { return };
        let Some(lane) = self.lanes.get_mut(&chat) else { return };
        if lane.rows.is_empty() {
            self.lanes.remove(&chat);
            return;
        }
        lane.state = LaneState::Ready;
        let is_low = lane.is_low();
        self.make_ready(chat, is_low);
    }

    /// Keeps a row for another attempt, not before `until`. While draining, the row and its lane are left for the next
    /// instance. True if the timer task has to compute its next deadline.
    pub fn retry(&mut self, item: QueuedRow, until: Instant) -> bool {
        let chat = item.row.outgoing.chat;
        self.answered(chat);
        if self.is_draining {
            chat.and_then(|chat| self.lanes.remove(&chat));
            return false;
        }
        let Some(chat) = chat else {
            self.next_entry += 1;
            self.urgent_waiting.insert((until, self.next_entry), item);
            return true;
        };
        let lane = self.lanes.entry(chat).or_insert_with(|| Lane { rows: VecDeque::new(), state: LaneState::Ready });
        lane.rows.push_front(item);
        lane.state = LaneState::WaitingUntil(until);
        self.wait_until(chat, until)
    }

    /// Records that a call was answered.
    fn answered(&mut self, chat: Option<i64>) {
        let Some(chat) = chat else {
            self.urgent_in_flight -= 1;
            return;
        };
        self.in_flight -= 1;
        if let Some(LaneState::InFlight(Some(sent_at))) = self.lanes.get(&chat).map(|lane| lane.state) {
            self.limits.answered(chat, sent_at, timer_now());
        }
    }

    /// Records that Telegram answered "too many requests". True if all chats pause.
    pub fn refused(&mut self, now: Instant) -> bool {
        self.refused_in_a_row += 1;
        let must_pause = self.refused_in_a_row.is_multiple_of(REFUSALS_BEFORE_PAUSE);
        if must_pause {
            self.closed_until = self.closed_until.max(Some(now + GLOBAL_PAUSE));
        }
        must_pause
    }

    /// Moves the lane of a group that became a supergroup. Its rows go before those that wait there.
    pub fn moved(&mut self, mut item: QueuedRow, from: i64, to: i64) {
        self.in_flight -= 1;
        if self.moved.len() >= MOVED_CHATS_MAX {
            self.moved.clear();
        }
        if from != to {
            self.moved.insert(from, to);
        }
        item.row.outgoing.redirect(to);
        let mut rows = self.lanes.remove(&from).map(|lane| lane.rows).unwrap_or_default();
        rows.iter_mut().for_each(|item| item.row.outgoing.redirect(to));
        rows.push_front(item);
        match self.lanes.get_mut(&to) {
            Some(lane) => {
                rows.append(&mut lane.rows);
                lane.rows = rows;
            }
            None => {
                let lane = Lane { rows, state: LaneState::Ready };
                let is_low = lane.is_low();
                self.lanes.insert(to, lane);
                self.make_ready(to, is_low);
            }
        }
    }

    /// The next deadline of the timer task. None if nothing waits.
    pub fn next_wake(&self) -> Option<Instant> {
        let lane = self.waiting.first_key_value().map(|((until, _), _)| *until);
        let urgent = self.urgent_waiting.first_key_value().map(|((until, _), _)| *until);
        [lane, urgent, self.closed_until, self.low_closed_until].into_iter().flatten().min()
    }

    /// Makes lanes ready whose time has come. True if there are calls outside of order among them.
    pub fn release_due(&mut self, now: Instant) -> bool {
        self.closed_until = self.closed_until.filter(|until| *until > now);
        self.low_closed_until = self.low_closed_until.filter(|until| *until > now);
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let chat = entry.remove();
            let Some(lane) = self.lanes.get_mut(&chat) else { continue };
            // The entry may be outdated: the lane may wait longer now.
            if matches!(lane.state, LaneState::WaitingUntil(until) if until <= now) {
                lane.state = LaneState::Ready;
                let is_low = lane.is_low();
                self.make_ready(chat, is_low);
            }
        }
        let mut is_urgent = false;
        while let Some(entry) = self.urgent_waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            self.urgent.push_back(entry.remove());
            is_urgent = true;
        }
        is_urgent
    }

    /// From now on nothing is retried.
    pub fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Whether nothing is in flight and nothing may be sent now.
    pub fn is_idle(&self) -> bool {
        self.in_flight + self.urgent_in_flight == 0
            && self.ready.is_empty()
            && self.ready_low.is_empty()
            && self.urgent.is_empty()
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Whether all lanes have to wait. Sets the deadline for the timer task then.
    fn is_closed(&mut self, now: Instant, next: &mut NextRow) -> bool {
        if let Some(until) = self.closed_until.filter(|until| *until > now).or_else(|| self.limits.closed_until(now)) {
            next.rearm_timer = self.closed_until != Some(until);
            self.closed_until = Some(until);
            return true;
        }
        false
    }

    fn make_ready(&mut self, chat: i64, is_low: bool) {
        if is_low { self.ready_low.push_back(chat) } else { self.ready.push_back(chat) }
    }

    /// Sets a lane aside. True if the timer task has to compute its next deadline.
    fn wait_until(&mut self, chat: i64, until: Instant) -> bool {
        self.next_entry += 1;
        self.waiting.insert((until, self.next_entry), chat);
        self.waiting.first_key_value().is_some_and(|((first, _), _)| *first == until)
    }
}

/// Whether Telegram does not count the call as a message.
fn is_free(method: &str) -> bool {
    method == "sendChatAction" || method.starts_with("delete")
}
