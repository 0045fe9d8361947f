//! Files: the bot downloads a person's file and sends it back, and uploads its own.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};

use super::{Walk, text_of};
use crate::clients::library;

pub async fn photo(walk: &mut Walk) {
    let bytes = large_photo();
    let photo = json!({"name": "photo.png", "base64": BASE64_STANDARD.encode(&bytes)});
    walk.sends(json!({"photo": photo, "caption": "Look"})).await;
    assert_eq!(walk.text().await, format!("photo 1x1 {} bytes", bytes.len()));

    let same = walk.next().await;
    assert_eq!((&same["document"]["file_name"], &same["caption"]), (&json!("same.png"), &json!("the same bytes")));
    assert!(content(walk, &same["document"]).await == bytes, "what came back is not what was sent");

    let mine = walk.next().await;
    assert_eq!(mine["caption"], "mine");
    assert_eq!(mine["caption_entities"], json!([{"type": "bold", "offset": 0, "length": 4}]));
    let picture = std::fs::read(library::path("picture.png")).unwrap();
    assert_eq!(content(walk, largest(&mine)).await, picture);

    let (first, second) = (walk.next().await, walk.next().await);
    assert!(first["media_group_id"].is_string());
    assert_eq!(first["media_group_id"], second["media_group_id"]);
    assert_eq!((&first["caption"], second.get("caption")), (&json!("album"), None));
    assert_eq!(content(walk, largest(&first)).await, picture);
    assert!(content(walk, largest(&second)).await == bytes, "the received photo was not sent on");
}

pub async fn document(walk: &mut Walk) {
    let text = "Über alles\r\n--boundary\r\n".repeat(1000);
    let file = json!({"name": "план.txt", "base64": BASE64_STANDARD.encode(&text), "mime_type": "text/plain"});
    walk.sends(json!({"document": file, "caption": "Plan"})).await;
    let answer = walk.next().await;
    assert_eq!(text_of(&answer), format!("document план.txt text/plain Plan {} bytes", text.len()));
}

/// A photo that is too large for one packet and contains line breaks and dashes like a multipart boundary.
fn large_photo() -> Vec<u8> {
    let mut photo = PIXEL_PNG.to_vec();
    photo.extend((0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    photo.extend(b"\r\n--boundary--\r\n\0");
    photo
}

fn largest(message: &Value) -> &Value {
    message["photo"].as_array().and_then(|sizes| sizes.last()).unwrap_or_else(|| panic!("no photo: {message:#}"))
}

async fn content(walk: &Walk, file: &Value) -> Vec<u8> {
    let (stage, id) = (&walk.stage, file["file_id"].as_str().unwrap());
    let url = format!("{}/client/{}/files/{id}", stage.base, stage.token);
    let response = stage.http.get(url).send().await.unwrap().error_for_status().unwrap();
    response.bytes().await.unwrap().into()
}
