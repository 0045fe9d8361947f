//! Messages with `drop_if_unsure` under kills: sent at most once, and failed if it is unknown whether they were sent.

use opora::failpoints;
use opora::prelude::*;

use super::bots::{ChildConfig, run_child};
use super::people::Scenario;
use super::process::Process;
use super::stage::{BOT, Stage};

const SECRET: &str = "Your code is 1234.";
const THEN: &str = "That was the code.";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "code")]
enum Code {
    Sent,
}

fn code() -> Dialogue<Code> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Code> {
        turn.say(Say::text(SECRET).drop_if_unsure());
        turn.say(THEN);
        Ok(Next::Go(Code::Sent))
    }
    async fn entered(turn: &mut Turn, code: String) -> Step<Code> {
        turn.say(format!("{code} it is."));
        Ok(Next::End)
    }
    Dialogue::new().start(command("code"), start).on(Code::SENT, text(), entered)
}

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_sends_codes() {
    run_child(|_, bot| bot.dialogue(code())).await;
}

/// How often a code comes, and how many messages have failed, after a kill at a failpoint that the code hits first.
async fn after_a_kill_at(failpoint: &str) -> (usize, i64) {
    let stage = Stage::new().await;
    let start = |failpoints: String| {
        let config = ChildConfig { failpoints, ..ChildConfig::of(&stage, Scenario::Registration) };
        Process::child_test("crash::drop_if_unsure::child_sends_codes", &config)
    };
    let person = stage.person("Anna").await;
    let process = start(format!("{failpoint}=pause"));
    stage.says(person, "/code").await;
    process.wait_for_log(&format!("failpoint {failpoint}")).await;
    process.kill().await;
    let process = start(String::new());
    // The message behind it comes, and the dialogue continues.
    stage.receives(person, THEN).await;
    stage.says(person, "1234").await;
    stage.receives(person, "1234 it is.").await;
    let log = process.stop(&stage).await;
    let store = stage.store().await;
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(numbers.outbox, 0, "{failpoint}");
    // The log reports failed messages only.
    let reports = log.iter().filter(|line| line.contains("a message cannot be sent")).count();
    assert_eq!(i64::try_from(reports).unwrap(), numbers.failed, "{failpoint}:\n{}", log.join("\n"));
    let said = stage.transcript(person).await;
    assert!(said.iter().position(|text| text == SECRET).unwrap_or(0) == 0, "{failpoint}: {said:?}");
    (said.iter().filter(|text| *text == SECRET).count(), numbers.failed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drop_if_unsure_message_is_never_repeated() {
    let (committed, before, after, settled) = tokio::join!(
        after_a_kill_at(failpoints::TURN_AFTER_COMMIT),
        after_a_kill_at(failpoints::OUTBOX_BEFORE_SEND),
        after_a_kill_at(failpoints::OUTBOX_AFTER_SEND),
        after_a_kill_at(failpoints::OUTBOX_AFTER_SETTLE),
    );
    assert_eq!(committed, (1, 0), "the send had not begun");
    assert_eq!(before, (0, 1), "it was about to be sent");
    assert_eq!(after, (1, 1), "it was sent without a record");
    assert_eq!(settled, (1, 0), "it was known as sent");
}
