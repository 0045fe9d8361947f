//! A process ends exactly where a failpoint was armed.
//!
//! The processes are this test binary once more, with one test to run and the failpoint as another filter of names.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use opora::failpoints;
use opora::key::DialogueKey;
use opora::store::{Commit, Epoch, MemoryStore, Store, StoreError, Version};

const CHILD: &str = "failpoints::a_child_commits_until_it_is_stopped";

/// Of every run of the whole binary this is a part too; unarmed it comes to its end.
#[tokio::test]
async fn a_child_commits_until_it_is_stopped() {
    if let Some(armed) = std::env::args().find(|argument| argument.contains('=') && !argument.starts_with('-')) {
        failpoints::arm_from(&armed).unwrap();
    }
    let store = MemoryStore::new();
    for number in 1..=3 {
        println!("commit {number}");
        let commit = Commit::new(DialogueKey::private(1, 2), Version(0), opora::clock::Millis(0));
        // Nobody gave this instance a lease: the way to the store is what matters here.
        assert!(matches!(store.commit(Epoch(1), commit).await, Err(StoreError::Fenced { .. })));
    }
    println!("the end");
}

#[test]
fn a_paused_process_says_where_it_stands_and_goes_no_further() {
    let mut child = child("store.in_commit=pause@2");
    let mut told = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        told.push(line.unwrap());
        if told.last().is_some_and(|line| line.starts_with("failpoint ")) {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success());
    told.retain(|line| ["commit", "failpoint", "the end"].iter().any(|start| line.starts_with(start)));
    assert_eq!(told, ["commit 1", "commit 2", "failpoint store.in_commit"]);
}

#[test]
fn an_aborted_process_runs_nothing_more() {
    let output = child("store.in_commit=abort@3").wait_with_output().unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("commit 3") && !told.contains("the end"), "{told}");
}

fn child(armed: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", CHILD, armed]).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}
