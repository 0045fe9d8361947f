//! From a committed row to Telegram.
//!
//! A row is sent after its turn has committed, in order within its chat, below Telegram's limits, and again until it is
//! sent or surely cannot be; then it is settled. What is not settled when an instance ends, the next one sends.
//!
//! - `courier`: takes rows and answers for them;
//! - `memory`: which rows are in memory; `lanes`: which of them may go next; `limits`: how fast;
//! - `worker`: sends one row; `verdict`: what Telegram's answer means for it; `refused`: a person hears of a lost
//!   question;
//! - `settler`: tells the store what became of rows; `loader`: brings rows back from it;
//! - [`Broadcast`]: the same message for many chats.
//!
//! A chat that waits (for its limit, for `retry_after`, for a network that is away) holds no task and delays no other.

use std::time::Duration;

use crate::key::DialogueKey;
use crate::store::OutboxId;

pub(crate) use self::broadcast::BroadcastError;
pub use self::broadcast::{Broadcast, Progress, Watch};
pub(crate) use self::courier::{Courier, posted_rows};
pub use self::limits::{NoSuchLimits, SendLimits};
pub(crate) use self::refused::Apology;

mod broadcast;
mod courier;
mod labels;
mod lanes;
mod limits;
mod loader;
mod memory;
mod pace;
mod refused;
mod rewrite;
mod settler;
#[cfg(test)]
mod tests;
mod verdict;
mod worker;

/// How the courier works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CourierSettings {
    /// Which limits it keeps.
    pub limits: SendLimits,
    /// How many calls may be under way at once, at most; against a server that answers quickly it is fewer.
    pub concurrent: usize,
    /// How many rows are held in memory; the rest waits in the store.
    pub max_rows: usize,
    /// How many rows are read from the store at once.
    pub page: usize,
    /// With less of the lease left than this, nothing is written to Telegram.
    pub lease_margin: Duration,
    /// How often a row is tried that Telegram answers with a failure of its own.
    pub busy_attempts: u32,
    /// How often a row is tried whose answers get lost: each may show the message once more.
    pub unsure_attempts: u32,
    /// How often a call outside of order is tried, whatever goes wrong: it is of use only soon.
    pub urgent_attempts: u32,
}

impl Default for CourierSettings {
    fn default() -> Self {
        Self {
            limits: SendLimits::default(),
            concurrent: 256,
            max_rows: 20_000,
            page: 500,
            lease_margin: Duration::from_secs(2),
            busy_attempts: 20,
            unsure_attempts: 5,
            urgent_attempts: 6,
        }
    }
}

/// What the rest of the bot may want to know about sending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// A row could not be sent; it is kept as failed.
    Failed {
        /// The row.
        id: OutboxId,
        /// Who said it.
        key: DialogueKey,
        /// Where it was to go.
        chat: Option<i64>,
        /// The method.
        method: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// Nothing reaches this chat any more: the bot is blocked or put out, or there is no such chat.
    ChatDead {
        /// The chat.
        chat: i64,
        /// Telegram's words.
        why: Box<str>,
    },
    /// A group became a supergroup.
    Moved {
        /// The old chat.
        from: i64,
        /// The new chat.
        to: i64,
    },
    /// Telegram does not know the token, or no longer: nothing is sent until it does.
    TokenRefused,
    /// Another instance has the lease: nothing more is sent from here.
    Fenced,
}
