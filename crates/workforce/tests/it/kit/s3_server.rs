//! A real S3 server (moto) that checks keys, with one bucket.

use std::process::Stdio;

use opora_testkit::environment;
use reqwest::Client;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::kit::demo::{TIMEOUT, http};

pub const BUCKET: &str = "papers";

/// The calls that create the first keys need none.
const UNAUTHENTICATED_CALLS: &str = "4";
/// Tells the server that the IAM service is meant.
const IAM_AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, \
                             Signature=0";
const ALLOW_ALL_POLICY: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#;

pub struct S3Server {
    pub port: u16,
    pub access_key: String,
    pub secret_key: String,
    _process: Child,
}

impl S3Server {
    pub async fn start() -> Self {
        let mut command = Command::new(environment::moto_python());
        command
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", UNAUTHENTICATED_CALLS);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("Running on http://127.0.0.1:") {
                    return address.trim().parse().unwrap();
                }
            }
            panic!("the server ended without naming its port")
        };
        let port = timeout(TIMEOUT, listening).await.expect("the server did not start");
        // The server dies when it prints into a closed pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (access_key, secret_key) = prepare(&http(), &format!("http://127.0.0.1:{port}")).await;
        Self { port, access_key, secret_key, _process: process }
    }
}

/// Creates the bucket and a user with all rights. Returns the user's keys.
async fn prepare(http: &Client, server: &str) -> (String, String) {
    assert!(http.put(format!("{server}/{BUCKET}")).send().await.unwrap().status().is_success());
    let ask = |fields: &[(&str, &str)]| {
        let pairs = fields.iter().map(|(name, value)| {
            format!("{name}={}", form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>())
        });
        let request = http.post(server).header("authorization", IAM_AUTHORIZATION);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(pairs.collect::<Vec<_>>().join("&"));
        async move { request.send().await.unwrap().error_for_status().unwrap().text().await.unwrap() }
    };
    ask(&[("Action", "CreateUser"), ("UserName", "opora")]).await;
    let policy = [("UserName", "opora"), ("PolicyName", "all"), ("PolicyDocument", ALLOW_ALL_POLICY)];
    ask(&[&[("Action", "PutUserPolicy")], &policy[..]].concat()).await;
    let keys = ask(&[("Action", "CreateAccessKey"), ("UserName", "opora")]).await;
    (xml_value(&keys, "AccessKeyId"), xml_value(&keys, "SecretAccessKey"))
}

fn xml_value(xml: &str, tag: &str) -> String {
    let (_, rest) = xml.split_once(&format!("<{tag}>")).unwrap_or_else(|| panic!("no {tag} in {xml}"));
    rest.split('<').next().unwrap().to_owned()
}
