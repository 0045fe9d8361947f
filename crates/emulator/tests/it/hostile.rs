//! Malformed and malicious input gets an error, and the emulator continues.

use opora_emulator::{AllowedHosts, Settings};
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::stage::{Stage, base64};

/// Posts raw bytes to a method.
async fn raw(stage: &Stage, method: &str, content_type: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let url = format!("{}/bot{}/{method}", stage.base, stage.token);
    let response = stage.http.post(url).header(CONTENT_TYPE, content_type).body(body).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn malformed_bodies_get_errors() {
    let stage = Stage::new().await;
    let deep = format!("{{\"chat_id\":1,\"text\":\"x\",\"reply_markup\":{}", "[".repeat(100_000));
    let bodies: [(&str, Vec<u8>); 8] = [
        ("application/json", b"{".to_vec()),
        ("application/json", b"[1,2]".to_vec()),
        ("application/json", b"\"text\"".to_vec()),
        ("application/json", vec![0xFF, 0xFE, 0x00]),
        ("application/json", deep.into_bytes()),
        ("multipart/form-data; boundary=x", b"--y\r\nnonsense".to_vec()),
        ("multipart/form-data", b"no boundary".to_vec()),
        ("text/plain", b"chat_id=1".to_vec()),
    ];
    for (content_type, body) in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let (status, answer) = raw(&stage, "sendMessage", content_type, body).await;
        assert_eq!((status, &answer["ok"]), (400, &json!(false)), "{content_type} {shown}: {answer}");
    }
}

#[tokio::test]
async fn wrong_types_get_errors() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for parameters in [
        json!({"chat_id": {}, "text": "x"}),
        json!({"chat_id": [anna], "text": "x"}),
        json!({"chat_id": 1e300, "text": "x"}),
        json!({"chat_id": true, "text": "x"}),
        json!({"chat_id": anna, "text": "x", "reply_markup": 5}),
        json!({"chat_id": anna, "text": "x", "reply_markup": {"inline_keyboard": {}}}),
        json!({"chat_id": anna, "text": "x", "reply_markup": {"inline_keyboard": [[5]]}}),
        json!({"chat_id": anna, "text": "x", "entities": "bold"}),
        json!({"chat_id": anna, "text": "x", "message_thread_id": "abc"}),
        json!({"chat_id": anna, "text": "x", "reply_parameters": []}),
        json!({"chat_id": anna, "text": "x", "parse_mode": "RTF"}),
    ] {
        assert_eq!(stage.refused("sendMessage", parameters.clone()).await.0, 400, "{parameters}");
    }
    for (method, parameters) in [
        ("sendLocation", json!({"chat_id": anna, "latitude": "north", "longitude": 1})),
        ("sendLocation", json!({"chat_id": anna, "latitude": 91, "longitude": 1})),
        ("sendMediaGroup", json!({"chat_id": anna, "media": "x"})),
        ("deleteMessages", json!({"chat_id": anna, "message_ids": [1.5]})),
        ("getFile", json!({"file_id": "../../etc/passwd"})),
        ("sendPhoto", json!({"chat_id": anna, "photo": "AgACnonsense"})),
        ("sendDice", json!({"chat_id": anna, "emoji": "x"})),
        ("setMyCommands", json!({"commands": [{"command": "BAD!", "description": "x"}]})),
    ] {
        assert_eq!(stage.refused(method, parameters.clone()).await.0, 400, "{method} {parameters}");
    }
}

#[tokio::test]
async fn ids_beyond_52_bits_do_not_exist() {
    let stage = Stage::new().await;
    for id in [1_i64 << 52, i64::MAX, i64::MIN, 0] {
        let (code, description) = stage.refused("sendMessage", json!({"chat_id": id, "text": "x"})).await;
        assert_eq!((code, &description[..]), (400, "Bad Request: chat not found"));
        let user = json!({"first_name": "x", "id": id});
        let (status, answer) = stage.people(reqwest::Method::POST, "/users", Some(user)).await;
        assert_eq!(status, 400, "{answer}");
    }
    let largest = json!({"first_name": "Largest", "id": (1_i64 << 52) - 1});
    assert_eq!(stage.post("/users", largest).await["id"], (1_i64 << 52) - 1);
}

