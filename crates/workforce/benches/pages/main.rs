//! Measures page times in a firm with 200 sites, 2,000 people and 200,000 shifts in PostgreSQL, with 50 readers.
//!
//! `cargo xtask bench pages` runs it; the argument is the number of seconds. A reader is a browser with its own
//! connection and account. It opens a page, pauses for 0.5 to 1.5 seconds, and opens the next, so 50 readers open about
//! 50 pages a second, within the limits for people. The time of a page is from the request to the last byte. The bench
//! fails if the p99 of all pages, or of a page that was read at least 200 times, is 50 ms or more. For exports only the
//! queries are counted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop where it is")]

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use opora::bot::Bot;
use opora::clock::Clock;
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::product::large_firm::{LargeFirm, Size};
use opora_testkit::queries::QueryCounter;
use tokio::net::TcpListener;
use workforce::application::{self, App};
use workforce::config::{Config, Layer, Layers};
use workforce::domain::{Address, Domain};
use workforce::rooms::Rooms;

mod readers;

const SIZE: Size = Size { sites: 200, people: 2000, owners: 20, managers: 10, per_day: 274 };
/// Two years of history, and a month and a half of plans.
const DAYS: (i64, i64) = (-730, 45);
/// Days per batch of inserts.
const DAYS_AT_ONCE: usize = 25;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let word = std::env::args().skip(1).find(|word| word != "--bench");
    let seconds = word.map_or(180, |word| word.parse().expect("a number of seconds"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(Duration::from_secs(seconds)))
}

async fn measure(duration: Duration) -> ExitCode {
    let queries = QueryCounter::install();
    let (space, folder) = (PostgresSchema::new().await, tempfile::tempdir().unwrap());
    let app = open(&space.url, folder.path().to_str().unwrap()).await;
    let firm = fill(&app).await;
    let (base, server) = serve(&app).await;
    let costs = readers::measure_costs(&base, &firm, &queries).await;
    queries.stop();
    // The readers run on their own thread, because browsers are not part of the product.
    let reading = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(readers::measure_times(&base, &firm, duration))
    });
    let times = tokio::task::spawn_blocking(move || reading.join().unwrap()).await.unwrap();
    server.abort();
    app.domain.close().await.unwrap();
    if readers::print_results(&times, &costs, duration) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The application without a bot. Its pages need none.
async fn open(database: &str, folder: &str) -> App {
    let values = [
        ("BOT_TOKEN", "7:pages"),
        ("STATE_URL", database),
        ("DATABASE_URL", database),
        ("DATA_DIR", folder),
        ("PUBLIC_URL", "http://127.0.0.1"),
        ("TRUSTED_PROXIES", "127.0.0.1"),
    ];
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let config = Config::read(&Layers::new(vec![Layer { origin: "a benchmark".into(), values }])).unwrap();
    let domain = Domain::open(database, &Address::parse(database).unwrap()).await.unwrap();
    App::new(&config, domain, Rooms::all(), Bot::new("7:pages").handle(), Clock::machine())
}

async fn fill(app: &App) -> LargeFirm {
    let clock = Clock::machine();
    let began = clock.now();
    let pool = app.domain.read().get_postgres_connection_pool();
    let firm = LargeFirm::create(pool, SIZE, began.0).await;
    for from in (DAYS.0..DAYS.1).step_by(DAYS_AT_ONCE) {
        let to = DAYS.1.min(from + DAYS_AT_ONCE as i64);
        firm.add_days(from, to).await;
        progress(&format!("filled {} of {} days", to - DAYS.0, DAYS.1 - DAYS.0));
    }
    firm.analyze().await;
    let count = |table: &'static str| {
        let pool = pool.clone();
        async move {
            let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
            sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap()
        }
    };
    let took = clock.now().since(began).as_secs();
    progress("");
    println!(
        "{} sites, {} people, {} shifts with {} tasks and {} amounts, {} slots; filled in {took} s",
        count("sites").await,
        count("users").await,
        count("shifts").await,
        count("shift_tasks").await,
        count("adjustments").await,
        count("time_slots").await
    );
    firm
}

async fn serve(app: &App) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let service = application::router(app).into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    (base, server)
}

/// Shows the progress on one line.
fn progress(words: &str) {
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[2K{words}");
        std::io::stdout().flush().unwrap();
    } else if !words.is_empty() {
        println!("{words}");
    }
}
