//! What the builders write and refuse.

use frankenstein::methods::SendMessageParams;
use serde_json::{Value, json};

use super::*;
use crate::store::{Upload, Version};
use crate::telegram::{Action, AnswerCallback, Delete, Edit, Raw};

const TAG: Tag = Tag::new(Version(46_655));

fn outgoing(what: impl IntoOutgoing) -> Outgoing {
    what.into_outgoing(&Destination::chat(7), &TAG).unwrap()
}

fn body(what: impl IntoOutgoing) -> Value {
    serde_json::from_str(&outgoing(what).body).unwrap()
}

fn refused(what: impl IntoOutgoing) -> SayError {
    what.into_outgoing(&Destination::chat(7), &TAG).unwrap_err()
}

#[test]
fn a_text_becomes_a_send_message_call() {
    let row = outgoing("Hello \"you\"\n");
    assert_eq!((&*row.method, row.chat), ("sendMessage", Some(7)));
    assert_eq!(&*row.body, r#"{"chat_id":7,"text":"Hello \"you\"\n"}"#);
    let given: SendMessageParams = serde_json::from_str(&row.body).unwrap();
    assert_eq!(given, SendMessageParams::builder().chat_id(7).text("Hello \"you\"\n").build());
}

#[test]
fn all_options_of_a_text_become_parameters() {
    let destination = Destination { chat: -5, thread: 9, business: "b".into() };
    let say = Say::text("<b>x</b>").html().silent().protected().no_preview().reply_to(3).label("menu").drop_if_unsure();
    let say = say.buttons(vec![
        vec![Button::new("A", "a"), Button::new("B", "b").repeatable()],
        vec![Button::raw("C", "lang:en"), Button::url("D", "https://example.org")],
    ]);
    let row = say.into_outgoing(&destination, &TAG).unwrap();
    assert_eq!((row.extras.label.as_deref(), row.extras.if_unsure), (Some("menu"), IfUnsure::Drop));
    let expected = json!({
        "chat_id": -5, "message_thread_id": 9, "business_connection_id": "b", "text": "<b>x</b>", "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": true}, "disable_notification": true, "protect_content": true,
        "reply_parameters": {"message_id": 3, "allow_sending_without_reply": true},
        "reply_markup": {"inline_keyboard": [
            [{"text": "A", "callback_data": "~zzz~a"}, {"text": "B", "callback_data": "~zzz+~b"}],
            [{"text": "C", "callback_data": "lang:en"}, {"text": "D", "url": "https://example.org"}],
        ]},
    });
    assert_eq!(serde_json::from_str::<Value>(&row.body).unwrap(), expected);
    serde_json::from_str::<SendMessageParams>(&row.body).unwrap();
}

#[test]
fn keyboards_request_contact_and_location() {
    let rows = vec![vec![Button::contact("Phone"), Button::location("Here")], vec![Button::text("No")]];
    let keyboard = Keyboard::new(rows).one_time().placeholder("…");
    let expected = json!({
        "keyboard": [[{"text": "Phone", "request_contact": true}, {"text": "Here", "request_location": true}], [{"text": "No"}]],
        "resize_keyboard": true, "one_time_keyboard": true, "input_field_placeholder": "…",
    });
    assert_eq!(body(Say::text("?").keyboard(keyboard))["reply_markup"], expected);
    assert_eq!(body(Say::text("?").remove_keyboard())["reply_markup"], json!({"remove_keyboard": true}));
    assert_eq!(body(Say::text("?").force_reply())["reply_markup"], json!({"force_reply": true}));
}

