//! What Telegram's answer means for a row.

use std::time::Duration;

use super::CourierSettings;
use crate::store::{IfUnsure, Outgoing};
use crate::telegram::{ApiError, RefusalKind};

/// What to do with a row that was not plainly sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// As good as sent.
    Sent,
    /// Again, not before this has passed.
    Again(Duration),
    /// Again, not before Telegram's time has passed.
    Later(Duration),
    /// Again, at the group's new chat.
    Moved(i64),
    /// Never.
    Failed {
        why: Box<str>,
        /// Nothing else will reach the chat either.
        chat_is_dead: bool,
    },
}

/// How often a row was tried, by what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    away: u32,
    busy: u32,
    unsure: u32,
    moves: u32,
    all: u32,
}

impl Attempts {
    /// Judges a failed try and counts it.
    pub fn judge(&mut self, error: &ApiError, row: &Outgoing, settings: &CourierSettings) -> Verdict {
        self.all += 1;
        let verdict = match error {
            ApiError::NotSent(_) => {
                self.away += 1;
                Verdict::Again(backoff(self.away, LONGEST_AWAY))
            }
            // 502 and 504 are a gateway's: what stands behind it may have done it.
            ApiError::Unsure(_) | ApiError::Busy { code: 502 | 504, .. } if row.if_unsure == IfUnsure::Drop => {
                Verdict::failed(format!("nobody can say whether it was sent, and it is not to be sent twice: {error}"))
            }
            ApiError::Unsure(_) => {
                self.unsure += 1;
                self.again_up_to(settings.unsure_attempts, self.unsure, error)
            }
            ApiError::Busy { .. } => {
                self.busy += 1;
                self.again_up_to(settings.busy_attempts, self.busy, error)
            }
            ApiError::RetryAfter { seconds } => Verdict::Later(Duration::from_secs((*seconds).into())),
            ApiError::Refused { kind, .. } => self.refused(*kind, error, row),
        };
        match verdict {
            Verdict::Again(_) | Verdict::Later(_) if row.chat.is_none() && self.all >= settings.urgent_attempts => {
                Verdict::failed(format!("given up after {} tries: {error}", self.all))
            }
            verdict => verdict,
        }
    }

    fn again_up_to(&self, most: u32, tried: u32, error: &ApiError) -> Verdict {
        if tried < most {
            return Verdict::Again(backoff(tried, LONGEST));
        }
        Verdict::failed(format!("given up after {tried} tries: {error}"))
    }

    fn refused(&mut self, kind: RefusalKind, error: &ApiError, row: &Outgoing) -> Verdict {
        match kind {
            RefusalKind::NotModified | RefusalKind::QueryTooOld => Verdict::Sent,
            RefusalKind::MessageGone if row.method.starts_with("delete") => Verdict::Sent,
            RefusalKind::Blocked | RefusalKind::ChatNotFound => {
                Verdict::Failed { why: error.to_string().into(), chat_is_dead: true }
            }
            RefusalKind::Migrated { to } if self.moves < MOST_MOVES && row.chat.is_some() => {
                self.moves += 1;
                Verdict::Moved(to)
            }
            // The operator has to give another token; until then every row would fail alike.
            RefusalKind::Unauthorized => {
                self.away += 1;
                Verdict::Again(backoff(self.away, LONGEST))
            }
            _ => Verdict::failed(error.to_string()),
        }
    }
}

impl Verdict {
    fn failed(why: String) -> Self {
        Self::Failed { why: why.into(), chat_is_dead: false }
    }
}

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);
/// A try without a network costs nothing, and people wait when it is back.
const LONGEST_AWAY: Duration = Duration::from_secs(5);
/// A group moves once; more is a loop.
const MOST_MOVES: u32 = 3;

/// Doubles with every try; the last half is left to chance, so that not all come back at once.
pub(super) fn backoff(tried: u32, longest: Duration) -> Duration {
    let full = FIRST.saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1).min(16))).min(longest);
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

    fn judged(error: &ApiError, row: &Outgoing) -> Verdict {
        Attempts::default().judge(error, row, &CourierSettings::default())
    }

    fn refused(code: u16, words: &str) -> ApiError {
        classify(code, words, Default::default())
    }

    #[test]
    fn a_network_that_is_away_is_waited_for_without_end() {
        let mut attempts = Attempts::default();
        let row = row("x");
        for _ in 0..1000 {
            let verdict = attempts.judge(&ApiError::NotSent("refused".into()), &row, &CourierSettings::default());
            assert!(matches!(verdict, Verdict::Again(after) if after <= LONGEST_AWAY), "{verdict:?}");
        }
    }

    #[test]
    fn lost_answers_and_failures_of_telegrams_own_end_some_time() {
        let settings = CourierSettings::default();
        for (error, most) in [
            (ApiError::Unsure("reset".into()), settings.unsure_attempts),
            (refused(500, "Internal Server Error"), settings.busy_attempts),
        ] {
            let mut attempts = Attempts::default();
            let row = row("x");
            for _ in 1..most {
                assert!(matches!(attempts.judge(&error, &row, &settings), Verdict::Again(_)));
            }
            assert!(matches!(attempts.judge(&error, &row, &settings), Verdict::Failed { .. }));
        }
    }

    #[test]
    fn what_must_not_come_twice_is_not_sent_again_when_nobody_is_sure() {
        let once = row(Say::text("x").drop_if_unsure());
        assert!(matches!(judged(&ApiError::Unsure("reset".into()), &once), Verdict::Failed { .. }));
        assert!(matches!(judged(&refused(504, "Gateway Timeout"), &once), Verdict::Failed { .. }));
        assert!(matches!(judged(&ApiError::NotSent("refused".into()), &once), Verdict::Again(_)));
        assert!(matches!(judged(&refused(500, "restart"), &once), Verdict::Again(_)));
    }

    #[test]
    fn what_is_as_good_as_done_counts_as_sent() {
        assert_eq!(judged(&refused(400, "Bad Request: message is not modified"), &row("x")), Verdict::Sent);
        let gone = refused(400, "Bad Request: message to delete not found");
        assert_eq!(judged(&gone, &row(Delete::message(5))), Verdict::Sent);
        assert!(matches!(judged(&gone, &row("x")), Verdict::Failed { chat_is_dead: false, .. }));
        let old = refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid");
        assert_eq!(judged(&old, &row(AnswerCallback::new("q"))), Verdict::Sent);
    }

    #[test]
    fn an_answer_outside_of_order_is_tried_a_few_times_only() {
        let mut attempts = Attempts::default();
        let row = row(AnswerCallback::new("q"));
        let settings = CourierSettings::default();
        let mut judge = || attempts.judge(&ApiError::NotSent("refused".into()), &row, &settings);
        for _ in 1..settings.urgent_attempts {
            assert!(matches!(judge(), Verdict::Again(_)));
        }
        assert!(matches!(judge(), Verdict::Failed { .. }));
    }
}
