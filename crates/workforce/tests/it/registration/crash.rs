//! A kill after the files are in place and before the commit.

use super::newcomer::{Action, DONE, Newcomer};
use super::process::Deployment;
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{StorageKind, embedded_and_on_servers};

embedded_and_on_servers! {
    a_kill_before_the_commit_leaves_no_orphan,
    cancelling_after_a_kill_leaves_no_files,
}

const FAILPOINT: &str = "registration.after_rename";

/// Anna completes her registration, and the process is killed after this many files were renamed.
async fn kill_after(deployment: &Deployment, renamed: usize) -> Newcomer<'_> {
    let failpoint = format!("{FAILPOINT}=pause@{renamed}");
    let process = deployment.start_with(&[("OPORA_FAILPOINTS", &failpoint)]);
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    process.wait_for_log(&format!("failpoint {FAILPOINT}")).await;
    process.kill().await;
    assert_eq!(deployment.file_counts(), (renamed, 2), "the files are there, and the downloads");
    // Nothing is registered yet, and pending files are not orphans.
    let report = deployment.run_command(&["cleanup", "--dry-run"]).await;
    assert!(report.contains("files known to the database: 0\n") && report.contains("would delete: 0"), "{report}");
    anna
}

async fn a_kill_before_the_commit_leaves_no_orphan(kind: StorageKind) {
    for renamed in [1, 2] {
        let deployment = Deployment::new(kind).await;
        let mut anna = kill_after(&deployment, renamed).await;
        let process = deployment.start();
        anna.receives(DONE).await;
        process.stop().await;
        deployment.assert_registered(1).await;
        drop(anna);
        deployment.emulator.stop().await;
    }
}

async fn cancelling_after_a_kill_leaves_no_files(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let mut anna = kill_after(&deployment, 2).await;
    anna.does(Action::Says("/cancel")).await;
    let process = deployment.start();
    // Her cancel may come before or after the files. Both are fine, but nothing in between.
    until("files and rows agree", async || {
        let registered = deployment.emulator.texts(ANNA).await.iter().any(|text| text.starts_with(DONE));
        (deployment.file_counts() == if registered { (2, 0) } else { (0, 0) }).then_some(())
    })
    .await;
    if deployment.file_counts() == (0, 0) {
        deployment.assert_registered(0).await;
        anna.completes_registration().await;
        anna.receives(DONE).await;
    }
    drop(anna);
    process.stop().await;
    deployment.assert_registered(1).await;
    deployment.emulator.stop().await;
}
