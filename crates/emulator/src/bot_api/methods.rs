//! The methods that are emulated: name, parameters, and what each does.

mod about;
mod bot_profile;
mod delete;
mod edit;
mod files;
mod forward;
mod media;
mod members;
mod pins;
mod polls;
mod reactions;
mod send;
mod signals;
mod updates;

use super::MethodResult;
use super::call::Call;
use super::parameters::names_of;
use crate::delivery::polling;
use crate::world::World;

use self::media::{Caption, DisplayOptions};
use self::send::{Location, Options, Target};

/// An emulated method.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    /// The names of its parameters, in groups that methods share.
    pub parameters: &'static [fn() -> &'static [&'static str]],
    pub run: Run,
    /// Whether Telegram counts it against the limits on sending.
    pub sends: bool,
    /// Parameters that may be a link for Telegram to fetch.
    pub links: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub enum Run {
    Immediate(MethodFn),
    /// `getUpdates`, the only method that waits.
    Poll,
}

/// Old names of methods, which libraries still send and Telegram still takes, with their new names.
const FORMER_NAMES: &[(&str, &str)] = &[("getChatMembersCount", "getChatMemberCount")];

/// Old names of parameters with their new names. A method that takes the new one takes the old one.
const FORMER_PARAMETERS: &[(&str, &str)] = &[
    ("reply_to_message_id", "reply_parameters"),
    ("allow_sending_without_reply", "reply_parameters"),
    ("disable_web_page_preview", "link_preview_options"),
];

/// The method with a name. Upper and lower case do not matter, as in Telegram.
pub fn find(name: &str) -> Option<&'static Method> {
    let named = |name: &str| METHODS.iter().find(|method| method.name.eq_ignore_ascii_case(name));
    let former = || FORMER_NAMES.iter().find(|(former, _)| former.eq_ignore_ascii_case(name));
    named(name).or_else(|| named(former()?.1))
}

/// All emulated methods, the most used first.
pub fn all() -> &'static [Method] {
    METHODS
}

impl Method {
    /// Whether the method has to wait for something before it runs under the lock.
    pub fn waits(&self) -> bool {
        matches!(self.run, Run::Poll) || !self.links.is_empty()
    }

    /// Whether the method takes a parameter of this name, which may be an old name.
    pub fn knows(&self, name: &str) -> bool {
        let has = |name: &str| self.parameters.iter().any(|names| names().contains(&name));
        has(name) || FORMER_PARAMETERS.iter().any(|(former, now)| *former == name && has(now))
    }

    pub fn parameter_names(&self) -> Vec<&'static str> {
        self.parameters.iter().flat_map(|names| names().iter().copied()).collect()
    }
}

pub use self::files::add as add_file;
pub use self::reactions::{ReactionKind, kinds_json};
pub use self::updates::allow as allow_updates;

