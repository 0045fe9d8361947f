//! What builders write, and what they refuse.

use frankenstein::methods::SendMessageParams;
use serde_json::{Value, json};

use super::*;
use crate::store::Version;
use crate::telegram::{Action, AnswerCallback, Delete, Edit, Raw};

const TAG: Tag = Tag::new(Version(46_655));

fn said(what: impl IntoOutgoing) -> Outgoing {
    what.into_outgoing(&Destination::chat(7), &TAG).unwrap()
}

fn body(what: impl IntoOutgoing) -> Value {
    serde_json::from_str(&said(what).body).unwrap()
}

fn refused(what: impl IntoOutgoing) -> SayError {
    what.into_outgoing(&Destination::chat(7), &TAG).unwrap_err()
}

#[test]
fn a_text_is_a_send_message_that_other_clients_would_write_alike() {
    let row = said("Hello \"you\"\n");
    assert_eq!((&*row.method, row.chat), ("sendMessage", Some(7)));
    assert_eq!(&*row.body, r#"{"chat_id":7,"text":"Hello \"you\"\n"}"#);
    let given: SendMessageParams = serde_json::from_str(&row.body).unwrap();
    assert_eq!(given, SendMessageParams::builder().chat_id(7).text("Hello \"you\"\n").build());
}

#[test]
fn a_text_with_everything_reads_as_telegrams_parameters() {
    let place = Destination { chat: -5, thread: 9, business: "b".into() };
    let say = Say::text("<b>x</b>").html().silent().protected().no_preview().reply_to(3).label("menu").drop_if_unsure();
    let say = say.buttons(vec![
        vec![Button::new("A", "a"), Button::new("B", "b").repeatable()],
        vec![Button::raw("C", "lang:en"), Button::url("D", "https://example.org")],
    ]);
    let row = say.into_outgoing(&place, &TAG).unwrap();
    assert_eq!((row.label.as_deref(), row.if_unsure), (Some("menu"), IfUnsure::Drop));
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
fn keyboards_ask_for_contact_and_place_and_go_away() {
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
fn media_come_by_id_by_link_and_from_disk() {
    let photo = said(Say::photo(FileRef::id("AgAC")).caption("*x*").markdown());
    assert_eq!(&*photo.method, "sendPhoto");
    assert_eq!(&*photo.body, r#"{"chat_id":7,"photo":"AgAC","caption":"*x*","parse_mode":"MarkdownV2"}"#);
    let items = [AlbumItem::photo(FileRef::path("/a/b.png")).caption("b"), AlbumItem::video(FileRef::url("https://c"))];
    let album = said(Say::album(items));
    assert_eq!(
        &*album.body,
        r#"{"chat_id":7,"media":[{"type":"photo","media":"attach://file0","caption":"b"},{"type":"video","media":"https://c"}]}"#
    );
    let upload = Upload { name: "file0".into(), file_name: "b.png".into(), path: "/a/b.png".into() };
    assert_eq!(album.uploads, [upload]);
    let named = said(Say::document(FileRef::path("/a/1.bin").named("report.pdf")));
    assert_eq!(&*named.uploads[0].file_name, "report.pdf");
    assert_eq!(&*said(Say::location(1.5, 2.0)).body, r#"{"chat_id":7,"latitude":1.5,"longitude":2.0}"#);
}

#[test]
fn edits_and_deletions_name_a_message_or_a_label() {
    let edit = said(Edit::text(5, "new"));
    assert_eq!((&*edit.method, &*edit.body), ("editMessageText", r#"{"chat_id":7,"message_id":5,"text":"new"}"#));
    let edit = said(Edit::markup("menu").buttons([[Button::new("A", "a")]]));
    assert_eq!((&*edit.method, edit.edits_label.as_deref()), ("editMessageReplyMarkup", Some("menu")));
    assert!(!edit.body.contains("message_id"));
    let delete = said(Delete::message(5));
    assert_eq!((&*delete.method, &*delete.body), ("deleteMessage", r#"{"chat_id":7,"message_id":5}"#));
}

#[test]
fn actions_answers_and_raw_calls_are_rows_like_others() {
    assert_eq!(&*said(Action::typing()).body, r#"{"chat_id":7,"action":"typing"}"#);
    let answer = said(AnswerCallback::new("q").text("late").alert());
    assert_eq!(answer.chat, None);
    assert_eq!(&*answer.body, r#"{"callback_query_id":"q","text":"late","show_alert":true}"#);
    let raw = said(Raw::new("sendMessage", &SendMessageParams::builder().chat_id(8).text("x").build()).unwrap());
    assert_eq!((raw.chat, &*raw.body), (Some(8), r#"{"chat_id":8,"text":"x"}"#));
    assert_eq!(said(Raw::new("getMe", &json!({})).unwrap()).chat, None);
}

#[test]
fn what_telegram_would_refuse_is_refused_before_the_commit() {
    assert_eq!(refused(" \n"), SayError::Empty);
    assert_eq!(refused("a".repeat(4097)), SayError::TooLong { most: 4096 });
    assert_eq!(refused(Say::photo(FileRef::id("x")).caption("a".repeat(1025))), SayError::TooLong { most: 1024 });
    let button = |bytes: usize| Say::text("x").buttons([[Button::new("A", "d".repeat(bytes))]]);
    said(button(59));
    assert_eq!(refused(button(60)), SayError::ButtonData { button: "A".into(), bytes: 65 });
    said(Say::text("x").buttons([[Button::new(" ", "a")]]));
    assert_eq!(refused(Say::text("x").buttons([[Button::new("", "a")]])), SayError::EmptyButton);
    assert_eq!(refused(Say::text("x").keyboard(Keyboard::new([[Button::text("")]]))), SayError::EmptyButton);
    assert_eq!(refused(Say::text("x").buttons([[Button::contact("A")]])), SayError::WrongButton("A".into()));
    let keyboard = Keyboard::new([[Button::new("A", "a")]]);
    assert_eq!(refused(Say::text("x").keyboard(keyboard)), SayError::WrongButton("A".into()));
    assert_eq!(refused(Say::album([])), SayError::Album(0));
}

#[test]
fn what_no_turn_says_has_no_tags() {
    let say = Say::text("x").buttons([[Button::new("A", "a")]]).untagged();
    assert_eq!(body(say)["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "a");
}
