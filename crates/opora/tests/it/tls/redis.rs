//! `rediss://`.

use std::time::{Duration, Instant};

use opora::aiogram::{KeyBuilder, Layout, Scan, Storage, Strategy};
use opora_testkit::server_process::free_port;

use super::*;

/// A Redis that speaks TLS on a port of its own, beside the plain one.
struct Secured {
    port: u16,
    papers: Papers,
    server: RedisServer,
}

impl Secured {
    fn start(asks_clients: &str) -> Self {
        let papers = Papers::new();
        let (_, shown_by_server) = papers.right.server();
        let port = free_port();
        let server = RedisServer::start(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            shown(&shown_by_server.certificate),
            "--tls-key-file",
            shown(&shown_by_server.key),
            "--tls-ca-cert-file",
            shown(&papers.right.certificate),
            "--tls-auth-clients",
            asks_clients,
        ]);
        Self { port, papers, server }
    }

    fn address(&self, host: &str, settings: &str) -> String {
        format!("rediss://{host}:{}/0?{settings}", self.port)
    }

    fn trusting_the_right(&self) -> String {
        format!("ca={}", shown(&self.papers.right.certificate))
    }
}

#[tokio::test]
async fn a_redis_is_used_over_tls_and_found_again_after_its_end() {
    let mut secured = Secured::start("no");
    let address = secured.address("localhost", &secured.trusting_the_right());
    is_used(&address).await;
    let store = store::open(&address).await.unwrap();
    secured.server.kill();
    assert!(store.lease(BOT).await.is_err());
    secured.server.start_again();
    let began = Instant::now();
    while store.lease(BOT).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "Redis is there and is not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    turns(&*store).await;
}

#[tokio::test]
async fn a_certificate_of_an_authority_that_is_not_trusted_is_refused() {
    let secured = Secured::start("no");
    let wrong = format!("ca={}", shown(&secured.papers.wrong.certificate));
    for settings in [&*wrong, ""] {
        let words = ["cannot use the Redis at localhost", "not trusted here", "`ca=<file>`"];
        is_refused(&secured.address("localhost", settings), &words).await;
    }
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let secured = Secured::start("no");
    let address = secured.address("127.0.0.1", &secured.trusting_the_right());
    is_refused(&address, &["its certificate is for another host", "127.0.0.1"]).await;
}

#[tokio::test]
async fn a_port_that_speaks_something_else_is_told() {
    let secured = Secured::start("no");
    let plain = secured.server.url().replace("redis://127.0.0.1", "rediss://localhost");
    let address = format!("{plain}?{}", secured.trusting_the_right());
    let told = store::open_existing(&address).await.map(drop).unwrap_err().to_string();
    assert!(told.contains("if it does not speak TLS there"), "{told}");
    is_refused(&format!("redis://localhost:{}/0", secured.port), &["rediss://"]).await;
}

#[tokio::test]
async fn a_redis_that_asks_for_a_certificate_gets_ours() {
    let secured = Secured::start("yes");
    let ca = secured.trusting_the_right();
    is_refused(&secured.address("localhost", &ca), &["certificate", "`cert=<file>` and `key=<file>`"]).await;
    let of_another = secured.papers.wrong.client("bot");
    let ours = secured.papers.right.client("bot");
    let settings = |own: &authority::Shown| format!("{ca}&cert={}&key={}", shown(&own.certificate), shown(&own.key));
    is_refused(&secured.address("localhost", &settings(&of_another)), &["certificate"]).await;
    is_used(&secured.address("localhost", &settings(&ours))).await;
}

#[tokio::test]
async fn a_file_that_is_not_there_or_holds_something_else_is_named() {
    let papers = Papers::new();
    let (nowhere, ours) = (papers.nowhere(), papers.right.client("bot"));
    let address = |settings: &str| format!("rediss://localhost:1/?{settings}");
    is_refused(&address(&format!("ca={}", shown(&nowhere))), &["nowhere.pem", "`ca`", "No such file"]).await;
    let key_for_authority = format!("ca={}", shown(&ours.key));
    is_refused(&address(&key_for_authority), &["client.key", "no certificate in it"]).await;
    let swapped = format!("cert={}&key={}", shown(&ours.certificate), shown(&ours.certificate));
    is_refused(&address(&swapped), &["`key`", "no private key in it"]).await;
}

#[tokio::test]
async fn aiograms_states_are_read_over_tls() {
    let secured = Secured::start("no");
    secured.server.say(&["SET", "fsm:5:5:state", "Order:name"]);
    let layout = Layout { keys: KeyBuilder::default(), strategy: Strategy::default(), bot: BOT };
    let address = secured.address("localhost", &secured.trusting_the_right());
    let storage = Storage::open(&address, layout.clone()).await.unwrap();
    let found = storage.page(&mut Scan::default()).await.unwrap().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let other = Storage::open("redis://localhost/?prefix=shop", layout).await.unwrap_err();
    assert!(other.to_string().contains("files of TLS"), "{other}");
}
