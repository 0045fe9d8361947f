//! What a room adds to a running application: pages and jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use opora::bot::Stop;
use tokio::net::TcpListener;
use workforce::application::App;
use workforce::rooms::{Job, Room, Rooms};
use workforce::run::Product;
use workforce::web::Routes;

use crate::kit::app_process::start_emulator;
use crate::kit::demo::until;
use crate::kit::firm::{StorageKind, TestStorage, on_every_database};

on_every_database! {
    jobs_run_repeatedly_and_pages_are_served,
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

    fn jobs(&self) -> Vec<Job> {
        let every = Duration::from_millis(500);
        vec![
            Job { name: "count", every, run: |app| Box::pin(run(app)) },
            Job { name: "fail", every, run: |_| Box::pin(async { anyhow::bail!("it always does") }) },
        ]
    }
}

/// Each test runs in its own process.
static RUNS: AtomicUsize = AtomicUsize::new(0);

async fn run(app: App) -> anyhow::Result<()> {
    app.people.all().await?;
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

async fn count(State(app): State<App>) -> String {
    format!("{} people", app.people.all().await.unwrap().len())
}

async fn jobs_run_repeatedly_and_pages_are_served(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let config = storage.config(&[("BOT_TOKEN", &emulator.token), ("BOT_API_URL", &emulator.base)]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let page = format!("http://{}/count", listener.local_addr().unwrap());
    let product = Product::open(config, Rooms::new(&[&Counting])).await.unwrap();
    let (router, stop) = (product.router(), Stop::new());
    let running = tokio::spawn(product.run(listener, router, stop.clone()));
    until("the job has run twice", async || (RUNS.load(Ordering::Relaxed) >= 2).then_some(())).await;
    let page = emulator.http.get(page).send().await.unwrap();
    assert_eq!(page.text().await.unwrap(), "0 people");
    stop.stop();
    running.await.unwrap().unwrap();
    emulator.stop().await;
}
