//! `state reset`, and its confirmation.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::{CommandOutput, StoreFixture, StoreKind, key};
use crate::kit::demo::{TIMEOUT, program};

on_every_store! {
    a_reset_ends_the_conversation_and_raises_its_version,
    a_reset_without_yes_and_without_a_terminal_changes_nothing,
    an_ended_conversation_cannot_be_reset,
    at_a_terminal_only_yes_confirms,
}

async fn a_reset_ends_the_conversation_and_raises_its_version(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let done = fixture.run(&["state", "reset", "1:5:5", "--yes"]).await.success();
    assert!(done.stdout.contains("The conversation 1:5:5 is reset."), "{}", done.stdout);
    let anna = fixture.rows().await.into_iter().find(|row| row.key == key("1:5:5")).unwrap();
    assert_eq!((anna.stored, anna.version.0), (None, 2));
    let listed = fixture.json(&["state", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
}

async fn a_reset_without_yes_and_without_a_terminal_changes_nothing(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let before = fixture.rows().await;
    let done = fixture.run(&["state", "reset", "1:5:5"]).await;
    done.fails_with(&["Reset the conversation 1:5:5 (registration:phone)?", "--yes"]);
    assert_eq!(fixture.rows().await, before);
}

async fn an_ended_conversation_cannot_be_reset(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    for key in ["1:8:8", "1:9:9"] {
        fixture.run(&["state", "reset", key, "--yes"]).await.fails_with(&["nothing is open in", key]);
    }
    let done = fixture.run(&["state", "reset", "5", "--yes"]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("`5` is not a conversation key"), "{}", done.stderr);
}

async fn at_a_terminal_only_yes_confirms(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let before = fixture.rows().await;
    for no in ["\n", "n\n", "whatever\n"] {
        let done = run_at_terminal(&fixture, "state reset 1:5:5", no).await;
        assert!(done.stdout.contains("Reset the conversation 1:5:5 (registration:phone)? [y/N]"), "{}", done.stdout);
        assert!(done.stdout.contains("nothing was changed"), "{}", done.stdout);
        assert_eq!((done.code, &fixture.rows().await), (Some(1), &before));
    }
    let done = run_at_terminal(&fixture, "state reset 1:5:5", "y\n").await;
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    assert_ne!(fixture.rows().await, before);
}

/// Runs a command in a pseudo-terminal, where stdout and stderr come together.
async fn run_at_terminal(fixture: &StoreFixture, arguments: &str, answer: &str) -> CommandOutput {
    let line = format!("'{}' {arguments} --store '{}'", program().display(), fixture.address());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).kill_on_drop(true);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Kept open: end of input would count as an answer.
    let mut input = script.stdin.take().unwrap();
    input.write_all(answer.as_bytes()).await.unwrap();
    let output = timeout(TIMEOUT, script.wait_with_output()).await.expect("it should end by itself").unwrap();
    drop(input);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    CommandOutput { code: output.status.code(), stdout, stderr: String::new() }
}
