//! Commands, names, descriptions and menu buttons that a bot sets.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::error::ApiError;
use crate::world::World;
use crate::world::profile::{BotCommand, Scope, in_language};

const MAX_COMMANDS: usize = 100;

/// The scope and the language of a list of commands.
#[derive(Debug, Deserialize)]
pub struct ScopeAndLanguage {
    scope: Option<Scope>,
    language_code: Option<String>,
}

impl ScopeAndLanguage {
    fn key(&self) -> Result<String, ApiError> {
        let language = language(self.language_code.as_deref())?;
        Ok(self.scope.clone().unwrap_or_default().key(language))
    }
}

#[derive(Debug, Deserialize)]
pub struct Language {
    language_code: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Commands {
    commands: Vec<BotCommand>,
}

pub fn set_commands(world: &mut World, call: &Call) -> MethodResult {
    let key = call.parameters.read::<ScopeAndLanguage>()?.key()?;
    let given: Commands = call.parameters.read()?;
    if given.commands.len() > MAX_COMMANDS {
        return Err(ApiError::bad_request("BOT_COMMANDS_TOO_MUCH"));
    }
    let mut commands = given.commands;
    for command in &mut commands {
        command.command = checked(&command.command)?;
        if !(1..=256).contains(&command.description.chars().count()) {
            return Err(ApiError::bad_request("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    world.profile.commands.insert(key, commands);
    done(world)
}

/// A command's name, with or without its slash: 1 to 32 small letters, digits and underscores.
fn checked(command: &str) -> Result<String, ApiError> {
    let name = command.trim_start_matches('/');
    let spelled = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if spelled && (1..=32).contains(&name.len()) {
        Ok(name.to_owned())
    } else {
        Err(ApiError::bad_request("BOT_COMMAND_INVALID"))
    }
}

pub fn get_commands(world: &mut World, call: &Call) -> MethodResult {
    let key = call.parameters.read::<ScopeAndLanguage>()?.key()?;
    let commands = world.profile.commands.get(&key).map(Vec::as_slice).unwrap_or_default();
    Ok(json!(commands).to_string().into())
}

pub fn delete_commands(world: &mut World, call: &Call) -> MethodResult {
    let key = call.parameters.read::<ScopeAndLanguage>()?.key()?;
    world.profile.commands.remove(&key);
    done(world)
}

#[derive(Debug, Deserialize)]
pub struct Name {
    name: Option<String>,
    language_code: Option<String>,
}

pub fn set_name(world: &mut World, call: &Call) -> MethodResult {
    let given: Name = call.parameters.read()?;
    let language = language(given.language_code.as_deref())?;
    let name = given.name.unwrap_or_default();
    if name.chars().count() > 64 {
        return Err(ApiError::bad_request("name is too long"));
    }
    set(&mut world.profile.names, language, name.clone());
    if language.is_empty() && !name.is_empty() {
        world.me.first_name = name.into();
        world.me_changed();
    }
    done(world)
}

pub fn get_name(world: &mut World, call: &Call) -> MethodResult {
    let given: Language = call.parameters.read()?;
    let name = in_language(&world.profile.names, language(given.language_code.as_deref())?);
    Ok(json!({"name": name.unwrap_or(&world.me.first_name)}).to_string().into())
}

#[derive(Debug, Deserialize)]
pub struct Description {
    description: Option<String>,
    language_code: Option<String>,
}

pub fn set_description(world: &mut World, call: &Call) -> MethodResult {
    let given: Description = call.parameters.read()?;
    let text = at_most(given.description, 512)?;
    set(&mut world.profile.descriptions, language(given.language_code.as_deref())?, text);
    done(world)
}

pub fn get_description(world: &mut World, call: &Call) -> MethodResult {
    let given: Language = call.parameters.read()?;
    let text = in_language(&world.profile.descriptions, language(given.language_code.as_deref())?);
    Ok(json!({"description": text.unwrap_or_default()}).to_string().into())
}

#[derive(Debug, Deserialize)]
pub struct ShortDescription {
    short_description: Option<String>,
    language_code: Option<String>,
}

pub fn set_short_description(world: &mut World, call: &Call) -> MethodResult {
    let given: ShortDescription = call.parameters.read()?;
    let text = at_most(given.short_description, 120)?;
    set(&mut world.profile.short_descriptions, language(given.language_code.as_deref())?, text);
    done(world)
}

pub fn get_short_description(world: &mut World, call: &Call) -> MethodResult {
    let given: Language = call.parameters.read()?;
    let text = in_language(&world.profile.short_descriptions, language(given.language_code.as_deref())?);
    Ok(json!({"short_description": text.unwrap_or_default()}).to_string().into())
}

#[derive(Debug, Deserialize)]
pub struct MenuButton {
    chat_id: Option<i64>,
    menu_button: Option<Button>,
}

#[derive(Debug, Deserialize, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Button {
    Commands,
    WebApp { text: String, web_app: WebApp },
    Default,
}

#[derive(Debug, Deserialize, serde::Serialize)]
pub struct WebApp {
    url: String,
}

#[derive(Debug, Deserialize)]
pub struct GetMenuButton {
    chat_id: Option<i64>,
}

pub fn set_menu_button(world: &mut World, call: &Call) -> MethodResult {
    let given: MenuButton = call.parameters.read()?;
    let chat_id = private_chat(world, given.chat_id)?;
    match given.menu_button.unwrap_or(Button::Default) {
        Button::Default => drop(world.profile.menu_buttons.remove(&chat_id)),
        button => {
            let button = to_raw_value(&button).map_err(|_| ApiError::bad_request("BUTTON_INVALID"))?;
            world.profile.menu_buttons.insert(chat_id, button);
        }
    }
    done(world)
}

pub fn get_menu_button(world: &mut World, call: &Call) -> MethodResult {
    let given: GetMenuButton = call.parameters.read()?;
    let chat_id = private_chat(world, given.chat_id)?;
    let buttons: &BTreeMap<i64, Box<RawValue>> = &world.profile.menu_buttons;
    let button = buttons.get(&chat_id).or_else(|| buttons.get(&0));
    Ok(button.map_or(r#"{"type":"commands"}"#, |button| button.get()).as_bytes().to_vec())
}

fn private_chat(world: &World, chat_id: Option<i64>) -> Result<i64, ApiError> {
    match chat_id {
        None => Ok(0),
        Some(id) if world.chat(id).is_some_and(|chat| chat.is_private()) => Ok(id),
        Some(_) => Err(ApiError::bad_request("chat not found")),
    }
}

fn language(code: Option<&str>) -> Result<&str, ApiError> {
    let code = code.unwrap_or_default();
    let spelled = code.is_empty() || (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()));
    if spelled { Ok(code) } else { Err(ApiError::bad_request("invalid language code specified")) }
}

fn at_most(text: Option<String>, most: usize) -> Result<String, ApiError> {
    let text = text.unwrap_or_default();
    if text.chars().count() <= most { Ok(text) } else { Err(ApiError::bad_request("text is too long")) }
}

/// Sets a text for a language. An empty text removes it.
fn set(texts: &mut BTreeMap<String, String>, language: &str, text: String) {
    if text.is_empty() {
        texts.remove(language);
    } else {
        texts.insert(language.to_owned(), text);
    }
}

fn done(world: &mut World) -> MethodResult {
    world.profile_changed();
    Ok(b"true".to_vec())
}
