//! Connection, state over a restart, and the lock of the one instance, with the whole program against an emulator.

use serde_json::Value;

use super::QUESTIONS;
use super::process::{hire, presses};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{Ground, Kind};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;

/// Each runs where everything is in one file, and where it is in Redis and PostgreSQL.
macro_rules! on_both {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::Kind::Sqlite).await;
            })*
        }
        mod redis_and_postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::kit::firm::Kind::RedisAndPostgres).await;
            })*
        }
    };
}

on_both! {
    it_connects_to_everything_and_says_so,
    a_kill_between_any_two_steps_loses_nothing,
    the_lock_is_taken_refused_released_and_taken_again,
}

async fn it_connects_to_everything_and_says_so(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let run = Run::start(&ground, &emulator, &[]);
    let started = run.logs(" starts bot=").await;
    let store = if kind == Kind::Sqlite { "SQLite" } else { "Redis" };
    assert!(started.contains(store), "{started}");
    run.logs("Telegram knows the bot").await;
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Your Telegram number: 1001").await;
    run.stops().await;
    emulator.stop().await;
}

/// Every step is followed by `kill -9` and a start.
async fn a_kill_between_any_two_steps_loses_nothing(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    hire(&ground).await;
    std::fs::write(ground.folder.path().join("questionnaire.toml"), QUESTIONS).unwrap();
    let mut run = Run::start(&ground, &emulator, &[]);
    for (deed, seen) in [
        ("/start", "what would you like to do?"),
        ("[📝 Questionnaire]", "ask you 5 questions"),
        ("[I agree]", "1/5\nWhat shall we call you?"),
        ("Annie", "2/5\nHow many years?"),
        ("3", "3/5\nWhich hours?"),
        ("[Nights]", "4/5\nHow confident?"),
        ("[8]", "5/5\nWhich skills?"),
        ("[Skip]", "You have completed the questionnaire."),
    ] {
        match deed.strip_prefix('[').and_then(|deed| deed.strip_suffix(']')) {
            Some(caption) => presses(&emulator, ANNA, caption).await,
            None => {
                emulator.says(ANNA, deed).await;
            }
        }
        let is_said = async |emulator: &Demo| emulator.texts(ANNA).await.iter().any(|text| text.contains(seen));
        emulator.until(seen, async |emulator| is_said(emulator).await.then_some(())).await;
        run.dies().await;
        run = Run::start(&ground, &emulator, &[]);
    }
    answers(&emulator, ANNA).await;
    run.stops().await;
    let summary = emulator.texts(ANNA).await.into_iter().find(|text| text.starts_with("Thank you, that was all!"));
    for answer in ["– Annie", "– 3", "– Nights", "– 8", "– (skipped)"] {
        assert!(summary.as_ref().is_some_and(|summary| summary.contains(answer)), "{answer}: {summary:?}");
    }
    emulator.stop().await;
}

async fn the_lock_is_taken_refused_released_and_taken_again(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let first = Run::start(&ground, &emulator, &[]);
    first.logs("holds the lease").await;
    let second = Run::start(&ground, &emulator, &[]);
    let refused = second.logs("stands by: another instance holds the lease").await;
    assert!(refused.contains(&first.id().to_string()), "it says who has it: {refused}");
    assert_eq!(holder(&ground).await, Some(first.id().into()));
    answers(&emulator, ANNA).await;
    assert!(first.stops().await.iter().any(|line| line.contains("released the lease")));
    emulator
        .until("the second one has it", async |_| (holder(&ground).await == Some(second.id().into())).then_some(()))
        .await;
    answers(&emulator, BORIS).await;
    // Also from one who could release nothing.
    let third = Run::start(&ground, &emulator, &[]);
    third.logs("stands by").await;
    second.dies().await;
    third.logs("took over the lease").await;
    assert_eq!(holder(&ground).await, Some(third.id().into()));
    answers(&emulator, ANNA).await;
    third.stops().await;
    emulator.stop().await;
}

async fn answers(emulator: &Demo, person: i64) {
    let heard = async || {
        let texts = emulator.texts(person).await;
        texts.iter().filter(|text| text.contains(&format!("Your Telegram number: {person}"))).count()
    };
    let before = heard().await;
    emulator.says(person, "/me").await;
    emulator.until("the bot answers", async |_| (heard().await > before).then_some(())).await;
}

/// The process that holds the lease, as the operator sees it.
async fn holder(ground: &Ground) -> Option<u64> {
    let database = ground.database.url();
    let store = [("STATE_URL", ground.state.as_str()), ("DATABASE_URL", database.as_str())];
    let leases = operator::run(&store, &["state", "lease", "--json"]).await.well().stdout;
    let leases: Value = serde_json::from_str(&leases).unwrap();
    leases[0]["pid"].as_u64()
}
