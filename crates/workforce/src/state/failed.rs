//! `opora state failed`: messages that could not be sent.

use anyhow::bail;
use clap::{Args, Subcommand};
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{FailedRow, OutboxId};
use serde::Serialize;
use serde_json::Value;

use super::{Desk, find, output};

#[derive(Debug, Args)]
pub struct Failed {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List messages that could not be sent, in the order in which they were said; not what they say
    List(find::Listing),
    /// Show one with the call and the reason
    Show {
        /// Its number, as `list` prints it
        #[arg(value_name = "ID")]
        id: i64,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
    },
}

/// A message without what it says.
#[derive(Serialize)]
struct View {
    id: OutboxId,
    key: DialogueKey,
    chat: Option<i64>,
    method: Box<str>,
    reason: Box<str>,
    at_ms: Millis,
}

/// A message with what it says.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    view: View,
    body: Value,
}

impl From<FailedRow> for View {
    fn from(row: FailedRow) -> Self {
        let FailedRow { id, key, outgoing, reason, at } = row;
        Self { id, key, chat: outgoing.chat, method: outgoing.method, reason, at_ms: at }
    }
}

pub async fn run(desk: &Desk<'_>, arguments: Failed) -> anyhow::Result<()> {
    match arguments.command {
        Command::List(of) => list(desk, &of).await,
        Command::Show { id, json } => show(desk, OutboxId(id), json).await,
    }
}

async fn list(desk: &Desk<'_>, of: &find::Listing) -> anyhow::Result<()> {
    let mut views = Vec::new();
    each(desk, of.bot, |row| {
        views.push(View::from(row));
        None::<()>
    })
    .await?;
    output::list(&views, of.json, "Every message was sent, or waits to be.", |views| table(views, desk.now))
}

async fn show(desk: &Desk<'_>, id: OutboxId, json: bool) -> anyhow::Result<()> {
    let Some(row) = each(desk, None, |row| (row.id == id).then_some(row)).await? else {
        bail!("there is no failed message {}", id.0);
    };
    let body = match row.outgoing.secret {
        true => Value::from("secret: not kept"),
        false => serde_json::from_str(&row.outgoing.body).unwrap_or_else(|_| Value::from(&*row.outgoing.body)),
    };
    let view = View::from(row);
    if json {
        return output::json(&Whole { view, body });
    }
    output::say(&format!(
        "Failed message  {}\nConversation    {}\nChat            {}\nCall            {}\nSaid            {}\n\
         Reason          {}\n\nParameters\n{body:#}",
        id.0,
        view.key,
        chat(&view),
        view.method,
        output::time(view.at_ms, desk.now),
        view.reason,
    ))
}

/// Goes through all that failed until something was found.
async fn each<T>(
    desk: &Desk<'_>,
    bot: Option<i64>,
    mut look: impl FnMut(FailedRow) -> Option<T>,
) -> anyhow::Result<Option<T>> {
    let bots = match bot {
        Some(bot) => vec![bot],
        None => desk.store.operator().bots().await?,
    };
    for bot in bots {
        let mut after = None;
        loop {
            let page = desk.store.operator().failed(bot, after, find::PAGE).await?;
            after = page.last().map(FailedRow::place);
            let is_last = page.len() < find::PAGE;
            if let Some(found) = page.into_iter().find_map(&mut look) {
                return Ok(Some(found));
            }
            if is_last {
                break;
            }
        }
    }
    Ok(None)
}

fn table(views: &[View], now: Millis) -> String {
    let row = |view: &View| {
        let (id, age) = (view.id.0.to_string(), output::age(view.at_ms, now));
        [id, view.key.to_string(), chat(view), view.method.to_string(), age, output::short(&view.reason)]
    };
    let rows: Vec<_> = views.iter().map(row).collect();
    output::columns(["ID", "KEY", "CHAT", "CALL", "AGE", "REASON"], &rows)
}

fn chat(view: &View) -> String {
    view.chat.map_or_else(|| "-".to_owned(), |chat| chat.to_string())
}
