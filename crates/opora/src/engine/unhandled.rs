//! Reports inputs without a handler, within limits. None of them counts as handled.
//!
//! - An outcome, a timer or an alarm leaves a warning, a metric and a parked row that the operator can retry.
//! - A timer whose state has ended leaves a metric.
//! - An input from Telegram leaves a metric and at most one log line a minute. It never leaves a row, because anyone
//!   can send anything.

use std::time::Duration;

use parking_lot::Mutex;

use super::parking::Parking;
use super::{Engine, TurnRun, inputs};
use crate::clock::timer_now;
use crate::key::ConversationKey;
use crate::rate_limit::RateLimit;
use crate::turn::{Handling, TurnInput};

/// How many rows are written in an hour. Further inputs leave only a metric and a warning.
const MAX_ROWS: u32 = 1_000;
const ROWS_WINDOW: Duration = Duration::from_secs(3600);
/// The shortest time between log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Reports unhandled inputs, with rate limits.
#[derive(Debug, Default)]
pub(crate) struct UnhandledReporter {
    rows: Mutex<RateLimit>,
    message_logs: Mutex<RateLimit>,
    /// Log lines about inputs that exceed the limit of rows.
    dropped_row_logs: Mutex<RateLimit>,
}

impl UnhandledReporter {
    /// Whether one more row may be written.
    pub(super) fn admits_row(&self) -> bool {
        self.rows.lock().admit(timer_now(), MAX_ROWS, ROWS_WINDOW).is_some()
    }

    /// Reports a turn that committed without a handler.
    pub(super) fn report(&self, key: &ConversationKey, turn_input: &TurnInput, handling: &Handling) {
        let user = key.user;
        let chat = key.chat;
        let input = turn_input.name();
        match handling {
            Handling::Handled => {}
            Handling::StateEnded => {
                metrics::counter!("opora_timers_over_total").increment(1);
                tracing::debug!(user, chat, input, "a timer fired after its state had ended");
            }
            Handling::Ignored(why) => {
                count(if turn_input.is_from_telegram() { "message" } else { input }, why);
                if let Some(more) = self.message_logs.lock().admit(timer_now(), 1, LOG_INTERVAL) {
                    tracing::info!(user, chat, input, why, more, "input without a handler; logged once a minute");
                }
            }
            Handling::Unhandled(reason) => {
                count(input, "no_handler");
                if let Some(more) = self.dropped_row_logs.lock().admit(timer_now(), 1, LOG_INTERVAL) {
                    let most = MAX_ROWS;
                    let reason = loggable(turn_input, reason);
                    tracing::warn!(
                        user,
                        chat,
                        input,
                        reason,
                        more,
                        most,
                        "input without a handler not kept: too many are parked already"
                    );
                }
            }
        }
    }
}

impl Engine {
    /// Parks an input without a handler: one transaction removes it from the inbox or the timers and adds the row.
    pub(super) async fn park_unhandled(&self, run: TurnRun<'_>, reason: String) {
        let parked = inputs::unhandled(run.key, run.inputs, reason.clone());
        let id = match self.park(run.inputs, parked, Vec::new()).await {
            Parking::Done(id) => id.map(|id| id.0),
            Parking::AlreadyProcessed => return self.already_processed(&run),
            Parking::Stopped => return,
        };
        let user = run.key.user;
        let chat = run.key.chat;
        let input = run.turn_input.name();
        count(input, "no_handler");
        metrics::counter!("opora_turns_total", "outcome" => "unhandled").increment(1);
        let reason = loggable(&run.turn_input, &reason);
        tracing::warn!(user, chat, input, reason, parked = id, "input without a handler is parked");
    }
}

/// Reports the result of a child dialogue for which the calling state has no handler. The state stays as it is.
pub(super) fn report_lost_result(key: &ConversationKey, child: &str) {
    count("returned", "no_handler");
    let user = key.user;
    let chat = key.chat;
    tracing::warn!(user, chat, child, "no handler for the result of a child dialogue");
}

/// The reason, if it may be logged. For an outcome it names a dialogue and a kind of effect. For a timer or an alarm it
/// contains the name, which may quote a person.
fn loggable<'r>(turn_input: &TurnInput, reason: &'r str) -> Option<&'r str> {
    matches!(turn_input, TurnInput::Outcome(_)).then_some(reason)
}

fn count(input: &str, why: &'static str) {
    metrics::counter!("opora_unhandled_total", "input" => input.to_owned(), "why" => why).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_unhandled_inputs_are_limited() {
        let reporter = UnhandledReporter::default();
        assert!((0..MAX_ROWS).all(|_| reporter.admits_row()));
        assert!(!reporter.admits_row());
    }
}
