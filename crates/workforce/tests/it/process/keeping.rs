//! `opora demo --data`: a conversation outlives the process, however it ends.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::demo::{ANNA, BORIS, Demo, PATIENCE, program};

#[tokio::test]
async fn a_conversation_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_in(&folder, &[]).await;
    assert!(demo.printed.contains(folder.path().to_str().unwrap()), "{}", demo.printed);
    demo.says(ANNA, "/help").await;
    demo.hears(ANNA, "I am the assistant").await;
    demo.says(BORIS, "/me").await;
    demo.hears(BORIS, "Boris Kim").await;
    demo.until("the bot has answered", async |demo| (demo.texts(BORIS).await.len() == 2).then_some(())).await;
    let (anna, boris) = (demo.texts(ANNA).await, demo.texts(BORIS).await);
    demo.stop().await;

    let demo = demo_in(&folder, &[]).await;
    assert_eq!((demo.texts(ANNA).await, demo.texts(BORIS).await), (anna, boris));
    demo.says(ANNA, "still here?").await;
    demo.until("the bot goes on", async |demo| (demo.texts(ANNA).await.len() == 4).then_some(())).await;
    assert_eq!(demo.world().await["users"].as_array().unwrap().len(), 8, "nobody is there twice");
    demo.stop().await;
}

#[tokio::test]
async fn a_killed_one_has_kept_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_in(&folder, &[]).await;
    demo.says(ANNA, "the last words").await;
    demo.signal("KILL");
    assert_eq!(demo.ended(PATIENCE).await, None);

    let demo = demo_in(&folder, &[]).await;
    assert_eq!(demo.texts(ANNA).await[0], "the last words");
    // Whether or not it had answered before, it has by now.
    demo.until("the bot answers", async |demo| (demo.texts(ANNA).await.len() >= 2).then_some(())).await;
    demo.stop().await;
}

/// The bot polls nothing, so only the journal can bring the update back.
#[tokio::test]
async fn a_kill_after_an_answer_loses_nothing() {
    const TOKEN: &str = "123456789:AAtesttesttesttesttesttesttesttestt";
    let folder = tempfile::tempdir().unwrap();
    for round in 1..=12 {
        let emulator = Demo::start_with(&["--data", folder.path().to_str().unwrap()]).await;
        let client = format!("{}/client/{TOKEN}", emulator.base);
        let known: Value = emulator.http.get(&client).send().await.unwrap().json().await.unwrap();
        assert_eq!(known["pending_update_count"], round - 1, "updates before round {round}");
        if round == 1 {
            let anna = json!({"id": 1, "first_name": "Anna"});
            emulator.http.post(format!("{client}/users")).json(&anna).send().await.unwrap();
        }
        let said = json!({"from": 1, "text": format!("words {round}")});
        let answer = emulator.http.post(format!("{client}/chats/1/send")).json(&said).send().await.unwrap();
        emulator.signal("KILL");
        assert_eq!(answer.status(), 200);
        emulator.ended(PATIENCE).await;
    }
}

#[tokio::test]
async fn fresh_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("notes.txt");
    std::fs::write(&beside, "not the demo's").unwrap();
    let demo = demo_in(&folder, &[]).await;
    demo.says(ANNA, "forget me").await;
    demo.stop().await;

    let demo = demo_in(&folder, &["--fresh"]).await;
    assert_eq!(demo.texts(ANNA).await, Vec::<String>::new());
    demo.stop().await;
    assert!(!journal(folder.path()).contains("forget me"));
    assert!(beside.is_file(), "only what the demo made may go");
}

#[tokio::test]
async fn fresh_does_not_touch_a_demo_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_in(&folder, &[]).await;
    demo.says(ANNA, "keep me").await;
    let second = tokio::process::Command::new(program())
        .args(["demo", "--port", "0", "--fresh", "--data"])
        .arg(folder.path())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("another emulator is using the data directory"), "{said}");
    assert!(demo.texts(ANNA).await.contains(&"keep me".to_owned()));
    demo.stop().await;
}

#[tokio::test]
async fn a_demo_serves_no_name_that_was_rebound() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_in(&folder, &["--allow-host", "demo.example"]).await;
    let bots = format!("/bot{}/getMe", demo.token);
    for path in ["/", "/sign-in", "/chat", "/client", &bots] {
        let status = async |host: &str| {
            let get = demo.http.get(format!("{}{path}", demo.base)).header("host", host);
            get.send().await.unwrap().status().as_u16()
        };
        assert_eq!(status("evil.example").await, 403, "{path}");
        for host in ["localhost", "127.0.0.1:8080", "demo.example"] {
            assert!(status(host).await < 400, "{path} at {host}");
        }
    }
    demo.stop().await;
}

#[tokio::test]
async fn a_bot_that_many_call_first_is_kept_whole() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_in(&folder, &[]).await;
    let path = "client/123456789:AAtesttesttesttesttesttesttesttestt";
    let url = format!("{}/{path}/users", demo.base);
    let people = (1..=16).map(|id| {
        let request = demo.http.post(&url).json(&json!({"id": id, "first_name": "One of many"}));
        tokio::spawn(request.send())
    });
    for person in people.collect::<Vec<_>>() {
        assert_eq!(person.await.unwrap().unwrap().status(), 200);
    }
    demo.stop().await;

    let demo = demo_in(&folder, &[]).await;
    let world: Value = demo.http.get(format!("{}/{path}", demo.base)).send().await.unwrap().json().await.unwrap();
    assert_eq!(world["users"].as_array().map(Vec::len), Some(16), "{world}");
    demo.stop().await;
}

async fn demo_in(folder: &TempDir, more: &[&str]) -> Demo {
    Demo::product(folder, more).await
}

/// Everything in all journals below a folder.
fn journal(folder: &Path) -> String {
    journals(folder).iter().map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> = files.into_iter().filter(|path| path.ends_with("journal.jsonl")).collect();
    found.extend(folders.iter().flat_map(|folder| journals(folder)));
    found
}
