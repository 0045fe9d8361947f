//! `/metrics` of the product as a process.

use std::collections::BTreeSet;

use opora::metrics::MetricKind;
use opora_testkit::server_process::free_port;
use workforce::metrics::list;

use super::exposition::Exposition;
use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::operator;
use crate::operator::doctor::{has_line, run_doctor};

embedded_and_on_servers! {
    a_scrape_shows_every_listed_metric,
}

const TOKEN: &str = "a-good_token_of_32_characters_000";

/// The address of the metrics, from the log.
async fn metrics_address(process: &AppProcess) -> String {
    let line = process.wait_for_log("metrics have a listener").await;
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    format!("http://{address}")
}

async fn scrape(emulator: &Demo, address: &str) -> Exposition {
    let response = emulator.http.get(format!("{address}/metrics")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    Exposition::parse(&response.text().await.unwrap())
}

/// Scrapes until it shows what is asked for.
async fn shows(emulator: &Demo, address: &str, what: &str, asked: impl Fn(&Exposition) -> bool) -> Exposition {
    until(what, async || Some(scrape(emulator, address).await).filter(&asked)).await
}

async fn a_scrape_shows_every_listed_metric(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[("METRICS_LISTEN", "127.0.0.1:0")]);
    let address = metrics_address(&process).await;
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Your Telegram ID: 1001").await;
    emulator.says(BORIS, "/language").await;
    emulator.receives(BORIS, "Which language").await;
    let web = process.web_address().await;
    assert_eq!(emulator.http.get(format!("{web}/health")).send().await.unwrap().status(), 200);
    // The gauges of the store are taken every 15 seconds, and first at the start.
    let shown = shows(&emulator, &address, "two answers are sent, and jobs have run", |shown| {
        let jobs = &shown.families["opora_jobs_finished_total"].samples;
        shown.value("opora_sends_total", &["sent"]) >= Some(2.0) && !jobs.is_empty()
    })
    .await;

    let names: BTreeSet<_> = shown.families.keys().map(String::as_str).collect();
    assert_eq!(names, list::all().map(|metric| metric.name).collect());
    for metric in list::all() {
        let family = &shown.families[metric.name];
        assert_eq!((&*family.kind, &*family.help), (&*metric.kind.to_string(), metric.help));
        for sample in &family.samples {
            let known: Vec<_> = metric.labels.iter().map(|label| label.name).collect();
            let mut labels: Vec<_> = sample.labels.iter().map(|(label, _)| label.as_str()).collect();
            if matches!(metric.kind, MetricKind::Histogram(_)) {
                labels.retain(|label| *label != "le");
            }
            assert_eq!(labels, known, "{sample:?}");
            for ((_, value), label) in sample.labels.iter().zip(metric.labels) {
                assert!(label.values.is_empty() || label.values.contains(&value.as_str()), "{sample:?}");
            }
        }
        // A conversation with a state, and jobs that wait for room, would give these their samples.
        let may_be_empty = ["opora_dialogues", "opora_jobs_waiting", "opora_jobs_oldest_seconds"];
        assert!(!family.samples.is_empty() || may_be_empty.contains(&metric.name), "{} has no samples", metric.name);
    }
    for (name, labels, least) in [
        ("opora_updates_total", &[][..], 2.0),
        ("opora_turns_total", &["committed"], 2.0),
        ("opora_commit_seconds_count", &[], 2.0),
        ("opora_http_requests_total", &["2xx"], 1.0),
        ("opora_lease_remaining_seconds", &[], 1.0),
        ("opora_build_info", &[env!("CARGO_PKG_VERSION")], 1.0),
        ("process_open_fds", &[], 10.0),
    ] {
        let value = shown.value(name, labels);
        assert!(value >= Some(least), "{name} {labels:?} is {value:?}");
    }
    let texts = format!("{shown:?}");
    assert!(!texts.contains("Anna") && !texts.contains("1001"), "metrics are about no person");
    process.stop().await;
    emulator.stop().await;
}