#[test]
fn media_are_sent_by_id_by_url_and_from_disk() {
    let photo = outgoing(Say::photo(FileRef::id("AgAC")).caption("*x*").markdown());
    assert_eq!(&*photo.method, "sendPhoto");
    assert_eq!(&*photo.body, r#"{"chat_id":7,"photo":"AgAC","caption":"*x*","parse_mode":"MarkdownV2"}"#);
    let items = [AlbumItem::photo(FileRef::path("/a/b.png")).caption("b"), AlbumItem::video(FileRef::url("https://c"))];
    let album = outgoing(Say::album(items));
    assert_eq!(
        &*album.body,
        r#"{"chat_id":7,"media":[{"type":"photo","media":"attach://file0","caption":"b"},{"type":"video","media":"https://c"}]}"#
    );
    let upload = Upload { name: "file0".into(), file_name: "b.png".into(), path: "/a/b.png".into() };
    assert_eq!(album.extras.uploads, [upload]);
    let named = outgoing(Say::document(FileRef::path("/a/1.bin").named("report.pdf")));
    assert_eq!(&*named.extras.uploads[0].file_name, "report.pdf");
    assert_eq!(&*outgoing(Say::location(1.5, 2.0)).body, r#"{"chat_id":7,"latitude":1.5,"longitude":2.0}"#);
}

#[test]
fn edits_and_deletions_name_a_message_or_a_label() {
    let edit = outgoing(Edit::text(5, "new"));
    assert_eq!((&*edit.method, &*edit.body), ("editMessageText", r#"{"chat_id":7,"message_id":5,"text":"new"}"#));
    let edit = outgoing(Edit::markup("menu").buttons([[Button::new("A", "a")]]));
    assert_eq!((&*edit.method, edit.extras.edits_label.as_deref()), ("editMessageReplyMarkup", Some("menu")));
    assert!(!edit.body.contains("message_id"));
    let delete = outgoing(Delete::message(5));
    assert_eq!((&*delete.method, &*delete.body), ("deleteMessage", r#"{"chat_id":7,"message_id":5}"#));
}

#[test]
fn actions_answers_and_raw_calls_become_rows() {
    assert_eq!(&*outgoing(Action::typing()).body, r#"{"chat_id":7,"action":"typing"}"#);
    let answer = outgoing(AnswerCallback::new("q").text("late").alert());
    assert_eq!(answer.chat, None);
    assert_eq!(&*answer.body, r#"{"callback_query_id":"q","text":"late","show_alert":true}"#);
    let raw = outgoing(Raw::new("sendMessage", &SendMessageParams::builder().chat_id(8).text("x").build()).unwrap());
    assert_eq!((raw.chat, &*raw.body), (Some(8), r#"{"chat_id":8,"text":"x"}"#));
    assert_eq!(outgoing(Raw::new("getMe", &json!({})).unwrap()).chat, None);
}

#[test]
fn invalid_messages_are_refused_before_the_commit() {
    assert_eq!(refused(" \n"), SayError::Empty);
    assert_eq!(refused("a".repeat(4097)), SayError::TooLong { max: 4096 });
    assert_eq!(refused(Say::photo(FileRef::id("x")).caption("a".repeat(1025))), SayError::TooLong { max: 1024 });
    let button = |bytes: usize| Say::text("x").buttons([[Button::new("A", "d".repeat(bytes))]]);
    outgoing(button(59));
    assert_eq!(refused(button(60)), SayError::ButtonData { button: "A".into(), bytes: 65 });
    outgoing(Say::text("x").buttons([[Button::new(" ", "a")]]));
    assert_eq!(refused(Say::text("x").buttons([[Button::new("", "a")]])), SayError::EmptyButton);
    assert_eq!(refused(Say::text("x").keyboard(Keyboard::new([[Button::text("")]]))), SayError::EmptyButton);
    assert_eq!(refused(Say::text("x").buttons([[Button::contact("A")]])), SayError::WrongButton("A".into()));
    let keyboard = Keyboard::new([[Button::new("A", "a")]]);
    assert_eq!(refused(Say::text("x").keyboard(keyboard)), SayError::WrongButton("A".into()));
    assert_eq!(refused(Say::album([])), SayError::Album(0));
}

#[test]
fn an_untagged_message_has_no_tags() {
    let say = Say::text("x").buttons([[Button::new("A", "a")]]).untagged();
    assert_eq!(body(say)["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "a");
}
