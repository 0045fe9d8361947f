//! Messages that must not come twice, under kills: at most once, and known as failed where nobody can be sure.

use opora::failpoints;
use opora::prelude::*;

use super::bots::{Part, play};
use super::people::Story;
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

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_sends_codes() {
    play(|_, bot| bot.dialogue(code())).await;
}

/// How often a code comes, and how many messages are known as failed, after a kill where the code is the first to pass.
async fn after_a_kill_at(failpoint: &str) -> (usize, i64) {
    let stage = Stage::new().await;
    let start = |failpoints: String| {
        let part = Part { failpoints, ..Part::of(&stage, Story::Registration) };
        Process::playing_by("crash::once::a_child_sends_codes", &part)
    };
    let person = stage.person("Anna").await;
    let process = start(format!("{failpoint}=pause"));
    stage.says(person, "/code").await;
    process.tells(&format!("failpoint {failpoint}")).await;
    process.kill().await;
    let process = start(String::new());
    // What was said behind it comes, and the dialogue goes on.
    stage.hears(person, THEN).await;
    stage.says(person, "1234").await;
    stage.hears(person, "1234 it is.").await;
    let told = process.stop(&stage).await;
    let store = stage.store().await;
    let numbers = store.statistics(Some(BOT)).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(numbers.outbox, 0, "{failpoint}");
    // The operator reads of it, and only then.
    let reports = told.iter().filter(|line| line.contains("a message cannot be sent")).count();
    assert_eq!(i64::try_from(reports).unwrap(), numbers.failed, "{failpoint}:\n{}", told.join("\n"));
    let said = stage.transcript(person).await;
    assert!(said.iter().position(|text| text == SECRET).unwrap_or(0) == 0, "{failpoint}: {said:?}");
    (said.iter().filter(|text| *text == SECRET).count(), numbers.failed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_must_not_come_twice_does_not_and_is_reported_where_nobody_is_sure() {
    let (committed, before, after, settled) = tokio::join!(
        after_a_kill_at(failpoints::TURN_AFTER_COMMIT),
        after_a_kill_at(failpoints::OUTBOX_BEFORE_SEND),
        after_a_kill_at(failpoints::OUTBOX_AFTER_SEND),
        after_a_kill_at(failpoints::OUTBOX_AFTER_SETTLE),
    );
    assert_eq!(committed, (1, 0), "nobody had begun to send it");
    assert_eq!(before, (0, 1), "it was about to be sent");
    assert_eq!(after, (1, 1), "it was sent, and nobody knew");
    assert_eq!(settled, (1, 0), "it was known as sent");
}
