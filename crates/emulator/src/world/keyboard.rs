//! Keyboards: checked as Telegram does, and kept as the JSON that is sent again.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::TextOr;

const MAX_CALLBACK_DATA: usize = 64;
const MAX_COPY_TEXT: usize = 256;
const MAX_BUTTONS: usize = 300;

/// A checked `reply_markup`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Markup {
    pub kind: MarkupKind,
    pub json: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkupKind {
    Inline,
    Reply,
    Remove,
    ForceReply,
}

impl PartialEq for Markup {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.json.get() == other.json.get()
    }
}

/// `reply_markup` of a call, before it is checked.
#[derive(Debug, Deserialize)]
pub struct GivenMarkup {
    inline_keyboard: Option<Vec<Vec<InlineButton>>>,
    keyboard: Option<Vec<Vec<TextOr<FullButton>>>>,
    #[serde(default)]
    remove_keyboard: bool,
    #[serde(default)]
    force_reply: bool,
    is_persistent: Option<bool>,
    resize_keyboard: Option<bool>,
    one_time_keyboard: Option<bool>,
    input_field_placeholder: Option<String>,
    selective: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
struct InlineButton {
    #[serde(default)]
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_custom_emoji_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_app: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_url: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_inline_query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_inline_query_current_chat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_inline_query_chosen_chat: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_text: Option<CopyText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback_game: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pay: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
struct CopyText {
    text: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct FullButton {
    #[serde(default)]
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_custom_emoji_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_users: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_chat: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_managed_bot: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_contact: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_location: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_poll: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_app: Option<Box<RawValue>>,
}

impl GivenMarkup {
    /// Checks the keyboard. Returns none for an empty one.
    pub fn check(self, private_chat: bool) -> Result<Option<Markup>, ApiError> {
        if let Some(rows) = self.inline_keyboard {
            return inline(rows);
        }
        if self.keyboard.is_some() {
            return self.reply(private_chat).map(Some);
        }
        let (kind, name) = match (self.remove_keyboard, self.force_reply) {
            (true, _) => (MarkupKind::Remove, "remove_keyboard"),
            (_, true) => (MarkupKind::ForceReply, "force_reply"),
            // An object of other fields, `{}` among them, is a request for nothing.
            _ => return Ok(None),
        };
        let mut shown = serde_json::Map::from_iter([(name.to_owned(), true.into())]);
        shown.extend(self.selective.filter(|on| *on).map(|on| ("selective".to_owned(), on.into())));
        shown.extend(self.input_field_placeholder.map(|text| ("input_field_placeholder".to_owned(), text.into())));
        markup(kind, &shown).map(Some)
    }

