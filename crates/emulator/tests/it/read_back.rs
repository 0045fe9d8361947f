//! Every answer and every update of the emulator reads back into frankenstein's type for it, field by field.
//!
//! The table below has at least one case for each emulated method and each kind of update. A case calls over HTTP with
//! every parameter that has an effect. [`scene::Scene`] reads the answer into the type, writes it as JSON again, and
//! fails if a field is lost. The cases check the values. [`crate::schema`] runs the same table against a description of
//! the Bot API.

mod chats;
mod compare;
mod contents;
mod edits;
mod forwards;
mod media;
mod profile;
pub mod scene;
mod texts;
mod updates;
mod webhook;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

use frankenstein::response::ErrorResponse;
use opora_emulator::bot_api::methods;
use opora_emulator::world::update::UpdateKind;
use serde_json::json;

use self::scene::Scene;

/// One way to get an answer, or an update.
pub struct Case {
    /// The method that is called, or the kind of update that is caused.
    pub subject: &'static str,
    pub play: for<'a> fn(&'a Scene) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

/// A table of cases, and a test for each.
macro_rules! cases {
    ($table:ident in $tests:ident: $($name:ident: $subject:literal => $play:path,)*) => {
        pub const $table: &[Case] = &[$(Case { subject: $subject, play: |scene| Box::pin($play(scene)) }),*];

        mod $tests {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() {
                    $play(&Scene::new().await).await;
                }
            )*
        }
    };
}

cases! { ANSWERS in the_answer_reads_back_of:
    send_message: "sendMessage" => texts::send_message,
    send_message_with_every_entity: "sendMessage" => texts::every_entity,
    send_message_with_every_button: "sendMessage" => texts::every_inline_button,
    answer_callback_query: "answerCallbackQuery" => texts::answer_callback_query,
    send_chat_action: "sendChatAction" => texts::send_chat_action,
    set_message_reaction: "setMessageReaction" => texts::set_message_reaction,
    get_updates: "getUpdates" => updates::get_updates,
    edit_message_text: "editMessageText" => edits::text,
    edit_message_caption: "editMessageCaption" => edits::caption,
    edit_message_media: "editMessageMedia" => edits::media,
    edit_message_reply_markup: "editMessageReplyMarkup" => edits::reply_markup,
    delete_message: "deleteMessage" => edits::delete_message,
    delete_messages: "deleteMessages" => edits::delete_messages,
    send_photo: "sendPhoto" => media::photo,
    send_document: "sendDocument" => media::document,
    send_video: "sendVideo" => media::video,
    send_animation: "sendAnimation" => media::animation,
    send_audio: "sendAudio" => media::audio,
    send_voice: "sendVoice" => media::voice,
    send_video_note: "sendVideoNote" => media::video_note,
    send_media_group: "sendMediaGroup" => media::group,
    get_file: "getFile" => media::get_file,
    get_user_profile_photos: "getUserProfilePhotos" => media::profile_photos,
    send_location: "sendLocation" => contents::location,
    send_venue: "sendVenue" => contents::venue,
    send_contact: "sendContact" => contents::contact,
    send_dice: "sendDice" => contents::dice,
    send_poll: "sendPoll" => contents::poll,
    send_poll_that_is_a_quiz: "sendPoll" => contents::quiz,
    stop_poll: "stopPoll" => contents::stop_poll,
    forward_message: "forwardMessage" => forwards::forward,
    forward_messages: "forwardMessages" => forwards::forward_several,
    copy_message: "copyMessage" => forwards::copy,
    copy_messages: "copyMessages" => forwards::copy_several,
    pin_chat_message: "pinChatMessage" => chats::pin,
    unpin_chat_message: "unpinChatMessage" => chats::unpin,
    unpin_all_chat_messages: "unpinAllChatMessages" => chats::unpin_all,
    get_chat: "getChat" => chats::get_chat,
    get_chat_member: "getChatMember" => chats::member,
    get_chat_member_count: "getChatMemberCount" => chats::member_count,
    get_chat_administrators: "getChatAdministrators" => chats::administrators,
    leave_chat: "leaveChat" => chats::leave,
    get_me: "getMe" => profile::me,
    log_out: "logOut" => profile::log_out,
    close: "close" => profile::close,
    set_my_commands: "setMyCommands" => profile::commands,
    get_my_commands: "getMyCommands" => profile::commands,
    delete_my_commands: "deleteMyCommands" => profile::commands,
    set_my_name: "setMyName" => profile::name,
    get_my_name: "getMyName" => profile::name,
    set_my_description: "setMyDescription" => profile::description,
    get_my_description: "getMyDescription" => profile::description,
    set_my_short_description: "setMyShortDescription" => profile::short_description,
    get_my_short_description: "getMyShortDescription" => profile::short_description,
    set_chat_menu_button: "setChatMenuButton" => profile::menu_button,
    get_chat_menu_button: "getChatMenuButton" => profile::menu_button,
    set_webhook: "setWebhook" => webhook::set,
    delete_webhook: "deleteWebhook" => webhook::delete,
    get_webhook_info: "getWebhookInfo" => webhook::info,
}

