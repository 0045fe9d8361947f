//! A process that is killed after files are in their place, and before anybody knows of them.

use super::newcomer::{DONE, Deed, Newcomer};
use super::process::Office;
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{Kind, embedded_and_on_servers};

embedded_and_on_servers! {
    a_kill_between_rename_and_commit_leaves_no_file_without_a_row,
    whoever_leaves_after_such_a_kill_leaves_no_files,
}

const POINT: &str = "registration.after_rename";

/// Anna gives everything to a process that is killed once so many files are renamed.
async fn dies_after(office: &Office, renamed: usize) -> Newcomer<'_> {
    let failpoint = format!("{POINT}=pause@{renamed}");
    let run = office.run_with(&[("OPORA_FAILPOINTS", &failpoint)]);
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    run.logs(&format!("failpoint {POINT}")).await;
    run.dies().await;
    assert_eq!(office.files(), (renamed, 2), "the files are there, and the downloads");
    // Nobody is registered, and what is under way is nobody's orphan.
    let report = office.asks(&["cleanup", "--dry-run"]).await;
    assert!(report.contains("files known to the database: 0\n") && report.contains("would delete: 0"), "{report}");
    anna
}

async fn a_kill_between_rename_and_commit_leaves_no_file_without_a_row(kind: Kind) {
    for renamed in [1, 2] {
        let office = Office::new(kind).await;
        let mut anna = dies_after(&office, renamed).await;
        let run = office.run();
        anna.hears(DONE).await;
        run.stops().await;
        office.has_registered(1).await;
        drop(anna);
        office.emulator.stop().await;
    }
}

async fn whoever_leaves_after_such_a_kill_leaves_no_files(kind: Kind) {
    let office = Office::new(kind).await;
    let mut anna = dies_after(&office, 2).await;
    anna.does(Deed::Says("/cancel")).await;
    let run = office.run();
    // Her word may come before the files or after them: both are well, and nothing in between.
    until("files and rows agree", async || {
        let registered = office.emulator.texts(ANNA).await.iter().any(|text| text.starts_with(DONE));
        (office.files() == if registered { (2, 0) } else { (0, 0) }).then_some(())
    })
    .await;
    if office.files() == (0, 0) {
        office.has_registered(0).await;
        anna.gives_all().await;
        anna.hears(DONE).await;
    }
    drop(anna);
    run.stops().await;
    office.has_registered(1).await;
    office.emulator.stop().await;
}
