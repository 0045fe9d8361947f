//! Errors when a server is unreachable, refuses the login, or holds no store.

use std::time::{Duration, Instant};

use opora_testkit::postgres_server::{PostgresServer, query};
use opora_testkit::redis_server::RedisServer;

use super::run;

/// The longest acceptable wait for an error.
const ERROR_DEADLINE: Duration = Duration::from_secs(15);

/// Asserts that every command fails with these words in time, without the password.
async fn assert_all_fail(address: &str, words: &[&str]) {
    let (began, words) = (Instant::now(), [words, &["cannot open the store that STATE_URL names"]].concat());
    for command in [&["state", "list"][..], &["state", "reset", "1:5:5", "--yes"], &["state", "lease"]] {
        let done = run(&[("STATE_URL", address)], command).await;
        done.fails_with(&words);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    }
    assert!(began.elapsed() < 3 * ERROR_DEADLINE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_unreachable_server_is_reported_with_advice() {
    let advice = ["Connection refused", "127.0.0.1:1", "whether the server runs"];
    assert_all_fail("redis://:s3cret@127.0.0.1:1/0", &advice).await;
    assert_all_fail("postgres://bot:s3cret@127.0.0.1:1/opora", &advice).await;
    assert_all_fail("redis://:s3cret@no-such-host.invalid/", &["no-such-host.invalid", "Check its host"]).await;
    assert_all_fail("postgres://bot:s3cret@no-such-host.invalid/db", &["no-such-host.invalid", "Check its host"]).await;
}

#[tokio::test]
async fn a_wrong_address_is_refused_without_repeating_it() {
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
        assert_all_fail(address, &[word]).await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_not_repeated() {
    let redis = RedisServer::start(&["--requirepass", "right"]);
    let at = redis.url().replace("redis://", "");
    for address in [format!("redis://:s3cret@{at}"), format!("redis://{at}")] {
        assert_all_fail(&address, &["refused the user name or the password"]).await;
    }
    let postgres = PostgresServer::start(&[]);
    query(&postgres.url(), "CREATE ROLE guest LOGIN PASSWORD 'right'").await;
    postgres
        .set_access_rules(&["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"])
        .await;
    let at = format!("127.0.0.1:{}", postgres.port());
    assert_all_fail(&format!("postgres://guest:s3cret@{at}/postgres"), &["password authentication failed", "guest"])
        .await;
    let missing = format!("postgres://postgres:s3cret@{at}/nowhere");
    assert_all_fail(&missing, &["database \"nowhere\" does not exist", "Check its host, port, database"]).await;
}

#[tokio::test]
async fn a_server_without_a_store_is_left_unchanged() {
    let redis = RedisServer::start(&[]);
    assert_all_fail(&redis.url(), &["there is no store in this Redis"]).await;
    assert_eq!(redis.command(&["DBSIZE"]), redis::Value::Int(0));
    let postgres = PostgresServer::start(&[]);
    assert_all_fail(&postgres.url(), &["holds no conversations"]).await;
}

#[tokio::test]
async fn redis_url_means_its_database_1_without_state_url() {
    let redis = RedisServer::start(&[]);
    let plain = redis.url().trim_end_matches("/0").to_owned();
    let store = opora::store::open(&format!("{plain}/1")).await.unwrap();
    store.close().await.unwrap();
    let listed = run(&[("REDIS_URL", &plain), ("DATA_DIR", "nowhere")], &["state", "list"]).await.success();
    assert!(listed.stdout.contains("No conversations."), "{}", listed.stdout);
    let other = run(&[("REDIS_URL", &format!("{plain}/0"))], &["state", "list"]).await;
    other.fails_with(&["cannot open the store that REDIS_URL names", "there is no store in this Redis"]);
    let first = run(&[("STATE_URL", "sqlite:nowhere.db"), ("REDIS_URL", &plain)], &["state", "list"]).await;
    first.fails_with(&["there is no store at nowhere.db"]);
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    // The kernel accepts connections, but no process answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let assert_error = async |address: String, word: &str| {
        let began = Instant::now();
        let done = run(&[("STATE_URL", &address)], &["state", "list"]).await;
        done.fails_with(&[word, "whether the server runs"]);
        assert!(began.elapsed() < ERROR_DEADLINE && !done.stderr.contains("s3cret"), "{}", done.stderr);
    };
    tokio::join!(
        assert_error(format!("redis://:s3cret@{at}"), "Redis"),
        assert_error(format!("postgres://b:s3cret@{at}/d"), "no connection"),
    );
}
