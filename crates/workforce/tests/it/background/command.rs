//! `opora jobs`: the real program on a database, without a running product.

use serde_json::{Value, json};

use crate::kit::firm::{Firm, StorageKind, on_databases};
use crate::operator::{self, CommandOutput};

on_databases! { [sqlite Sqlite, postgres Postgres]
    requests_are_stored_without_a_running_product,
}

/// Runs `opora jobs` for the bot of a firm.
async fn run(firm: &Firm, arguments: &[&str]) -> CommandOutput {
    let database = firm.storage.database.url();
    operator::run(&[("DATABASE_URL", &database), ("BOT_TOKEN", "7:stage")], &[&["jobs"], arguments].concat()).await
}

async fn json(firm: &Firm, arguments: &[&str]) -> Value {
    let said = run(firm, &[arguments, &["--json"]].concat()).await.success().stdout;
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error} in {said}"))
}

async fn requests_are_stored_without_a_running_product(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let first = json(&firm, &["run", "payroll"]).await;
    assert_eq!(first["is_new"], true);
    let id = first["id"].to_string();
    assert_eq!(json(&firm, &["run", "payroll"]).await, json!({"id": first["id"], "is_new": false, "name": "payroll"}));
    let listed = json(&firm, &["list", "--state", "available", "--queue", "analytics"]).await;
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &json!("payroll")));
    assert!(json(&firm, &["list", "--name", "nothing"]).await.as_array().unwrap().is_empty());

    json(&firm, &["pause", "analytics"]).await;
    let queue = async || {
        let queues = json(&firm, &["queues"]).await;
        queues.as_array().unwrap().iter().find(|one| one["queue"] == "analytics").cloned().unwrap()
    };
    let paused = queue().await;
    assert_eq!((&paused["is_paused"], &paused["waiting"]), (&json!(true), &json!(1)));
    assert!(firm.stage.run_jobs(&firm.app.rooms.jobs().workers()).await.is_empty(), "the queue is paused");
    assert_eq!(json(&firm, &["cancel", &id]).await, json!({"jobs": 1}));
    assert_eq!(json(&firm, &["show", &id]).await["state"], "cancelled");
    let unsure = run(&firm, &["retry", "--all", "--state", "cancelled"]).await;
    assert!(unsure.code == Some(1) && unsure.stderr.contains("Run again all jobs in state cancelled?"), "{unsure:?}");
    assert_eq!(json(&firm, &["retry", "--all", "--state", "cancelled", "--yes"]).await, json!({"jobs": 1}));
    json(&firm, &["resume", "analytics"]).await;
    assert_eq!(firm.stage.run_jobs(&firm.app.rooms.jobs().workers()).await.len(), 1);
    assert_eq!(json(&firm, &["show", &id]).await["state"], "completed");
    assert_eq!(queue().await["completed_lately"], 0, "the stage's clock is in the past");

    let shown = run(&firm, &["show", &id]).await.success().stdout;
    assert!(shown.contains("Name       payroll") && shown.contains("Attempts   1 of"), "{shown}");
    let listed = run(&firm, &["list"]).await.success().stdout;
    assert!(listed.contains("payroll") && listed.contains("completed"), "{listed}");
}

#[tokio::test]
async fn wrong_names_are_answered_with_the_right_ones() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    for (arguments, words) in [
        (&["run", "pay"][..], "there is no scheduled job `pay`; there are "),
        (&["pause", "mail"], "there is no queue `mail`; there are notifications, shifts, analytics, default"),
        (&["show", "9"], "there is no job 9"),
    ] {
        let refused = run(&firm, arguments).await;
        assert!(refused.code == Some(1) && refused.stderr.contains(words), "{refused:?}");
    }
    let help = operator::run(&[], &["jobs", "--help"]).await.success().stdout;
    assert!(help.contains("opora jobs retry --all --state discarded"), "{help}");
}

#[tokio::test]
async fn a_wrong_schedule_is_named_by_the_doctor() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let database = firm.storage.database.url();
    let settings = [("DATABASE_URL", database.as_str()), ("BOT_TOKEN", "7:stage"), ("CRON_PAYROLL", "every night")];
    let said = operator::run(&settings, &["doctor"]).await;
    assert!(
        said.stdout.contains("CRON_PAYROLL in the environment: `every night` is not a cron expression"),
        "{said:?}"
    );
}