#[tokio::test]
async fn after_a_body_that_is_too_large_the_next_call_works() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let huge = format!(r#"{{"chat_id":{anna},"text":"{}"}}"#, "x".repeat(10 << 20));
    assert_eq!(raw(&stage, "sendMessage", "application/json", huge).await.0, 413);
    let form = |size: usize| {
        let part = reqwest::multipart::Part::bytes(vec![7; size]).file_name("x.bin");
        reqwest::multipart::Form::new().text("chat_id", anna.to_string()).part("document", part)
    };
    let url = format!("{}/bot{}/sendDocument", stage.base, stage.token);
    let large = stage.http.post(&url).multipart(form(50 << 20)).send().await.unwrap();
    assert_eq!(large.status(), 200);
    let sent: Value = large.json().await.unwrap();
    let file = json!({"file_id": sent["result"]["document"]["file_id"]});
    assert_eq!(stage.refused("getFile", file).await.1, "Bad Request: file is too big");
    // The server may answer before it has read everything, and close: either is a refusal.
    if let Ok(response) = stage.http.post(&url).multipart(form(60 << 20)).send().await {
        assert_eq!(response.status(), 413);
    }
    stage.call("sendMessage", json!({"chat_id": anna, "text": "still here"})).await;
}

#[tokio::test]
async fn a_million_parameters_are_refused_at_once() {
    let stage = Stage::new().await;
    let form: String = (0..400_000).map(|number| format!("p{number}=&")).collect();
    let (status, answer) = raw(&stage, "sendMessage", "application/x-www-form-urlencoded", form).await;
    assert_eq!((status, &answer["description"]), (400, &json!("Bad Request: too many parameters")));
}

#[tokio::test]
async fn the_log_keeps_little_of_a_large_call() {
    let stage = Stage::new().await;
    let large = format!(r#"{{"{}":"{}"}}"#, "n".repeat(1 << 20), "v".repeat(1 << 20));
    for _ in 0..5 {
        assert_eq!(raw(&stage, "getMe", "application/json", large.clone()).await.0, 200);
    }
    let log = stage.get("/log").await.to_string();
    assert!(log.len() < 1 << 20, "{} bytes", log.len());
    assert!(log.contains("(1048576 bytes)"));
}

#[tokio::test]
async fn a_photo_that_is_no_image_is_refused() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let part = reqwest::multipart::Part::bytes(b"<script>alert(1)</script>".to_vec()).file_name("x.jpg");
    let form = reqwest::multipart::Form::new().text("chat_id", anna.to_string()).part("photo", part);
    let url = format!("{}/bot{}/sendPhoto", stage.base, stage.token);
    let answer: Value = stage.http.post(url).multipart(form).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["description"], "Bad Request: IMAGE_PROCESS_FAILED");
}

