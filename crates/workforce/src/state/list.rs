//! `opora state list`.

use clap::Args;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{ConversationRow, StateName, Version};
use serde::Serialize;

use super::{CommandContext, find};
use crate::terminal::output;

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    filters: find::Filters,
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

/// A conversation without its content.
#[derive(Serialize)]
struct ConversationSummary<'a> {
    key: &'a ConversationKey,
    states: &'a [StateName],
    version: Version,
    updated_at_ms: Millis,
    expires_at_ms: Option<Millis>,
    ended: bool,
}

impl<'a> From<&'a ConversationRow> for ConversationSummary<'a> {
    fn from(row: &'a ConversationRow) -> Self {
        Self {
            key: &row.key,
            states: row.stored.as_ref().map_or(&[], |stored| &stored.states),
            version: row.version,
            updated_at_ms: row.updated_at,
            expires_at_ms: row.stored.as_ref().and_then(|stored| stored.expires_at),
            ended: row.stored.is_none(),
        }
    }
}

pub async fn run(context: &CommandContext<'_>, arguments: List) -> anyhow::Result<()> {
    let limit = usize::try_from(arguments.limit)?;
    // One more tells whether the list is complete.
    let mut rows = find::up_to(context.store, &arguments.filters.into(), limit + 1).await?;
    let is_cut = rows.len() > limit;
    rows.truncate(limit);
    let listed: Vec<_> = rows.iter().map(ConversationSummary::from).collect();
    if arguments.json {
        output::json(&listed)?;
    } else {
        output::say(&table(&listed, context.now))?;
    }
    if is_cut {
        output::note("There are more: --limit shows them, filters narrow the list.");
    }
    Ok(())
}

fn table(listed: &[ConversationSummary<'_>], now: Millis) -> String {
    if listed.is_empty() {
        return "No conversations.".to_owned();
    }
    let row = |row: &ConversationSummary<'_>| {
        let states = if row.ended { "(ended)".to_owned() } else { output::states(row.states) };
        [row.key.to_string(), states, row.version.0.to_string(), output::age(row.updated_at_ms, now)]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    output::columns(["KEY", "STATE", "VERSION", "AGE"], &rows)
}
