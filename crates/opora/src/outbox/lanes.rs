//! Which row may go next.
//!
//! A chat with rows has a lane; one row of a lane is under way at a time, so order holds. Lanes take turns. A lane that
//! has to wait is put aside with its time and holds nobody up; an empty lane is no more. All of this is plain data
//! behind one lock: workers ask, a timer wakes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::broadcast::Tally;
use super::limits::{Limits, SendLimits};
use super::memory::Memory;
use super::rewrite::redirect;
use super::verdict::Attempts;
use crate::clock::timer_now;
use crate::store::OutboxRow;

/// So many refusals for too many requests in a row, over all chats, mean that the bot as a whole is too fast.
const STORM: u32 = 10;
/// How long all chats then pause.
const STORM_PAUSE: Duration = Duration::from_secs(1);
/// So many moved groups are remembered; of a forgotten one Telegram says again where it went.
const MOVED: usize = 1024;

/// A row on its way.
#[derive(Debug)]
pub(super) struct Item {
    pub row: OutboxRow,
    pub attempts: Attempts,
    /// The broadcast that it belongs to; such rows let others go first.
    pub tally: Option<Arc<Tally>>,
    /// A turn of this process has said it. False for rows read back from the store, which do not tell.
    pub is_of_turn: bool,
}

/// Who has to be woken for rows that were brought.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// A worker: rows of lanes were taken.
    pub ordered: bool,
    /// A worker for what stands outside of order.
    pub urgent: bool,
    /// The loader: the store has rows that memory has not.
    pub behind: bool,
}

/// What a worker gets.
#[derive(Debug, Default)]
pub(super) struct Next {
    pub item: Option<Item>,
    /// There is more for another worker.
    pub more: bool,
    /// The timer has to look again when to wake.
    pub arm: bool,
}

/// All rows that wait, and who may go.
#[derive(Debug)]
pub(super) struct Lanes {
    pub memory: Memory,
    lanes: HashMap<i64, Lane>,
    /// Lanes that may go. Entries are hints: the lane's own state decides.
    ready: VecDeque<i64>,
    /// The same for lanes that begin with a broadcast's row.
    ready_low: VecDeque<i64>,
    waiting: BTreeMap<(Instant, u64), i64>,
    urgent: VecDeque<Item>,
    urgent_waiting: BTreeMap<(Instant, u64), Item>,
    /// Tells entries for the same moment apart.
    entries: u64,
    limits: Limits,
    /// Nobody may go before this.
    closed_until: Option<Instant>,
    refused_in_a_row: u32,
    moved: HashMap<i64, i64>,
    /// Rows of lanes that are being sent.
    in_flight: usize,
    /// Rows outside of order that are being sent.
    urgent_in_flight: usize,
    draining: bool,
}

#[derive(Debug)]
struct Lane {
    rows: VecDeque<Item>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Since when, if it counts for the limits.
    UnderWay(Option<Instant>),
    WaitsUntil(Instant),
}

impl Item {
    pub fn new(row: OutboxRow, tally: Option<Arc<Tally>>) -> Self {
        Self { row, attempts: Attempts::default(), tally, is_of_turn: false }
    }
}

impl Lanes {
    pub fn new(limits: SendLimits, memory: Memory) -> Self {
        Self {
            memory,
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            ready_low: VecDeque::new(),
            waiting: BTreeMap::new(),
            urgent: VecDeque::new(),
            urgent_waiting: BTreeMap::new(),
            entries: 0,
            limits: Limits::new(limits),
            closed_until: None,
            refused_in_a_row: 0,
            moved: HashMap::new(),
            in_flight: 0,
            urgent_in_flight: 0,
            draining: false,
        }
    }

    /// Takes rows that were committed.
    pub fn bring(&mut self, items: impl Iterator<Item = Item>) -> Brought {
        let mut brought = Brought::default();
        for item in items {
            if !self.memory.bring(&item.row) {
                if let Some(tally) = item.tally {
                    tally.lost_sight();
                }
                continue;
            }
            brought.ordered |= item.row.outgoing.chat.is_some();
            brought.urgent |= item.row.outgoing.chat.is_none();
            self.admit(item);
        }
        brought.behind = self.memory.is_behind();
        brought
    }

