//! The webhook: a router in the application's own server.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{BotError, Webhook, WebhookSettings};
use opora::store::Store;
use opora::testing::faulty::{Fault, FaultyStore};
use reqwest::{Response, StatusCode};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, TIMEOUT, TOKEN, memory, until};

pub const SECRET: &str = "a-secret_of-a-webhook_1";

/// The application's own server.
pub struct Server {
    url: String,
    http: reqwest::Client,
    listener: Option<tokio::net::TcpListener>,
}

impl Server {
    pub async fn new(stage: &Stage) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        Self { url, http: stage.http.clone(), listener: Some(listener) }
    }

    pub fn settings(&self) -> WebhookSettings {
        WebhookSettings { connections: 10, ..WebhookSettings::new(&self.url, SECRET) }
    }

    pub fn mount(&mut self, webhook: &Webhook) {
        let (listener, router) = (self.listener.take().unwrap(), webhook.router("/hook"));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    }

    pub async fn brings(&self, secret: &str, body: impl Into<reqwest::Body>) -> Response {
        let request = self.http.post(&self.url).header("X-Telegram-Bot-Api-Secret-Token", secret);
        request.body(body).send().await.unwrap()
    }
}

/// An update of a person whom the emulator does not know.
fn update(id: i64, text: &str) -> String {
    let person = json!({"id": 77, "is_bot": false, "first_name": "Anna"});
    let chat = json!({"id": 77, "type": "private", "first_name": "Anna"});
    json!({"update_id": id, "message": {"message_id": id, "from": person, "chat": chat, "date": 1, "text": text}})
        .to_string()
}

#[tokio::test]
async fn a_dialogue_by_webhook_completes() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let mut server = Server::new(&stage).await;
    let (bot, webhook) = stage.bot(&stage.sqlite().await).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    anna.says("Anna").await;
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    let info = stage.call("getWebhookInfo", json!({})).await;
    assert_eq!(info["url"], server.url);
    assert_eq!(info["allowed_updates"], json!(["callback_query", "message"]));
    assert_eq!(stage.polls(), 0);
    bot.stops().await;
    assert_eq!(server.brings(SECRET, update(1, "/start")).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn only_calls_with_the_secret_are_accepted() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let mut server = Server::new(&stage).await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (bot, webhook) = stage.bot(&store).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let bot = Running::start(bot);
    let almost = ["a-secret_of-a-webhook_2", "a-secret_of-a-webhook_", "a-secret_of-a-webhook_11"];
    for secret in almost.into_iter().chain(["", TOKEN]) {
        assert_eq!(server.brings(secret, update(1, "/start")).await.status(), StatusCode::UNAUTHORIZED, "{secret}");
    }
    let without = stage.http.post(&server.url).body(update(1, "/start")).send().await.unwrap();
    assert_eq!(without.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(faulty.calls("receive"), 0);
    let warnings = log.lines().iter().filter(|line| line.contains("without the right secret")).count();
    assert_eq!(warnings, 1, "one warning a minute: {:#?}", log.lines());
    bot.stops().await;
}

/// Starts a call whose body does not come. Returns the status line of the answer.
async fn answer_without_a_body(server: &Server, secret: &str) -> String {
    let address = server.url.trim_start_matches("http://").trim_end_matches("/hook");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /hook HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000000\r\n\
         X-Telegram-Bot-Api-Secret-Token: {secret}\r\n\r\n{{"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut status = String::new();
    let mut connection = BufReader::new(connection);
    let answer = tokio::time::timeout(TIMEOUT, connection.read_line(&mut status)).await;
    answer.expect("no answer before the body").unwrap();
    status
}

#[tokio::test]
async fn a_wrong_secret_is_refused_before_the_body_comes() {
    let stage = Stage::new().await;
    let mut server = Server::new(&stage).await;
    let settings = WebhookSettings { body_timeout: Duration::from_secs(3600), ..server.settings() };
    let (_bot, webhook) = stage.bot(&memory()).dialogue(form()).webhook(settings);
    server.mount(&webhook);
    assert!(answer_without_a_body(&server, "wrong").await.starts_with("HTTP/1.1 401"));
    // Nothing is read while the bot does not run.
    assert!(answer_without_a_body(&server, SECRET).await.starts_with("HTTP/1.1 503"));
}

#[tokio::test]
async fn a_call_without_its_body_times_out() {
    let stage = Stage::new().await;
    let mut server = Server::new(&stage).await;
    let settings = WebhookSettings { body_timeout: Duration::from_millis(50), ..server.settings() };
    let (bot, webhook) = stage.bot(&memory()).dialogue(form()).webhook(settings);
    server.mount(&webhook);
    let bot = Running::start(bot);
    until("the webhook", async || !stage.calls("setWebhook").await.is_empty()).await;
    assert!(answer_without_a_body(&server, SECRET).await.starts_with("HTTP/1.1 408"));
    bot.stops().await;
}

#[tokio::test]
async fn without_lease_or_store_telegram_is_asked_to_retry() {
    let stage = Stage::new().await;
    let mut server = Server::new(&stage).await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (bot, webhook) = stage.inbox_first(&store).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let come_again = |response: Response| {
        let seconds = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        assert!(response.status() == StatusCode::SERVICE_UNAVAILABLE && seconds > Some(0), "{response:?}");
    };
    come_again(server.brings(SECRET, update(1, "/start")).await);
    assert_eq!(faulty.calls("receive"), 0);

    faulty.fail_until_cleared("receive", Fault::Before);
    let bot = Running::start(bot);
    until("the webhook", async || !stage.calls("setWebhook").await.is_empty()).await;
    come_again(server.brings(SECRET, update(1, "/start")).await);
    faulty.clear_faults("receive");
    assert_eq!(server.brings(SECRET, update(1, "/start")).await.status(), StatusCode::OK);
    // It was stored and the answer was lost: the repeated call is recognized.
    faulty.fail_next("receive", 1, Fault::After);
    come_again(server.brings(SECRET, update(2, "Anna")).await);
    assert_eq!(server.brings(SECRET, update(2, "Anna")).await.status(), StatusCode::OK);
    until("both turns", async || store.operator().transitions(crate::stage::BOT, 0, 10).await.unwrap().len() == 2)
        .await;
    bot.stops().await;
}

#[tokio::test]
async fn an_update_is_answered_200_after_it_is_durable() {
    let stage = Stage::new().await;
    let mut server = Server::new(&stage).await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (bot, webhook) = stage.inbox_first(&store).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let bot = Running::start(bot);
    until("the webhook", async || !stage.calls("setWebhook").await.is_empty()).await;
    faulty.fail_next("receive", 1, Fault::Stall);
    let server = Arc::new(server);
    let brought = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.brings(SECRET, update(1, "/start")).await.status() }
    });
    until("the store to be asked", async || faulty.calls("receive") == 1).await;
    // Others come and go: the first one has had time to be answered too early.
    for _ in 0..10 {
        assert_eq!(server.brings("wrong", update(2, "/start")).await.status(), StatusCode::UNAUTHORIZED);
    }
    assert!(!brought.is_finished());
    faulty.clear_faults("receive");
    assert_eq!(brought.await.unwrap(), StatusCode::OK);
    bot.stops().await;
}

