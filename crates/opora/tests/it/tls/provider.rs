//! TLS has its provider before anything may need it. Each case has a process of its own: a provider is for good.

use std::process::Command;

use opora::bot::Bot;
use opora::dialogue::Script;
use opora::store;
use opora::testing::chat::Stage;
use opora_testkit::environment;
use rustls::crypto::CryptoProvider;

const CHILD: &str = "tls::provider::a_child_makes_a_client_of_its_own";

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test]
async fn a_child_makes_a_client_of_its_own() {
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
fn a_client_of_ones_own_works_after_bot_new() {
    works_after("bot");
}

#[test]
fn a_client_of_ones_own_works_after_a_store_was_opened() {
    works_after("store");
}

#[test]
fn a_client_of_ones_own_works_in_a_test_of_a_chat() {
    works_after("stage");
}
