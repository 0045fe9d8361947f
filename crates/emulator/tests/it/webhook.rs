//! Webhooks: the secret, the order of updates, retries, and answers with a call.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::stage::{Stage, TIMEOUT, until};

const SECRET: &str = "secret_token-1";

/// A bot with a webhook: records the updates and answers from a list, then with 200.
#[derive(Clone, Default)]
struct Listener {
    came: Arc<Mutex<Vec<Value>>>,
    secrets: Arc<Mutex<Vec<Option<String>>>>,
    answers: Arc<Mutex<Vec<Response>>>,
}

impl Listener {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let router = Router::new().fallback(hook).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn then_answers(&self, answer: impl IntoResponse) {
        self.answers.lock().unwrap().push(answer.into_response());
    }

    fn texts(&self) -> Vec<String> {
        let came = self.came.lock().unwrap();
        came.iter().filter_map(|update| Some(update["message"]["text"].as_str()?.to_owned())).collect()
    }

    async fn wait_for(&self, count: usize) -> Vec<Value> {
        until("the updates came", || self.came.lock().unwrap().len() >= count).await;
        self.came.lock().unwrap().clone()
    }
}

async fn hook(State(listener): State<Listener>, headers: HeaderMap, body: String) -> Response {
    let secret = headers.get("x-telegram-bot-api-secret-token").map(|it| it.to_str().unwrap().to_owned());
    listener.secrets.lock().unwrap().push(secret);
    listener.came.lock().unwrap().push(serde_json::from_str(&body).unwrap());
    let mut answers = listener.answers.lock().unwrap();
    if answers.is_empty() { StatusCode::OK.into_response() } else { answers.remove(0) }
}

async fn stage_with(listener: &Listener) -> Stage {
    let stage = Stage::new().await;
    let url = listener.start().await;
    stage.call("setWebhook", json!({"url": url, "secret_token": SECRET})).await;
    stage
}

#[tokio::test]
async fn updates_are_posted_with_the_secret() {
    let listener = Listener::default();
    let stage = stage_with(&listener).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "hello").await;
    assert_eq!(listener.wait_for(1).await[0]["message"]["text"], "hello");
    assert_eq!(*listener.secrets.lock().unwrap(), [Some(SECRET.to_owned())]);
    let info = stage.call("getWebhookInfo", json!({})).await;
    assert_eq!((&info["max_connections"], info.get("last_error_message")), (&json!(40), None));
}

#[tokio::test]
async fn one_chat_stays_in_order_and_does_not_block_another() {
    let listener = Listener::default();
    let stage = stage_with(&listener).await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    for number in 0..20 {
        stage.says(anna, &format!("a{number}")).await;
        stage.says(ben, &format!("b{number}")).await;
    }
    listener.wait_for(40).await;
    let texts = listener.texts();
    for who in ["a", "b"] {
        let own: Vec<&String> = texts.iter().filter(|text| text.starts_with(who)).collect();
        let expected: Vec<String> = (0..20).map(|number| format!("{who}{number}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_refused_update_comes_again_before_the_next_one() {
    let listener = Listener::default();
    listener.then_answers(StatusCode::INTERNAL_SERVER_ERROR);
    let stage = stage_with(&listener).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "first").await;
    stage.says(anna, "second").await;
    listener.wait_for(3).await;
    assert_eq!(listener.texts(), ["first", "first", "second"]);
    let info = stage.call("getWebhookInfo", json!({})).await;
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 500 Internal Server Error");
}

#[tokio::test]
async fn retry_after_is_honoured_on_the_bots_clock() {
    let listener = Listener::default();
    listener.then_answers((StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "600")]));
    let stage = stage_with(&listener).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "wait").await;
    listener.wait_for(1).await;
    // Another chat shows that the emulator is at work, and that this one still waits.
    let ben = stage.person("Ben").await;
    stage.says(ben, "meanwhile").await;
    listener.wait_for(2).await;
    assert_eq!(listener.texts(), ["wait", "meanwhile"]);
    stage.post("/clock", json!({"advance_seconds": 601})).await;
    listener.wait_for(3).await;
    assert_eq!(listener.texts(), ["wait", "meanwhile", "wait"]);
}

