//! A bot is killed four times within one dialogue, and the person in the chat does not notice.
//!
//! `cargo run -p opora --example crash_midway`
//!
//! Without arguments this program starts the Bot API emulator, lets Anna talk, and kills the bot with SIGKILL at a
//! failpoint of each turn. With `bot <api> <store> <failpoint>` it is that bot.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use opora::prelude::*;
use opora::store::Store;
use opora_emulator::{Emulator, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command as Program};

const TOKEN: &str = "123456789:AAany-token-of-this-form-will-do-00000";

/// What Anna sends, and the failpoint at which the bot is killed.
const STEPS: [(&str, &str, &str); 4] = [
    ("/start", "intake.after_receive", "her message is stored, Telegram does not know yet"),
    ("Anna", "turn.after_handler", "the handler has answered, nothing is committed"),
    ("Moscow", "turn.after_commit", "the turn is committed, nothing is sent"),
    ("/cancel", "outbox.before_send", "the message is about to be sent"),
];
/// The answers that she must see, each once and in this order. At the end no dialogue is open.
const ANSWERS: [&str; 4] = ["Your name?", "Where do you live?", "Anna from Moscow.", "There is nothing to cancel."];

/// The bot: two questions.
#[derive(Clone, Debug, Serialize, Deserialize, States)]
enum Form {
    Name,
    City(City),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct City {
    name: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Form> {
    turn.say("Your name?");
    Ok(Next::Go(Form::Name))
}

async fn name(turn: &mut Turn, name: String) -> Step<Form> {
    turn.say("Where do you live?");
    Ok(Next::Go(Form::City(City { name })))
}

async fn city(turn: &mut Turn, state: City, city: String) -> Step<Form> {
    turn.say(format!("{} from {city}.", state.name));
    Ok(Next::End)
}

async fn bot(api: &str, store: &str, failpoint: &str) -> Result<(), BoxError> {
    opora::failpoints::arm_from(failpoint)?;
    let form = Dialogue::new();
    let form = form.start(command("start"), start).on(Form::NAME, text(), name).on(Form::CITY, text(), city);
    let store = opora::store::open(&format!("sqlite:{store}")).await?;
    Ok(Bot::new(TOKEN).api_url(api).store(store).dialogue(form).run().await?)
}

/// Runs the emulator, Anna, and the bots.
async fn world() -> Result<(), BoxError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let api = format!("http://{}", listener.local_addr()?);
    let emulator = Emulator::new(Settings::default())?;
    tokio::spawn(async move { axum::serve(listener, emulator.router()).await });
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("state.db");
    let anna = Anna {
        people: format!("{api}/client/{TOKEN}"),
        http: reqwest::Client::builder().no_proxy().build()?,
        store: opora::store::open(&format!("sqlite:{}", store.display())).await?,
    };
    anna.post("users", json!({"id": 1, "first_name": "Anna"})).await?;

    for (life, (words, place, meaning)) in STEPS.into_iter().enumerate() {
        // After a restart the bot first finishes the interrupted work, and so hits the failpoint once more.
        let (mut process, mut output) = run_bot(&api, &store, &format!("{place}=pause@{}", life.min(1) + 1))?;
        anna.is_answered(life).await?;
        anna.post("chats/1/send", json!({"from": 1, "text": words})).await?;
        while output.next_line().await?.ok_or("the bot has ended")? != format!("failpoint {place}") {}
        process.kill().await?;
        println!("{words:>8}  † SIGKILL at {place}: {meaning}");
    }
    let (mut process, _output) = run_bot(&api, &store, "")?;
    let chat = anna.is_answered(STEPS.len()).await?;
    process.kill().await?;

    println!("\nThe chat, as Anna sees it:\n");
    for message in &chat {
        println!("  {} │ {}", if is_bots(message) { "bot " } else { "Anna" }, message["text"].as_str().unwrap_or("?"));
    }
    let said = chat.iter().filter(|message| is_bots(message)).map(|message| &message["text"]);
    assert!(said.eq(&ANSWERS), "something was lost, or asked twice");
    println!("\nFour kills: nothing lost, nothing asked twice.");
    Ok(())
}

fn run_bot(api: &str, store: &Path, failpoint: &str) -> Result<(Child, Lines<BufReader<ChildStdout>>), BoxError> {
    let mut program = Program::new(std::env::current_exe()?);
    program.args(["bot", api]).arg(store).arg(failpoint).stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = program.spawn()?;
    let output = BufReader::new(process.stdout.take().ok_or("its output is read here")?);
    Ok((process, output.lines()))
}

/// Anna in the emulator, and the bot's store, as an operator reads it.
struct Anna {
    people: String,
    http: reqwest::Client,
    store: Arc<dyn Store>,
}

impl Anna {
    async fn post(&self, path: &str, body: Value) -> reqwest::Result<()> {
        self.http.post(format!("{}/{path}", self.people)).json(&body).send().await?.error_for_status().map(drop)
    }

    /// Waits until the bot has sent so many messages and settled them. Returns the whole chat. Only a kill between a
    /// send and its record may repeat a message, and no failpoint here is there.
    async fn is_answered(&self, times: usize) -> Result<Vec<Value>, BoxError> {
        let messages = format!("{}/chats/1/messages?after=0", self.people);
        let waiting = async {
            loop {
                let chat: Vec<Value> = self.http.get(&messages).send().await?.json().await?;
                let said = chat.iter().filter(|message| is_bots(message)).count();
                if said >= times && self.store.statistics(None).await?.outbox == 0 {
                    return Ok(chat);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await?
    }
}

fn is_bots(message: &Value) -> bool {
    message["from"]["is_bot"] == true
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [part, api, store, failpoint] if part == "bot" => bot(api, store, failpoint).await,
        _ => world().await,
    }
}