    /// Takes a page of the store's rows; those that may have been sent and must not be sent twice come back.
    pub fn take_page(&mut self, rows: Vec<OutboxRow>, page: usize) -> Vec<OutboxRow> {
        let last = rows.last().map(|row| row.id);
        let is_last_page = rows.len() < page;
        let missing = rows.into_iter().filter(|row| self.memory.read(row.id));
        let (unsure, unsent): (Vec<_>, Vec<_>) = missing.partition(|row| row.was_sending);
        unsent.into_iter().for_each(|row| self.admit(Item::new(row, None)));
        self.memory.end_page(last, is_last_page);
        unsure
    }

    /// Puts a row behind those of its chat.
    fn admit(&mut self, mut item: Item) {
        let Some(mut chat) = item.row.outgoing.chat else { return self.urgent.push_back(item) };
        if let Some(to) = self.moved.get(&chat) {
            chat = *to;
            redirect(&mut item.row.outgoing, chat);
        }
        let is_low = item.tally.is_some();
        match self.lanes.get_mut(&chat) {
            None => {
                self.lanes.insert(chat, Lane { rows: VecDeque::from([item]), state: State::Ready });
                self.make_ready(chat, is_low);
            }
            Some(lane) => {
                let overtakes =
                    !is_low && lane.state == State::Ready && lane.rows.iter().all(|row| row.tally.is_some());
                lane.rows.push_back(item);
                // A dialogue's row must not wait with the broadcast before it.
                if overtakes {
                    self.ready.push_back(chat);
                }
            }
        }
    }

    /// The next row that may go, while fewer than `most` are under way.
    pub fn next(&mut self, now: Instant, most: usize) -> Next {
        let mut next = Next::default();
        if self.in_flight >= most || self.is_closed(now, &mut next) {
            return next;
        }
        while let Some(chat) = self.ready.pop_front().or_else(|| self.ready_low.pop_front()) {
            let Some(lane) = self.lanes.get_mut(&chat).filter(|lane| lane.state == State::Ready) else { continue };
            let is_free = lane.rows.front().is_some_and(|item| is_free(&item.row.outgoing.method));
            let closed = if is_free { None } else { self.limits.chat_closed_until(chat, now) };
            if let Some(until) = closed {
                lane.state = State::WaitsUntil(until);
                next.arm |= self.put_aside(chat, until);
                continue;
            }
            let Some(item) = lane.rows.pop_front() else { continue };
            lane.state = State::UnderWay((!is_free).then_some(now));
            if !is_free {
                self.limits.spend(chat, now);
            }
            self.in_flight += 1;
            next.item = Some(item);
            break;
        }
        next.more = self.in_flight < most && !(self.ready.is_empty() && self.ready_low.is_empty());
        next
    }

    /// The next row that stands outside of order and limits.
    pub fn next_urgent(&mut self) -> Next {
        let item = self.urgent.pop_front();
        self.urgent_in_flight += usize::from(item.is_some());
        Next { item, more: !self.urgent.is_empty(), arm: false }
    }

    /// A row is done with: its chat's next one may go.
    pub fn done(&mut self, chat: Option<i64>) {
        self.refused_in_a_row = 0;
        self.answered(chat);
        let Some(chat) = chat else { return };
        let Some(lane) = self.lanes.get_mut(&chat) else { return };
        let Some(front) = lane.rows.front() else {
            self.lanes.remove(&chat);
            return;
        };
        lane.state = State::Ready;
        let is_low = front.tally.is_some();
        self.make_ready(chat, is_low);
    }

    /// A row has to go again, not before `until`. While draining it stays for the next start, and so does its lane.
    /// True if the timer has to look again.
    pub fn again(&mut self, item: Item, until: Instant) -> bool {
        let chat = item.row.outgoing.chat;
        self.answered(chat);
        if self.draining {
            chat.and_then(|chat| self.lanes.remove(&chat));
            return false;
        }
        let Some(chat) = chat else {
            self.entries += 1;
            self.urgent_waiting.insert((until, self.entries), item);
            return true;
        };
        let lane = self.lanes.entry(chat).or_insert_with(|| Lane { rows: VecDeque::new(), state: State::Ready });
        lane.rows.push_front(item);
        lane.state = State::WaitsUntil(until);
        self.put_aside(chat, until)
    }

