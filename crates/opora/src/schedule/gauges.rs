//! Gauges of the store, which only the leader reports.

use std::collections::HashSet;
use std::time::Duration;

use metrics::Gauge;

use crate::clock::Millis;
use crate::store::{StateCount, StateName, Statistics};

/// How many states have a series of their own. The conversations of the others are counted together.
const MAX_STATES: usize = 200;
/// Dialogue and state of conversations above that limit.
const OTHER: &str = "other";

/// The gauges of one term. At its end they fall to 0, so that a former leader shows no old numbers.
pub(super) struct StoreGauges {
    active: Gauge,
    inbox: Gauge,
    inbox_oldest: Gauge,
    outbox: Gauge,
    outbox_oldest: Gauge,
    failed: Gauge,
    timers: Gauge,
    effects: Gauge,
    effects_oldest: Gauge,
    parked: Gauge,
    mailbox: Gauge,
    /// The states of the last report. Those without conversations now are set to 0.
    states: HashSet<StateName>,
}

impl StoreGauges {
    pub(super) fn new() -> Self {
        Self {
            active: metrics::gauge!("opora_active_dialogues"),
            inbox: metrics::gauge!("opora_inbox_rows"),
            inbox_oldest: metrics::gauge!("opora_inbox_oldest_seconds"),
            outbox: metrics::gauge!("opora_outbox_rows"),
            outbox_oldest: metrics::gauge!("opora_outbox_oldest_seconds"),
            failed: metrics::gauge!("opora_failed_sends"),
            timers: metrics::gauge!("opora_timers"),
            effects: metrics::gauge!("opora_effects"),
            effects_oldest: metrics::gauge!("opora_effects_oldest_seconds"),
            parked: metrics::gauge!("opora_parked_turns"),
            mailbox: metrics::gauge!("opora_mailbox_waiting"),
            states: HashSet::new(),
        }
    }

    /// Reports the numbers of the store, and how many inputs wait in mailboxes.
    pub(super) fn set(&mut self, statistics: Statistics, mailbox: usize, now: Millis) {
        let age = |since: Option<Millis>| since.map_or(Duration::ZERO, |since| now.since(since)).as_secs_f64();
        self.active.set(statistics.active as f64);
        self.inbox.set(statistics.inbox as f64);
        self.inbox_oldest.set(age(statistics.inbox_oldest));
        self.outbox.set(statistics.outbox as f64);
        self.outbox_oldest.set(age(statistics.outbox_oldest));
        self.failed.set(statistics.failed as f64);
        self.timers.set(statistics.timers as f64);
        self.effects.set(statistics.effects as f64);
        self.effects_oldest.set(age(statistics.effects_oldest));
        self.parked.set(statistics.parked as f64);
        self.mailbox.set(mailbox as f64);
        self.set_states(bounded(statistics.by_state));
    }

    fn set_states(&mut self, counts: Vec<StateCount>) {
        let mut empty = std::mem::take(&mut self.states);
        for StateCount { state, conversations } in counts {
            empty.remove(&state);
            set_state(&state, conversations);
            self.states.insert(state);
        }
        empty.iter().for_each(|state| set_state(state, 0));
    }
}

impl Drop for StoreGauges {
    fn drop(&mut self) {
        self.set(Statistics::default(), 0, Millis(0));
    }
}

/// The states with most conversations, and the sum of the others.
fn bounded(mut counts: Vec<StateCount>) -> Vec<StateCount> {
    if counts.len() > MAX_STATES {
        counts.sort_by_key(|count| std::cmp::Reverse(count.conversations));
        let conversations = counts.drain(MAX_STATES..).map(|count| count.conversations).sum();
        let state = StateName { dialogue: OTHER.into(), state: OTHER.into() };
        counts.push(StateCount { state, conversations });
    }
    counts
}

fn set_state(name: &StateName, conversations: i64) {
    let dialogue = name.dialogue.to_string();
    let state = name.state.to_string();
    metrics::gauge!("opora_dialogues", "dialogue" => dialogue, "state" => state).set(conversations as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_beyond_the_limit_are_counted_together() {
        let count = |index: usize| StateCount {
            state: StateName { dialogue: "order".into(), state: format!("step{index}").into() },
            conversations: index as i64,
        };
        let few: Vec<_> = (0..MAX_STATES).map(count).collect();
        assert_eq!(bounded(few.clone()), few);
        let many = bounded((0..MAX_STATES + 3).map(count).collect());
        assert_eq!(many.len(), MAX_STATES + 1);
        assert_eq!(many.first().unwrap().conversations, 202);
        let other = many.last().unwrap();
        assert_eq!((&*other.state.dialogue, other.conversations), ("other", 3));
    }
}
