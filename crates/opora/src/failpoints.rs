//! Named places at which a test stops or ends the process.
//!
//! Random kills miss real bugs: a crash between two given steps has to be asked for. An unarmed failpoint costs one
//! relaxed load, so the places are there in every build; only a program that arms one can meet it. Nothing here reads
//! the environment or the arguments: the program passes the text on, see [`arm_from`].

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Declares failpoints, and the list of all of them.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// All failpoints there are.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

failpoints! {
    /// A batch has come from Telegram and is not in the inbox yet.
    INTAKE_BEFORE_RECEIVE = "intake.before_receive",
    /// A batch is in the inbox; Telegram does not know yet.
    INTAKE_AFTER_RECEIVE = "intake.after_receive",
    /// A turn has opened its conversation.
    TURN_BEFORE_HANDLER = "turn.before_handler",
    /// A turn's handler has answered.
    TURN_AFTER_HANDLER = "turn.after_handler",
    /// A turn is about to commit.
    TURN_BEFORE_COMMIT = "turn.before_commit",
    /// A turn has committed, and nobody knows yet.
    TURN_AFTER_COMMIT = "turn.after_commit",
    /// A message is about to be sent.
    OUTBOX_BEFORE_SEND = "outbox.before_send",
    /// A message was sent, which is not stored yet.
    OUTBOX_AFTER_SEND = "outbox.after_send",
    /// It is stored that a message was sent.
    OUTBOX_AFTER_SETTLE = "outbox.after_settle",
    /// An effect is about to be carried out.
    EFFECT_BEFORE_RUN = "effect.before_run",
    /// An effect was carried out, which is not stored yet.
    EFFECT_AFTER_RUN = "effect.after_run",
    /// A timer or an end of life is about to become an input.
    SCHEDULE_BEFORE_FIRE = "schedule.before_fire",
    /// The lease is about to be renewed.
    INSTANCE_BEFORE_RENEW = "instance.before_renew",
    /// A store is in the midst of a commit.
    STORE_IN_COMMIT = "store.in_commit",
    /// What was done while Redis was away has been done there as well, one entry of the journal more.
    JOURNAL_AFTER_ENTRY = "journal.after_entry",
    /// A page of the journal is in Redis, and the journal still has it.
    JOURNAL_AFTER_PAGE = "journal.after_page",
    /// Everything is in Redis, and the journal is about to be emptied.
    JOURNAL_BEFORE_EMPTY = "journal.before_empty",
    /// A turn of a [`crate::store::DecidedStore`] is about to be decided by the application's writes.
    STORE_BEFORE_WRITES = "store.before_writes",
    /// The application's writes have run and are not committed.
    STORE_IN_WRITES = "store.in_writes",
    /// The application's writes are committed; their turn is not carried out in Redis yet.
    STORE_AFTER_WRITES = "store.after_writes",
}

/// Points of the application's own.
static OWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
static ANY_ARMED: AtomicBool = AtomicBool::new(false);
static ARMED: Mutex<Vec<Armed>> = Mutex::new(Vec::new());

/// What happens at an armed failpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ends the process at once, with no destructor run and no buffer written.
    Abort,
    /// Prints `failpoint <name>` as a line on the standard output and goes no further, so that a parent process can
    /// kill this one exactly there. Other tasks go on.
    Pause,
}

/// Why a text arms no failpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAFailpoint {
    /// The text has another form.
    #[error(
        "`{0}` arms no failpoint: name=abort or name=pause was expected, then @ and the number of the hit if not 1"
    )]
    Form(String),
    /// There is none of that name.
    #[error("there is no failpoint `{0}`")]
    Name(String),
}

#[derive(Debug)]
struct Armed {
    name: &'static str,
    action: Action,
    // Hits that are still let through, and the one that is not.
    hits_left: u64,
}

