//! Addresses, passwords, versions, and several who start at once.

use std::time::Duration;

use futures_util::future::join_all;
use opora::store::{self, PostgresStore, Store, StoreError};
use opora_testkit::postgres_server::{PostgresServer, PostgresSpace, query};
use opora_testkit::proxy::Proxy;
use sqlx::{Connection, PgConnection};

use super::Bench;

#[tokio::test]
async fn a_wrong_password_is_told_without_repeating_it() {
    let server = PostgresServer::start(&[]);
    query(&server.url(), "CREATE ROLE guest LOGIN PASSWORD 'r1ghtone'; GRANT ALL ON SCHEMA public TO guest").await;
    server.admit(&["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]).await;
    let at = format!("127.0.0.1:{}/postgres", server.port());
    for address in [format!("postgres://guest:wr0ngone@{at}"), format!("postgresql://nobody:wr0ngone@{at}")] {
        let error = store::open(&address).await.map(drop).unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(told.contains("password authentication failed") && told.contains("127.0.0.1"), "{told}");
        assert!(!told.contains("wr0ng"), "{told}");
    }
    let store = store::open(&format!("postgres://guest:r1ghtone@{at}")).await.unwrap();
    let told = format!("{} {store:?}", store.describe());
    assert!(told.contains("127.0.0.1") && !told.contains("r1ght"), "{told}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_none_and_a_server_that_is_not_there_are_told() {
    for address in ["postgres://bot:s3cret@127.0.0.1:1/opora", "postgres://bot:s3cret@127.0.0.1:port/opora"] {
        let error = store::open(address).await.map(drop).unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(!told.contains("s3cret") && told.contains("PostgreSQL"), "{told}");
    }
    // This server has no certificate.
    let server = PostgresServer::start(&[]);
    let error = store::open(&format!("{}?sslmode=require", server.url())).await.map(drop).unwrap_err();
    assert!(matches!(error, store::OpenError::CannotOpen(_)), "{error}");
}

#[tokio::test]
async fn what_a_restart_loses_is_said() {
    for (settings, said) in [
        (&["fsync=on"][..], "a restart loses nothing"),
        (&["fsync=on", "synchronous_commit=off"][..], "the last moments"),
        (&[][..], "fsync is off"),
    ] {
        let server = PostgresServer::start(settings);
        let store = PostgresStore::open(&server.url()).await.unwrap();
        assert!(store.describe().contains(said), "{}", store.describe());
    }
}

#[tokio::test]
async fn of_many_that_start_at_once_one_makes_the_tables() {
    let space = PostgresSpace::new().await;
    let stores = join_all((0..8).map(|_| PostgresStore::open(&space.url))).await;
    assert!(stores.iter().all(Result::is_ok), "{stores:?}");
    let mut connection = PgConnection::connect(&space.url).await.unwrap();
    let made: Vec<i64> =
        sqlx::query_scalar("SELECT version FROM opora_schema").fetch_all(&mut connection).await.unwrap();
    assert_eq!(made, [1]);
}

#[tokio::test]
async fn a_connection_that_falls_silent_while_it_is_opened_is_given_up() {
    let server = PostgresServer::start(&[]);
    PostgresStore::open(&server.url()).await.unwrap();
    let silent_from = async |said: &'static [u8]| {
        let (proxy, folder) = (Proxy::before(server.port()).await, tempfile::tempdir().unwrap());
        let address = format!("postgres://postgres@127.0.0.1:{}/postgres?data={}", proxy.port, folder.path().display());
        // What was seen before is compared, too.
        PostgresStore::open(&address).await.unwrap();
        proxy.swallow_from(said);
        let opened = tokio::time::timeout(Duration::from_secs(10), PostgresStore::open(&address)).await;
        let error = opened.expect("it waits on").unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        proxy.let_pass();
        PostgresStore::open(&address).await.unwrap();
    };
    tokio::join!(
        silent_from(b"default_transaction_isolation"),
        silent_from(b"server_version_num"),
        silent_from(b"'opora_generation'"),
        silent_from(b"'opora_schema'"),
        silent_from(b"FROM opora_schema"),
        silent_from(b"FROM opora_generation"),
    );
}

#[tokio::test]
async fn a_tool_makes_nothing_and_other_versions_are_refused() {
    let space = PostgresSpace::new().await;
    let refused = async |said: &str| {
        let error = PostgresStore::open_existing(&space.url).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported(why) if why.contains(said)), "{error}");
    };
    refused("holds no conversations").await;
    PostgresStore::open(&space.url).await.unwrap();
    PostgresStore::open_existing(&space.url).await.unwrap();
    query(&space.url, "DELETE FROM opora_schema").await;
    refused("start the bot once").await;
    query(&space.url, "INSERT INTO opora_schema VALUES (99)").await;
    refused("newer version").await;
    assert!(matches!(PostgresStore::open(&space.url).await, Err(StoreError::Unsupported(_))));
}

#[tokio::test]
async fn a_backup_is_left_to_the_tools_of_the_server() {
    let bench = Bench::new().await;
    let error = bench.store.operator().backup(std::path::Path::new("copy")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(why) if why.contains("pg_dump")), "{error}");
}
