//! Connecting, state over a kill, and the lease, with the program and an emulator.

use serde_json::Value;

use super::QUESTIONS;
use super::process::{hire, presses};
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{StorageKind, TestStorage};
use crate::operator;

/// Runs each test on SQLite, and on Redis with PostgreSQL.
macro_rules! on_both {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::StorageKind::Sqlite).await;
            })*
        }
        mod redis_and_postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::StorageKind::RedisAndPostgres).await;
            })*
        }
    };
}

on_both! {
    it_logs_its_connections,
    a_kill_between_any_two_steps_loses_nothing,
    the_lease_is_taken_refused_released_and_taken_over,
}

async fn it_logs_its_connections(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[]);
    let started = process.wait_for_log("bot starting bot=").await;
    let store = if kind == StorageKind::Sqlite { "SQLite" } else { "Redis" };
    assert!(started.contains(store), "{started}");
    process.wait_for_log("bot identified by Telegram").await;
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Your Telegram ID: 1001").await;
    process.stop().await;
    emulator.stop().await;
}

/// Every step is followed by `kill -9` and a start.
async fn a_kill_between_any_two_steps_loses_nothing(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    hire(&storage).await;
    std::fs::write(storage.folder.path().join("questionnaire.toml"), QUESTIONS).unwrap();
    let mut process = AppProcess::start(&storage, &emulator, &[]);
    for (input, seen) in [
        ("/start", "what would you like to do?"),
        ("[📝 Questionnaire]", "has 5 questions"),
        ("[I agree]", "1/5\nWhat shall we call you?"),
        ("Annie", "2/5\nHow many years?"),
        ("3", "3/5\nWhich hours?"),
        ("[Nights]", "4/5\nHow confident?"),
        ("[8]", "5/5\nWhich skills?"),
        ("[Skip]", "You've completed the questionnaire."),
    ] {
        match input.strip_prefix('[').and_then(|input| input.strip_suffix(']')) {
            Some(caption) => presses(&emulator, ANNA, caption).await,
            None => {
                emulator.says(ANNA, input).await;
            }
        }
        let is_said = async |emulator: &Demo| emulator.texts(ANNA).await.iter().any(|text| text.contains(seen));
        emulator.until(seen, async |emulator| is_said(emulator).await.then_some(())).await;
        process.kill().await;
        process = AppProcess::start(&storage, &emulator, &[]);
    }
    assert_answers(&emulator, ANNA).await;
    process.stop().await;
    let summary = emulator.texts(ANNA).await.into_iter().find(|text| text.starts_with("Thank you, that's all!"));
    for answer in ["– Annie", "– 3", "– Nights", "– 8", "– (skipped)"] {
        assert!(summary.as_ref().is_some_and(|summary| summary.contains(answer)), "{answer}: {summary:?}");
    }
    emulator.stop().await;
}

async fn the_lease_is_taken_refused_released_and_taken_over(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let first = AppProcess::start(&storage, &emulator, &[]);
    first.wait_for_log("holds the lease").await;
    let second = AppProcess::start(&storage, &emulator, &[]);
    let refused = second.wait_for_log("standing by: another instance holds the lease").await;
    assert!(refused.contains(&first.pid().to_string()), "it names the leader: {refused}");
    assert_eq!(leader_pid(&storage).await, Some(first.pid().into()));
    assert_answers(&emulator, ANNA).await;
    assert!(first.stop().await.iter().any(|line| line.contains("released the lease")));
    emulator
        .until("the second process leads", async |_| {
            (leader_pid(&storage).await == Some(second.pid().into())).then_some(())
        })
        .await;
    assert_answers(&emulator, BORIS).await;
    // Also when the leader was killed and could not release it.
    let third = AppProcess::start(&storage, &emulator, &[]);
    third.wait_for_log("standing by").await;
    second.kill().await;
    third.wait_for_log("took over the lease").await;
    assert_eq!(leader_pid(&storage).await, Some(third.pid().into()));
    assert_answers(&emulator, ANNA).await;
    third.stop().await;
    emulator.stop().await;
}

async fn assert_answers(emulator: &Demo, person: i64) {
    let heard = async || {
        let texts = emulator.texts(person).await;
        texts.iter().filter(|text| text.contains(&format!("Your Telegram ID: {person}"))).count()
    };
    let before = heard().await;
    emulator.says(person, "/me").await;
    emulator.until("the bot answers", async |_| (heard().await > before).then_some(())).await;
}

/// The process id of the leader, as `opora state lease` shows it.
async fn leader_pid(storage: &TestStorage) -> Option<u64> {
    let database = storage.database.url();
    let store = [("STATE_URL", storage.state.as_str()), ("DATABASE_URL", database.as_str())];
    let leases = operator::run(&store, &["state", "lease", "--json"]).await.success().stdout;
    let leases: Value = serde_json::from_str(&leases).unwrap();
    leases[0]["pid"].as_u64()
}
