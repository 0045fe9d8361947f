//! A database whose tables are made once and copied for each test.
//!
//! It belongs to one test program: a program that was built anew makes another one and removes the former.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// Begins the names of these databases.
const PREFIX: &str = "opora_template_";
/// Only one program makes or removes a template at a time.
const LOCK: &str = "SELECT pg_advisory_lock(hashtext('opora_template'))";
/// A test that ended in between has left its half-made template, whose sessions end soon.
const PAUSE: Duration = Duration::from_millis(50);
/// PostgreSQL 15 copies by its log unless told otherwise, which takes ten times longer.
const CHOOSES_STRATEGY: i32 = 150_000;

/// The address of another database of the same server.
pub(super) fn with_database(url: &str, name: &str) -> String {
    let (place, settings) = url.split_once('?').map_or((url, None), |(place, settings)| (place, Some(settings)));
    let server = place.rsplit_once('/').expect("the address of a test's PostgreSQL names a database").0;
    settings.map_or_else(|| format!("{server}/{name}"), |settings| format!("{server}/{name}?{settings}"))
}

/// Copies this program's template. False if there is none any more: another program has removed it.
pub(super) async fn copy(url: &str, name: &str, prepare: &impl AsyncFn(&str)) -> bool {
    let template = format!("{PREFIX}{:016x}", program());
    let mut connection = PgConnection::connect(url).await.unwrap();
    if !exists(&mut connection, &template).await {
        sqlx::query(LOCK).execute(&mut connection).await.unwrap();
        if !exists(&mut connection, &template).await {
            make(url, &mut connection, &template, prepare).await;
        }
    }
    let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let strategy = if version >= CHOOSES_STRATEGY { " STRATEGY file_copy" } else { "" };
    let create = format!("CREATE DATABASE {name} TEMPLATE {template}{strategy}");
    let copied = sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut connection).await;
    let is_gone =
        |error: &sqlx::Error| error.as_database_error().is_some_and(|error| error.code() == Some("3D000".into()));
    // The lock goes with the connection.
    connection.close().await.unwrap();
    match copied {
        Err(error) if is_gone(&error) => false,
        copied => copied.map(|_| true).unwrap(),
    }
}

/// Makes the template of this program, and removes those of former ones.
async fn make(url: &str, connection: &mut PgConnection, template: &str, prepare: &impl AsyncFn(&str)) {
    let all = sqlx::query_scalar("SELECT datname FROM pg_database WHERE starts_with(datname, $1)").bind(PREFIX);
    let former: Vec<String> = all.fetch_all(&mut *connection).await.unwrap();
    for name in former {
        // Another program may be copying it just now.
        let drop = format!("DROP DATABASE IF EXISTS {name}");
        let _ = sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *connection).await;
    }
    let unfinished = format!("{template}_new");
    let recreate = format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)");
    sqlx::raw_sql(AssertSqlSafe(recreate)).execute(&mut *connection).await.unwrap();
    let create = format!("CREATE DATABASE {unfinished}");
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *connection).await.unwrap();
    prepare(&with_database(url, &unfinished)).await;
    let rename = format!("ALTER DATABASE {unfinished} RENAME TO {template}");
    while sqlx::raw_sql(AssertSqlSafe(rename.clone())).execute(&mut *connection).await.is_err() {
        tokio::time::sleep(PAUSE).await;
    }
}

async fn exists(connection: &mut PgConnection, name: &str) -> bool {
    let found = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)").bind(name);
    found.fetch_one(connection).await.unwrap()
}

/// Tells this program from any other, and from itself before it was built anew.
fn program() -> u64 {
    let path = std::env::current_exe().unwrap();
    let about = std::fs::metadata(&path).unwrap();
    let mut hasher = DefaultHasher::new();
    (path, about.modified().unwrap(), about.len()).hash(&mut hasher);
    hasher.finish()
}
