//! `opora state failed`: messages that could not be sent.

use anyhow::bail;
use clap::{Args, Subcommand};
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{FailedRow, OutboxId};
use serde::Serialize;
use serde_json::Value;

use super::{CommandContext, find};
use crate::terminal::output;

#[derive(Debug, Args)]
pub struct Failed {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List messages that could not be sent, oldest first; not their content
    List(find::Listing),
    /// Show one, with its call and the reason
    Show {
        /// Its id, as `list` prints it
        #[arg(value_name = "ID")]
        id: i64,
        /// Print JSON: one object
        #[arg(long)]
        json: bool,
    },
}

/// A failed message without its body.
#[derive(Serialize)]
struct MessageSummary {
    id: OutboxId,
    key: ConversationKey,
    chat: Option<i64>,
    method: Box<str>,
    reason: Box<str>,
    at_ms: Millis,
}

/// A failed message with its body.
#[derive(Serialize)]
struct MessageWithBody {
    #[serde(flatten)]
    view: MessageSummary,
    body: Value,
}

impl From<FailedRow> for MessageSummary {
    fn from(row: FailedRow) -> Self {
        let FailedRow { id, key, outgoing, reason, at } = row;
        Self { id, key, chat: outgoing.chat, method: outgoing.method, reason, at_ms: at }
    }
}

pub async fn run(context: &CommandContext<'_>, arguments: Failed) -> anyhow::Result<()> {
    match arguments.command {
        Command::List(of) => list(context, &of).await,
        Command::Show { id, json } => show(context, OutboxId(id), json).await,
    }
}

async fn list(context: &CommandContext<'_>, of: &find::Listing) -> anyhow::Result<()> {
    let mut views = Vec::new();
    find_failed(context, of.bot, |row| {
        views.push(MessageSummary::from(row));
        None::<()>
    })
    .await?;
    output::list(&views, of.json, "Every message was sent, or waits to be.", |views| table(views, context.now))
}

async fn show(context: &CommandContext<'_>, id: OutboxId, json: bool) -> anyhow::Result<()> {
    let Some(row) = find_failed(context, None, |row| (row.id == id).then_some(row)).await? else {
        bail!("there is no failed message {}", id.0);
    };
    let body = match row.outgoing.extras.secret {
        true => Value::from("secret: not kept"),
        false => serde_json::from_str(&row.outgoing.body).unwrap_or_else(|_| Value::from(&*row.outgoing.body)),
    };
    let view = MessageSummary::from(row);
    if json {
        return output::json(&MessageWithBody { view, body });
    }
    output::say(&format!(
        "Failed message  {}\nConversation    {}\nChat            {}\nCall            {}\nSaid            {}\n\
         Reason          {}\n\nParameters\n{body:#}",
        id.0,
        view.key,
        chat(&view),
        view.method,
        output::time(view.at_ms, context.now),
        view.reason,
    ))
}

/// Calls `visit` for all failed messages until it returns something.
async fn find_failed<T>(
    context: &CommandContext<'_>,
    bot: Option<i64>,
    mut visit: impl FnMut(FailedRow) -> Option<T>,
) -> anyhow::Result<Option<T>> {
    let bots = match bot {
        Some(bot) => vec![bot],
        None => context.store.operator().bots().await?,
    };
    for bot in bots {
        let mut after = None;
        loop {
            let page = context.store.operator().failed(bot, after, find::PAGE).await?;
            after = page.last().map(FailedRow::cursor);
            let is_last = page.len() < find::PAGE;
            if let Some(found) = page.into_iter().find_map(&mut visit) {
                return Ok(Some(found));
            }
            if is_last {
                break;
            }
        }
    }
    Ok(None)
}

fn table(views: &[MessageSummary], now: Millis) -> String {
    let row = |view: &MessageSummary| {
        let (id, age) = (view.id.0.to_string(), output::age(view.at_ms, now));
        [id, view.key.to_string(), chat(view), view.method.to_string(), age, output::short(&view.reason)]
    };
    let rows: Vec<_> = views.iter().map(row).collect();
    output::columns(["ID", "KEY", "CHAT", "CALL", "AGE", "REASON"], &rows)
}

fn chat(view: &MessageSummary) -> String {
    view.chat.map_or_else(|| "-".to_owned(), |chat| chat.to_string())
}
