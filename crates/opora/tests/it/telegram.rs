//! The client against the emulator, over real connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use opora::store::{Outgoing, Version};
use opora::telegram::{
    AlbumItem, Api, ApiError, Button, Delete, Destination, Edit, FileRef, IntoOutgoing, RefusalKind, Say, Tag, Telegram,
};
use opora_emulator::{Emulator, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TOKEN: &str = "123456789:AAtesttesttesttesttesttesttesttestt";

/// An emulator that listens, with a person who has started the bot.
struct Stage {
    base: String,
    http: reqwest::Client,
    telegram: Arc<dyn Api>,
    person: i64,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Stage {
    async fn new() -> Self {
        let emulator = Emulator::new(Settings::default()).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = emulator.router();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let telegram = Arc::new(Telegram::new(TOKEN, &base).unwrap());
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut stage = Self { base, http, telegram, person: 0, server };
        stage.person = stage.people("/users", json!({"first_name": "Anna"})).await["id"].as_i64().unwrap();
        stage.people(&format!("/chats/{}/send", stage.person), json!({"from": stage.person, "text": "/start"})).await;
        stage
    }

    async fn people(&self, path: &str, body: Value) -> Value {
        let request = self.http.post(format!("{}/client/{TOKEN}{path}", self.base));
        let text = request.json(&body).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    async fn call(&self, call: &Outgoing) -> Result<Value, ApiError> {
        let answer = self.telegram.call(&call.method, &call.body, &call.uploads).await?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }

    async fn say(&self, what: impl IntoOutgoing) -> Result<Value, ApiError> {
        self.call(&to(self.person, what)).await
    }
}

fn to(chat: i64, what: impl IntoOutgoing) -> Outgoing {
    what.into_outgoing(&Destination::chat(chat), &Tag(Version(5))).unwrap()
}

#[tokio::test]
async fn what_is_said_arrives() {
    let stage = Stage::new().await;
    let buttons = [[Button::new("Yes", "yes"), Button::url("Site", "https://example.org/")]];
    let sent = stage.say(Say::text("<b>Hi</b>").html().buttons(buttons).silent()).await.unwrap();
    assert_eq!(sent["text"], "Hi");
    assert_eq!(sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "~5~yes");
    let id = sent["message_id"].as_i64().unwrap();
    assert_eq!(stage.say(Edit::text(id, "Ho")).await.unwrap()["text"], "Ho");
    let again = stage.say(Edit::text(id, "Ho")).await.unwrap_err();
    assert_eq!(again.refusal(), Some(RefusalKind::NotModified));
    assert_eq!(stage.say(Delete::message(id)).await.unwrap(), json!(true));
    assert_eq!(stage.say(Delete::message(id)).await.unwrap_err().refusal(), Some(RefusalKind::MessageGone));
    let broken = stage.say(Say::text("<b>").html()).await.unwrap_err();
    assert_eq!(broken.refusal(), Some(RefusalKind::CannotParse), "{broken}");
}

#[tokio::test]
async fn files_are_uploaded_and_fetched_whole_and_in_part() {
    let stage = Stage::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = || FileRef::path(&path).named("report \"1\".bin");
    let sent = stage.say(Say::document(file()).caption("here")).await.unwrap();
    assert_eq!((&sent["caption"], &sent["document"]["file_size"]), (&json!("here"), &json!(1_000_000)));
    let album = Say::album([AlbumItem::document(file()).caption("1"), AlbumItem::document(file())]);
    assert_eq!(stage.say(album).await.unwrap().as_array().unwrap().len(), 2);

    let body = json!({"file_id": sent["document"]["file_id"]}).to_string();
    let found = stage.telegram.call("getFile", &body, &[]).await.unwrap();
    let found: Value = serde_json::from_str(found.get()).unwrap();
    let file_path = found["file_path"].as_str().unwrap();
    for asked in [0, 999_990] {
        let download = stage.telegram.download(file_path, asked).await.unwrap();
        let from = usize::try_from(download.from_byte).unwrap();
        let chunks: Vec<_> = download.bytes.try_collect().await.unwrap();
        assert_eq!(chunks.concat(), &bytes[from..], "asked from {asked}");
    }
    std::fs::remove_file(&path).unwrap();
    let gone = stage.say(Say::document(file())).await.unwrap_err();
    assert_eq!(gone.refusal(), Some(RefusalKind::FileUnreadable));
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let stage = Stage::new().await;
    let sends = |fault: Value| {
        let mut order = json!({"method": "sendMessage"});
        order.as_object_mut().unwrap().extend(fault.as_object().unwrap().clone());
        order
    };
    stage.people("/faults", sends(json!({"retry_after": 7}))).await;
    assert_eq!(stage.say("x").await, Err(ApiError::RetryAfter { seconds: 7 }));
    stage.people("/faults", sends(json!({"status": 502}))).await;
    assert!(matches!(stage.say("x").await, Err(ApiError::Busy { code: 502, .. })));
    for cut in ["before", "after"] {
        stage.people("/faults", sends(json!({"cut": cut}))).await;
        let error = stage.say("x").await.unwrap_err();
        assert!(matches!(error, ApiError::Unsure(_)), "{error}");
        assert!(!format!("{error:?}").contains("AAtest"), "{error:?}");
    }
    assert_eq!(stage.call(&to(4_242, "x")).await.unwrap_err().refusal(), Some(RefusalKind::ChatNotFound));
    stage.people(&format!("/chats/{}/block", stage.person), json!({"from": stage.person})).await;
    assert_eq!(stage.say("x").await.unwrap_err().refusal(), Some(RefusalKind::Blocked));
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_unsure() {
    let stage = Stage::new().await;
    stage.people("/faults", json!({"method": "sendMessage", "delay_ms": 60_000})).await;
    let hasty = Telegram::new(TOKEN, &stage.base).unwrap().patience(Duration::from_millis(100));
    let call = to(stage.person, "x");
    let error = hasty.call(&call.method, &call.body, &[]).await.unwrap_err();
    assert!(matches!(error, ApiError::Unsure(_)), "{error}");
}

#[tokio::test]
async fn updates_are_waited_for() {
    let stage = Stage::new().await;
    let polled = stage.telegram.long_call("getUpdates", r#"{"timeout":20}"#, Duration::from_secs(20)).await.unwrap();
    let updates: Vec<Value> = serde_json::from_str(polled.get()).unwrap();
    assert_eq!(updates[0]["message"]["text"], "/start");
}

#[tokio::test]
async fn a_download_that_is_cut_is_an_error_and_no_short_file() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        assert!(connection.read(&mut request).await.unwrap() > 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
    });
    let download = Telegram::new(TOKEN, &base).unwrap().download("documents/a", 0).await.unwrap();
    assert_eq!(download.length, Some(100));
    let chunks: Result<Vec<_>, ApiError> = download.bytes.try_collect().await;
    assert!(matches!(chunks, Err(ApiError::Unsure(_))), "{chunks:?}");
    server.await.unwrap();
}
