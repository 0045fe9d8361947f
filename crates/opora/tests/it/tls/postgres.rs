//! `postgres://…?sslmode=`.

use super::*;

struct TlsPostgres {
    certificates: Certificates,
    server: PostgresServer,
}

impl TlsPostgres {
    fn start() -> Self {
        let certificates = Certificates::new();
        let (folder, ours) = certificates.right.server();
        // PostgreSQL accepts only a key that it owns.
        hand_over(&folder);
        let server = PostgresServer::start(&[
            "ssl=on",
            &format!("ssl_cert_file={}", shown(&ours.certificate)),
            &format!("ssl_key_file={}", shown(&ours.key)),
            &format!("ssl_ca_file={}", shown(&certificates.right.certificate)),
        ]);
        Self { certificates, server }
    }

    fn address(&self, host: &str, settings: &str) -> String {
        format!("postgres://postgres@{host}:{}/postgres?{settings}", self.server.port())
    }

    fn checking(&self, authority: &Authority) -> String {
        format!("sslmode=verify-full&sslrootcert={}", shown(&authority.certificate))
    }
}

/// Refuses clients without TLS.
const ONLY_TLS: &str = "hostssl all all 127.0.0.1/32 trust";

#[tokio::test]
async fn a_database_is_used_over_tls() {
    let tls = TlsPostgres::start();
    tls.server.set_access_rules(&[ONLY_TLS]).await;
    assert_usable(&tls.address("localhost", &tls.checking(&tls.certificates.right))).await;
    // These modes do not check the server, or not its name.
    assert_usable(&tls.address("127.0.0.1", "sslmode=require")).await;
    let by_authority = format!("sslmode=verify-ca&sslrootcert={}", shown(&tls.certificates.right.certificate));
    assert_usable(&tls.address("127.0.0.1", &by_authority)).await;
    assert_refused(&tls.address("127.0.0.1", "sslmode=disable"), &["no pg_hba.conf entry", "no encryption"]).await;
}

#[tokio::test]
async fn a_certificate_of_an_untrusted_authority_is_refused() {
    let tls = TlsPostgres::start();
    for settings in [&*tls.checking(&tls.certificates.wrong), "sslmode=verify-full"] {
        let words = ["cannot use the PostgreSQL database", "not trusted here", "`sslrootcert=<file>`"];
        assert_refused(&tls.address("localhost", settings), &words).await;
    }
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let tls = TlsPostgres::start();
    let address = tls.address("127.0.0.1", &tls.checking(&tls.certificates.right));
    assert_refused(&address, &["its certificate is for another host", "127.0.0.1"]).await;
}

#[tokio::test]
async fn missing_certificates_and_files_are_reported() {
    let (server, certificates) = (PostgresServer::start(&[]), Certificates::new());
    let address = |settings: &str| format!("{}?{settings}", server.url());
    assert_refused(&address("sslmode=require"), &["server does not support TLS"]).await;
    let missing_file = format!("sslmode=verify-full&sslrootcert={}", shown(&certificates.missing_file()));
    assert_refused(&address(&missing_file), &["missing_file.pem", "`sslrootcert`", "No such file"]).await;
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate_gets_ours() {
    let tls = TlsPostgres::start();
    query(&tls.server.url(), "CREATE ROLE bot LOGIN SUPERUSER").await;
    tls.server.set_access_rules(&["hostssl all bot 127.0.0.1/32 cert", ONLY_TLS]).await;
    let address = |settings: &str| {
        let settings = format!("{}{settings}", tls.checking(&tls.certificates.right));
        tls.address("localhost", &settings).replace("postgres@", "bot@")
    };
    assert_refused(&address(""), &["valid client certificate"]).await;
    let ours = tls.certificates.right.client("bot");
    assert_usable(&address(&format!("&sslcert={}&sslkey={}", shown(&ours.certificate), shown(&ours.key)))).await;
}
