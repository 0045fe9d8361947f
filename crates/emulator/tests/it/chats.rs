//! Private chats: what the bot may do there, and what people see.

use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};

use crate::stage::{Stage, base64};

#[tokio::test]
async fn a_command_has_its_entity() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let message = stage.says(anna, "/start now").await;
    assert_eq!(message["entities"], json!([{"type": "bot_command", "offset": 0, "length": 6}]));
    assert_eq!(stage.updates(0).await[0]["message"], message);
}

#[tokio::test]
async fn a_press_waits_for_its_answer_and_the_edit_is_seen() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let keyboard = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
    stage.call("sendMessage", json!({"chat_id": anna, "text": "Ready?", "reply_markup": keyboard})).await;
    let path = format!("/chats/{anna}/press");
    let press = stage.post(&path, json!({"from": anna, "message_id": 1, "data": "go"}));
    let answer = async {
        let updates = stage.call("getUpdates", json!({"timeout": 20})).await;
        let query = &updates[0]["callback_query"];
        assert_eq!((&query["data"], &query["message"]["text"]), (&json!("go"), &json!("Ready?")));
        stage.call("answerCallbackQuery", json!({"callback_query_id": query["id"], "text": "Gone"})).await;
        stage.call("editMessageText", json!({"chat_id": anna, "message_id": 1, "text": "Went"})).await;
    };
    let (pressed, ()) = tokio::join!(press, answer);
    assert_eq!((&pressed["answered"], &pressed["text"]), (&json!(true), &json!("Gone")));
    let seen = stage.messages_after(anna, 1).await;
    assert_eq!((seen.len(), &seen[0]["text"], seen[0].get("reply_markup")), (1, &json!("Went"), None));
}

#[tokio::test]
async fn a_press_without_an_answer_says_so() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    let press = json!({"from": anna, "message_id": 1, "data": "go", "wait": 0.05});
    assert_eq!(stage.post(&format!("/chats/{anna}/press"), press).await["answered"], false);
}

#[tokio::test]
async fn people_see_reply_keyboards_and_the_bot_does_not() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let keyboard = json!({"keyboard": [[{"text": "Phone", "request_contact": true}]]});
    let sent = stage.call("sendMessage", json!({"chat_id": anna, "text": "x", "reply_markup": keyboard})).await;
    assert_eq!(sent.get("reply_markup"), None);
    assert_eq!(stage.messages_after(anna, 0).await[0]["reply_markup"], keyboard);
}

#[tokio::test]
async fn a_blocked_bot_is_refused_until_it_is_unblocked() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post(&format!("/chats/{anna}/block"), json!({"from": anna})).await;
    let message = json!({"chat_id": anna, "text": "x"});
    let blocked = (403, "Forbidden: bot was blocked by the user".to_owned());
    assert_eq!(stage.refused("sendMessage", message.clone()).await, blocked);
    stage.post(&format!("/chats/{anna}/unblock"), json!({"from": anna})).await;
    stage.call("sendMessage", message).await;
    let updates = stage.updates(0).await;
    let standings: Vec<&Value> =
        updates.iter().map(|update| &update["my_chat_member"]["new_chat_member"]["status"]).collect();
    assert_eq!(standings, ["kicked", "member"]);
}