cases! { UPDATES in the_update_reads_back_of:
    a_text: "message" => updates::text,
    a_reply_in_a_topic: "message" => updates::reply_in_topic,
    a_photo: "message" => updates::photo,
    a_document: "message" => updates::document,
    a_voice_message: "message" => updates::voice,
    an_album: "message" => updates::album,
    a_contact: "message" => updates::contact,
    a_location: "message" => updates::location,
    a_group_that_is_created: "message" => updates::created_groups,
    comings_and_goings: "message" => updates::comings_and_goings,
    a_pin: "message" => updates::pinned,
    an_edited_text: "edited_message" => updates::edited,
    a_press: "callback_query" => updates::press,
    a_vote: "poll" => updates::vote,
    an_open_vote: "poll_answer" => updates::vote,
    a_block: "my_chat_member" => updates::block,
    a_new_group: "my_chat_member" => updates::created_groups,
    a_member_who_comes_and_goes: "chat_member" => updates::comings_and_goings,
    a_reaction: "message_reaction" => updates::reaction,
}

/// Known parameters that always lead to a refusal.
const REFUSED: &[&str] = &[
    // Business accounts are not emulated.
    "business_connection_id",
    // Inline mode is not emulated, so there is no such message.
    "inline_message_id",
    // Answered with 501.
    "rich_message",
];

#[test]
fn every_method_has_a_case() {
    let known: BTreeSet<&str> = methods::all().iter().map(|method| method.name).collect();
    let covered: BTreeSet<&str> = ANSWERS.iter().map(|case| case.subject).collect();
    assert_eq!(known, covered);
}

#[test]
fn every_kind_of_update_has_a_case() {
    let known: BTreeSet<&str> = UpdateKind::ALL.iter().map(|kind| kind.name()).collect();
    let covered: BTreeSet<&str> = UPDATES.iter().map(|case| case.subject).collect();
    assert_eq!(known, covered);
}

#[tokio::test]
async fn a_case_calls_its_method_or_gets_its_update() {
    for (table, of_updates) in [(ANSWERS, false), (UPDATES, true)] {
        for case in table {
            let scene = Scene::new().await;
            (case.play)(&scene).await;
            let calls = scene.calls();
            let found = if of_updates {
                calls.iter().flat_map(|it| it.updates()).any(|update| update.get(case.subject).is_some())
            } else {
                calls.iter().any(|it| it.method == case.subject)
            };
            assert!(found, "the case of {} never received it", case.subject);
        }
    }
}

#[tokio::test]
async fn every_parameter_is_used_in_some_case() {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in ANSWERS {
        let scene = Scene::new().await;
        (case.play)(&scene).await;
        for call in scene.calls() {
            used.entry(call.method).or_default().extend(call.parameters);
        }
    }
    let mut unused = Vec::new();
    for method in methods::all() {
        let names = method.parameter_names().into_iter().filter(|name| !REFUSED.contains(name));
        unused.extend(names.filter(|name| !used[method.name].contains(*name)).map(|name| (method.name, name)));
    }
    assert_eq!(unused, [], "no case uses these");
}

#[tokio::test]
async fn an_error_reads_back_with_what_to_do_about_it() {
    let scene = Scene::new().await;
    scene.stage.post("/faults", json!({"method": "sendMessage", "retry_after": 7})).await;
    for (parameters, code, retry_after) in [
        (json!({"chat_id": scene.anna, "text": "Hello"}), 429, Some(7)),
        (json!({"chat_id": 5, "text": "Hello"}), 400, None),
    ] {
        let (status, answer) = scene.stage.answer("sendMessage", parameters).await;
        let error: ErrorResponse = compare::read_back("sendMessage", &answer);
        assert_eq!((u64::from(status), error.ok), (error.error_code, false));
        assert_eq!(error.error_code, code);
        assert_eq!(error.parameters.and_then(|parameters| parameters.retry_after), retry_after);
    }
}