/// A queue was paused, and a job enqueued, before the program starts.
#[tokio::test]
async fn a_paused_queue_shows_what_waits() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let database = storage.database.url();
    let settings = [("DATABASE_URL", database.as_str()), ("BOT_TOKEN", emulator.token.as_str())];
    for command in [&["migrate"][..], &["jobs", "pause", "analytics"], &["jobs", "run", "payroll"]] {
        operator::run(&settings, command).await.success();
    }
    let process = AppProcess::start(&storage, &emulator, &[("METRICS_LISTEN", "127.0.0.1:0")]);
    let (address, kind) = (metrics_address(&process).await, ["analytics", "payroll"]);
    let waits = |shown: &Exposition| shown.value("opora_jobs_waiting", &kind) == Some(1.0);
    let shown = shows(&emulator, &address, "a job waits", waits).await;
    let oldest = shown.value("opora_jobs_oldest_seconds", &kind);
    assert!(oldest > Some(0.0), "{oldest:?}");
    process.stop().await;
    emulator.stop().await;
}

#[tokio::test]
async fn the_listener_has_health_and_nothing_else() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[("METRICS_LISTEN", "0")]);
    let (address, web) = (metrics_address(&process).await, process.web_address().await);
    for (url, status) in
        [(format!("{address}/health"), 200), (format!("{address}/sign-in"), 404), (format!("{web}/metrics"), 404)]
    {
        assert_eq!(emulator.http.get(&url).send().await.unwrap().status(), status, "{url}");
    }
    assert!(address.starts_with("http://127.0.0.1:"), "a port alone is of this machine only: {address}");
    let log = process.stop().await;
    let steps = ["released the lease", "the pages are closed", "the metrics are closed", "the database is closed"];
    let places: Vec<_> = steps.map(|step| log.iter().position(|line| line.contains(step)).unwrap()).into();
    assert!(places.is_sorted(), "{log:#?}");
    emulator.stop().await;
}

#[tokio::test]
async fn with_a_token_the_pages_serve_metrics() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[("METRICS_TOKEN", TOKEN)]);
    let url = format!("{}/metrics", process.web_address().await);
    for wrong in ["", "Bearer ", "Bearer wrong", TOKEN] {
        let refused = emulator.http.get(&url).header("authorization", wrong).send().await.unwrap();
        assert_eq!(
            (refused.status().as_u16(), refused.headers()["www-authenticate"].to_str().unwrap()),
            (401, "Bearer")
        );
        assert!(!refused.text().await.unwrap().contains("opora_"));
    }
    let shown = emulator.http.get(&url).bearer_auth(TOKEN).send().await.unwrap();
    let shown = Exposition::parse(&shown.text().await.unwrap());
    assert!(shown.value("opora_build_info", &[env!("CARGO_PKG_VERSION")]) == Some(1.0));
    let log = process.stop().await;
    assert!(!log.iter().any(|line| line.contains(TOKEN)), "the token is in the log");
    emulator.stop().await;
}

#[tokio::test]
async fn without_settings_there_are_no_metrics() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[]);
    let url = format!("{}/metrics", process.web_address().await);
    assert_eq!(emulator.http.get(&url).bearer_auth(TOKEN).send().await.unwrap().status(), 404);
    process.stop().await;
    emulator.stop().await;
}

#[tokio::test]
async fn the_demo_serves_metrics_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let demo = Demo::product(&folder, &["--metrics-listen", &port]).await;
    demo.says(BORIS, "/me").await;
    demo.receives(BORIS, "Boris Kim").await;
    let address = format!("http://127.0.0.1:{port}");
    shows(&demo, &address, "the demo's conversations", |shown| {
        shown.families["opora_turn_seconds"].samples.iter().any(|sample| sample.value > 0.0)
    })
    .await;
    demo.stop().await;
}

#[tokio::test]
async fn the_doctor_checks_the_metrics_listener() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (taken, free) = (taken.local_addr().unwrap().to_string(), free_port().to_string());
    for (settings, begins, words) in [
        (&[][..], ["ok", "metrics"], "not served"),
        (&[("METRICS_LISTEN", &*free)], ["ok", "metrics"], "is free"),
        (&[("METRICS_LISTEN", &*taken)], ["note", "metrics"], "is in use"),
        (&[("METRICS_TOKEN", TOKEN)], ["ok", "metrics"], "/metrics, with the token"),
    ] {
        let report = run_doctor(&storage, &emulator, settings).await.success().stdout;
        assert!(has_line(&report, begins, &[words]), "{settings:?}: {report}");
    }
    emulator.stop().await;
}
