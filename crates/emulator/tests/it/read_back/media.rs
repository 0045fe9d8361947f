//! Files with captions, alone and in groups; and files that a bot asks for.

use frankenstein::types::{File, Message, MessageEntityType as Kind, UserProfilePhotos};
use serde_json::{Value, json};

use super::scene::{Scene, file, picture};

/// A caption, once with a parse mode and once with entities, so that both are used.
fn captioned(mut own: Value) -> Value {
    own["caption"] = json!("<b>Look</b> here");
    own["parse_mode"] = json!("HTML");
    own
}

fn check_caption(message: &Message) {
    assert_eq!(message.caption.as_deref(), Some("Look here"));
    let entity = &message.caption_entities.as_ref().unwrap()[0];
    assert_eq!((entity.type_field, entity.offset, entity.length), (Kind::Bold, 0, 4));
}

/// Sends the same file by its id, with entities instead of a parse mode.
async fn by_id(scene: &Scene, method: &str, field: &str, file_id: &str) -> Message {
    let mut parameters = json!({
        "chat_id": scene.anna, "caption": "Look here", "caption_entities": [{"type": "bold", "offset": 0, "length": 4}],
    });
    parameters[field] = json!(file_id);
    let message: Message = scene.ask(method, parameters).await;
    check_caption(&message);
    message
}

pub async fn photo(scene: &Scene) {
    let own = captioned(json!({"show_caption_above_media": true, "has_spoiler": true}));
    let message = scene.sends("sendPhoto", own, &[("photo", "a.png", &picture(800, 600))]).await;
    check_caption(&message);
    assert_eq!((message.show_caption_above_media, message.has_media_spoiler), (Some(true), Some(true)));
    let photo = message.photo.unwrap();
    let sizes: Vec<_> = photo.iter().map(|size| (size.width, size.height)).collect();
    assert_eq!(sizes, [(320, 240), (800, 600)]);
    assert!(photo.iter().all(|size| size.file_size == Some(picture(800, 600).len() as u64)));
    let again = by_id(scene, "sendPhoto", "photo", &photo[1].file_id).await;
    assert_eq!(again.photo.unwrap(), photo);
}

pub async fn document(scene: &Scene) {
    let own = captioned(json!({"disable_content_type_detection": true}));
    let files: [(&str, &str, &[u8]); 2] =
        [("document", "sheet.pdf", b"%PDF-1.7"), ("thumbnail", "t.png", &picture(64, 48))];
    let message = scene.sends("sendDocument", own, &files).await;
    check_caption(&message);
    let document = message.document.unwrap();
    assert_eq!(document.file_name.as_deref(), Some("sheet.pdf"));
    assert_eq!((document.mime_type.as_deref(), document.file_size), (Some("application/pdf"), Some(8)));
    assert_eq!(document.thumbnail.as_ref().map(|it| (it.width, it.height)), Some((64, 48)));
    let again = by_id(scene, "sendDocument", "document", &document.file_id).await;
    assert_eq!(again.document.unwrap(), document);
}

pub async fn video(scene: &Scene) {
    let own = captioned(json!({
        "duration": 12, "width": 640, "height": 360, "show_caption_above_media": true, "has_spoiler": true,
        "start_timestamp": 3, "supports_streaming": true, "cover": "attach://cover",
    }));
    let files: [(&str, &str, &[u8]); 3] =
        [("video", "v.mp4", b"video"), ("thumbnail", "t.png", &picture(64, 36)), ("cover", "c.png", &picture(64, 36))];
    let message = scene.sends("sendVideo", own, &files).await;
    check_caption(&message);
    assert_eq!((message.show_caption_above_media, message.has_media_spoiler), (Some(true), Some(true)));
    let video = message.video.unwrap();
    assert_eq!((video.width, video.height, video.duration), (640, 360, 12));
    assert_eq!((video.file_name.as_deref(), video.mime_type.as_deref()), (Some("v.mp4"), Some("video/mp4")));
    assert_eq!(video.thumbnail.as_ref().map(|it| (it.width, it.height)), Some((64, 36)));
    let again = by_id(scene, "sendVideo", "video", &video.file_id).await;
    assert_eq!(again.video.unwrap(), video);
}

pub async fn animation(scene: &Scene) {
    let own = captioned(json!({
        "duration": 4, "width": 320, "height": 200, "show_caption_above_media": true, "has_spoiler": true,
    }));
    let files: [(&str, &str, &[u8]); 2] = [("animation", "a.mp4", b"moves"), ("thumbnail", "t.png", &picture(32, 20))];
    let message = scene.sends("sendAnimation", own, &files).await;
    check_caption(&message);
    let animation = message.animation.unwrap();
    assert_eq!((animation.width, animation.height, animation.duration), (320, 200, 4));
    assert_eq!((animation.file_name.as_deref(), animation.file_size), (Some("a.mp4"), Some(5)));
    assert_eq!(animation.thumbnail.as_ref().map(|it| (it.width, it.height)), Some((32, 20)));
    // For clients that know no animations, the same file is there as a document.
    assert_eq!(message.document.unwrap().file_id, animation.file_id);
    let again = by_id(scene, "sendAnimation", "animation", &animation.file_id).await;
    assert_eq!(again.animation.unwrap(), animation);
}

