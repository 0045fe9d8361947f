//! `opora jobs`: the real program on a database, without a running product.

use std::time::Duration;

use opora::clock::Clock;
use serde_json::{Value, json};
use workforce::audit;
use workforce::texts::Language;

use crate::kit::firm::{Firm, NOON, StorageKind, on_databases};
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

#[tokio::test]
async fn a_job_that_waits_for_another_attempt_runs_now() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let jobs = firm.app.rooms.jobs();
    let payroll = jobs.list().iter().find(|job| job.name == "payroll").unwrap().job.clone();
    let later = Clock::machine().now().plus(Duration::from_secs(3600));
    let enqueued = firm.app.domain.store().enqueue_jobs(firm.app.bot_id, vec![payroll.at(later)], NOON).await.unwrap();
    let id = enqueued[0].id().0.to_string();
    assert_eq!(json(&firm, &["show", &id]).await["state"], "scheduled");
    let said = run(&firm, &["run", "payroll"]).await.success().stdout;
    assert!(said.contains(&format!("It runs soon: job {id}.")), "{said}");
    assert_eq!(json(&firm, &["show", &id]).await["state"], "available");
    let said = run(&firm, &["run", "payroll"]).await.success().stdout;
    assert!(said.contains("It waits for its queue or runs already"), "{said}");
}

#[tokio::test]
async fn requests_of_the_command_line_are_audited() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let id = json(&firm, &["run", "payroll"]).await["id"].to_string();
    json(&firm, &["pause", "analytics"]).await;
    json(&firm, &["resume", "analytics"]).await;
    json(&firm, &["cancel", &id]).await;
    json(&firm, &["retry", "--all", "--state", "cancelled", "--queue", "analytics", "--yes"]).await;
    let lines = audit::about(&firm.app.domain, ("jobs", 0)).await.unwrap();
    assert!(lines.iter().all(|line| line.actor.is_none()), "{lines:?}");
    let shown: Vec<String> = lines.iter().map(|line| audit::in_words(line, Language::En)).collect();
    let cancelled = format!("Cancelled: #{id}");
    let expected = [
        "Run now: payroll",
        "Queue paused: analytics",
        "Queue resumed: analytics",
        cancelled.as_str(),
        "Run again: queue=analytics state=cancelled",
    ];
    assert_eq!(shown, expected);
}
