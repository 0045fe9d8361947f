//! Which handler gets an input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::Millis;
use crate::dialogue::Texts;
use crate::prelude::*;
use crate::store::Version;
use crate::testing::chat::Stage;
use crate::turn::{TurnInput, TurnStart};
use crate::update::{Route, Update};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "form")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Form {
    Name,
    Phone {
        name: String,
    },
    Paper(Paper),
    #[states(name = "all")]
    Everything,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Paper {
    name: String,
    phone: String,
}

async fn start(turn: &mut Turn, command: Command) -> Step<Form> {
    turn.say(format!("Welcome {}! Your name?", command.argument));
    Ok(Next::Go(Form::Name))
}

async fn menu(turn: &mut Turn, _: String) -> Step<Form> {
    turn.say("The menu.");
    Ok(Next::Stay)
}

async fn name(turn: &mut Turn, name: String) -> Step<Form> {
    turn.say("Your phone?");
    Ok(Next::Go(Form::Phone { name }))
}

async fn phone_text(turn: &mut Turn, name: String, phone: u64) -> Step<Form> {
    turn.say("A paper?");
    Ok(Next::Go(Form::Paper(Paper { name, phone: phone.to_string() })))
}

async fn phone_contact(turn: &mut Turn, name: String, contact: Contact) -> Step<Form> {
    if !contact.own {
        return turn.refuse("Your own, please.");
    }
    turn.say("A paper?");
    Ok(Next::Go(Form::Paper(Paper { name, phone: contact.phone })))
}

async fn paper(turn: &mut Turn, Paper { name, phone }: Paper, image: Image) -> Step<Form> {
    turn.say(format!("{name} {phone} {}", image.file_id()));
    Ok(Next::Go(Form::Everything))
}

async fn own_start(turn: &mut Turn, _: Paper, _: Command) -> Step<Form> {
    turn.say("Not now.");
    Ok(Next::Stay)
}

async fn everything(turn: &mut Turn, input: Input) -> Step<Form> {
    turn.say(format!("any: {}", input.name()));
    Ok(Next::Stay)
}

async fn otherwise(turn: &mut Turn, state: Form, input: Input) -> Step<Form> {
    turn.say(format!("invalid {} at {}", input.name(), state.name()));
    Ok(Next::Stay)
}

fn form() -> Dialogue<Form> {
    Dialogue::new()
        .start(command("start"), start)
        .start(exactly("🏠 Menu"), menu)
        .on(Form::NAME, text(), name)
        .on(Form::PHONE, contact(), phone_contact)
        .on(Form::PHONE, text().parse::<u64>(), phone_text)
        .on(Form::PAPER, image(), paper)
        .on(Form::PAPER, command("start"), own_start)
        .on(Form::EVERYTHING, any(), everything)
        .fallback(otherwise)
}

#[test]
fn the_derive_names_states_and_takes_them_apart() {
    assert_eq!((Form::DIALOGUE, Form::VERSION), ("form", 1));
    assert_eq!(Form::NAMES, ["name", "phone", "paper", "all"]);
    assert_eq!(Form::Everything.name(), "all");
    let paper = Paper { name: "A".into(), phone: "1".into() };
    assert_eq!((Form::PAPER.take)(Form::Paper(paper.clone())), Some((paper.clone(),)));
    assert_eq!((Form::PHONE.take)(Form::Paper(paper)), None);
    let phone = Form::Phone { name: "A".into() };
    assert_eq!((Form::PHONE.take)(phone), Some(("A".to_owned(),)));
}

#[tokio::test]
async fn states_handle_their_inputs_and_refuse_others() {
    let stage = Stage::new(form());
    let anna = stage.person("Anna");
    anna.sends("hello").await;
    anna.sees_nothing();
    anna.sends("/start from-a-link").await;
    anna.sees("Welcome from-a-link! Your name?");
    anna.sends_photo().await;
    anna.sees("invalid photo at name");
    anna.sends("/unknown").await;
    anna.sees("invalid command at name");
    anna.sends("Anna").await;
    anna.sees("Your phone?");
    anna.sends("not a number").await;
    anna.sees("invalid text at phone");
    anna.sends_contact_of("Boris", "2").await;
    anna.sees("Your own, please.");
    anna.sends_contact("15551234").await;
    anna.sees("A paper?");
    anna.sends_document("a.pdf", "application/pdf").await;
    anna.sees("invalid document at paper");
    let file = anna.sends_document("a.png", "image/png").await;
    anna.sees(&format!("Anna 15551234 {file}"));
    assert_eq!(anna.state().await.as_deref(), Some("form:all"));
}

#[tokio::test]
async fn a_number_is_parsed_before_the_handler_sees_it() {
    let stage = Stage::new(form());
    let anna = stage.person("Anna");
    for text in ["/start", "Anna", " 42 "] {
        anna.sends(text).await;
    }
    anna.sees("A paper?");
    let file = anna.sends_photo().await;
    anna.sees(&format!("Anna 42 {file}"));
}

#[tokio::test]
async fn entries_work_in_every_state_unless_it_handles_the_input() {
    let stage = Stage::new(form());
    let anna = stage.person("Anna");
    for text in ["/start", "🏠 Menu"] {
        anna.sends(text).await;
    }
    anna.sees("The menu.");
    assert_eq!(anna.state().await.as_deref(), Some("form:name"));
    anna.sends("Anna").await;
    anna.sends("/start").await;
    anna.sees("Your name?");
    anna.sends("Anna").await;
    anna.sends("1").await;
    anna.sends("/start").await;
    anna.sees("Not now.");
    anna.sends_photo().await;
    anna.sends_location(1.0, 2.0).await;
    anna.sees("any: location");
    anna.sends("/start").await;
    anna.sees("Your name?");
}

#[tokio::test]
async fn cancel_ends_what_is_open_and_help_is_optional() {
    let stage = Stage::new(Script::new().dialogue(form()).help(|language| format!("help in {language}")));
    let anna = stage.person("Anna").speaking("ru");
    anna.sends("/cancel").await;
    anna.sees("Отменять нечего.");
    anna.sends("/start").await;
    anna.sends("/help").await;
    anna.sees("help in ru");
    anna.sends("/cancel").await;
    anna.sees("Отменено.");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn a_cancelled_dialogue_says_what_it_leaves_behind() {
    async fn left(turn: &mut Turn, _: Form) -> Result<(), BoxError> {
        turn.say("Your place stays yours.");
        Ok(())
    }
    let stage = Stage::new(form().on_cancel(left));
    let anna = stage.person("Anna");
    anna.sends("/start").await;
    anna.sends("/cancel").await;
    assert_eq!(anna.answers(), ["Your place stays yours."]);
    assert_eq!(anna.state().await, None);
    anna.sends("/cancel").await;
    anna.sees("There is nothing to cancel.");
}

struct ToMenu;

impl Texts for ToMenu {
    fn next_step_button(&self, language: &str) -> Option<Button> {
        Some(Button::raw(format!("Menu in {language}"), "menu"))
    }
}

#[tokio::test]
async fn last_texts_have_the_next_step_button() {
    async fn menu(turn: &mut Turn, _: Press) -> Step<Form> {
        turn.say("The menu.");
        Ok(Next::Stay)
    }
    let stage = Stage::new(Script::new().texts(ToMenu).dialogue(form().start(button("menu"), menu)));
    let anna = stage.person("Anna").speaking("en");
    let leads_on = async || {
        assert_eq!(anna.state().await, None, "{}", anna.transcript());
        anna.presses("Menu in en").await;
        anna.sees("The menu.");
    };
    anna.sends("/cancel").await;
    anna.sees("There is nothing to cancel.");
    leads_on().await;
    anna.sends("/start").await;
    anna.sends("/cancel").await;
    anna.sees("Cancelled.");
    leads_on().await;
    anna.sends("/start").await;
    stage.advance(Duration::from_secs(24 * 3600)).await;
    anna.sees("It has been a while, so I have closed this.");
    leads_on().await;
}

#[tokio::test]
async fn a_command_for_another_bot_is_not_heard() {
    let script = Script::new().dialogue(form());
    script.set_username(Some("OurBot".into()));
    let stage = Stage::new(script);
    let anna = stage.person("Anna");
    anna.sends("/start@other_bot").await;
    anna.sees_nothing();
    anna.sends("/START@ourbot").await;
    anna.sees("Your name?");
}

#[test]
fn commands_are_parsed_as_telegram_spells_them() {
    let parse = |text: &str| Command::parse(text).map(|c| (c.name, c.argument, c.mention));
    let known = |name: &str, argument: &str, mention: Option<&str>| {
        Some((name.to_owned(), argument.to_owned(), mention.map(ToOwned::to_owned)))
    };
    assert_eq!(parse("/start"), known("start", "", None));
    assert_eq!(parse("/Start@my_bot  a b "), known("start", "a b", Some("my_bot")));
    assert_eq!(parse("/a\nb"), known("a", "b", None));
    for text in ["", "/", "/ start", "start", "/dev/null", "/a@", "/ü"] {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn only_kinds_with_a_handler_are_requested() {
    assert_eq!(Script::from(form()).allowed_updates(), ["callback_query", "message"]);
    async fn edited(_: &mut Turn, _: Other) -> Step<Form> {
        Ok(Next::Stay)
    }
    use crate::input::Other;
    let script = Script::from(form().start(other("edited_message"), edited).start(other("dice"), edited));
    assert_eq!(script.allowed_updates(), ["callback_query", "edited_message", "message"]);
}

/// Anna's messages and presses in her chat with a business account, and the bot's answers.
async fn said_in_a_business_chat(script: &Script, update: Value) -> Vec<Value> {
    let raw = update.to_string();
    let key = Route::parse(&raw, 7).unwrap().key;
    assert_eq!(&*key.business, "connection");
    let start = TurnStart {
        key,
        version: Version::default(),
        stored: None,
        input: TurnInput::Update(Arc::new(Update::read(&raw).unwrap())),
        now: Millis(0),
        refusal: None,
        context: Arc::default(),
        destination: None,
    };
    let outcome = script.run(start).await.unwrap();
    let messages = outcome.outgoing.iter().filter(|call| &*call.method != "answerCallbackQuery");
    messages.map(|call| serde_json::from_str(&call.body).unwrap()).collect()
}

fn business_message(text: &str) -> Value {
    json!({"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private", "first_name": "Anna"},
        "from": {"id": 5, "is_bot": false, "first_name": "Anna"}, "business_connection_id": "connection", "text": text})
}

#[tokio::test]
async fn business_chats_are_answered_through_their_connection() {
    let script = Script::from(form()).business_chats();
    assert_eq!(script.allowed_updates(), ["business_message", "callback_query", "message"]);
    let update = json!({"update_id": 1, "business_message": business_message("/start again")});
    let messages = said_in_a_business_chat(&script, update).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["text"], "Welcome again! Your name?");
    assert_eq!((&messages[0]["chat_id"], &messages[0]["business_connection_id"]), (&json!(5), &json!("connection")));
}

#[tokio::test]
async fn business_chats_are_ignored_by_default() {
    let script = Script::from(form());
    assert_eq!(script.allowed_updates(), ["callback_query", "message"]);
    for text in ["/start again", "/cancel", "hello"] {
        let update = json!({"update_id": 1, "business_message": business_message(text)});
        assert_eq!(said_in_a_business_chat(&script, update).await, Vec::<Value>::new(), "{text}");
    }
    let message = business_message("a menu");
    let press = json!({"id": "1", "from": message["from"], "chat_instance": "1", "data": "go", "message": message});
    let messages = said_in_a_business_chat(&script, json!({"update_id": 1, "callback_query": press})).await;
    assert_eq!(messages, Vec::<Value>::new());
}
