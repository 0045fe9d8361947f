//! Inputs that no handler hears: what they leave behind, within bounds. None of them counts as handled.
//!
//! - An outcome, a timer or an alarm leaves a warning, a metric and a row for the operator, who can let it run again.
//! - A timer whose state has ended leaves a metric.
//! - What a person sends leaves a metric and at most one line of the log each minute, and never a row: anybody can send
//!   anything.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::parking::Parking;
use super::{Engine, Work, letters};
use crate::clock::timer_now;
use crate::key::DialogueKey;
use crate::turn::{Event, Hearing};

/// So many rows are written in an hour; more leave a metric and a warning only. What they would tell, the first ones
/// do.
const ROWS_MOST: u32 = 1_000;
const ROWS_WINDOW: Duration = Duration::from_secs(3600);
/// So often the log tells of messages that no handler hears.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// How much was told and kept lately.
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    rows: Mutex<Window>,
    messages: Mutex<Window>,
    /// Of what would have been a row.
    others: Mutex<Window>,
}

/// Admits so many within a time.
#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    admitted: u32,
    held_back: u64,
}

impl Window {
    /// Whether one more is admitted; if so, how many were held back since the last one.
    fn admit(&mut self, now: Instant, most: u32, within: Duration) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= within) {
            self.since = Some(now);
            self.admitted = 0;
        }
        if self.admitted >= most {
            self.held_back += 1;
            return None;
        }
        self.admitted += 1;
        Some(std::mem::take(&mut self.held_back))
    }
}

impl Unheard {
    pub(super) fn admits_row(&self) -> bool {
        self.rows.lock().admit(timer_now(), ROWS_MOST, ROWS_WINDOW).is_some()
    }

    /// Tells of a turn that has committed without a handler.
    pub(super) fn tell(&self, key: &DialogueKey, event: &Event, hearing: &Hearing) {
        let user = key.user;
        let chat = key.chat;
        let input = event.name();
        match hearing {
            Hearing::Heard => {}
            Hearing::StateOver => {
                metrics::counter!("opora_timers_over_total").increment(1);
                tracing::debug!(user, chat, input, "a timer fired after its state had ended");
            }
            Hearing::Ignored(why) => {
                count(if event.is_from_telegram() { "message" } else { input }, why);
                if let Some(more) = self.messages.lock().admit(timer_now(), 1, LINE_EVERY) {
                    tracing::info!(user, chat, input, why, more, "no handler hears an input; told once a minute");
                }
            }
            Hearing::Unheard(reason) => {
                count(input, "no_handler");
                if let Some(more) = self.others.lock().admit(timer_now(), 1, LINE_EVERY) {
                    let most = ROWS_MOST;
                    let reason = loggable(event, reason);
                    tracing::warn!(
                        user,
                        chat,
                        input,
                        reason,
                        more,
                        most,
                        "no handler hears an input, and too many are kept already"
                    );
                }
            }
        }
    }
}

impl Engine {
    /// Keeps an input that no handler hears for the operator: in one step it leaves the inbox, or the timers, and
    /// becomes a row.
    pub(super) async fn keep_unheard(&self, work: Work<'_>, reason: String) {
        let parked = letters::unheard(work.key, work.letters, reason.clone());
        let id = match self.park(work.letters, parked, Vec::new()).await {
            Parking::Done(id) => id.map(|id| id.0),
            Parking::TakenBefore => return self.taken_before(&work).await,
            Parking::NotNow => return,
        };
        let user = work.key.user;
        let chat = work.key.chat;
        let input = work.event.name();
        count(input, "no_handler");
        metrics::counter!("opora_turns_total", "outcome" => "unheard").increment(1);
        let reason = loggable(&work.event, &reason);
        tracing::warn!(user, chat, input, reason, parked = id, "no handler hears an input; it is kept as parked");
    }
}

/// Tells of a result that the state that had called a child does not hear. The state itself goes on.
pub(super) fn tell_lost_result(key: &DialogueKey, child: &str) {
    count("returned", "no_handler");
    let user = key.user;
    let chat = key.chat;
    tracing::warn!(user, chat, child, "no handler hears what a child dialogue has given back");
}

/// Of an outcome the words name a dialogue and a kind of work. The name of a timer or an alarm may hold what a person
/// wrote: the row has it, and the log does not.
fn loggable<'r>(event: &Event, reason: &'r str) -> Option<&'r str> {
    matches!(event, Event::Outcome(_)).then_some(reason)
}

fn count(input: &str, why: &'static str) {
    metrics::counter!("opora_unheard_total", "input" => input.to_owned(), "why" => why).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_window_admits_so_many_and_says_how_many_it_held_back() {
        let mut window = Window::default();
        let minute = Duration::from_secs(60);
        assert_eq!(window.admit(timer_now(), 1, minute), Some(0));
        assert_eq!(window.admit(timer_now(), 1, minute), None);
        assert_eq!(window.admit(timer_now(), 1, minute), None);
        tokio::time::advance(minute).await;
        assert_eq!(window.admit(timer_now(), 1, minute), Some(2));
    }

    #[test]
    fn rows_of_unheard_inputs_are_bounded() {
        let unheard = Unheard::default();
        assert!((0..ROWS_MOST).all(|_| unheard.admits_row()));
        assert!(!unheard.admits_row());
    }
}
