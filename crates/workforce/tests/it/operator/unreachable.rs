//! A server that is not there, does not let us in, or holds no store: what the operator is told.

use std::time::{Duration, Instant};

use opora_testkit::postgres_server::{PostgresServer, query};
use opora_testkit::redis_server::RedisServer;

use super::run;

/// Nobody waits longer for an answer at night.
const TOLD_WITHIN: Duration = Duration::from_secs(15);

/// Every command ends with these words, in time, and never with the password.
async fn all_complain(address: &str, words: &[&str]) {
    let (began, words) = (Instant::now(), [words, &["cannot open the store that STATE_URL names"]].concat());
    for command in [&["state", "list"][..], &["state", "reset", "1:5:5", "--yes"], &["state", "lease"]] {
        let done = run(&[("STATE_URL", address)], command).await;
        done.complains(&words);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    }
    assert!(began.elapsed() < 3 * TOLD_WITHIN, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_what_to_look_at() {
    let advice = ["Connection refused", "127.0.0.1:1", "whether the server runs"];
    all_complain("redis://:s3cret@127.0.0.1:1/0", &advice).await;
    all_complain("postgres://bot:s3cret@127.0.0.1:1/opora", &advice).await;
    all_complain("redis://:s3cret@no-such-host.invalid/", &["no-such-host.invalid", "Look at its host"]).await;
    all_complain("postgres://bot:s3cret@no-such-host.invalid/db", &["no-such-host.invalid", "Look at its host"]).await;
}

#[tokio::test]
async fn an_address_with_a_mistake_is_refused_without_repeating_it() {
    let bad = [
        ("redis://:s3cret@host:port", "redis://[user:password@]host"),
        ("redis://bot:s3cret/7@host/0", "%2F"),
        ("redis://host?pasword=s3cret", "prefix, keep_days, ca, cert, key"),
        ("redis://host?ca=s3cret.pem", "rediss://"),
        ("rediss://127.0.0.1:1?cert=client.pem", "`cert` and `key`"),
        ("postgres://bot:s3cret@host:port/db", "PostgreSQL"),
        ("postgres://bot:1/s3cret@host/db", "%2F"),
        ("postgres://host/db?pasword=s3cret", "sslmode"),
        ("postgres://host/db?sslmode=always", "ssl_mode"),
    ];
    for (address, word) in bad {
        all_complain(address, &[word]).await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_and_not_repeated() {
    let redis = RedisServer::start(&["--requirepass", "right"]);
    let at = redis.url().replace("redis://", "");
    for address in [format!("redis://:s3cret@{at}"), format!("redis://{at}")] {
        all_complain(&address, &["refused the user name or the password"]).await;
    }
    let postgres = PostgresServer::start(&[]);
    query(&postgres.url(), "CREATE ROLE guest LOGIN PASSWORD 'right'").await;
    postgres.admit(&["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]).await;
    let at = format!("127.0.0.1:{}", postgres.port());
    all_complain(&format!("postgres://guest:s3cret@{at}/postgres"), &["password authentication failed", "guest"]).await;
    let missing = format!("postgres://postgres:s3cret@{at}/nowhere");
    all_complain(&missing, &["database \"nowhere\" does not exist", "Look at its host, port, database"]).await;
}

#[tokio::test]
async fn a_server_without_a_store_is_told_and_nothing_is_made() {
    let redis = RedisServer::start(&[]);
    all_complain(&redis.url(), &["there is no store in this Redis"]).await;
    assert_eq!(redis.say(&["DBSIZE"]), redis::Value::Int(0));
    let postgres = PostgresServer::start(&[]);
    all_complain(&postgres.url(), &["holds no conversations"]).await;
}

#[tokio::test]
async fn without_state_url_the_redis_of_redis_url_is_meant_and_its_database_1() {
    let redis = RedisServer::start(&[]);
    let plain = redis.url().trim_end_matches("/0").to_owned();
    let store = opora::store::open(&format!("{plain}/1")).await.unwrap();
    store.close().await.unwrap();
    let listed = run(&[("REDIS_URL", &plain), ("DATA_DIR", "nowhere")], &["state", "list"]).await.well();
    assert!(listed.stdout.contains("No conversations."), "{}", listed.stdout);
    let other = run(&[("REDIS_URL", &format!("{plain}/0"))], &["state", "list"]).await;
    other.complains(&["cannot open the store that REDIS_URL names", "there is no store in this Redis"]);
    let first = run(&[("STATE_URL", "sqlite:nowhere.db"), ("REDIS_URL", &plain)], &["state", "list"]).await;
    first.complains(&["there is no store at nowhere.db"]);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    // Connections are made and nobody ever takes them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let is_told = async |address: String, word: &str| {
        let began = Instant::now();
        let done = run(&[("STATE_URL", &address)], &["state", "list"]).await;
        done.complains(&[word, "whether the server runs"]);
        assert!(began.elapsed() < TOLD_WITHIN && !done.stderr.contains("s3cret"), "{}", done.stderr);
    };
    tokio::join!(
        is_told(format!("redis://:s3cret@{at}"), "Redis"),
        is_told(format!("postgres://b:s3cret@{at}/d"), "no connection"),
    );
}
