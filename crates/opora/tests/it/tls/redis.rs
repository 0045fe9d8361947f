//! `rediss://`.

use std::time::{Duration, Instant};

use opora::aiogram::{KeyBuilder, Layout, Scan, Storage, Strategy};
use opora_testkit::server_process::free_port;

use super::*;

/// A Redis with TLS on one port and without on another.
struct TlsRedis {
    port: u16,
    certificates: Certificates,
    server: RedisServer,
}

impl TlsRedis {
    fn start(asks_clients: &str) -> Self {
        let certificates = Certificates::new();
        let (_, shown_by_server) = certificates.right.server();
        let port = free_port();
        let server = RedisServer::start(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            shown(&shown_by_server.certificate),
            "--tls-key-file",
            shown(&shown_by_server.key),
            "--tls-ca-cert-file",
            shown(&certificates.right.certificate),
            "--tls-auth-clients",
            asks_clients,
        ]);
        Self { port, certificates, server }
    }

    fn address(&self, host: &str, settings: &str) -> String {
        format!("rediss://{host}:{}/0?{settings}", self.port)
    }

    fn trusting_the_right(&self) -> String {
        format!("ca={}", shown(&self.certificates.right.certificate))
    }
}

#[tokio::test]
async fn redis_over_tls_is_used_and_reconnected() {
    let mut tls = TlsRedis::start("no");
    let address = tls.address("localhost", &tls.trusting_the_right());
    assert_usable(&address).await;
    let store = store::open(&address).await.unwrap();
    tls.server.kill();
    assert!(store.lease(BOT).await.is_err());
    tls.server.start_again();
    let began = Instant::now();
    while store.lease(BOT).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "Redis is there and is not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    turns(&*store).await;
}

#[tokio::test]
async fn a_certificate_of_an_untrusted_authority_is_refused() {
    let tls = TlsRedis::start("no");
    let wrong = format!("ca={}", shown(&tls.certificates.wrong.certificate));
    for settings in [&*wrong, ""] {
        let words = ["cannot use the Redis at localhost", "not trusted here", "`ca=<file>`"];
        assert_refused(&tls.address("localhost", settings), &words).await;
    }
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let tls = TlsRedis::start("no");
    let address = tls.address("127.0.0.1", &tls.trusting_the_right());
    assert_refused(&address, &["its certificate is for another host", "127.0.0.1"]).await;
}

#[tokio::test]
async fn a_port_without_tls_is_reported() {
    let tls = TlsRedis::start("no");
    let plain = tls.server.url().replace("redis://127.0.0.1", "rediss://localhost");
    let address = format!("{plain}?{}", tls.trusting_the_right());
    let message = store::open_existing(&address).await.map(drop).unwrap_err().to_string();
    assert!(message.contains("if it does not expect TLS"), "{message}");
    assert_refused(&format!("redis://localhost:{}/0", tls.port), &["rediss://"]).await;
}

#[tokio::test]
async fn a_redis_that_wants_a_client_certificate_gets_ours() {
    let tls = TlsRedis::start("yes");
    let ca = tls.trusting_the_right();
    assert_refused(&tls.address("localhost", &ca), &["certificate", "`cert=<file>` and `key=<file>`"]).await;
    let of_another = tls.certificates.wrong.client("bot");
    let ours = tls.certificates.right.client("bot");
    let settings =
        |own: &authority::Certificate| format!("{ca}&cert={}&key={}", shown(&own.certificate), shown(&own.key));
    assert_refused(&tls.address("localhost", &settings(&of_another)), &["certificate"]).await;
    assert_usable(&tls.address("localhost", &settings(&ours))).await;
}

#[tokio::test]
async fn missing_and_invalid_files_are_named() {
    let certificates = Certificates::new();
    let (missing_file, ours) = (certificates.missing_file(), certificates.right.client("bot"));
    let address = |settings: &str| format!("rediss://localhost:1/?{settings}");
    assert_refused(&address(&format!("ca={}", shown(&missing_file))), &["missing_file.pem", "`ca`", "No such file"])
        .await;
    let key_for_authority = format!("ca={}", shown(&ours.key));
    assert_refused(&address(&key_for_authority), &["client.key", "no certificate in it"]).await;
    let swapped = format!("cert={}&key={}", shown(&ours.certificate), shown(&ours.certificate));
    assert_refused(&address(&swapped), &["`key`", "no private key in it"]).await;
}

#[tokio::test]
async fn aiograms_states_are_read_over_tls() {
    let tls = TlsRedis::start("no");
    tls.server.command(&["SET", "fsm:5:5:state", "Order:name"]);
    let layout = Layout { keys: KeyBuilder::default(), strategy: Strategy::default(), bot: BOT };
    let address = tls.address("localhost", &tls.trusting_the_right());
    let storage = Storage::open(&address, layout.clone()).await.unwrap();
    let found = storage.page(&mut Scan::default()).await.unwrap().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let other = Storage::open("redis://localhost/?prefix=shop", layout).await.unwrap_err();
    assert!(other.to_string().contains("TLS files"), "{other}");
}
