//! A real server that speaks S3 and checks keys, with one bucket. It goes with its test.

use std::process::Stdio;

use opora_testkit::environment;
use reqwest::Client;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::kit::demo::{PATIENCE, http};

pub const BUCKET: &str = "papers";

/// Calls that need no keys: those that make the first ones.
const FREE_CALLS: &str = "4";
/// It is told by this which of its services is meant.
const ASKS_FOR_KEYS: &str = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, \
                             Signature=0";
const EVERYTHING: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#;

pub struct S3Server {
    pub port: u16,
    pub access_key: String,
    pub secret_key: String,
    _process: Child,
}

impl S3Server {
    pub async fn start() -> Self {
        let mut command = Command::new(environment::moto());
        command
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", FREE_CALLS);
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
        let port = timeout(PATIENCE, listening).await.expect("the server did not start");
        // Whoever prints into a closed pipe dies of it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (access_key, secret_key) = prepare(&http(), &format!("http://127.0.0.1:{port}")).await;
        Self { port, access_key, secret_key, _process: process }
    }
}

/// Makes the bucket, and somebody who may do everything there; gives the keys.
async fn prepare(http: &Client, server: &str) -> (String, String) {
    assert!(http.put(format!("{server}/{BUCKET}")).send().await.unwrap().status().is_success());
    let ask = |fields: &[(&str, &str)]| {
        let pairs = fields.iter().map(|(name, value)| {
            format!("{name}={}", form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>())
        });
        let request = http.post(server).header("authorization", ASKS_FOR_KEYS);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(pairs.collect::<Vec<_>>().join("&"));
        async move { request.send().await.unwrap().error_for_status().unwrap().text().await.unwrap() }
    };
    ask(&[("Action", "CreateUser"), ("UserName", "opora")]).await;
    let policy = [("UserName", "opora"), ("PolicyName", "all"), ("PolicyDocument", EVERYTHING)];
    ask(&[&[("Action", "PutUserPolicy")], &policy[..]].concat()).await;
    let keys = ask(&[("Action", "CreateAccessKey"), ("UserName", "opora")]).await;
    (within(&keys, "AccessKeyId"), within(&keys, "SecretAccessKey"))
}

fn within(xml: &str, tag: &str) -> String {
    let (_, rest) = xml.split_once(&format!("<{tag}>")).unwrap_or_else(|| panic!("no {tag} in {xml}"));
    rest.split('<').next().unwrap().to_owned()
}
