//! The description of the people's side is complete and true.
//!
//! Every route is described, and no other. Every example is sent to a running emulator with the world of the examples,
//! and the answer must have the described status and shape.

mod document;
mod world;

use std::collections::BTreeSet;

use futures_util::StreamExt;
use opora_emulator::people::ROUTES;
use opora_testkit::pictures::PIXEL_PNG;
use reqwest::Method;
use serde_json::{Value, json};

use self::document::{Document, Operation};
use crate::stage::{Stage, TIMEOUT};

#[tokio::test]
async fn the_description_is_served() {
    let stage = Stage::new().await;
    let response = stage.http.get(format!("{}/client/openapi.json", stage.base)).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.json::<Value>().await.unwrap(), Document::read().json);
}

#[test]
fn the_description_is_of_this_version() {
    let document = Document::read();
    assert_eq!(document.json["openapi"], "3.1.0");
    assert_eq!(document.json["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let document = Document::read();
    let described: BTreeSet<(&str, &str)> = document.operations().iter().map(|it| (it.method, it.path)).collect();
    let routed: BTreeSet<(&str, &str)> = ROUTES.iter().copied().collect();
    assert_eq!(described, routed);
}

#[test]
fn every_operation_has_a_unique_id_and_a_description() {
    let document = Document::read();
    let operations = document.operations();
    let ids: BTreeSet<&str> = operations.iter().filter_map(|it| it.json["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations.len());
    let tags: Vec<&Value> = document.json["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for operation in &operations {
        assert!(operation.json["summary"].is_string(), "{} {}", operation.method, operation.path);
        assert!(operation.json["tags"].as_array().unwrap().iter().all(|tag| tags.contains(&tag)));
        let named = operation.path.matches('{').count();
        let parameters = operation.parameters(&document);
        assert_eq!(parameters.iter().filter(|it| it["in"] == "path").count(), named, "{}", operation.path);
    }
    for reference in document.references() {
        assert!(document.json.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn every_example_is_answered_as_described() {
    let document = Document::read();
    for operation in document.operations() {
        let examples = operation.examples(&document);
        if !matches!(operation.method, "get" | "delete") {
            assert!(!examples.is_empty(), "{} has no example", operation.path);
        }
        // Without a body the parameters are the example.
        let bodies = if examples.is_empty() { vec![None] } else { examples.into_iter().map(Some).collect() };
        for body in bodies {
            let (stage, file_id) = world::of_the_examples(&document).await;
            let url = operation.url(&document, &stage.base, &file_id);
            if operation.answer(&document, 101).is_some() {
                tokio_tungstenite::connect_async(url.replace("http://", "ws://")).await.unwrap();
                continue;
            }
            let method: Method = operation.method.to_uppercase().parse().unwrap();
            let mut request = stage.http.request(method, url);
            match &body {
                Some((kind, body)) if kind == "multipart/form-data" => request = request.multipart(form(body)),
                Some((_, body)) => request = request.json(body),
                None => {}
            }
            let response = request.send().await.unwrap();
            check(&document, &operation, response, 200, &format!("{body:?}")).await;
        }
    }
}

/// Checks an answer's status, content type, headers and shape.
async fn check(document: &Document, operation: &Operation<'_>, response: reqwest::Response, status: u16, sent: &str) {
    let what = format!("{} {} {sent}", operation.method, operation.path);
    let got = response.status().as_u16();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let headers = response.headers().clone();
    let body = response.bytes().await.unwrap();
    assert_eq!(got, status, "{what}: {}", String::from_utf8_lossy(&body));
    let answer = operation.answer(document, status).unwrap_or_else(|| panic!("{what}: {status} is not described"));
    for name in answer["headers"].as_object().into_iter().flat_map(|headers| headers.keys()) {
        assert!(headers.contains_key(name), "{what}: {name} is missing");
    }
    let kind = content_type.split(';').next().unwrap();
    let range = format!("{}/*", kind.split('/').next().unwrap());
    let content = answer["content"].get(kind).or_else(|| answer["content"].get(&range));
    let content = content.unwrap_or_else(|| panic!("{what}: {kind} is not described"));
    if kind == "application/json" {
        let mut complaints = Vec::new();
        document.check("answer", &content["schema"], &serde_json::from_slice(&body).unwrap(), &mut complaints);
        assert!(complaints.is_empty(), "{what}: {complaints:#?}");
    }
}

/// A multipart body; a text in parentheses stands for a file.
fn form(body: &Value) -> reqwest::multipart::Form {
    body.as_object().unwrap().iter().fold(reqwest::multipart::Form::new(), |form, (name, value)| match value.as_str() {
        Some(text) if text.starts_with('(') => {
            form.part(name.clone(), reqwest::multipart::Part::bytes(PIXEL_PNG).file_name("hours.csv"))
        }
        Some(text) => form.text(name.clone(), text.to_owned()),
        None => form.text(name.clone(), value.to_string()),
    })
}

#[test]
fn every_example_has_the_shape_it_is_an_example_of() {
    let document = Document::read();
    let mut complaints = Vec::new();
    for operation in document.operations() {
        for (kind, body) in operation.examples(&document) {
            let schema = &operation.body(&document)["content"][&kind]["schema"];
            document.check(operation.path, schema, &body, &mut complaints);
        }
        for status in operation.json["responses"].as_object().unwrap().keys() {
            let content = &operation.answer(&document, status.parse().unwrap()).unwrap()["content"]["application/json"];
            if let Some(example) = content.get("example") {
                document.check(operation.path, &content["schema"], example, &mut complaints);
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[tokio::test]
async fn impossible_requests_are_refused_as_described() {
    let document = Document::read();
    let (stage, file_id) = world::of_the_examples(&document).await;
    let json = "application/json";
    for (path, content_type, body, status) in [
        ("/client/{token}/users", json, r#"{"first_name":""}"#, 400),
        ("/client/{token}/users", json, r#"{"first_name""#, 400),
        ("/client/{token}/users", json, "{}", 422),
        ("/client/{token}/users", "text/plain", "{}", 415),
        ("/client/{token}/hints", json, r#"{"links":[{"text":"x","url":"javascript:alert(1)"}]}"#, 400),
        ("/client/{token}/hints", json, r#"{"colours":[]}"#, 422),
        ("/client/{token}/chats", json, r#"{"type":"group","title":"Few","members":[5]}"#, 404),
        ("/client/{token}/chats/{chat}/topics", json, r#"{"from":1003,"name":"Keys"}"#, 400),
        ("/client/{token}/chats/{chat}/send", json, r#"{"from":1001}"#, 400),
        ("/client/{token}/chats/{chat}/send", json, r#"{"from":1001,"text":"a","reply_to":99}"#, 404),
        ("/client/{token}/chats/{chat}/press", json, r#"{"from":1001,"message_id":99,"data":"a"}"#, 404),
        ("/client/{token}/chats/{chat}/press", json, r#"{"from":1001,"message_id":1,"data":""}"#, 400),
        ("/client/{token}/chats/{chat}/vote", json, r#"{"from":1001,"message_id":2,"option_ids":[7]}"#, 400),
        ("/client/{token}/chats/{chat}/react", json, r#"{"from":1001,"message_id":99}"#, 404),
        ("/client/{token}/chats/{chat}/block", json, r#"{"from":1002}"#, 400),
        ("/client/{token}/chats/{chat}/join", json, r#"{"from":1001}"#, 400),
        ("/client/{token}/chats/{chat}/leave", json, r#"{"from":1003}"#, 400),
        ("/client/{token}/faults", json, "{}", 400),
        ("/client/{token}/clock", json, r#"{"advance_seconds":-1}"#, 400),
        ("/client/{token}/replay", json, r#"{"update_id":5}"#, 404),
    ] {
        let operation = document.operation("post", path);
        let url = operation.url(&document, &stage.base, &file_id);
        let request = stage.http.post(url).header("content-type", content_type).body(body);
        check(&document, &operation, request.send().await.unwrap(), status, body).await;
    }
    for operation in document.operations() {
        let url = operation.url(&document, &stage.base, &file_id);
        let method: Method = operation.method.to_uppercase().parse().unwrap();
        let request = stage.http.request(method, url).header("origin", "https://elsewhere.example");
        check(&document, &operation, request.send().await.unwrap(), 403, "from another site").await;
    }
}

#[tokio::test]
async fn every_event_that_comes_is_described() {
    let document = Document::read();
    let events = document.operation("get", "/client/{token}/events");
    let prose = events.json["description"].as_str().unwrap();
    let (stage, file_id) = world::of_the_examples(&document).await;
    let url = events.url(&document, &stage.base, &file_id).replace("http://", "ws://");
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    world::everything_happens(&stage).await;
    let mut names = BTreeSet::new();
    while !names.contains("forgotten") {
        let frame = tokio::time::timeout(TIMEOUT, socket.next()).await.unwrap().unwrap().unwrap();
        let Ok(text) = frame.to_text() else { continue };
        let Ok(event) = serde_json::from_str::<Value>(text) else {
            continue;
        };
        names.insert(event["event"].as_str().unwrap().to_owned());
    }
    // Only a reader that is too slow is told so.
    names.insert("lagged".to_owned());
    let rows = prose.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let described: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).filter(|name| name != "event").collect();
    assert_eq!(names, described);
}

#[test]
fn a_value_of_another_shape_is_reported() {
    let document = Document::read();
    let told = |kind: &str, value: Value| {
        let mut complaints = Vec::new();
        let schema = json!({"$ref": format!("#/components/schemas/{kind}")});
        document.check("it", &schema, &value, &mut complaints);
        complaints
    };
    assert!(told("Clock", json!({"now": 1, "offset_seconds": 0})).is_empty());
    assert_eq!(told("Clock", json!({"now": 1})), ["it.offset_seconds is missing"]);
    assert_eq!(told("Clock", json!({"now": "1", "offset_seconds": 0})), [r#"it.now is not integer: "1""#]);
    assert_eq!(told("Clock", json!({"now": 1, "offset_seconds": 0, "zone": "UTC"})), ["it.zone is not described"]);
    assert_eq!(told("Fault", json!({"id": 1, "left": 1, "times": 1})).len(), 1, "a fault does something");
    assert_eq!(told("Reaction", json!({"type": "smile"})), [r#"it.type is "smile", which is none of the choices"#]);
}
