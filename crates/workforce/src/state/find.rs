//! Finds conversations: by filters, by key, by person.

use anyhow::bail;
use clap::Args;
use opora::key::ConversationKey;
use opora::store::{ConversationRow, Filter, Store};

/// Conversations per read.
pub const PAGE: usize = 500;
/// Conversations per read near a key: mostly the first is the right one.
const NEIGHBOURS: usize = 8;

#[derive(Debug, Args)]
pub struct Listing {
    /// Only of this bot
    #[arg(long, value_name = "ID")]
    pub bot: Option<i64>,
    /// Print JSON: an array of objects
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Filters {
    /// Only of this bot, by the number at the start of its token
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    bot: Option<i64>,
    /// Only of this person, by Telegram user id
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    user: Option<i64>,
    /// Only with this dialogue open
    #[arg(long, value_name = "NAME")]
    dialogue: Option<String>,
    /// Only in this state
    #[arg(long, value_name = "NAME")]
    state: Option<String>,
    /// Also conversations that have ended
    #[arg(long)]
    ended: bool,
}

impl From<Filters> for Filter {
    fn from(filters: Filters) -> Self {
        let Filters { bot, user, dialogue, state, ended } = filters;
        Self { bot, user, dialogue, state, ended }
    }
}

/// Up to `limit` conversations, in the order of keys.
pub async fn up_to(store: &dyn Store, filter: &Filter, limit: usize) -> anyhow::Result<Vec<ConversationRow>> {
    let mut found: Vec<ConversationRow> = Vec::new();
    while found.len() < limit {
        let wanted = PAGE.min(limit - found.len());
        let page = store.list(filter, found.last().map(|row| &row.key), wanted).await?;
        let is_last = page.len() < wanted;
        found.extend(page);
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// The conversation with this key, also if it has ended.
pub async fn by_key(store: &dyn Store, key: &ConversationKey) -> anyhow::Result<Option<ConversationRow>> {
    // By the bot alone: a store without an index of users would scan all of them for a whole page.
    let filter = Filter { bot: Some(key.bot), ended: true, ..Filter::default() };
    // Keys are listed in order, so the search begins right before this thread.
    let mut after =
        ConversationKey { thread: key.thread.saturating_sub(1), business: "\u{10ffff}".into(), ..key.clone() };
    loop {
        let page = store.list(&filter, Some(&after), NEIGHBOURS).await?;
        let Some(last) = page.last().map(|row| row.key.clone()) else {
            return Ok(None);
        };
        if let Some(row) = page.into_iter().find(|row| row.key == *key) {
            return Ok(Some(row));
        }
        if last > *key {
            return Ok(None);
        }
        after = last;
    }
}

/// The key: given as such, or the only one of a user.
pub async fn key_of(store: &dyn Store, bot: Option<i64>, named: &str) -> anyhow::Result<ConversationKey> {
    let Ok(user) = named.parse::<i64>() else {
        return Ok(named.parse()?);
    };
    let filter = Filter { bot, user: Some(user), ended: true, ..Filter::default() };
    let mut found = up_to(store, &filter, PAGE).await?;
    match (found.pop(), found.as_slice()) {
        (None, _) => bail!("user {user} has no conversation here"),
        (Some(only), []) => Ok(only.key),
        (Some(last), others) => {
            let keys: Vec<_> = others.iter().chain([&last]).map(|row| row.key.to_string()).collect();
            bail!("user {user} has several conversations, name one by its key: {}", keys.join(", "))
        }
    }
}