#[tokio::test]
async fn a_photo_can_be_downloaded_for_an_hour() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let photo = json!({"from": anna, "photo": {"name": "a.png", "base64": base64(PIXEL_PNG)}});
    let message = stage.post(&format!("/chats/{anna}/send"), photo).await;
    let size = message["photo"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&size["width"], &size["file_size"]), (&json!(1), &json!(PIXEL_PNG.len())));
    let file = stage.call("getFile", json!({"file_id": size["file_id"]})).await;
    assert_eq!(file["file_unique_id"], size["file_unique_id"]);
    let link = format!("{}/file/bot{}/{}", stage.base, stage.token, file["file_path"].as_str().unwrap());
    let bytes = stage.http.get(&link).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(&bytes[..], PIXEL_PNG);
    stage.post("/clock", json!({"advance_seconds": 3601})).await;
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 404);
    stage.call("getFile", json!({"file_id": size["file_id"]})).await;
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_person_sends_files_as_a_form_too() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let part = reqwest::multipart::Part::bytes(b"report".to_vec()).file_name("report.txt");
    let form =
        reqwest::multipart::Form::new().text("from", anna.to_string()).text("caption", "42").part("document", part);
    let url = format!("{}/client/{}/chats/{anna}/send", stage.base, stage.token);
    let message: Value = stage.http.post(url).multipart(form).send().await.unwrap().json().await.unwrap();
    assert_eq!((&message["document"]["file_name"], &message["caption"]), (&json!("report.txt"), &json!("42")));
    assert_eq!(message["document"]["mime_type"], "text/plain");
}

#[tokio::test]
async fn an_album_comes_as_messages_of_one_group() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let photo = json!({"name": "a.png", "base64": base64(PIXEL_PNG)});
    let album = json!({"from": anna, "album": [photo, photo, photo], "caption": "All"});
    let messages = stage.post(&format!("/chats/{anna}/send"), album).await;
    let groups: Vec<&Value> = messages.as_array().unwrap().iter().map(|it| &it["media_group_id"]).collect();
    assert_eq!(groups.len(), 3);
    assert!(groups.iter().all(|group| *group == groups[0] && group.is_string()));
    assert_eq!((&messages[0]["caption"], messages[1].get("caption")), (&json!("All"), None));
    assert_eq!(stage.updates(0).await.len(), 3);
}

#[tokio::test]
async fn a_contact_is_the_senders_own_unless_it_names_another() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let path = format!("/chats/{anna}/send");
    let own = stage.post(&path, json!({"from": anna, "contact": {"phone_number": "+79990001122"}})).await;
    assert_eq!((&own["contact"]["user_id"], &own["contact"]["first_name"]), (&json!(anna), &json!("Anna")));
    let other = json!({"phone_number": "+7", "first_name": "Zoe", "user_id": 0});
    let other = stage.post(&path, json!({"from": anna, "contact": other})).await;
    assert_eq!(other["contact"].get("user_id"), None);
    let place = stage.post(&path, json!({"from": anna, "location": {"latitude": 55.75, "longitude": 37.62}})).await;
    assert_eq!(place["location"], json!({"latitude": 55.75, "longitude": 37.62}));
}

#[tokio::test]
async fn an_own_message_is_edited_and_another_ones_is_not() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "helo").await;
    let path = format!("/chats/{anna}/send");
    let edited = stage.post(&path, json!({"from": anna, "edit": 1, "text": "hello"})).await;
    assert!(edited["edit_date"].is_number());
    let updates = stage.updates(0).await;
    assert_eq!(updates[1]["edited_message"]["text"], "hello");
    stage.call("sendMessage", json!({"chat_id": anna, "text": "mine"})).await;
    let refused = stage.people(reqwest::Method::POST, &path, Some(json!({"from": anna, "edit": 2, "text": "x"}))).await;
    assert_eq!(refused.0, 400);
}

#[tokio::test]
async fn a_reply_shows_what_it_answers_and_one_to_nothing_is_refused() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "question").await;
    let reply = |id: i32| json!({"chat_id": anna, "text": "answer", "reply_parameters": {"message_id": id}});
    assert_eq!(stage.call("sendMessage", reply(1)).await["reply_to_message"]["text"], "question");
    let missing = (400, "Bad Request: message to be replied not found".to_owned());
    assert_eq!(stage.refused("sendMessage", reply(99)).await, missing);
    let back = stage.post(&format!("/chats/{anna}/send"), json!({"from": anna, "text": "so", "reply_to": 2})).await;
    assert_eq!(back["reply_to_message"]["text"], "answer");
}

