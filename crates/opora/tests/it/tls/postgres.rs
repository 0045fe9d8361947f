//! `postgres://…?sslmode=`.

use super::*;

/// A PostgreSQL with a certificate.
struct Secured {
    papers: Papers,
    server: PostgresServer,
}

impl Secured {
    fn start() -> Self {
        let papers = Papers::new();
        let (folder, ours) = papers.right.server();
        // PostgreSQL takes only a key that is its own.
        hand_over(&folder);
        let server = PostgresServer::start(&[
            "ssl=on",
            &format!("ssl_cert_file={}", shown(&ours.certificate)),
            &format!("ssl_key_file={}", shown(&ours.key)),
            &format!("ssl_ca_file={}", shown(&papers.right.certificate)),
        ]);
        Self { papers, server }
    }

    fn address(&self, host: &str, settings: &str) -> String {
        format!("postgres://postgres@{host}:{}/postgres?{settings}", self.server.port())
    }

    fn checking(&self, authority: &Authority) -> String {
        format!("sslmode=verify-full&sslrootcert={}", shown(&authority.certificate))
    }
}

/// Refuses everybody who comes without TLS.
const ONLY_TLS: &str = "hostssl all all 127.0.0.1/32 trust";

#[tokio::test]
async fn a_database_is_used_over_tls() {
    let secured = Secured::start();
    secured.server.admit(&[ONLY_TLS]).await;
    is_used(&secured.address("localhost", &secured.checking(&secured.papers.right))).await;
    // These do not ask whom they talk to, or not by name.
    is_used(&secured.address("127.0.0.1", "sslmode=require")).await;
    let by_authority = format!("sslmode=verify-ca&sslrootcert={}", shown(&secured.papers.right.certificate));
    is_used(&secured.address("127.0.0.1", &by_authority)).await;
    is_refused(&secured.address("127.0.0.1", "sslmode=disable"), &["no pg_hba.conf entry", "no encryption"]).await;
}

#[tokio::test]
async fn a_certificate_of_an_authority_that_is_not_trusted_is_refused() {
    let secured = Secured::start();
    for settings in [&*secured.checking(&secured.papers.wrong), "sslmode=verify-full"] {
        let words = ["cannot use the PostgreSQL database", "not trusted here", "`sslrootcert=<file>`"];
        is_refused(&secured.address("localhost", settings), &words).await;
    }
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let secured = Secured::start();
    let address = secured.address("127.0.0.1", &secured.checking(&secured.papers.right));
    is_refused(&address, &["its certificate is for another host", "127.0.0.1"]).await;
}

#[tokio::test]
async fn a_server_without_a_certificate_and_files_that_are_not_there_are_told() {
    let (server, papers) = (PostgresServer::start(&[]), Papers::new());
    let address = |settings: &str| format!("{}?{settings}", server.url());
    is_refused(&address("sslmode=require"), &["server does not support TLS"]).await;
    let nowhere = format!("sslmode=verify-full&sslrootcert={}", shown(&papers.nowhere()));
    is_refused(&address(&nowhere), &["nowhere.pem", "`sslrootcert`", "No such file"]).await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_ours() {
    let secured = Secured::start();
    query(&secured.server.url(), "CREATE ROLE bot LOGIN SUPERUSER").await;
    secured.server.admit(&["hostssl all bot 127.0.0.1/32 cert", ONLY_TLS]).await;
    let address = |settings: &str| {
        let settings = format!("{}{settings}", secured.checking(&secured.papers.right));
        secured.address("localhost", &settings).replace("postgres@", "bot@")
    };
    is_refused(&address(""), &["valid client certificate"]).await;
    let ours = secured.papers.right.client("bot");
    is_used(&address(&format!("&sslcert={}&sslkey={}", shown(&ours.certificate), shown(&ours.key)))).await;
}