    /// What was under way has its answer.
    fn answered(&mut self, chat: Option<i64>) {
        let Some(chat) = chat else {
            self.urgent_in_flight -= 1;
            return;
        };
        self.in_flight -= 1;
        if let Some(State::UnderWay(Some(went_at))) = self.lanes.get(&chat).map(|lane| lane.state) {
            self.limits.answered(chat, went_at, timer_now());
        }
    }

    /// Telegram refused a call for too many requests. True if everything pauses for a moment.
    pub fn refused(&mut self, now: Instant) -> bool {
        self.refused_in_a_row += 1;
        let storm = self.refused_in_a_row.is_multiple_of(STORM);
        if storm {
            self.closed_until = self.closed_until.max(Some(now + STORM_PAUSE));
        }
        storm
    }

    /// A group became a supergroup: its rows go there, those of this lane before any that wait there.
    pub fn moved(&mut self, mut item: Item, from: i64, to: i64) {
        self.in_flight -= 1;
        if self.moved.len() >= MOVED {
            self.moved.clear();
        }
        if from != to {
            self.moved.insert(from, to);
        }
        redirect(&mut item.row.outgoing, to);
        let mut rows = self.lanes.remove(&from).map(|lane| lane.rows).unwrap_or_default();
        rows.iter_mut().for_each(|item| redirect(&mut item.row.outgoing, to));
        rows.push_front(item);
        match self.lanes.get_mut(&to) {
            Some(lane) => {
                rows.append(&mut lane.rows);
                lane.rows = rows;
            }
            None => {
                self.lanes.insert(to, Lane { rows, state: State::Ready });
                self.ready.push_back(to);
            }
        }
    }

    /// When the timer has to wake; none if nothing waits for a time.
    pub fn next_wake(&self) -> Option<Instant> {
        let lane = self.waiting.first_key_value().map(|((until, _), _)| *until);
        let urgent = self.urgent_waiting.first_key_value().map(|((until, _), _)| *until);
        [lane, urgent, self.closed_until].into_iter().flatten().min()
    }

    /// Lets go whose time has come; true if something outside of order is among them.
    pub fn release_due(&mut self, now: Instant) -> bool {
        self.closed_until = self.closed_until.filter(|until| *until > now);
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let chat = entry.remove();
            let Some(lane) = self.lanes.get_mut(&chat) else { continue };
            // The entry may be an old one of a lane that waits longer by now.
            if matches!(lane.state, State::WaitsUntil(until) if until <= now) {
                lane.state = State::Ready;
                self.ready.push_back(chat);
            }
        }
        let mut is_urgent = false;
        while let Some(entry) = self.urgent_waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            self.urgent.push_back(entry.remove());
            is_urgent = true;
        }
        is_urgent
    }

    /// From now on nothing is tried again.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Nothing is under way, and nothing may go now.
    pub fn is_idle(&self) -> bool {
        self.in_flight + self.urgent_in_flight == 0
            && self.ready.is_empty()
            && self.ready_low.is_empty()
            && self.urgent.is_empty()
    }

    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether all have to wait; then the timer knows until when.
    fn is_closed(&mut self, now: Instant, next: &mut Next) -> bool {
        if let Some(until) = self.closed_until.filter(|until| *until > now).or_else(|| self.limits.closed_until(now)) {
            next.arm = self.closed_until != Some(until);
            self.closed_until = Some(until);
            return true;
        }
        false
    }

    fn make_ready(&mut self, chat: i64, is_low: bool) {
        if is_low { self.ready_low.push_back(chat) } else { self.ready.push_back(chat) }
    }

    /// Lets a lane wait; true if the timer has to look again.
    fn put_aside(&mut self, chat: i64, until: Instant) -> bool {
        self.entries += 1;
        self.waiting.insert((until, self.entries), chat);
        self.waiting.first_key_value().is_some_and(|((first, _), _)| *first == until)
    }
}

/// Calls that show no new message are not counted by Telegram as such.
fn is_free(method: &str) -> bool {
    method == "sendChatAction" || method.starts_with("delete")
}