#[tokio::test]
async fn scripts_come_back_as_text_and_files_are_never_pages() {
    let stage = Stage::new().await;
    let evil = "<script>alert(1)</script>";
    let anna = stage.person(evil).await;
    let message = stage.says(anna, evil).await;
    assert_eq!((&message["text"], &message["from"]["first_name"]), (&json!(evil), &json!(evil)));
    let page = base64(b"<html><script>alert(1)</script></html>");
    let sent = json!({"from": anna, "document": {"name": "../../x.html", "base64": page, "mime_type": "text/html"}});
    let sent = stage.post(&format!("/chats/{anna}/send"), sent).await;
    assert_eq!(sent["document"]["file_name"], "x.html");
    let id = sent["document"]["file_id"].as_str().unwrap();
    let url = format!("{}/client/{}/files/{id}", stage.base, stage.token);
    let response = stage.http.get(url).send().await.unwrap();
    assert_eq!(response.headers()[CONTENT_TYPE], "application/octet-stream");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert_eq!(response.headers()["content-disposition"], "attachment");
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let stage = Stage::new().await;
    let url = format!("{}/client", stage.base);
    let get = |origin: String| stage.http.get(&url).header("origin", origin).send();
    assert_eq!(get("https://evil.example".into()).await.unwrap().status(), 403);
    assert_eq!(get("null".into()).await.unwrap().status(), 403);
    assert_eq!(get(stage.base.clone()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_rebound_host_name_is_refused() {
    let stage = Stage::with(Settings { allowed_hosts: AllowedHosts::new(["emulator"]), ..Settings::default() }).await;
    let anna = stage.person("Anna").await;
    let paths = ["/".to_owned(), "/client".to_owned(), format!("/client/{}/events", stage.token)];
    let bots = [format!("/bot{}/getMe", stage.token), format!("/file/bot{}/photos/file_0.jpg", stage.token)];
    for path in paths.iter().chain(&bots) {
        let response = stage.http.get(format!("{}{path}", stage.base)).header("host", "evil.example:80").send();
        let response = response.await.unwrap();
        assert_eq!(response.status(), 403, "{path}");
        let text = response.text().await.unwrap();
        assert!(text.contains("--allow-host evil.example"), "{path}: {text}");
    }
    let url = format!("{}/client/{}/chats/{anna}/send", stage.base, stage.token);
    let said = stage.http.post(url).header("host", "evil.example").json(&json!({"from": anna, "text": "x"})).send();
    assert_eq!(said.await.unwrap().status(), 403);
    assert!(stage.updates(0).await.is_empty());
    for host in ["localhost:1", "127.0.0.1", "[::1]:8081", "emulator:8081"] {
        let get = stage.http.get(format!("{}{}", stage.base, bots[0])).header("host", host).send();
        assert_eq!(get.await.unwrap().status(), 200, "{host}");
    }
}

#[tokio::test]
async fn a_page_of_another_site_cannot_call_methods() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let url = format!("{}/bot{}/sendMessage?chat_id={anna}&text=x", stage.base, stage.token);
    for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        assert_eq!(stage.http.get(&url).header(name, value).send().await.unwrap().status(), 403, "{name}");
    }
    assert_eq!(stage.http.get(&url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn tokens_and_methods_that_are_none_get_telegrams_errors() {
    let stage = Stage::new().await;
    let get = async |path: &str| {
        let response = stage.http.get(format!("{}{path}", stage.base)).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap_or_default()["description"].clone())
    };
    assert_eq!(get("/botnonsense/getMe").await, (401, json!("Unauthorized: invalid token specified")));
    let token = &stage.token;
    assert_eq!(get(&format!("/bot{token}/noSuchMethod")).await, (404, json!("Not Found: method not found")));
    let unemulated = get(&format!("/bot{token}/sendGift")).await;
    assert_eq!(unemulated, (501, json!("Not Implemented: method sendGift is not emulated yet")));
    assert_eq!(get(&format!("/file/bot{token}/photos/file_9.jpg")).await.0, 404);
    assert_eq!(get(&format!("/bot{}/GETME", token.replace(':', "%3A"))).await.0, 200);
    let delete = stage.http.delete(format!("{}/bot{token}/getMe", stage.base)).send().await.unwrap();
    assert_eq!(delete.status(), 405);
}

#[tokio::test]
async fn the_peoples_side_says_what_is_wrong() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let send = format!("/chats/{anna}/send");
    for (path, body) in [
        ("/users", json!({})),
        ("/users", json!({"first_name": " "})),
        ("/users", json!({"first_name": "x".repeat(65)})),
        ("/users", json!({"first_name": 5})),
        ("/chats", json!({"type": "channel", "title": "x"})),
        ("/chats", json!({"type": "group", "title": "x", "members": [999]})),
        ("/chats/999/send", json!({"from": anna, "text": "x"})),
        ("/chats/abc/send", json!({"from": anna, "text": "x"})),
        (&send, json!({"from": 999, "text": "x"})),
        (&send, json!({"from": anna})),
        (&send, json!({"from": anna, "text": "x", "location": {"latitude": 1, "longitude": 1}})),
        (&send, json!({"from": anna, "text": "x".repeat(5000)})),
        (&send, json!({"from": anna, "photo": {"name": "x", "base64": "%%%"}})),
        (&send, json!({"from": anna, "text": "x", "reply_to": 99})),
        ("/clock", json!({"advance_seconds": -5})),
    ] {
        let (status, answer) = stage.people(reqwest::Method::POST, path, Some(body.clone())).await;
        assert!((400..=422).contains(&status), "{path} {body}: {status} {answer}");
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{path} {body}: {answer}");
    }
}
