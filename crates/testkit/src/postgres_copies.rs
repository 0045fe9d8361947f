//! Databases for tests that are copies of one with tables.
//!
//! To copy a database takes PostgreSQL a fifth of the time of making the tables and dropping them one by one, and does
//! not disturb the connections of other tests. The first test of a program makes the template. It stays in the server
//! until the program is built again.

use std::hash::{DefaultHasher, Hash, Hasher};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::server_process::random_number;

/// The schema with the tables, in the template and in each copy.
pub(crate) const SCHEMA: &str = "opora_test";
/// The advisory lock under which a template is made.
const TEMPLATE_LOCK: i64 = 5_120_948_717_093_341;

/// Creates a copy and returns its address. `create_tables` gets the address of the template if there is none yet.
pub(crate) async fn create(server_url: &str, create_tables: impl AsyncFnOnce(String)) -> String {
    let program = program_name();
    let template = format!("{program}_{:016x}", build_number());
    let name = format!("opora_test_{}_{:016x}", std::process::id(), random_number());
    let mut connection = PgConnection::connect(server_url).await.unwrap();
    if !exists(&mut connection, &template).await {
        execute(&mut connection, &format!("SELECT pg_advisory_lock({TEMPLATE_LOCK})")).await;
        // Another test may have been faster.
        if !exists(&mut connection, &template).await {
            drop_templates(&mut connection, &program).await;
            create_template(&mut connection, server_url, &template, create_tables).await;
        }
        execute(&mut connection, &format!("SELECT pg_advisory_unlock({TEMPLATE_LOCK})")).await;
    }
    execute(&mut connection, &format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")).await;
    connection.close().await.unwrap();
    address_of(server_url, &name)
}

/// Drops a copy, with the connections that are left.
pub(crate) async fn remove(server_url: &str, copy_url: &str) {
    let (name, _) = database_of(copy_url);
    let mut connection = PgConnection::connect(server_url).await.unwrap();
    execute(&mut connection, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    connection.close().await.unwrap();
}

async fn create_template(
    connection: &mut PgConnection,
    server_url: &str,
    template: &str,
    create_tables: impl AsyncFnOnce(String),
) {
    // Its name is given at the end, so that a template is always complete.
    let unfinished = format!("{template}_unfinished");
    execute(connection, &format!("CREATE DATABASE {unfinished}")).await;
    let url = address_of(server_url, &unfinished);
    super::postgres_server::query(&url, &format!("CREATE SCHEMA {SCHEMA}")).await;
    create_tables(with_schema(&url, SCHEMA)).await;
    execute(connection, &format!("ALTER DATABASE {unfinished} RENAME TO {template}")).await;
}

/// Drops the templates of earlier builds of a program, and an unfinished one.
async fn drop_templates(connection: &mut PgConnection, program: &str) {
    let earlier = sqlx::query_scalar("SELECT datname::text FROM pg_database WHERE starts_with(datname::text, $1)");
    let earlier: Vec<String> = earlier.bind(program).fetch_all(&mut *connection).await.unwrap();
    for template in earlier {
        execute(connection, &format!("DROP DATABASE {template} WITH (FORCE)")).await;
    }
}

/// What the names of all templates of this program begin with.
fn program_name() -> String {
    format!("opora_template_{:016x}", hash_of(std::env::current_exe().unwrap()))
}

/// A number that is another one after each build of this program.
fn build_number() -> u64 {
    hash_of(std::env::current_exe().unwrap().metadata().unwrap().modified().unwrap())
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

async fn exists(connection: &mut PgConnection, database: &str) -> bool {
    let found = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)").bind(database);
    found.fetch_one(connection).await.unwrap()
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await.unwrap();
}

/// An address whose connections find and create tables in a schema.
pub(crate) fn with_schema(url: &str, schema: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}options[search_path]={schema}")
}

/// The address of another database on the same server.
fn address_of(server_url: &str, database: &str) -> String {
    let (own, settings) = database_of(server_url);
    let server = server_url.strip_suffix(&format!("{own}{settings}")).expect("they are its end");
    format!("{server}{database}{settings}")
}

/// The name of the database in an address, and what follows it.
fn database_of(url: &str) -> (&str, &str) {
    let (address, settings) = url.split_at(url.find('?').unwrap_or(url.len()));
    (address.rsplit_once('/').expect("an address of a database has a slash").1, settings)
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn a_copy_has_the_address_of_its_server() {
        let copy = |url| address_of(url, "copy");
        assert_eq!(copy("postgres://me:secret@host:1/db"), "postgres://me:secret@host:1/copy");
        assert_eq!(copy("postgres://host/?sslmode=disable"), "postgres://host/copy?sslmode=disable");
    }
}
