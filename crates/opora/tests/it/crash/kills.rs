//! A bot that is killed at every failpoint while people talk to it.
//!
//! The short form runs with every test run, the long one by `cargo xtask soak`.

use std::time::Duration;

use opora::failpoints;
use opora_testkit::environment;

use super::account::Account;
use super::bots::{Part, writers, written_by};
use super::decided;
use super::keeper::Kind;
use super::people::{Crowd, Diary, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage};

/// Which program is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bot {
    /// The example, as a user would run it.
    Example,
    /// The same dialogue with a short lease.
    Registration,
    /// The same with every update in the inbox before its turn.
    InboxFirst,
    /// Timers and effects.
    Errand,
}

impl Bot {
    /// What people talk about with it.
    pub fn story(self) -> Story {
        if self == Self::Errand { Story::Errand } else { Story::Registration }
    }

    /// How one that is no example is started.
    pub fn part(self, stage: &Stage, failpoints: &str) -> Part {
        let (failpoints, at_once) = (failpoints.to_owned(), self != Self::InboxFirst);
        Part { failpoints, at_once, ..Part::of(stage, self.story()) }
    }

    /// Gives it trouble of its own besides kills: downloads break off now and then.
    pub async fn is_troubled(self, stage: &Stage, people: usize) {
        if self == Self::Errand {
            stage.fault(serde_json::json!({"method": "file", "times": people / 2, "cut": "after"})).await;
        }
    }

    /// Looks at everything after a clean stop, and at what it alone leaves: files, or rows of the application's own.
    pub async fn account(self, stage: &Stage, diaries: &[Diary], excused: usize) -> Account {
        let mut account = Account::of(stage, self.story(), diaries, excused).await;
        if self == Self::Errand {
            account.files(&stage.files(), diaries);
        }
        // The example and the errand write nothing of their own.
        if matches!(self, Self::Registration | Self::InboxFirst) && stage.keeper.has_tables() {
            account.writes(&written_by(stage).await, diaries);
            account.leases(&writers(stage).await);
        }
        account
    }
}

macro_rules! killed_at {
    ($($name:ident: $failpoint:ident $bot:ident,)*) => {
        /// Every failpoint that a test here names, and who is killed there.
        pub const COVERED: &[(&str, Bot)] = &[$((failpoints::$failpoint, Bot::$bot)),*];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::$bot, Kind::Sqlite).await;
        })*
    };
}

killed_at! {
    a_bot_survives_kills_before_a_batch_is_stored: INTAKE_BEFORE_RECEIVE Example,
    a_bot_survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
    a_bot_survives_kills_before_a_handler_runs: TURN_BEFORE_HANDLER Example,
    a_bot_survives_kills_after_a_handler_ran: TURN_AFTER_HANDLER Example,
    a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT Example,
    a_bot_survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
    a_bot_survives_kills_before_a_message_is_sent: OUTBOX_BEFORE_SEND Example,
    a_bot_survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
    a_bot_survives_kills_after_a_message_was_settled: OUTBOX_AFTER_SETTLE Example,
    a_bot_survives_kills_within_a_commit_of_its_store: STORE_IN_COMMIT Example,
    with_the_inbox_first_a_bot_survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE InboxFirst,
    with_the_inbox_first_a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
    with_the_inbox_first_a_bot_survives_kills_after_a_commit: TURN_AFTER_COMMIT InboxFirst,
    with_the_inbox_first_a_bot_survives_kills_within_a_commit_of_its_store: STORE_IN_COMMIT InboxFirst,
    a_bot_survives_kills_before_its_lease_is_renewed: INSTANCE_BEFORE_RENEW Registration,
    a_bot_survives_kills_before_a_file_is_fetched: EFFECT_BEFORE_RUN Errand,
    a_bot_survives_kills_after_a_file_was_fetched: EFFECT_AFTER_RUN Errand,
    a_bot_survives_kills_before_a_timer_fires: SCHEDULE_BEFORE_FIRE Errand,
}

#[test]
fn every_failpoint_is_killed_at() {
    // Those of the journal need a Redis that goes away; see `journal`.
    for failpoint in failpoints::ALL.iter().filter(|failpoint| !failpoint.starts_with("journal.")) {
        let is_here = COVERED.iter().any(|(covered, _)| covered == failpoint);
        assert!(is_here || decided::COVERED.contains(failpoint), "{failpoint}");
    }
}

/// Kills a bot with a store of this kind at a failpoint, again and again, while people talk to it.
pub async fn survives_kills_at(failpoint: &str, bot: Bot, kind: Kind) {
    let (kills, people) = (environment::kills().unwrap_or(2), environment::people().unwrap_or(12));
    let stage = Stage::on(kind).await;
    bot.is_troubled(&stage, people).await;
    let start = |failpoints: &str| match bot {
        Bot::Example => Process::registration(&stage, failpoints),
        Bot::Registration | Bot::InboxFirst | Bot::Errand => Process::playing(&bot.part(&stage, failpoints)),
    };
    let manner = Manner { story: bot.story(), patience: PATIENCE, thought: Duration::ZERO };
    let crowd = Crowd::begin(&stage, people, manner).await;
    let (mut in_the_act, mut restarts) = (0, Vec::new());
    for kill in 0..kills {
        let process = start(&format!("{failpoint}=pause@{}", hit(failpoint, kill)));
        process.tells(&format!("failpoint {failpoint}")).await;
        // A kill may have come before it led at all: the lease is committed, too.
        restarts.extend(process.led_after());
        process.kill().await;
        in_the_act += stage.in_the_act().await;
    }
    let process = start("");
    restarts.push(process.leads().await);
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let account = bot.account(&stage, &diaries, in_the_act).await;
    report(&format!("{kind:?}: {failpoint}"), kills, &account, &restarts);
    account.is_clean();
    // That of the example lasts for 30 seconds.
    assert!(restarts.iter().max().unwrap() < &Duration::from_secs(20), "the lease was not taken at once: {restarts:?}");
}

/// Which hit of a failpoint kills: another one each time, so that kills fall into different moments; some while what was
/// left is taken up, some long after.
fn hit(failpoint: &str, kill: usize) -> usize {
    // The lease is renewed seldom.
    if failpoint == failpoints::INSTANCE_BEFORE_RENEW {
        return 1 + kill % 3;
    }
    let long_after = if kill % 3 == 2 { 200 } else { 0 };
    1 + (kill + 1) * 17 % 61 + long_after
}

fn report(failpoint: &str, kills: usize, account: &Account, restarts: &[Duration]) {
    let Account { complaints, walks, repeats, excused } = account;
    let slowest = restarts.iter().max().unwrap().as_millis();
    println!(
        "{failpoint}: {kills} kills, {walks} dialogues, {repeats} messages repeated of {excused} in the act, slowest \
         restart {slowest} ms, {} complaints",
        complaints.len()
    );
}
