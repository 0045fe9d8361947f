//! The smallest bot: two questions, with durable state.
//!
//! `BOT_TOKEN=… cargo run -p opora --example smallest`

use opora::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "greeting")]
enum Greeting {
    Name,
    Age(Age),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Age {
    name: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> {
    turn.say("What is your name?");
    Ok(Next::Go(Greeting::Name))
}

async fn name(turn: &mut Turn, name: String) -> Step<Greeting> {
    turn.say("How old are you?");
    Ok(Next::Go(Greeting::Age(Age { name })))
}

async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Greeting> {
    turn.say(format!("{} is {age}.", state.name));
    Ok(Next::End)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let greeting =
        Dialogue::new().start(command("start"), start).on(Greeting::NAME, text(), name).on(Greeting::AGE, text(), age);
    let bot = Bot::new(std::env::var("BOT_TOKEN")?).dialogue(greeting);
    Ok(bot.store(opora::store::open("sqlite:greeting.db").await?).run().await?)
}
