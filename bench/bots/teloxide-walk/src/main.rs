//! The walk in teloxide, by polling: routes each update to its step.
//!
//! The token, the address of the Bot API, a picture to send and formatted texts come from the environment.
mod chats;
mod media;
mod refusals;
mod talk;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use teloxide::dispatching::UpdateHandler;
use teloxide::prelude::*;
use teloxide::types::{BotCommand, MessageId, PollId};
use teloxide::utils::command::BotCommands;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Done = Result<(), Failure>;
/// Where each open poll was sent.
type Polls = Arc<Mutex<HashMap<PollId, (ChatId, MessageId)>>>;

/// What the test gives to every bot.
struct Given {
    html: String,
    markdown: String,
    picture: PathBuf,
}

#[derive(BotCommands, Clone)]
#[command(rename_rule = "lowercase")]
enum Command {
    Start,
    Contact,
    Limit,
    /// With the id of a person who blocked the bot.
    Errors(i64),
    Html,
    Md,
    Poll,
    Tidy,
    Who,
}

#[tokio::main]
async fn main() -> Done {
    let bot = Bot::new(variable("TOKEN")?).set_api_url(variable("API_URL")?.parse()?);
    let commands = [BotCommand::new("start", "Begin"), BotCommand::new("poll", "Vote")];
    bot.set_my_commands(commands.clone()).await?;
    assert_eq!(bot.get_my_commands().await?, commands);
    let given = Given {
        html: variable("HTML")?,
        markdown: variable("MARKDOWN")?,
        picture: variable("PICTURE")?.into(),
    };
    let mut dispatcher = Dispatcher::builder(bot, schema())
        .dependencies(dptree::deps![Arc::new(given), Polls::default()])
        .default_handler(|_| async {})
        .error_handler(Arc::new(|failure: Failure| async move { eprintln!("{failure}") }))
        .build();
    let stopping = dispatcher.shutdown_token();
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        terminated.recv().await;
        stopping.shutdown().expect("the dispatcher runs").await;
    });
    dispatcher.dispatch().await;
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set"))
}

fn schema() -> UpdateHandler<Failure> {
    use dptree::case;
    let commands = teloxide::filter_command::<Command, _>()
        .branch(case![Command::Start].endpoint(talk::start))
        .branch(case![Command::Contact].endpoint(talk::ask_contact))
        .branch(case![Command::Limit].endpoint(talk::limit))
        .branch(case![Command::Errors(blocked_by)].endpoint(refusals::provoke))
        .branch(case![Command::Html].endpoint(talk::html))
        .branch(case![Command::Md].endpoint(talk::markdown))
        .branch(case![Command::Poll].endpoint(chats::poll))
        .branch(case![Command::Tidy].endpoint(chats::tidy))
        .branch(case![Command::Who].endpoint(chats::who));
    let messages = Update::filter_message()
        .branch(commands)
        .branch(Message::filter_contact().endpoint(talk::take_contact))
        .branch(Message::filter_location().endpoint(talk::take_location))
        .branch(Message::filter_photo().endpoint(media::take_photo))
        .branch(Message::filter_document().endpoint(media::take_document))
        .branch(Message::filter_new_chat_members().endpoint(chats::joined))
        .branch(Message::filter_left_chat_member().endpoint(chats::left))
        .branch(Message::filter_text().endpoint(talk::any_text));
    dptree::entry()
        .branch(messages)
        .branch(Update::filter_edited_message().endpoint(talk::edited))
        .branch(Update::filter_callback_query().endpoint(talk::choose))
        .branch(Update::filter_poll_answer().endpoint(chats::vote))
        .branch(Update::filter_message_reaction_updated().endpoint(chats::reaction))
        .branch(Update::filter_my_chat_member().endpoint(chats::member_status))
}
