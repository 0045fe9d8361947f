//! A small dialogue that most of these tests use.

use opora::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "form")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Form {
    Name,
    Age(Age),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Age {
    name: String,
}

/// The first question.
pub const NAME: &str = "What is your name?";
/// The second question.
pub const AGE: &str = "How old are you?";

pub async fn start(turn: &mut Turn, _: Command) -> Step<Form> {
    turn.say(NAME);
    Ok(Next::Go(Form::Name))
}

async fn name(turn: &mut Turn, name: String) -> Step<Form> {
    turn.say(AGE);
    Ok(Next::Go(Form::Age(Age { name })))
}

async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Form> {
    turn.say(format!("{} is {age}.", state.name));
    Ok(Next::End)
}

pub fn form() -> Dialogue<Form> {
    Dialogue::new().start(command("start"), start).on(Form::NAME, text(), name).on(Form::AGE, text(), age)
}
