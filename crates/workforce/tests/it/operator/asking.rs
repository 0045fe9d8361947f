//! `state reset`, and the question before anything is destroyed.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::{Done, Kind, Office, key};
use crate::kit::demo::{PATIENCE, program};

on_every_store! {
    a_reset_ends_the_conversation_and_raises_its_version,
    a_reset_without_yes_and_without_a_terminal_changes_nothing,
    there_is_nothing_to_reset_where_nothing_is_open,
    at_a_terminal_it_asks_and_takes_everything_but_yes_for_no,
}

async fn a_reset_ends_the_conversation_and_raises_its_version(kind: Kind) {
    let office = Office::at_work(kind).await;
    let done = office.opora(&["state", "reset", "1:5:5", "--yes"]).await.well();
    assert!(done.stdout.contains("The conversation 1:5:5 is reset."), "{}", done.stdout);
    let anna = office.rows().await.into_iter().find(|row| row.key == key("1:5:5")).unwrap();
    assert_eq!((anna.stored, anna.version.0), (None, 2));
    let listed = office.json(&["state", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
}

async fn a_reset_without_yes_and_without_a_terminal_changes_nothing(kind: Kind) {
    let office = Office::at_work(kind).await;
    let before = office.rows().await;
    let done = office.opora(&["state", "reset", "1:5:5"]).await;
    done.complains(&["Reset the conversation 1:5:5 (registration:phone)?", "--yes"]);
    assert_eq!(office.rows().await, before);
}

async fn there_is_nothing_to_reset_where_nothing_is_open(kind: Kind) {
    let office = Office::at_work(kind).await;
    for key in ["1:8:8", "1:9:9"] {
        office.opora(&["state", "reset", key, "--yes"]).await.complains(&["nothing is open in", key]);
    }
    let done = office.opora(&["state", "reset", "5", "--yes"]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("`5` is not a dialogue's key"), "{}", done.stderr);
}

async fn at_a_terminal_it_asks_and_takes_everything_but_yes_for_no(kind: Kind) {
    let office = Office::at_work(kind).await;
    let before = office.rows().await;
    for no in ["\n", "n\n", "whatever\n"] {
        let done = at_a_terminal(&office, "state reset 1:5:5", no).await;
        assert!(done.stdout.contains("Reset the conversation 1:5:5 (registration:phone)? [y/N]"), "{}", done.stdout);
        assert!(done.stdout.contains("nothing was changed"), "{}", done.stdout);
        assert_eq!((done.code, &office.rows().await), (Some(1), &before));
    }
    let done = at_a_terminal(&office, "state reset 1:5:5", "y\n").await;
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    assert_ne!(office.rows().await, before);
}

/// Runs it at a terminal of its own, where everything it says comes out together.
async fn at_a_terminal(office: &Office, arguments: &str, answer: &str) -> Done {
    let line = format!("'{}' {arguments} --store '{}'", program().display(), office.address());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).kill_on_drop(true);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Held open: the end of the input would be an answer, too.
    let mut input = script.stdin.take().unwrap();
    input.write_all(answer.as_bytes()).await.unwrap();
    let output = timeout(PATIENCE, script.wait_with_output()).await.expect("it should end by itself").unwrap();
    drop(input);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Done { code: output.status.code(), stdout, stderr: String::new() }
}
