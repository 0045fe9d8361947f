//! What a room adds to a running application: pages and jobs.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use opora::bot::Stop;
use opora::jobs::{Job, JobFilter};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use workforce::application::App;
use workforce::jobs::Jobs;
use workforce::rooms::{Room, Rooms};
use workforce::run::Product;
use workforce::web::Routes;

use crate::kit::app_process::start_emulator;
use crate::kit::demo::until;
use crate::kit::firm::{StorageKind, TestStorage, on_every_database};

on_every_database! {
    jobs_run_and_pages_are_served,
}

/// A room with a page and a job that read the application's people.
#[derive(Debug)]
struct Counting;

impl Room for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn routes(&self) -> Routes {
        Routes::new().get("/count", count)
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        let failing = jobs.scheduled(Fail {}, NEW_YEAR, fail).also_at_start();
        failing.scheduled(Count {}, NEW_YEAR, run).also_at_start()
    }
}

const NEW_YEAR: &str = "0 0 1 1 *";

#[derive(Serialize, Deserialize)]
struct Count {}

impl Job for Count {
    const NAME: &'static str = "count";
}

#[derive(Serialize, Deserialize)]
struct Fail {}

impl Job for Fail {
    const NAME: &'static str = "fail";
}

/// Each test runs in its own process.
static RUNS: AtomicUsize = AtomicUsize::new(0);

async fn run(app: App) -> anyhow::Result<()> {
    app.people.all().await?;
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

async fn fail(_: App) -> anyhow::Result<()> {
    anyhow::bail!("it always does")
}

async fn count(State(app): State<App>) -> String {
    format!("{} people", app.people.all().await.unwrap().len())
}

async fn jobs_run_and_pages_are_served(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let config = storage.config(&[("BOT_TOKEN", &emulator.token), ("BOT_API_URL", &emulator.base)]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let page = format!("http://{}/count", listener.local_addr().unwrap());
    let product = Product::open(config, Rooms::new(&[&Counting])).await.unwrap();
    let (router, stop, app) = (product.router(), Stop::new(), product.app.clone());
    let running = tokio::spawn(product.run(listener, router, stop.clone()));
    until("the job has run at the start", async || (RUNS.load(Ordering::Relaxed) == 1).then_some(())).await;
    app.bot.enqueue(Count {}).await.unwrap();
    until("it runs again", async || (RUNS.load(Ordering::Relaxed) == 2).then_some(())).await;
    let filter = JobFilter { bot: app.bot_id, name: Some("fail".to_owned()), ..JobFilter::default() };
    let failed = app.domain.store().operator().jobs(&filter, None, 1).await.unwrap().remove(0);
    assert_eq!(failed.errors[0].reason, "it always does");
    let page = emulator.http.get(page).send().await.unwrap();
    assert_eq!(page.text().await.unwrap(), "0 people");
    stop.stop();
    running.await.unwrap().unwrap();
    emulator.stop().await;
}
