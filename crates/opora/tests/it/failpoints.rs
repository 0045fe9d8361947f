//! A process ends exactly at an armed failpoint.
//!
//! The processes are this test binary, with one test to run and the failpoint as a second name filter.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use opora::failpoints;
use opora::key::ConversationKey;
use opora::store::{Commit, Epoch, MemoryStore, Store, StoreError, Version};

const CHILD: &str = "failpoints::child_commits_until_it_is_stopped";

/// The entry point of child processes. Without a failpoint it runs to its end.
#[tokio::test]
async fn child_commits_until_it_is_stopped() {
    if let Some(armed) = std::env::args().find(|argument| argument.contains('=') && !argument.starts_with('-')) {
        failpoints::arm_from(&armed).unwrap();
    }
    let store = MemoryStore::new();
    for number in 1..=3 {
        println!("commit {number}");
        let commit = Commit::new(ConversationKey::private(1, 2), Version(0), opora::clock::Millis(0));
        // Without a lease the commit fails, but it reaches the store, which is enough here.
        assert!(matches!(store.commit(Epoch(1), commit).await, Err(StoreError::Fenced { .. })));
    }
    println!("the end");
}

#[test]
fn a_paused_process_names_its_failpoint() {
    let mut child = child("store.in_commit=pause@2");
    let mut output = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        output.push(line.unwrap());
        if output.last().is_some_and(|line| line.starts_with("failpoint ")) {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success());
    output.retain(|line| ["commit", "failpoint", "the end"].iter().any(|start| line.starts_with(start)));
    assert_eq!(output, ["commit 1", "commit 2", "failpoint store.in_commit"]);
}

#[test]
fn an_aborted_process_runs_nothing_more() {
    let output = child("store.in_commit=abort@3").wait_with_output().unwrap();
    assert!(!output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("commit 3") && !output.contains("the end"), "{output}");
}

fn child(armed: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", CHILD, armed]).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}
