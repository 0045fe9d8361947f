//! `opora state show`: one conversation with its transitions, parked turns and waiting inputs.

use std::collections::VecDeque;
use std::fmt::Write as _;

use anyhow::bail;
use clap::Args;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{ConversationRow, InboxRow, Origin, ParkedTurn, Seq, StateName, Store, TransitionRow, Version};
use serde::Serialize;
use serde_json::Value;

use super::parked::ParkedSummary;
use super::{CommandContext, find};
use crate::terminal::output;

/// Number of latest transitions shown.
const MAX_TRANSITIONS: usize = 20;
/// Number of oldest waiting inputs shown.
const MAX_WAITING: usize = 100;
/// Transitions per read.
const PAGE: usize = 5000;

#[derive(Debug, Args)]
pub struct Show {
    /// The conversation's key as `list` prints it, or the id of a person who has only one
    #[arg(value_name = "KEY OR USER ID", allow_hyphen_values = true)]
    conversation: String,
    /// Search for the person in this bot's conversations only
    #[arg(long, value_name = "ID")]
    bot: Option<i64>,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ConversationDetails {
    key: ConversationKey,
    /// None if only parked turns or waiting inputs have this key.
    version: Option<Version>,
    updated_at_ms: Option<Millis>,
    expires_at_ms: Option<Millis>,
    ended: bool,
    states: Vec<StateName>,
    state: Option<Value>,
    transitions: Vec<Transition>,
    parked: Vec<ParkedSummary>,
    waiting: Vec<WaitingInput>,
}

#[derive(Serialize)]
struct Transition {
    at_ms: Millis,
    version: Version,
    from: Option<StateName>,
    to: Option<StateName>,
    by: String,
    took_us: i64,
}

#[derive(Serialize)]
struct WaitingInput {
    seq: Seq,
    /// `update` or `outcome`.
    kind: &'static str,
    /// Telegram's `update_id`, or the effect's number.
    id: i64,
    at_ms: Millis,
}

pub async fn run(context: &CommandContext<'_>, arguments: Show) -> anyhow::Result<()> {
    let key = find::key_of(context.store, arguments.bot, &arguments.conversation).await?;
    let row = find::by_key(context.store, &key).await?;
    let parked = context.store.parked(Some(key.bot), usize::MAX).await?;
    let parked: Vec<_> = parked.into_iter().filter(|parked| parked.key == key).collect();
    let waiting = context.store.waiting_for(&key, Seq::default(), MAX_WAITING).await?;
    if row.is_none() && parked.is_empty() && waiting.is_empty() {
        bail!("there is no conversation {key} here");
    }
    let transitions = transitions(context.store, &key).await?;
    let shown = ConversationDetails::new(key, row, transitions, parked, waiting);
    if arguments.json { output::json(&shown) } else { output::say(&shown.text(context.now)) }
}

/// The latest transitions of a conversation.
async fn transitions(store: &dyn Store, key: &ConversationKey) -> anyhow::Result<Vec<TransitionRow>> {
    let (mut latest, mut after) = (VecDeque::new(), 0);
    loop {
        let page = store.operator().transitions_of(key, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map_or(after, |row| row.id);
        for row in page {
            if latest.len() == MAX_TRANSITIONS {
                latest.pop_front();
            }
            latest.push_back(row);
        }
        if is_last {
            return Ok(latest.into());
        }
    }
}

impl ConversationDetails {
    fn new(
        key: ConversationKey,
        row: Option<ConversationRow>,
        transitions: Vec<TransitionRow>,
        parked: Vec<ParkedTurn>,
        waiting: Vec<InboxRow>,
    ) -> Self {
        let (version, updated_at_ms) = (row.as_ref().map(|row| row.version), row.as_ref().map(|row| row.updated_at));
        let stored = row.and_then(|row| row.stored);
        Self {
            key,
            version,
            updated_at_ms,
            expires_at_ms: stored.as_ref().and_then(|stored| stored.expires_at),
            ended: stored.is_none(),
            // A state that is not JSON is shown as it is: it may be the reason for the command.
            state: stored.as_ref().map(|stored| {
                serde_json::from_str(&stored.value).unwrap_or_else(|_| Value::String(stored.value.to_string()))
            }),
            states: stored.map(|stored| stored.states).unwrap_or_default(),
            transitions: transitions.into_iter().map(Transition::from).collect(),
            parked: parked.iter().map(ParkedSummary::from).collect(),
            waiting: waiting.into_iter().map(WaitingInput::from).collect(),
        }
    }

    fn text(&self, now: Millis) -> String {
        let mut text = self.head(now);
        if let Some(state) = &self.state {
            let _ = write!(text, "\nState\n{state:#}\n");
        }
        if !self.transitions.is_empty() {
            let rows: Vec<_> = self.transitions.iter().map(|transition| transition.row(now)).collect();
            let head = ["VERSION", "FROM", "TO", "BY", "TOOK", "AGE"];
            let _ = write!(text, "\nLatest transitions\n{}", output::columns(head, &rows));
        }
        if !self.parked.is_empty() {
            let _ = write!(text, "\nParked turns\n{}", super::parked::table(&self.parked, now));
        }
        if !self.waiting.is_empty() {
            let row = |input: &WaitingInput| {
                let (seq, id) = (input.seq.0.to_string(), input.id.to_string());
                [seq, input.kind.to_owned(), id, output::age(input.at_ms, now)]
            };
            let rows: Vec<_> = self.waiting.iter().map(row).collect();
            let more = if rows.len() == MAX_WAITING { format!(" (the first {MAX_WAITING})") } else { String::new() };
            let _ = write!(text, "\nWaiting inputs{more}\n{}", output::columns(["SEQ", "KIND", "ID", "AGE"], &rows));
        }
        text
    }

    fn head(&self, now: Millis) -> String {
        let states: Vec<_> = self.states.iter().map(StateName::to_string).collect();
        let state = if self.ended { "nothing is open".to_owned() } else { states.join(", ") };
        let mut head = format!("Conversation  {}\nState         {state}\n", self.key);
        if let (Some(version), Some(updated_at)) = (self.version, self.updated_at_ms) {
            let _ = writeln!(head, "Version       {}\nUpdated       {}", version.0, output::time(updated_at, now));
        }
        if !self.ended {
            let ends = self.expires_at_ms.map_or_else(|| "never".to_owned(), |at| output::time(at, now));
            let _ = writeln!(head, "Ends          {ends}");
        }
        head
    }
}

impl Transition {
    fn row(&self, now: Millis) -> [String; 6] {
        let name = |state: &Option<StateName>| state.as_ref().map_or_else(|| "-".to_owned(), StateName::to_string);
        let (version, took) = (self.version.0.to_string(), format!("{} us", self.took_us));
        [version, name(&self.from), name(&self.to), self.by.clone(), took, output::age(self.at_ms, now)]
    }
}

impl From<TransitionRow> for Transition {
    fn from(row: TransitionRow) -> Self {
        let TransitionRow { version, at, from, to, by, took_us, .. } = row;
        Self { at_ms: at, version, from, to, by, took_us }
    }
}

impl From<InboxRow> for WaitingInput {
    fn from(row: InboxRow) -> Self {
        let (kind, id) = match row.incoming.origin {
            Origin::Update(mark) => ("update", mark.update_id),
            Origin::Outcome(effect) => ("outcome", effect.0),
        };
        Self { seq: row.seq, kind, id, at_ms: row.incoming.at }
    }
}
