//! `opora demo --data`: conversations survive the process, however it ends.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT, program};

#[tokio::test]
async fn a_conversation_continues_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    assert!(demo.printed.contains(folder.path().to_str().unwrap()), "{}", demo.printed);
    demo.says(ANNA, "/help").await;
    demo.receives(ANNA, "I'm your team's assistant").await;
    demo.says(BORIS, "/me").await;
    demo.receives(BORIS, "Boris Kim").await;
    demo.until("the bot has answered", async |demo| (demo.texts(BORIS).await.len() == 2).then_some(())).await;
    let (anna, boris) = (demo.texts(ANNA).await, demo.texts(BORIS).await);
    demo.stop().await;

    let demo = Demo::product(&folder, &[]).await;
    assert_eq!((demo.texts(ANNA).await, demo.texts(BORIS).await), (anna, boris));
    demo.says(ANNA, "still here?").await;
    demo.until("the bot continues", async |demo| (demo.texts(ANNA).await.len() == 4).then_some(())).await;
    assert_eq!(demo.world().await["users"].as_array().unwrap().len(), 10, "no person exists twice");
    demo.stop().await;
}

#[tokio::test]
async fn a_killed_demo_keeps_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    demo.says(ANNA, "the last words").await;
    demo.signal("KILL");
    assert_eq!(demo.ended(TIMEOUT).await, None);

    let demo = Demo::product(&folder, &[]).await;
    assert_eq!(demo.texts(ANNA).await[0], "the last words");
    // The bot answers, whether before the kill or after it.
    demo.until("the bot answers", async |demo| (demo.texts(ANNA).await.len() >= 2).then_some(())).await;
    demo.stop().await;
}

/// No bot polls here, so only the event log can bring the update back.
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
        emulator.ended(TIMEOUT).await;
    }
}

#[tokio::test]
async fn fresh_removes_earlier_data() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("notes.txt");
    std::fs::write(&beside, "not the demo's").unwrap();
    let demo = Demo::product(&folder, &[]).await;
    demo.says(ANNA, "forget me").await;
    demo.stop().await;

    let demo = Demo::product(&folder, &["--fresh"]).await;
    assert_eq!(demo.texts(ANNA).await, Vec::<String>::new());
    demo.stop().await;
    assert!(!event_logs(folder.path()).contains("forget me"));
    assert!(beside.is_file(), "only the demo's own files may be removed");
}

#[tokio::test]
async fn fresh_refuses_a_running_demo() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
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
async fn unknown_host_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--allow-host", "demo.example"]).await;
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
async fn concurrent_first_calls_create_one_bot() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
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

    let demo = Demo::product(&folder, &[]).await;
    let world: Value = demo.http.get(format!("{}/{path}", demo.base)).send().await.unwrap().json().await.unwrap();
    assert_eq!(world["users"].as_array().map(Vec::len), Some(16), "{world}");
    demo.stop().await;
}

/// The content of all event logs below a folder.
fn event_logs(folder: &Path) -> String {
    event_log_files(folder).iter().map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

fn event_log_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> = files.into_iter().filter(|path| path.ends_with("journal.jsonl")).collect();
    found.extend(folders.iter().flat_map(|folder| event_log_files(folder)));
    found
}