#[tokio::test]
async fn an_absurd_retry_after_costs_an_hour_at_most() {
    let listener = Listener::default();
    listener.then_answers((StatusCode::TOO_MANY_REQUESTS, [("retry-after", "9223372036854775807")]));
    let stage = stage_with(&listener).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "wait").await;
    wait_for_error(&stage).await;
    stage.post("/clock", json!({"advance_seconds": 3601})).await;
    listener.wait_for(2).await;
    assert_eq!(listener.texts(), ["wait", "wait"]);
}

#[tokio::test]
async fn a_new_webhook_gets_the_refused_updates_in_order() {
    let listener = Listener::default();
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("setWebhook", json!({"url": "http://127.0.0.1:1/"})).await;
    for number in 0..100 {
        stage.says(anna, &number.to_string()).await;
    }
    wait_for_error(&stage).await;
    stage.call("setWebhook", json!({"url": listener.start().await})).await;
    listener.wait_for(100).await;
    assert!(listener.texts().iter().map(|text| text.parse::<u32>().unwrap()).eq(0..100));
}

#[tokio::test]
async fn updates_are_reordered_for_a_webhook() {
    let listener = Listener::default();
    let stage = stage_with(&listener).await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "reorder", "delay_ms": 600_000})).await;
    for text in ["one", "two", "three"] {
        stage.says(anna, text).await;
    }
    listener.wait_for(3).await;
    assert_eq!(listener.texts(), ["two", "one", "three"]);
}

/// Waits until an attempt has failed and its result is stored.
async fn wait_for_error(stage: &Stage) {
    let failed = async {
        while stage.call("getWebhookInfo", json!({})).await.get("last_error_message").is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, failed).await.expect("no try failed");
}

#[tokio::test]
async fn an_answer_may_contain_a_call() {
    let listener = Listener::default();
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    listener.then_answers(axum::Json(json!({"method": "sendMessage", "chat_id": anna, "text": "by return"})));
    let url = listener.start().await;
    stage.call("setWebhook", json!({"url": url})).await;
    stage.says(anna, "hello").await;
    assert_eq!(stage.messages_after(anna, 1).await[0]["text"], "by return");
    assert_eq!(*listener.secrets.lock().unwrap(), [None]);
}

#[tokio::test]
async fn polling_and_webhook_exclude_each_other() {
    let listener = Listener::default();
    let stage = Stage::new().await;
    let url = listener.start().await;
    let (poll, _) = tokio::join!(stage.refused("getUpdates", json!({"timeout": 30})), async {
        stage.polled().await;
        stage.call("setWebhook", json!({"url": url})).await
    });
    assert_eq!(poll, (409, "Conflict: terminated by setWebhook request".into()));
    let (code, description) = stage.refused("getUpdates", json!({})).await;
    assert_eq!(code, 409);
    assert!(description.starts_with("Conflict: can't use getUpdates method while webhook is active"));
    stage.call("deleteWebhook", json!({})).await;
    assert!(stage.updates(0).await.is_empty());
}

#[tokio::test]
async fn pending_updates_are_kept_or_dropped_as_asked() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "kept").await;
    stage.call("deleteWebhook", json!({})).await;
    assert_eq!(stage.updates(0).await.len(), 1);
    stage.call("deleteWebhook", json!({"drop_pending_updates": true})).await;
    assert!(stage.updates(0).await.is_empty());
}

#[tokio::test]
async fn a_bad_url_or_secret_is_refused() {
    let stage = Stage::new().await;
    assert_eq!(stage.refused("setWebhook", json!({"url": "ftp://x"})).await.0, 400);
    let secret = json!({"url": "http://127.0.0.1:1/", "secret_token": "no spaces"});
    let refused = stage.refused("setWebhook", secret).await;
    assert_eq!(refused.1, "Bad Request: secret token contains unallowed characters");
}
