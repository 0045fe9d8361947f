//! What to do with a row after a failed attempt.

use std::time::Duration;

use super::CourierSettings;
use crate::store::{IfUnsure, Outgoing};
use crate::telegram::{ApiError, RefusalKind};

/// What to do with a row after an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Count it as sent.
    Sent,
    /// Retry after this time.
    Retry(Duration),
    /// Retry after the time that Telegram asked for.
    RetryAfter(Duration),
    /// Retry in the group's new chat.
    Moved(i64),
    /// Give up.
    Failed {
        reason: Box<str>,
        /// Whether no other message reaches the chat either.
        is_chat_unreachable: bool,
    },
}

/// Failed attempts of a row, by the kind of error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    not_sent: u32,
    busy: u32,
    unsure: u32,
    moves: u32,
    all: u32,
}

impl Attempts {
    /// Counts a failed attempt and decides what to do.
    pub fn judge(&mut self, error: &ApiError, row: &Outgoing, settings: &CourierSettings) -> Verdict {
        self.all += 1;
        let verdict = match error {
            ApiError::NotSent(_) => {
                self.not_sent += 1;
                Verdict::Retry(backoff(self.not_sent, OFFLINE_BACKOFF_MAX))
            }
            // 502 and 504 come from a gateway: the server behind it may have sent the message.
            ApiError::Unsure(_) | ApiError::Busy { code: 502 | 504, .. } if row.extras.if_unsure == IfUnsure::Drop => {
                Verdict::failed(format!("it is unknown whether it was sent, and it must not be sent twice: {error}"))
            }
            ApiError::Unsure(_) => {
                self.unsure += 1;
                self.retry_up_to(settings.unsure_attempts, self.unsure, error)
            }
            ApiError::Busy { .. } => {
                self.busy += 1;
                self.retry_up_to(settings.busy_attempts, self.busy, error)
            }
            ApiError::RetryAfter { seconds } => Verdict::RetryAfter(Duration::from_secs((*seconds).into())),
            ApiError::Refused { kind, .. } => self.refused(*kind, error, row),
        };
        match verdict {
            Verdict::Retry(_) | Verdict::RetryAfter(_)
                if row.chat.is_none() && self.all >= settings.urgent_attempts =>
            {
                Verdict::failed(format!("gave up after {} attempts: {error}", self.all))
            }
            verdict => verdict,
        }
    }

    fn retry_up_to(&self, max: u32, tried: u32, error: &ApiError) -> Verdict {
        if tried < max {
            return Verdict::Retry(backoff(tried, BACKOFF_MAX));
        }
        Verdict::failed(format!("gave up after {tried} attempts: {error}"))
    }

    fn refused(&mut self, kind: RefusalKind, error: &ApiError, row: &Outgoing) -> Verdict {
        match kind {
            RefusalKind::NotModified | RefusalKind::QueryTooOld => Verdict::Sent,
            RefusalKind::MessageGone if row.method.starts_with("delete") => Verdict::Sent,
            RefusalKind::Blocked | RefusalKind::ChatNotFound => {
                Verdict::Failed { reason: error.to_string().into(), is_chat_unreachable: true }
            }
            RefusalKind::Migrated { to } if self.moves < MOVES_MAX && row.chat.is_some() => {
                self.moves += 1;
                Verdict::Moved(to)
            }
            // The operator has to set another token. Until then every row would fail.
            RefusalKind::Unauthorized => {
                self.not_sent += 1;
                Verdict::Retry(backoff(self.not_sent, BACKOFF_MAX))
            }
            _ => Verdict::failed(error.to_string()),
        }
    }
}

impl Verdict {
    fn failed(reason: String) -> Self {
        Self::Failed { reason: reason.into(), is_chat_unreachable: false }
    }
}

const BACKOFF_MIN: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Shorter, because an attempt without a network is cheap and people wait when it is back.
const OFFLINE_BACKOFF_MAX: Duration = Duration::from_secs(5);
/// A group moves once. More moves are a loop.
const MOVES_MAX: u32 = 3;

/// Doubles with every attempt, with jitter.
pub(super) fn backoff(tried: u32, longest: Duration) -> Duration {
    let full = BACKOFF_MIN.saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1).min(16))).min(longest);
    full.mul_f64(0.5 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Version;
    use crate::telegram::{AnswerCallback, Delete, Destination, IntoOutgoing, Say, Tag, classify};

    fn row(what: impl IntoOutgoing) -> Outgoing {
        what.into_outgoing(&Destination::chat(7), &Tag::new(Version(1))).unwrap()
    }

    fn verdict(error: &ApiError, row: &Outgoing) -> Verdict {
        Attempts::default().judge(error, row, &CourierSettings::default())
    }

    fn refused(code: u16, words: &str) -> ApiError {
        classify(code, words, Default::default())
    }

    #[test]
    fn an_unreachable_network_is_retried_for_ever() {
        let mut attempts = Attempts::default();
        let row = row("x");
        for _ in 0..1000 {
            let verdict = attempts.judge(&ApiError::NotSent("refused".into()), &row, &CourierSettings::default());
            assert!(matches!(verdict, Verdict::Retry(after) if after <= OFFLINE_BACKOFF_MAX), "{verdict:?}");
        }
    }

    #[test]
    fn lost_answers_and_server_errors_are_retried_a_few_times() {
        let settings = CourierSettings::default();
        for (error, most) in [
            (ApiError::Unsure("reset".into()), settings.unsure_attempts),
            (refused(500, "Internal Server Error"), settings.busy_attempts),
        ] {
            let mut attempts = Attempts::default();
            let row = row("x");
            for _ in 1..most {
                assert!(matches!(attempts.judge(&error, &row, &settings), Verdict::Retry(_)));
            }
            assert!(matches!(attempts.judge(&error, &row, &settings), Verdict::Failed { .. }));
        }
    }

    #[test]
    fn drop_if_unsure_is_not_retried_when_unsure() {
        let once = row(Say::text("x").drop_if_unsure());
        assert!(matches!(verdict(&ApiError::Unsure("reset".into()), &once), Verdict::Failed { .. }));
        assert!(matches!(verdict(&refused(504, "Gateway Timeout"), &once), Verdict::Failed { .. }));
        assert!(matches!(verdict(&ApiError::NotSent("refused".into()), &once), Verdict::Retry(_)));
        assert!(matches!(verdict(&refused(500, "restart"), &once), Verdict::Retry(_)));
    }

    #[test]
    fn needless_calls_count_as_sent() {
        assert_eq!(verdict(&refused(400, "Bad Request: message is not modified"), &row("x")), Verdict::Sent);
        let gone = refused(400, "Bad Request: message to delete not found");
        assert_eq!(verdict(&gone, &row(Delete::message(5))), Verdict::Sent);
        assert!(matches!(verdict(&gone, &row("x")), Verdict::Failed { is_chat_unreachable: false, .. }));
        let old = refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid");
        assert_eq!(verdict(&old, &row(AnswerCallback::new("q"))), Verdict::Sent);
    }

    #[test]
    fn a_callback_answer_is_tried_a_few_times_only() {
        let mut attempts = Attempts::default();
        let row = row(AnswerCallback::new("q"));
        let settings = CourierSettings::default();
        let mut judge = || attempts.judge(&ApiError::NotSent("refused".into()), &row, &settings);
        for _ in 1..settings.urgent_attempts {
            assert!(matches!(judge(), Verdict::Retry(_)));
        }
        assert!(matches!(judge(), Verdict::Failed { .. }));
    }
}
