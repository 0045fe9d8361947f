//! Named places where a test pauses or kills the process.
//!
//! Random kills rarely hit the moment between two given steps. A failpoint that is not armed costs one relaxed load, so
//! failpoints are in every build. Nothing here reads the environment or the arguments: the program calls [`arm_from`].

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Declares failpoints, and the list of all of them.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// All failpoints of the library.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

failpoints! {
    /// A batch has arrived from Telegram and is not durable yet.
    INTAKE_BEFORE_RECEIVE = "intake.before_receive",
    /// A batch is durable and not acknowledged yet.
    INTAKE_AFTER_RECEIVE = "intake.after_receive",
    /// A turn has opened its conversation.
    TURN_BEFORE_HANDLER = "turn.before_handler",
    /// The handler of a turn has returned.
    TURN_AFTER_HANDLER = "turn.after_handler",
    /// A turn is about to commit.
    TURN_BEFORE_COMMIT = "turn.before_commit",
    /// A turn has committed; its messages and effects are not handed over yet.
    TURN_AFTER_COMMIT = "turn.after_commit",
    /// A message is about to be sent.
    OUTBOX_BEFORE_SEND = "outbox.before_send",
    /// A message was sent and is not settled yet.
    OUTBOX_AFTER_SEND = "outbox.after_send",
    /// A sent message is settled.
    OUTBOX_AFTER_SETTLE = "outbox.after_settle",
    /// An effect is about to run.
    EFFECT_BEFORE_RUN = "effect.before_run",
    /// An effect has run and its outcome is not stored yet.
    EFFECT_AFTER_RUN = "effect.after_run",
    /// A job has been started in the store and is about to run.
    JOB_BEFORE_RUN = "job.before_run",
    /// A job has run and its end is not stored yet.
    JOB_AFTER_RUN = "job.after_run",
    /// A timer, an expiry or a retried turn is about to be delivered.
    SCHEDULE_BEFORE_FIRE = "schedule.before_fire",
    /// The lease is about to be renewed.
    INSTANCE_BEFORE_RENEW = "instance.before_renew",
    /// A store is in the middle of a commit.
    STORE_IN_COMMIT = "store.in_commit",
    /// One more entry of the journal has been replayed in Redis.
    JOURNAL_AFTER_ENTRY = "journal.after_entry",
    /// A page of the journal has been replayed in Redis and is still in the journal.
    JOURNAL_AFTER_PAGE = "journal.after_page",
    /// The whole journal has been replayed in Redis and is about to be emptied.
    JOURNAL_BEFORE_EMPTY = "journal.before_empty",
    /// A turn of a [`crate::store::DecisionStore`] is about to run the application's writes.
    STORE_BEFORE_WRITES = "store.before_writes",
    /// The application's writes have run and are not committed.
    STORE_IN_WRITES = "store.in_writes",
    /// The application's writes are committed; Redis does not have the turn yet.
    STORE_AFTER_WRITES = "store.after_writes",
}

/// Failpoints of the application.
static OF_APPLICATION: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
static ANY_ARMED: AtomicBool = AtomicBool::new(false);
static ARMED: Mutex<Vec<Armed>> = Mutex::new(Vec::new());

/// What happens at an armed failpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Aborts the process at once. No destructor runs and no buffer is flushed.
    Abort,
    /// Prints `failpoint <name>` on the standard output and waits for ever, so that a parent process can kill this one
    /// exactly there. Other tasks continue.
    Pause,
}

/// Why a failpoint cannot be armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailpointError {
    /// The text has a wrong form.
    #[error(
        "`{0}` arms no failpoint: name=abort or name=pause was expected, then @ and the number of the hit if not 1"
    )]
    Form(String),
    /// No failpoint has this name.
    #[error("there is no failpoint `{0}`")]
    Name(String),
}

#[derive(Debug)]
struct Armed {
    name: &'static str,
    action: Action,
    // The number of hits until the action, including the hit that triggers it.
    hits_left: u64,
}