pub async fn audio(scene: &Scene) {
    let own = captioned(json!({"duration": 180, "performer": "The Crew", "title": "Evening"}));
    let files: [(&str, &str, &[u8]); 2] = [("audio", "e.mp3", b"sound"), ("thumbnail", "t.png", &picture(50, 50))];
    let message = scene.sends("sendAudio", own, &files).await;
    check_caption(&message);
    let audio = message.audio.unwrap();
    assert_eq!((audio.duration, audio.mime_type.as_deref()), (180, Some("audio/mpeg")));
    assert_eq!((audio.performer.as_deref(), audio.title.as_deref()), (Some("The Crew"), Some("Evening")));
    assert_eq!((audio.file_name.as_deref(), audio.file_size), (Some("e.mp3"), Some(5)));
    let again = by_id(scene, "sendAudio", "audio", &audio.file_id).await;
    assert_eq!(again.audio.unwrap(), audio);
}

pub async fn video_note(scene: &Scene) {
    let files: [(&str, &str, &[u8]); 2] = [("video_note", "n.mp4", b"round"), ("thumbnail", "t.png", &picture(40, 40))];
    let message = scene.sends("sendVideoNote", json!({"duration": 9, "length": 240}), &files).await;
    let note = message.video_note.unwrap();
    assert_eq!((note.length, note.duration, note.file_size), (240, 9, Some(5)));
    assert_eq!(note.thumbnail.as_ref().map(|it| (it.width, it.height)), Some((40, 40)));
    let by_id = json!({"chat_id": scene.anna, "video_note": note.file_id});
    let again: Message = scene.ask("sendVideoNote", by_id).await;
    assert_eq!(again.video_note.unwrap(), note);
}

pub async fn voice(scene: &Scene) {
    let own = captioned(json!({"duration": 7}));
    let message = scene.sends("sendVoice", own, &[("voice", "v.ogg", b"words")]).await;
    check_caption(&message);
    let voice = message.voice.unwrap();
    assert_eq!((voice.duration, voice.mime_type.as_deref()), (7, Some("audio/ogg")));
    let again = by_id(scene, "sendVoice", "voice", &voice.file_id).await;
    assert_eq!(again.voice.unwrap(), voice);
}

pub async fn group(scene: &Scene) {
    let crew = scene.crew().await;
    let media = json!([
        {
            "type": "photo", "media": "attach://one", "caption": "<b>Look</b> here", "parse_mode": "HTML",
            "show_caption_above_media": true, "has_spoiler": true,
        },
        {"type": "video", "media": "attach://two", "width": 640, "height": 360, "duration": 9},
    ]);
    let parameters = scene.surrounded("sendMediaGroup", &crew, json!({"media": media}));
    let files: [(&str, &str, &[u8]); 2] = [("one", "1.png", &picture(90, 60)), ("two", "2.mp4", b"video")];
    let messages: Vec<Message> = scene.upload("sendMediaGroup", parameters, &files).await;
    let [photo, video] = &messages[..] else { panic!("two were sent") };
    for message in &messages {
        scene.check_surroundings(&crew, message).await;
        assert!(message.media_group_id.is_some());
        assert_eq!(message.media_group_id, photo.media_group_id);
    }
    check_caption(photo);
    assert_eq!((photo.show_caption_above_media, photo.has_media_spoiler), (Some(true), Some(true)));
    assert_eq!(photo.photo.as_ref().map(|sizes| (sizes[0].width, sizes[0].height)), Some((90, 60)));
    assert_eq!(video.video.as_ref().map(|it| (it.width, it.height, it.duration)), Some((640, 360, 9)));
    assert_eq!(video.caption, None);
}

pub async fn get_file(scene: &Scene) {
    let sent = scene.upload::<Message>(
        "sendDocument",
        json!({"chat_id": scene.anna}),
        &[("document", "sheet.pdf", b"%PDF-1.7")],
    );
    let document = sent.await.document.unwrap();
    let file: File = scene.ask("getFile", json!({"file_id": document.file_id})).await;
    assert_eq!((&file.file_id, &file.file_unique_id), (&document.file_id, &document.file_unique_id));
    assert_eq!((file.file_size, file.file_path.as_deref()), (Some(8), Some("documents/file_0.pdf")));
}

pub async fn profile_photos(scene: &Scene) {
    let carl = json!({"first_name": "Carl", "photo": file("carl.png", &picture(640, 640))});
    let carl = scene.stage.post("/users", carl).await["id"].clone();
    let parameters = json!({"user_id": carl, "offset": 0, "limit": 1});
    let photos: UserProfilePhotos = scene.ask("getUserProfilePhotos", parameters).await;
    assert_eq!((photos.total_count, photos.photos.len()), (1, 1));
    assert_eq!(photos.photos[0].iter().map(|size| size.width).collect::<Vec<_>>(), [320, 640]);
    let none: UserProfilePhotos = scene.ask("getUserProfilePhotos", json!({"user_id": scene.anna})).await;
    assert_eq!((none.total_count, none.photos.len()), (0, 0));
}
