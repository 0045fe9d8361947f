//! The TLS provider is installed before it is needed. Each case is its own process, because a provider is permanent.

use std::process::Command;

use opora::bot::Bot;
use opora::dialogue::Script;
use opora::store;
use opora::testing::chat::Stage;
use opora_testkit::environment;
use rustls::crypto::CryptoProvider;

const CHILD: &str = "tls::provider::child_makes_its_own_client";

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test]
async fn child_makes_its_own_client() {
    let Some(first) = environment::child() else { return };
    assert!(CryptoProvider::get_default().is_none(), "a new process has no provider");
    match first.as_str() {
        "bot" => drop(Bot::new("123456789:AAtest")),
        "store" => drop(store::open("memory:").await.unwrap()),
        "stage" => drop(Stage::new(Script::new())),
        other => panic!("{other}"),
    }
    // Without a provider this panics.
    drop(reqwest::Client::new());
}

fn works_after(first: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", CHILD]).env(environment::CHILD, first).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn an_own_client_works_after_bot_new() {
    works_after("bot");
}

#[test]
fn an_own_client_works_after_opening_a_store() {
    works_after("store");
}

#[test]
fn an_own_client_works_in_a_chat_test() {
    works_after("stage");
}
