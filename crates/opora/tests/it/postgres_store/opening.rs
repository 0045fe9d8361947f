//! Addresses, passwords, versions, and concurrent starts.

use std::time::Duration;

use futures_util::future::join_all;
use opora::store::{self, PostgresStore, Store, StoreError};
use opora_testkit::postgres_server::{PostgresSchema, PostgresServer, query};
use opora_testkit::proxy::Proxy;
use sqlx::{Connection, PgConnection};

use super::Fixture;

#[tokio::test]
async fn an_error_about_a_password_does_not_contain_it() {
    let server = PostgresServer::start(&[]);
    query(&server.url(), "CREATE ROLE guest LOGIN PASSWORD 'r1ghtone'; GRANT ALL ON SCHEMA public TO guest").await;
    server.set_access_rules(&["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]).await;
    let at = format!("127.0.0.1:{}/postgres", server.port());
    for address in [format!("postgres://guest:wr0ngone@{at}"), format!("postgresql://stranger:wr0ngone@{at}")] {
        let error = store::open(&address).await.map(drop).unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(message.contains("password authentication failed") && message.contains("127.0.0.1"), "{message}");
        assert!(!message.contains("wr0ng"), "{message}");
    }
    let store = store::open(&format!("postgres://guest:r1ghtone@{at}")).await.unwrap();
    let message = format!("{} {store:?}", store.describe());
    assert!(message.contains("127.0.0.1") && !message.contains("r1ght"), "{message}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn bad_addresses_and_missing_servers_are_reported() {
    for address in ["postgres://bot:s3cret@127.0.0.1:1/opora", "postgres://bot:s3cret@127.0.0.1:port/opora"] {
        let error = store::open(address).await.map(drop).unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(!message.contains("s3cret") && message.contains("PostgreSQL"), "{message}");
    }
    // This server has no certificate.
    let server = PostgresServer::start(&[]);
    let error = store::open(&format!("{}?sslmode=require", server.url())).await.map(drop).unwrap_err();
    assert!(matches!(error, store::OpenError::CannotOpen(_)), "{error}");
}

#[tokio::test]
async fn the_description_says_what_a_restart_loses() {
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
async fn concurrent_starts_create_the_tables_once() {
    let space = PostgresSchema::new().await;
    let stores = join_all((0..8).map(|_| PostgresStore::open(&space.url))).await;
    assert!(stores.iter().all(Result::is_ok), "{stores:?}");
    let mut connection = PgConnection::connect(&space.url).await.unwrap();
    let made: Vec<i64> =
        sqlx::query_scalar("SELECT version FROM opora_schema").fetch_all(&mut connection).await.unwrap();
    assert_eq!(made, [1]);
}

#[tokio::test]
async fn opening_gives_up_on_a_silent_connection() {
    let server = PostgresServer::start(&[]);
    PostgresStore::open(&server.url()).await.unwrap();
    let silent_from = async |said: &'static [u8]| {
        let (proxy, folder) = (Proxy::in_front_of(server.port()).await, tempfile::tempdir().unwrap());
        let address = format!("postgres://postgres@127.0.0.1:{}/postgres?data={}", proxy.port, folder.path().display());
        // The last-seen record is compared, too.
        PostgresStore::open(&address).await.unwrap();
        proxy.blackhole_from(said);
        let opened = tokio::time::timeout(Duration::from_secs(10), PostgresStore::open(&address)).await;
        let error = opened.expect("it waits on").unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        proxy.resume();
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
async fn a_tool_creates_nothing_and_other_versions_are_refused() {
    let space = PostgresSchema::new().await;
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
async fn a_backup_is_left_to_the_servers_tools() {
    let fixture = Fixture::new().await;
    let error = fixture.store.operator().backup(std::path::Path::new("copy")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(why) if why.contains("pg_dump")), "{error}");
}
