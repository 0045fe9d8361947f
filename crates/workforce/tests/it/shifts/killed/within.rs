//! Kills within a step: at a failpoint of the turn that opens a shift, takes a photo, marks a task or closes the shift,
//! or just after its answer. The step happens once.
//!
//! The update waits at Telegram before the process starts, so that its turn is the first to reach the failpoint. Timers
//! are paused for the same reason.

use super::super::person_chat::{Action, PersonChat, Step};
use super::super::prepared_tables::PreparedTables;
use super::{STEPS, assert_worked_once, prepare};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};

embedded_and_on_servers! {
    a_kill_before_the_commit_runs_the_step_once,
    a_kill_after_the_commit_runs_the_step_once,
    a_kill_after_the_answer_runs_the_step_once,
}

/// The indexes of [`STEPS`] that write something, and the query that counts the rows.
const WRITING_STEPS: [(usize, &str); 4] = [
    (3, "SELECT COUNT(*) FROM shifts"),
    (6, "SELECT COUNT(*) FROM task_media"),
    (7, "SELECT COUNT(*) FROM shift_tasks WHERE done_at IS NOT NULL AND NOT needs_media"),
    (10, "SELECT COUNT(*) FROM shifts WHERE status = 'completed'"),
];
const NO_TIMERS: &str = "schedule.before_fire=pause";

/// A failpoint, and what has happened when it is reached.
#[derive(Clone, Copy)]
struct KillPoint {
    name: &'static str,
    /// The database has the change already.
    is_written: bool,
    /// The person has an answer already.
    is_answered: bool,
}

/// One process after another on the same storage.
struct KillTest {
    storage: TestStorage,
    emulator: Demo,
    tables: PreparedTables,
}

async fn a_kill_before_the_commit_runs_the_step_once(kind: StorageKind) {
    kill_at(kind, KillPoint { name: "turn.before_commit", is_written: false, is_answered: false }).await;
}

async fn a_kill_after_the_commit_runs_the_step_once(kind: StorageKind) {
    kill_at(kind, KillPoint { name: "turn.after_commit", is_written: true, is_answered: false }).await;
}

async fn a_kill_after_the_answer_runs_the_step_once(kind: StorageKind) {
    kill_at(kind, KillPoint { name: "outbox.after_send", is_written: true, is_answered: true }).await;
}

/// Only this pair has two stores, one of which has the change.
#[tokio::test]
async fn a_kill_between_postgres_and_redis_runs_the_step_once() {
    kill_at(
        StorageKind::RedisAndPostgres,
        KillPoint { name: "store.after_writes", is_written: true, is_answered: false },
    )
    .await;
}

/// Each step that writes is begun by a process that is killed at the failpoint, and completed by the next process.
async fn kill_at(kind: StorageKind, point: KillPoint) {
    let test = KillTest::new(kind).await;
    let (anna, mut process, mut walked) = (PersonChat::of(ANNA, &test.emulator), test.start(NO_TIMERS), 0);
    for (number, rows) in WRITING_STEPS {
        anna.take_steps(&STEPS[walked..number]).await;
        test.wait_until_idle().await;
        process.kill().await;
        test.kill_during(&STEPS[number], rows, point).await;
        process = test.start(NO_TIMERS);
        anna.wait_for(STEPS[number].1).await;
        test.wait_until_idle().await;
        assert_eq!(test.tables.numbers(rows).await, [1], "{} at {}", STEPS[number].1, point.name);
        let said = anna.count(STEPS[number].1).await;
        assert!(said == 1 || point.is_answered && said == 2, "{} was said {said} times", STEPS[number].1);
        walked = number + 1;
    }
    process.kill().await;
    assert_worked_once(&test.storage, AppProcess::start(&test.storage, &test.emulator, &[])).await;
    test.close().await;
}

impl KillTest {
    async fn new(kind: StorageKind) -> Self {
        let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
        prepare(&storage).await;
        let tables = PreparedTables::new(&storage).await;
        Self { storage, emulator, tables }
    }

    fn start(&self, failpoints: &str) -> AppProcess {
        AppProcess::start(&self.storage, &self.emulator, &[("OPORA_FAILPOINTS", failpoints)])
    }

    /// Waits until inbox, outbox and effects are empty.
    async fn wait_until_idle(&self) {
        let store = opora::store::open_existing(&self.storage.state).await.unwrap();
        until("nothing is under way", async || {
            let numbers = store.statistics(None).await.unwrap();
            ((numbers.inbox, numbers.outbox, numbers.effects) == (0, 0, 0)).then_some(())
        })
        .await;
        store.close().await.unwrap();
    }

    /// Anna takes a step, and the process is killed during its turn.
    async fn kill_during(&self, (action, answer): &Step, rows: &str, point: KillPoint) {
        let said = self.emulator.texts(ANNA).await;
        PersonChat::of(ANNA, &self.emulator).act(*action).await;
        // The summary of a shift is a notice, which a job sends beside the paused turn.
        let process = self.start(&format!("{NO_TIMERS},notice.before_post=pause,{}=pause", point.name));
        process.wait_for_log(&format!("failpoint {}", point.name)).await;
        self.assert_others_are_answered().await;
        let expected = i64::from(point.is_written);
        assert_eq!(self.tables.numbers(rows).await, [expected], "{answer} at {}", point.name);
        if !point.is_answered {
            assert_eq!(self.emulator.texts(ANNA).await, said, "{answer} at {}", point.name);
        }
        process.kill().await;
    }

    /// Other people are answered, so Anna's turn is really paused.
    async fn assert_others_are_answered(&self) {
        let (boris, answer) = (PersonChat::of(BORIS, &self.emulator), "Your Telegram ID: 1002");
        let answered = boris.count(answer).await;
        boris.act(Action::Says("/me")).await;
        until("Boris is answered", async || (boris.count(answer).await > answered).then_some(())).await;
    }

    async fn close(self) {
        self.tables.close().await;
        self.emulator.stop().await;
    }
}