/// Makes points of an application's own known, so that they can be armed like those in [`ALL`].
pub fn add(names: &[&'static str]) {
    OWN.lock().extend(names);
}

/// Arms a failpoint for its `nth` hit from now, counted from 1. Arming it again replaces the former.
///
/// # Errors
/// If there is no failpoint of that name.
pub fn arm(name: &str, action: Action, nth: u64) -> Result<(), NotAFailpoint> {
    let own = OWN.lock();
    let mut known = ALL.iter().chain(own.iter());
    let known = *known.find(|known| **known == name).ok_or_else(|| NotAFailpoint::Name(name.to_owned()))?;
    let mut armed = ARMED.lock();
    armed.retain(|former| former.name != name);
    armed.push(Armed { name: known, action, hits_left: nth.max(1) });
    ANY_ARMED.store(true, Ordering::SeqCst);
    Ok(())
}

/// Arms failpoints from a text such as `outbox.after_send=pause@3`; several are separated by commas.
///
/// # Errors
/// If the text has another form or names no failpoint. What stood before the error is armed.
pub fn arm_from(text: &str) -> Result<(), NotAFailpoint> {
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (name, action, nth) = parse(one).ok_or_else(|| NotAFailpoint::Form(one.to_owned()))?;
        arm(name, action, nth)?;
    }
    Ok(())
}

/// Whether this failpoint is armed: only then a step that could be one with others is taken apart.
pub(crate) fn is_armed(name: &str) -> bool {
    ANY_ARMED.load(Ordering::Relaxed) && ARMED.lock().iter().any(|armed| armed.name == name)
}

/// A place in an async function; goes on at once unless it is armed.
#[inline]
pub async fn hit(name: &'static str) {
    if ANY_ARMED.load(Ordering::Relaxed) && strike(name) {
        std::future::pending::<()>().await;
    }
}

/// Counts a hit and says whether to pause here.
fn strike(name: &str) -> bool {
    match counted(name) {
        None => false,
        Some(Action::Abort) => std::process::abort(),
        Some(Action::Pause) => {
            let mut out = std::io::stdout().lock();
            // Without a reader there is nobody to tell; the pause holds all the same.
            let _ = writeln!(out, "failpoint {name}").and_then(|()| out.flush());
            true
        }
    }
}

/// Counts a hit; the action once it is the one that was armed for.
fn counted(name: &str) -> Option<Action> {
    let mut armed = ARMED.lock();
    let place = armed.iter().position(|armed| armed.name == name)?;
    let point = armed.get_mut(place)?;
    point.hits_left -= 1;
    (point.hits_left == 0).then(|| armed.swap_remove(place).action)
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
    fn a_text_names_the_point_the_action_and_the_hit() {
        assert_eq!(parse("outbox.after_send=pause@3"), Some(("outbox.after_send", Action::Pause, 3)));
        assert_eq!(parse("store.in_commit=abort"), Some(("store.in_commit", Action::Abort, 1)));
        for wrong in ["", "store.in_commit", "a=explode", "a=abort@0", "a=abort@x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(arm_from("no.such=abort"), Err(NotAFailpoint::Name("no.such".into())));
        assert_eq!(arm_from("no.such"), Err(NotAFailpoint::Form("no.such".into())));
    }

    #[test]
    fn an_armed_point_acts_at_its_hit_and_then_no_more() {
        // A point that no other test of this process hits.
        let name = INSTANCE_BEFORE_RENEW;
        arm(name, Action::Pause, 2).unwrap();
        assert_eq!(counted(name), None);
        assert_eq!(counted(SCHEDULE_BEFORE_FIRE), None);
        assert_eq!(counted(name), Some(Action::Pause));
        assert_eq!(counted(name), None);
    }

    #[test]
    fn an_application_has_points_of_its_own() {
        const BAKED: &str = "bakery.after_baking";
        assert_eq!(arm(BAKED, Action::Pause, 1), Err(NotAFailpoint::Name(BAKED.into())));
        add(&[BAKED]);
        assert_eq!(arm(BAKED, Action::Pause, 1), Ok(()));
        assert_eq!(counted(BAKED), Some(Action::Pause));
    }

    #[test]
    fn names_are_unique() {
        let unique: std::collections::BTreeSet<_> = ALL.iter().collect();
        assert_eq!(unique.len(), ALL.len());
    }
}
