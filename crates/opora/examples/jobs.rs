//! A bot that reminds people: `/remind 10`, then "tea", enqueues a job that sends a message after ten seconds.
//!
//! `cargo run -p opora --example jobs -- <token>`. Stop it and start it again in between: the reminder still comes.

use std::time::Duration;

use opora::bot::Handle;
use opora::jobs::{Job, JobContext, JobError, NewJob};
use opora::prelude::*;

#[derive(Serialize, Deserialize)]
struct Remind {
    chat: i64,
    what: String,
}

impl Job for Remind {
    const NAME: &'static str = "remind";
}

#[derive(Clone, Serialize, Deserialize, States)]
enum Reminders {
    What(What),
}

#[derive(Clone, Serialize, Deserialize)]
struct What {
    seconds: u64,
}

async fn remind_me(turn: &mut Turn, command: Command) -> Step<Reminders> {
    let Ok(seconds) = command.argument.parse() else { return turn.refuse("Like this: /remind 10") };
    turn.say("Of what?");
    Ok(Next::Go(Reminders::What(What { seconds })))
}

async fn of_what(turn: &mut Turn, state: What, what: String) -> Step<Reminders> {
    let job = Remind { chat: turn.key().chat, what };
    turn.enqueue(NewJob::from(job).at(Duration::from_secs(state.seconds)));
    turn.say("I'll remind you.");
    Ok(Next::End)
}

/// Posts under the key of the job: a repeated attempt sends nothing twice.
async fn remind(job: Remind, context: JobContext, handle: Handle) -> Result<(), JobError> {
    handle.post(&context.key(), job.chat, format!("Don't forget: {}", job.what)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    tracing_subscriber::fmt().init();
    let token = std::env::args().nth(1).ok_or("name the bot's token")?;
    let store = opora::store::open("sqlite:reminders.db").await?;
    let reminders = Dialogue::new().start(command("remind"), remind_me).on(Reminders::WHAT, text(), of_what);
    let bot = Bot::new(token).store(store).dialogue(reminders);
    let handle = bot.handle();
    Ok(bot.worker(move |job, context| remind(job, context, handle.clone())).run().await?)
}