type Names = &'static [fn() -> &'static [&'static str]];
type MethodFn = fn(&mut World, &Call) -> MethodResult;

const fn method(name: &'static str, parameters: Names, run: MethodFn) -> Method {
    Method { name, parameters, run: Run::Immediate(run), sends: false, links: &[] }
}

/// A method that Telegram limits.
const fn sending(name: &'static str, parameters: Names, run: MethodFn) -> Method {
    Method { sends: true, ..method(name, parameters, run) }
}

/// A limited method that takes files.
const fn media(name: &'static str, parameters: Names, run: MethodFn, links: &'static [&'static str]) -> Method {
    Method { links, ..sending(name, parameters, run) }
}

static METHODS: &[Method] = &[
    sending(
        "sendMessage",
        &[names_of::<Target>, names_of::<Options>, names_of::<send::Text>, names_of::<send::Preview>],
        send::message,
    ),
    method("answerCallbackQuery", &[names_of::<signals::CallbackAnswer>], signals::answer_callback_query),
    Method {
        name: "getUpdates",
        parameters: &[names_of::<polling::Parameters>],
        run: Run::Poll,
        sends: false,
        links: &[],
    },
    method(
        "editMessageText",
        &[
            names_of::<edit::EditTarget>,
            names_of::<edit::Text>,
            names_of::<send::Preview>,
            names_of::<edit::RichMessage>,
        ],
        edit::text,
    ),
    method("editMessageCaption", &[names_of::<edit::EditTarget>, names_of::<edit::Caption>], edit::caption),
    Method {
        links: &["media"],
        ..method("editMessageMedia", &[names_of::<edit::EditTarget>, names_of::<edit::NewMedia>], edit::media)
    },
    method("editMessageReplyMarkup", &[names_of::<edit::EditTarget>], edit::reply_markup),
    method("deleteMessage", &[names_of::<delete::DeleteMessage>], delete::message),
    method("deleteMessages", &[names_of::<delete::DeleteMessages>], delete::messages),
    method("sendChatAction", &[names_of::<signals::Action>], signals::chat_action),
    media(
        "sendPhoto",
        &[
            names_of::<Target>,
            names_of::<Options>,
            names_of::<Caption>,
            names_of::<DisplayOptions>,
            names_of::<media::Photo>,
        ],
        media::photo,
        &["photo"],
    ),
    media(
        "sendDocument",
        &[names_of::<Target>, names_of::<Options>, names_of::<Caption>, names_of::<media::Document>],
        media::document,
        &["document", "thumbnail"],
    ),
    media(
        "sendVideo",
        &[
            names_of::<Target>,
            names_of::<Options>,
            names_of::<Caption>,
            names_of::<DisplayOptions>,
            names_of::<media::Video>,
        ],
        media::video,
        &["video", "thumbnail", "cover"],
    ),
    media(
        "sendAnimation",
        &[
            names_of::<Target>,
            names_of::<Options>,
            names_of::<Caption>,
            names_of::<DisplayOptions>,
            names_of::<media::Animation>,
        ],
        media::animation,
        &["animation", "thumbnail"],
    ),
    media(
        "sendAudio",
        &[names_of::<Target>, names_of::<Options>, names_of::<Caption>, names_of::<media::Audio>],
        media::audio,
        &["audio", "thumbnail"],
    ),
    media(
        "sendVoice",
        &[names_of::<Target>, names_of::<Options>, names_of::<Caption>, names_of::<media::Voice>],
        media::voice,
        &["voice"],
    ),
    media(
        "sendVideoNote",
        &[names_of::<Target>, names_of::<Options>, names_of::<media::VideoNote>],
        media::video_note,
        &["video_note", "thumbnail"],
    ),
    media("sendMediaGroup", &[names_of::<Target>, names_of::<media::Group>], media::group, &["media"]),
    sending("sendLocation", &[names_of::<Target>, names_of::<Options>, names_of::<Location>], send::location),
    sending("sendVenue", &[names_of::<Target>, names_of::<Options>, names_of::<send::Venue>], send::venue),
    sending("sendContact", &[names_of::<Target>, names_of::<Options>, names_of::<send::Contact>], send::contact),
    sending("sendDice", &[names_of::<Target>, names_of::<Options>, names_of::<send::Dice>], send::dice),
    sending("sendPoll", &[names_of::<polls::PollTarget>, names_of::<polls::Poll>], polls::send),
    method("stopPoll", &[names_of::<polls::Stop>], polls::stop),
    sending("forwardMessage", &[names_of::<forward::Forward>], forward::forward),
    sending("forwardMessages", &[names_of::<forward::ForwardSeveral>], forward::forward_several),
    sending("copyMessage", &[names_of::<forward::Copy>, names_of::<Options>], forward::copy),
    sending("copyMessages", &[names_of::<forward::CopySeveral>], forward::copy_several),
    method("setMessageReaction", &[names_of::<reactions::Reaction>], reactions::set),
    method("pinChatMessage", &[names_of::<pins::Pin>], pins::pin),
    method("unpinChatMessage", &[names_of::<pins::Unpin>], pins::unpin),
    method("unpinAllChatMessages", &[names_of::<about::ChatParameter>], pins::unpin_all),
    method("getFile", &[names_of::<files::GetFile>], files::get),
    method("getUserProfilePhotos", &[names_of::<files::GetProfilePhotos>], files::profile_photos),
    method("getChat", &[names_of::<about::ChatParameter>], about::chat),
    method("getChatMember", &[names_of::<members::GetMember>], members::member),
    method("getChatMemberCount", &[names_of::<about::ChatParameter>], members::count),
    method("getChatAdministrators", &[names_of::<members::GetAdministrators>], members::administrators),
    method("leaveChat", &[names_of::<about::ChatParameter>], members::leave),
    method("getMe", &[], about::me),
    method("logOut", &[], about::log_out),
    method("close", &[], about::close),
    method(
        "setMyCommands",
        &[names_of::<bot_profile::ScopeAndLanguage>, names_of::<bot_profile::Commands>],
        bot_profile::set_commands,
    ),
    method("getMyCommands", &[names_of::<bot_profile::ScopeAndLanguage>], bot_profile::get_commands),
    method("deleteMyCommands", &[names_of::<bot_profile::ScopeAndLanguage>], bot_profile::delete_commands),
    method("setMyName", &[names_of::<bot_profile::Name>], bot_profile::set_name),
    method("getMyName", &[names_of::<bot_profile::Language>], bot_profile::get_name),
    method("setMyDescription", &[names_of::<bot_profile::Description>], bot_profile::set_description),
    method("getMyDescription", &[names_of::<bot_profile::Language>], bot_profile::get_description),
    method("setMyShortDescription", &[names_of::<bot_profile::ShortDescription>], bot_profile::set_short_description),
    method("getMyShortDescription", &[names_of::<bot_profile::Language>], bot_profile::get_short_description),
    method("setChatMenuButton", &[names_of::<bot_profile::MenuButton>], bot_profile::set_menu_button),
    method("getChatMenuButton", &[names_of::<bot_profile::GetMenuButton>], bot_profile::get_menu_button),
    method("setWebhook", &[names_of::<updates::SetWebhook>], updates::set_webhook),
    method("deleteWebhook", &[names_of::<updates::DeleteWebhook>], updates::delete_webhook),
    method("getWebhookInfo", &[], updates::webhook_info),
];
