//! `opora state stats`.

use clap::Args;
use opora::clock::Millis;
use opora::store::{StateName, Statistics};
use serde::Serialize;

use super::CommandContext;
use crate::terminal::output;

#[derive(Debug, Args)]
pub struct Stats {
    /// Only of this bot
    #[arg(long, value_name = "ID")]
    bot: Option<i64>,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Counts {
    active: i64,
    by_state: Vec<ConversationsInState>,
    inbox: i64,
    outbox: i64,
    outbox_oldest_at_ms: Option<Millis>,
    outbox_oldest_age_ms: Option<i64>,
    failed: i64,
    timers: i64,
    effects: i64,
    parked: i64,
}

#[derive(Serialize)]
struct ConversationsInState {
    #[serde(flatten)]
    state: StateName,
    conversations: i64,
}

pub async fn run(context: &CommandContext<'_>, arguments: Stats) -> anyhow::Result<()> {
    let numbers = Counts::new(context.store.statistics(arguments.bot).await?, context.now);
    if arguments.json { output::json(&numbers) } else { output::say(&numbers.text(context.now)) }
}

impl Counts {
    fn new(statistics: Statistics, now: Millis) -> Self {
        let oldest = statistics.outbox_oldest;
        let by_state = statistics.by_state.into_iter();
        Self {
            active: statistics.active,
            by_state: by_state
                .map(|at| ConversationsInState { state: at.state, conversations: at.conversations })
                .collect(),
            inbox: statistics.inbox,
            outbox: statistics.outbox,
            outbox_oldest_at_ms: oldest,
            outbox_oldest_age_ms: oldest.map(|at| now.0.saturating_sub(at.0).max(0)),
            failed: statistics.failed,
            timers: statistics.timers,
            effects: statistics.effects,
            parked: statistics.parked,
        }
    }

    fn text(&self, now: Millis) -> String {
        let oldest = self
            .outbox_oldest_at_ms
            .map_or_else(String::new, |at| format!(", the oldest for {}", output::age(at, now)));
        let mut rows = vec![("Active conversations".to_owned(), self.active.to_string())];
        rows.extend(self.by_state.iter().map(|at| (format!("  {}", at.state), at.conversations.to_string())));
        let others = [
            ("Inputs that wait", self.inbox.to_string()),
            ("Messages to send", format!("{}{oldest}", self.outbox)),
            ("Messages that failed", self.failed.to_string()),
            ("Timers", self.timers.to_string()),
            ("Effects under way", self.effects.to_string()),
            ("Parked turns", self.parked.to_string()),
        ];
        rows.extend(others.map(|(name, number)| (name.to_owned(), number)));
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        rows.iter().map(|(name, number)| format!("{name:width$}  {number}\n")).collect()
    }
}
