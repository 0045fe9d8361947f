//! The client with the emulator, over real connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use opora::store::{Outgoing, Version};
use opora::telegram::{
    AlbumItem, Api, ApiError, Button, Delete, Destination, Edit, FileRef, IntoOutgoing, RefusalKind, Say, Tag, Telegram,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stage::{Stage, TOKEN};

/// The client, and a person who has started the bot.
struct Client {
    stage: Stage,
    telegram: Arc<dyn Api>,
    person: i64,
}

impl Client {
    async fn new() -> Self {
        let stage = Stage::new().await;
        let anna = stage.person("Anna").await;
        anna.says("/start").await;
        let person = anna.id;
        Self { telegram: Arc::new(stage.telegram()), stage, person }
    }

    async fn call(&self, call: &Outgoing) -> Result<Value, ApiError> {
        let answer = self.telegram.call(&call.method, &call.body, &call.extras.uploads).await?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }

    async fn say(&self, what: impl IntoOutgoing) -> Result<Value, ApiError> {
        self.call(&to(self.person, what)).await
    }
}

fn to(chat: i64, what: impl IntoOutgoing) -> Outgoing {
    what.into_outgoing(&Destination::chat(chat), &Tag::new(Version(5))).unwrap()
}

#[tokio::test]
async fn messages_arrive() {
    let client = Client::new().await;
    let buttons = [[Button::new("Yes", "yes"), Button::url("Site", "https://example.org/")]];
    let sent = client.say(Say::text("<b>Hi</b>").html().buttons(buttons).silent()).await.unwrap();
    assert_eq!(sent["text"], "Hi");
    assert_eq!(sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "~5~yes");
    let id = sent["message_id"].as_i64().unwrap();
    assert_eq!(client.say(Edit::text(id, "Ho")).await.unwrap()["text"], "Ho");
    let again = client.say(Edit::text(id, "Ho")).await.unwrap_err();
    assert_eq!(again.refusal(), Some(RefusalKind::NotModified));
    assert_eq!(client.say(Delete::message(id)).await.unwrap(), json!(true));
    assert_eq!(client.say(Delete::message(id)).await.unwrap_err().refusal(), Some(RefusalKind::MessageGone));
    let broken = client.say(Say::text("<b>").html()).await.unwrap_err();
    assert_eq!(broken.refusal(), Some(RefusalKind::CannotParse), "{broken}");
}

#[tokio::test]
async fn files_are_uploaded_and_downloaded() {
    let client = Client::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = || FileRef::path(&path).named("report \"1\".bin");
    let sent = client.say(Say::document(file()).caption("here")).await.unwrap();
    assert_eq!((&sent["caption"], &sent["document"]["file_size"]), (&json!("here"), &json!(1_000_000)));
    let album = Say::album([AlbumItem::document(file()).caption("1"), AlbumItem::document(file())]);
    assert_eq!(client.say(album).await.unwrap().as_array().unwrap().len(), 2);

    let body = json!({"file_id": sent["document"]["file_id"]}).to_string();
    let found = client.telegram.call("getFile", &body, &[]).await.unwrap();
    let found: Value = serde_json::from_str(found.get()).unwrap();
    let file_path = found["file_path"].as_str().unwrap();
    for asked in [0, 999_990] {
        let download = client.telegram.download(file_path, asked).await.unwrap();
        let from = usize::try_from(download.from_byte).unwrap();
        let chunks: Vec<_> = download.bytes.try_collect().await.unwrap();
        assert_eq!(chunks.concat(), &bytes[from..], "asked from {asked}");
    }
    std::fs::remove_file(&path).unwrap();
    let gone = client.say(Say::document(file())).await.unwrap_err();
    assert_eq!(gone.refusal(), Some(RefusalKind::FileUnreadable));
}

#[tokio::test]
async fn errors_are_distinguished() {
    let client = Client::new().await;
    let sends = |fault: Value| {
        let mut order = json!({"method": "sendMessage"});
        order.as_object_mut().unwrap().extend(fault.as_object().unwrap().clone());
        order
    };
    client.stage.fault(sends(json!({"retry_after": 7}))).await;
    assert_eq!(client.say("x").await, Err(ApiError::RetryAfter { seconds: 7 }));
    client.stage.fault(sends(json!({"status": 502}))).await;
    assert!(matches!(client.say("x").await, Err(ApiError::Busy { code: 502, .. })));
    for cut in ["before", "after"] {
        client.stage.fault(sends(json!({"cut": cut}))).await;
        let error = client.say("x").await.unwrap_err();
        assert!(matches!(error, ApiError::Unsure(_)), "{error}");
        assert!(!format!("{error:?}").contains("AAtest"), "{error:?}");
    }
    assert_eq!(client.call(&to(4_242, "x")).await.unwrap_err().refusal(), Some(RefusalKind::ChatNotFound));
    client.stage.post(&format!("/chats/{}/block", client.person), json!({"from": client.person})).await;
    assert_eq!(client.say("x").await.unwrap_err().refusal(), Some(RefusalKind::Blocked));
}

#[tokio::test]
async fn a_late_answer_is_unsure() {
    let client = Client::new().await;
    client.stage.fault(json!({"method": "sendMessage", "delay_ms": 60_000})).await;
    let hasty = client.stage.telegram().request_timeout(Duration::from_millis(100));
    let call = to(client.person, "x");
    let error = hasty.call(&call.method, &call.body, &[]).await.unwrap_err();
    assert!(matches!(error, ApiError::Unsure(_)), "{error}");
}

#[tokio::test]
async fn updates_are_waited_for() {
    let client = Client::new().await;
    let polled = client.telegram.long_call("getUpdates", r#"{"timeout":20}"#, Duration::from_secs(20)).await.unwrap();
    let updates: Vec<Value> = serde_json::from_str(polled.get()).unwrap();
    assert_eq!(updates[0]["message"]["text"], "/start");
}

#[tokio::test]
async fn a_cut_download_is_an_error() {
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
