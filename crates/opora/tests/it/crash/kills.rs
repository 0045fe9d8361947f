//! A bot that is killed at every failpoint while people talk to it.
//!
//! A normal test run kills a few times, `cargo xtask soak` often.

use std::time::Duration;

use opora::failpoints;
use opora_testkit::environment;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::{ChildConfig, writers, writing_people};
use super::decisions;
use super::jobs;
use super::people::{Behaviour, Crowd, Diary, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bot {
    /// The example, as a user runs it.
    Example,
    /// The example's dialogue with a short lease.
    Registration,
    /// Like `Registration`, with every update stored in the inbox before its turn.
    InboxFirst,
    /// Timers and effects.
    Errand,
}

impl Bot {
    /// The dialogue that people walk through.
    pub fn scenario(self) -> Scenario {
        if self == Self::Errand { Scenario::Errand } else { Scenario::Registration }
    }

    /// The settings of the child process, for a bot that is not the example.
    pub fn config(self, stage: &Stage, failpoints: &str) -> ChildConfig {
        let (failpoints, at_once) = (failpoints.to_owned(), self != Self::InboxFirst);
        ChildConfig { failpoints, at_once, ..ChildConfig::of(stage, self.scenario()) }
    }

    /// Adds faults besides the kills: some downloads are cut.
    pub async fn add_faults(self, stage: &Stage, people: usize) {
        if self == Self::Errand {
            stage.fault(serde_json::json!({"method": "file", "times": people / 2, "cut": "after"})).await;
        }
    }

    /// Audits everything after a clean stop, including files and the application's rows.
    pub async fn audit(self, stage: &Stage, diaries: &[Diary], allowed_repeats: usize) -> Audit {
        let mut audit = Audit::of(stage, self.scenario(), diaries, allowed_repeats).await;
        if self == Self::Errand {
            audit.check_files(&stage.files(), diaries);
        }
        // The example and the errand write no rows of the application.
        if matches!(self, Self::Registration | Self::InboxFirst) && stage.backend.has_tables() {
            audit.check_writes(&writing_people(stage).await, diaries);
            audit.check_writers(&writers(stage).await);
        }
        audit
    }
}

macro_rules! killed_at {
    ($($name:ident: $failpoint:ident $bot:ident,)*) => {
        /// Every failpoint that a test here covers, with the bot that is killed there.
        pub const COVERED: &[(&str, Bot)] = &[$((failpoints::$failpoint, Bot::$bot)),*];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::$bot, StoreKind::Sqlite).await;
        })*
    };
}

killed_at! {
    survives_kills_before_a_batch_is_stored: INTAKE_BEFORE_RECEIVE Example,
    survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
    survives_kills_before_a_handler_runs: TURN_BEFORE_HANDLER Example,
    survives_kills_after_a_handler_ran: TURN_AFTER_HANDLER Example,
    survives_kills_before_a_commit: TURN_BEFORE_COMMIT Example,
    survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
    survives_kills_before_a_message_is_sent: OUTBOX_BEFORE_SEND Example,
    survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
    survives_kills_after_a_message_was_settled: OUTBOX_AFTER_SETTLE Example,
    survives_kills_within_a_commit: STORE_IN_COMMIT Example,
    inbox_first_survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE InboxFirst,
    inbox_first_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
    inbox_first_survives_kills_after_a_commit: TURN_AFTER_COMMIT InboxFirst,
    inbox_first_survives_kills_within_a_commit: STORE_IN_COMMIT InboxFirst,
    survives_kills_before_its_lease_is_renewed: INSTANCE_BEFORE_RENEW Registration,
    survives_kills_before_a_download: EFFECT_BEFORE_RUN Errand,
    survives_kills_after_a_download: EFFECT_AFTER_RUN Errand,
    survives_kills_before_a_timer_fires: SCHEDULE_BEFORE_FIRE Errand,
}

#[test]
fn every_failpoint_is_covered() {
    // The failpoints of the journal need a Redis that goes away; see `journal`.
    for failpoint in failpoints::ALL.iter().filter(|failpoint| !failpoint.starts_with("journal.")) {
        let is_here = COVERED.iter().any(|(covered, _)| covered == failpoint);
        let is_elsewhere = decisions::COVERED.contains(failpoint) || jobs::COVERED.contains(failpoint);
        assert!(is_here || is_elsewhere, "{failpoint}");
    }
}

/// Kills a bot at a failpoint, again and again, while people talk to it.
pub async fn survives_kills_at(failpoint: &str, bot: Bot, kind: StoreKind) {
    let (kills, people) = (environment::soak_kills().unwrap_or(2), environment::soak_people().unwrap_or(12));
    let stage = Stage::on(kind).await;
    bot.add_faults(&stage, people).await;
    let start = |failpoints: &str| match bot {
        Bot::Example => Process::registration(&stage, failpoints),
        Bot::Registration | Bot::InboxFirst | Bot::Errand => Process::child(&bot.config(&stage, failpoints)),
    };
    let behaviour = Behaviour { scenario: bot.scenario(), timeout: TIMEOUT, think_time: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, behaviour).await;
    let (mut unrecorded, mut restarts) = (0, Vec::new());
    for kill in 0..kills {
        let process = start(&format!("{failpoint}=pause@{}", hit(failpoint, kill)));
        process.wait_for_log(&format!("failpoint {failpoint}")).await;
        // The kill may have come before it led.
        restarts.extend(process.time_to_lead());
        process.kill().await;
        unrecorded += stage.unrecorded_sends().await;
    }
    let process = start("");
    restarts.push(process.wait_until_leading().await);
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let audit = bot.audit(&stage, &diaries, unrecorded).await;
    report(&format!("{kind:?}: {failpoint}"), kills, &audit, &restarts);
    audit.assert_clean();
    // The lease of the example is 30 seconds.
    assert!(restarts.iter().max().unwrap() < &Duration::from_secs(20), "the lease was not taken at once: {restarts:?}");
}

/// The hit of a failpoint at which the process is killed. It varies, so that kills come at different moments: some
/// during recovery, some long after.
fn hit(failpoint: &str, kill: usize) -> usize {
    // The lease is renewed rarely.
    if failpoint == failpoints::INSTANCE_BEFORE_RENEW {
        return 1 + kill % 3;
    }
    let long_after = if kill % 3 == 2 { 200 } else { 0 };
    1 + (kill + 1) * 17 % 61 + long_after
}

fn report(failpoint: &str, kills: usize, audit: &Audit, restarts: &[Duration]) {
    let Audit { violations, walks, repeats, allowed_repeats } = audit;
    let slowest = restarts.iter().max().unwrap().as_millis();
    println!(
        "{failpoint}: {kills} kills, {walks} dialogues, {repeats} messages repeated of {allowed_repeats} unrecorded, \
         slowest restart {slowest} ms, {} violations",
        violations.len()
    );
}