/// Registers failpoints of an application, so that they can be armed like those in [`ALL`].
pub fn add(names: &[&'static str]) {
    OF_APPLICATION.lock().extend(names);
}

/// Arms a failpoint for its `nth` hit from now, counted from 1. This replaces an earlier arming.
///
/// # Errors
/// If there is no failpoint of that name.
pub fn arm(name: &str, action: Action, nth: u64) -> Result<(), FailpointError> {
    let of_application = OF_APPLICATION.lock();
    let mut known = ALL.iter().chain(of_application.iter());
    let known = *known.find(|known| **known == name).ok_or_else(|| FailpointError::Name(name.to_owned()))?;
    let mut armed = ARMED.lock();
    armed.retain(|former| former.name != name);
    armed.push(Armed { name: known, action, hits_left: nth.max(1) });
    ANY_ARMED.store(true, Ordering::SeqCst);
    Ok(())
}

/// Arms failpoints from a text such as `outbox.after_send=pause@3`; several are separated by commas.
///
/// # Errors
/// If the text has a wrong form or an unknown name. The failpoints before the error are armed.
pub fn arm_from(text: &str) -> Result<(), FailpointError> {
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (name, action, nth) = parse(one).ok_or_else(|| FailpointError::Form(one.to_owned()))?;
        arm(name, action, nth)?;
    }
    Ok(())
}

/// Whether this failpoint is armed. If so, a caller may split a combined step to reach the failpoint.
pub(crate) fn is_armed(name: &str) -> bool {
    ANY_ARMED.load(Ordering::Relaxed) && ARMED.lock().iter().any(|armed| armed.name == name)
}

/// Marks a failpoint in an async function. Continues at once unless it is armed.
#[inline]
pub async fn hit(name: &'static str) {
    if ANY_ARMED.load(Ordering::Relaxed) && is_paused_by(name) {
        std::future::pending::<()>().await;
    }
}

/// Counts a hit and runs the action of an armed failpoint. True if the caller has to pause.
fn is_paused_by(name: &str) -> bool {
    match count_hit(name) {
        None => false,
        Some(Action::Abort) => std::process::abort(),
        Some(Action::Pause) => {
            let mut out = std::io::stdout().lock();
            // The pause does not depend on a reader of the output.
            let _ = writeln!(out, "failpoint {name}").and_then(|()| out.flush());
            true
        }
    }
}

/// Counts a hit. Returns the action if the failpoint is armed for this hit.
fn count_hit(name: &str) -> Option<Action> {
    let mut armed = ARMED.lock();
    let index = armed.iter().position(|armed| armed.name == name)?;
    let point = armed.get_mut(index)?;
    point.hits_left -= 1;
    (point.hits_left == 0).then(|| armed.swap_remove(index).action)
}

fn parse(text: &str) -> Option<(&str, Action, u64)> {
    let (name, rest) = text.split_once('=')?;
    let (action, nth) = match rest.split_once('@') {
        Some((action, nth)) => (action, nth.parse().ok().filter(|nth| *nth > 0)?),
        None => (rest, 1),
    };
    match action {
        "abort" => Some((name, Action::Abort, nth)),
        "pause" => Some((name, Action::Pause, nth)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_name_an_action_and_a_hit() {
        assert_eq!(parse("outbox.after_send=pause@3"), Some(("outbox.after_send", Action::Pause, 3)));
        assert_eq!(parse("store.in_commit=abort"), Some(("store.in_commit", Action::Abort, 1)));
        for wrong in ["", "store.in_commit", "a=explode", "a=abort@0", "a=abort@x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(arm_from("no.such=abort"), Err(FailpointError::Name("no.such".into())));
        assert_eq!(arm_from("no.such"), Err(FailpointError::Form("no.such".into())));
    }

    #[test]
    fn an_armed_failpoint_acts_once_at_its_hit() {
        // No other test of this process hits this failpoint.
        let name = INSTANCE_BEFORE_RENEW;
        arm(name, Action::Pause, 2).unwrap();
        assert_eq!(count_hit(name), None);
        assert_eq!(count_hit(SCHEDULE_BEFORE_FIRE), None);
        assert_eq!(count_hit(name), Some(Action::Pause));
        assert_eq!(count_hit(name), None);
    }

    #[test]
    fn an_application_can_add_failpoints() {
        const BAKED: &str = "bakery.after_baking";
        assert_eq!(arm(BAKED, Action::Pause, 1), Err(FailpointError::Name(BAKED.into())));
        add(&[BAKED]);
        assert_eq!(arm(BAKED, Action::Pause, 1), Ok(()));
        assert_eq!(count_hit(BAKED), Some(Action::Pause));
    }

    #[test]
    fn names_are_unique() {
        let unique: std::collections::BTreeSet<_> = ALL.iter().collect();
        assert_eq!(unique.len(), ALL.len());
    }
}