    fn reply(self, private_chat: bool) -> Result<Markup, ApiError> {
        #[derive(Serialize)]
        struct Shown {
            keyboard: Vec<Vec<FullButton>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            is_persistent: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resize_keyboard: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            one_time_keyboard: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            input_field_placeholder: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            selective: Option<bool>,
        }
        let mut keyboard = Vec::new();
        for row in self.keyboard.unwrap_or_default().into_iter().filter(|row| !row.is_empty()) {
            keyboard.push(row.into_iter().map(|button| reply_button(button, private_chat)).collect::<Result<_, _>>()?);
        }
        if keyboard.is_empty() {
            return Err(ApiError::bad_request("reply keyboard must contain at least one button"));
        }
        markup(
            MarkupKind::Reply,
            &Shown {
                keyboard,
                is_persistent: self.is_persistent,
                resize_keyboard: self.resize_keyboard,
                one_time_keyboard: self.one_time_keyboard,
                input_field_placeholder: self.input_field_placeholder,
                selective: self.selective,
            },
        )
    }
}

fn markup(kind: MarkupKind, shown: &impl Serialize) -> Result<Markup, ApiError> {
    let json =
        to_raw_value(shown).map_err(|_| ApiError::bad_request("can't parse reply keyboard markup JSON object"))?;
    Ok(Markup { kind, json })
}

fn inline(rows: Vec<Vec<InlineButton>>) -> Result<Option<Markup>, ApiError> {
    #[derive(Serialize)]
    struct Shown {
        inline_keyboard: Vec<Vec<InlineButton>>,
    }
    let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    if rows.iter().map(Vec::len).sum::<usize>() > MAX_BUTTONS {
        return Err(ApiError::bad_request("REPLY_MARKUP_TOO_LONG"));
    }
    rows.iter().flatten().try_for_each(inline_button)?;
    markup(MarkupKind::Inline, &Shown { inline_keyboard: rows }).map(Some)
}

fn inline_button(button: &InlineButton) -> Result<(), ApiError> {
    // Telegram accepts a text of spaces: calendars have such buttons between their days.
    if button.text.is_empty() {
        return Err(ApiError::bad_request(
            "can't parse inline keyboard button: Field \"text\" must be of type String and must be non-empty",
        ));
    }
    if let Some(data) = &button.callback_data {
        let fits = (1..=MAX_CALLBACK_DATA).contains(&data.len());
        return if fits { Ok(()) } else { Err(ApiError::bad_request("BUTTON_DATA_INVALID")) };
    }
    if let Some(url) = &button.url {
        return if is_link(url) { Ok(()) } else { Err(wrong_link(url)) };
    }
    if let Some(copy) = &button.copy_text {
        let fits = (1..=MAX_COPY_TEXT).contains(&copy.text.chars().count());
        return if fits { Ok(()) } else { Err(ApiError::bad_request("BUTTON_COPY_TEXT_INVALID")) };
    }
    let acts = button.web_app.is_some()
        || button.login_url.is_some()
        || button.switch_inline_query.is_some()
        || button.switch_inline_query_current_chat.is_some()
        || button.switch_inline_query_chosen_chat.is_some()
        || button.callback_game.is_some()
        || button.pay.is_some();
    let idle = "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard";
    if acts { Ok(()) } else { Err(ApiError::bad_request(idle)) }
}

fn is_link(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let known = ["http", "https", "tg", "ton", "tonsite"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known && !rest.is_empty() && !rest.contains(char::is_whitespace) && (url.contains("://") || rest.contains('.'))
}

fn wrong_link(url: &str) -> ApiError {
    ApiError::bad_request(format!("inline keyboard button URL '{url}' is invalid: Wrong HTTP URL"))
}

fn reply_button(button: TextOr<FullButton>, private_chat: bool) -> Result<FullButton, ApiError> {
    let button = match button {
        TextOr::Text(text) => FullButton { text, ..FullButton::default() },
        TextOr::Full(full) => full,
    };
    if button.text.is_empty() {
        return Err(ApiError::bad_request(
            "can't parse keyboard button: Field \"text\" must be of type String and must be non-empty",
        ));
    }
    if !private_chat && button.request_contact == Some(true) {
        return Err(ApiError::bad_request("phone number can be requested in private chats only"));
    }
    if !private_chat && button.request_location == Some(true) {
        return Err(ApiError::bad_request("location can be requested in private chats only"));
    }
    Ok(button)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<Option<Markup>, String> {
        let given: GivenMarkup = serde_json::from_str(json).map_err(|error| error.to_string())?;
        given.check(false).map_err(|error| error.description.into_owned())
    }

    #[test]
    fn callback_data_has_1_to_64_bytes() {
        let button = |data: &str| format!(r#"{{"inline_keyboard":[[{{"text":"x","callback_data":"{data}"}}]]}}"#);
        assert!(check(&button(&"a".repeat(64))).is_ok());
        for bad in [String::new(), "a".repeat(65), "я".repeat(33)] {
            assert_eq!(check(&button(&bad)), Err("Bad Request: BUTTON_DATA_INVALID".into()));
        }
    }

    #[test]
    fn a_button_that_does_nothing_is_refused() {
        let error = check(r#"{"inline_keyboard":[[{"text":"x"}]]}"#);
        let expected = "Bad Request: can't parse inline keyboard button: \
                        Text buttons are unallowed in the inline keyboard";
        assert_eq!(error, Err(expected.into()));
    }

    #[test]
    fn a_text_may_be_a_space_but_not_empty() {
        let inline = |text: &str| format!(r#"{{"inline_keyboard":[[{{"text":"{text}","callback_data":"x"}}]]}}"#);
        let reply = |text: &str| format!(r#"{{"keyboard":[["{text}"]]}}"#);
        assert!(check(&inline(" ")).is_ok() && check(&reply(" ")).is_ok());
        for empty in [inline(""), reply(""), r#"{"inline_keyboard":[[{"callback_data":"x"}]]}"#.to_owned()] {
            let error = check(&empty).unwrap_err();
            assert!(error.ends_with("must be non-empty"), "{empty}: {error}");
        }
    }

    #[test]
    fn a_reply_button_may_be_a_bare_text() {
        let markup = check(r#"{"keyboard":[["Yes",{"text":"No"}],[]],"resize_keyboard":true}"#);
        let json = markup.ok().flatten().map(|markup| markup.json.get().to_owned());
        assert_eq!(json.as_deref(), Some(r#"{"keyboard":[[{"text":"Yes"},{"text":"No"}]],"resize_keyboard":true}"#));
    }

    #[test]
    fn a_contact_is_asked_for_in_private_only() {
        let error = check(r#"{"keyboard":[[{"text":"Phone","request_contact":true}]]}"#);
        assert_eq!(error, Err("Bad Request: phone number can be requested in private chats only".into()));
    }

    #[test]
    fn an_empty_keyboard_is_none() {
        assert_eq!(check(r#"{"inline_keyboard":[[]]}"#), Ok(None));
        assert_eq!(check("{}"), Ok(None));
    }
}