#[tokio::test]
async fn a_message_that_stays_the_same_is_not_modified() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "<b>x</b>", "parse_mode": "HTML"})).await;
    let same = json!({"chat_id": anna, "message_id": 1, "text": "*x*", "parse_mode": "MarkdownV2"});
    let (code, description) = stage.refused("editMessageText", same).await;
    assert_eq!(code, 400);
    assert!(description.starts_with("Bad Request: message is not modified"), "{description}");
    let gone = json!({"chat_id": anna, "message_id": 7, "text": "x"});
    assert_eq!(stage.refused("editMessageText", gone).await.1, "Bad Request: message to edit not found");
}

#[tokio::test]
async fn unknown_parameters_are_ignored_and_flagged() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x", "pasre_mode": "HTML"})).await;
    let log = stage.get("/log").await;
    let call = log.as_array().unwrap().iter().rfind(|entry| entry["event"] == "call").unwrap();
    assert_eq!(call["complaints"], json!(["unknown parameter \"pasre_mode\""]));
}

#[tokio::test]
async fn everything_that_happens_is_told_over_the_socket() {
    use futures_util::StreamExt;
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let url = format!("{}/client/{}/events", stage.base.replace("http", "ws"), stage.token);
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    stage.says(anna, "hello").await;
    stage.call("sendChatAction", json!({"chat_id": anna, "action": "typing"})).await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "hi"})).await;
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let frame = tokio::time::timeout(crate::stage::TIMEOUT, socket.next()).await.unwrap().unwrap().unwrap();
        if let tokio_tungstenite::tungstenite::Message::Text(text) = frame {
            let event: Value = serde_json::from_str(&text).unwrap();
            seen.push(event["event"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(seen, ["message", "update", "chat_action", "call", "message", "call"]);
}

#[tokio::test]
async fn each_token_is_a_bot_of_its_own() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "hello").await;
    let url = format!("{}/bot987654321:AAothertokenothertokenothertoken00/getUpdates", stage.base);
    let other: Value = stage.http.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(other, json!({"ok": true, "result": []}));
    stage.people(reqwest::Method::DELETE, "", None).await;
    assert!(stage.updates(0).await.is_empty());
    assert_eq!(stage.refused("sendMessage", json!({"chat_id": anna, "text": "x"})).await.0, 400);
}

#[tokio::test]
async fn a_bot_that_logged_out_must_wait() {
    let stage = Stage::new().await;
    assert_eq!(stage.refused("close", json!({})).await.0, 429);
    stage.call("logOut", json!({})).await;
    assert_eq!(stage.refused("getMe", json!({})).await, (400, "Logged out".into()));
    stage.post("/clock", json!({"advance_seconds": 601})).await;
    stage.call("getMe", json!({})).await;
    stage.call("close", json!({})).await;
}

#[tokio::test]
async fn a_photo_named_by_a_link_is_fetched_also_by_way_of_another() {
    use axum::response::Redirect;
    use axum::routing::get;
    let pictures = axum::Router::new()
        .route("/moved.png", get(async || Redirect::temporary("/picture.png")))
        .route("/picture.png", get(async || PIXEL_PNG));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(axum::serve(listener, pictures).into_future());
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let sent = stage.call("sendPhoto", json!({"chat_id": anna, "photo": format!("{site}/moved.png")})).await;
    assert_eq!(sent["photo"][0]["file_size"], PIXEL_PNG.len());
    let photo = json!({"type": "photo", "media": format!("{site}/picture.png")});
    let media = json!([photo, photo]);
    assert_eq!(
        stage.call("sendMediaGroup", json!({"chat_id": anna, "media": media})).await.as_array().unwrap().len(),
        2
    );
    let missing = json!({"chat_id": anna, "photo": format!("{site}/nothing.png")});
    assert_eq!(stage.refused("sendPhoto", missing).await.1, "Bad Request: failed to get HTTP URL content");
    server.abort();
}