#[tokio::test]
async fn garbage_is_accepted_and_too_large_bodies_are_refused() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let mut server = Server::new(&stage).await;
    let (bot, webhook) = stage.bot(&memory()).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let bot = Running::start(bot);
    until("the webhook", async || !stage.calls("setWebhook").await.is_empty()).await;
    for body in ["", "garbage", "{}", "[]", r#"{"update_id":"x"}"#] {
        assert_eq!(server.brings(SECRET, body).await.status(), StatusCode::OK, "{body}");
    }
    // Bytes that are no text are accepted too: a retry would not help.
    assert_eq!(server.brings(SECRET, vec![0xFF, 0xFE]).await.status(), StatusCode::OK);
    let logged = log.lines().iter().filter(|line| line.contains("is not an update")).count();
    assert_eq!(logged, 6, "{:#?}", log.lines());
    let large = " ".repeat(2 * 1024 * 1024);
    assert_eq!(server.brings(SECRET, large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    bot.stops().await;
}

#[tokio::test]
async fn a_weak_secret_is_refused_at_the_start() {
    let stage = Stage::new().await;
    let server = Server::new(&stage).await;
    for secret in ["", "fifteen-letters", "with a space in between", &"x".repeat(257)] {
        let settings = WebhookSettings { secret: secret.to_owned(), ..server.settings() };
        let (bot, _) = stage.bot(&memory()).dialogue(form()).webhook(settings);
        let ended = bot.run_until(opora::bot::Stop::new()).await;
        assert!(matches!(ended, Err(opora::bot::BotError::BadSecret)), "{ended:?}");
    }
}

#[tokio::test]
async fn a_refused_webhook_ends_the_bot_with_the_reason() {
    let stage = Stage::new().await;
    let server = Server::new(&stage).await;
    let store = memory();
    let words = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook";
    stage.fault(json!({"method": "setWebhook", "status": 400, "description": words, "times": 1})).await;
    let (bot, _webhook) = stage.bot(&store).dialogue(form()).webhook(server.settings());
    let ended = Running::start(bot).ends().await;
    assert!(matches!(&ended, Err(BotError::WebhookRefused(why)) if why.contains(words)), "{ended:?}");
    assert!(store.lease(BOT).await.unwrap().is_none(), "it has given the lease back");
}

#[tokio::test]
async fn setting_the_webhook_is_retried() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let mut server = Server::new(&stage).await;
    stage.fault(json!({"method": "setWebhook", "status": 502, "times": 1})).await;
    let words = "Bad Request: bad webhook: Failed to resolve host: Temporary failure in name resolution";
    stage.fault(json!({"method": "setWebhook", "status": 400, "description": words, "times": 1})).await;
    let (bot, webhook) = stage.bot(&memory()).dialogue(form()).webhook(server.settings());
    server.mount(&webhook);
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert_eq!(stage.calls("setWebhook").await.len(), 3);
    bot.stops().await;
}
