//! Sends committed messages to Telegram.
//!
//! A row is sent after the commit of its turn: in order within its chat, within Telegram's limits, with retries. Then
//! it is settled. Rows that an instance leaves unsettled are sent by the next one.
//!
//! - `courier`: owns the tasks;
//! - `loaded_rows`: which rows are in memory; `lanes`: which row is next; `limits`: how fast;
//! - `worker`: sends a row; `verdict`: what to do after an error; `failure_notice`: tells a person of a refused
//!   message;
//! - `settler`: stores the results; `loader`: reads rows from the store;
//! - [`Broadcast`]: one message for many chats.
//!
//! A chat that waits (for its limit, `retry_after` or the network) occupies no task and delays no other chat.

use std::time::Duration;

use crate::key::ConversationKey;
use crate::store::OutboxId;

pub(crate) use self::broadcast::BroadcastError;
pub use self::broadcast::{Broadcast, Progress, Watch};
pub(crate) use self::courier::{Courier, posted_rows};
pub(crate) use self::failure_notice::FailureNotice;
pub use self::limits::{SendLimits, SendLimitsParseError};

mod broadcast;
mod concurrency;
mod courier;
mod failure_notice;
mod lanes;
mod limits;
mod loaded_rows;
mod loader;
mod rewrite;
mod settler;
#[cfg(test)]
mod tests;
mod verdict;
mod worker;

/// Settings of the courier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CourierSettings {
    /// Which limits it respects.
    pub limits: SendLimits,
    /// The largest number of concurrent calls. It uses fewer for a server that answers quickly.
    pub concurrent: usize,
    /// How many rows are held in memory. The rest stays in the store.
    pub max_rows: usize,
    /// How many rows are read from the store at once.
    pub page: usize,
    /// Nothing is sent if less than this time is left on the lease.
    pub lease_margin: Duration,
    /// How often a row is tried if Telegram itself fails.
    pub busy_attempts: u32,
    /// How often a row is tried if its answers get lost. Each attempt may show the message again.
    pub unsure_attempts: u32,
    /// How often a call outside of order is tried, whatever the error: it is useful only for a short time.
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

/// Events of sending, for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// A message could not be sent. It is kept for the operator.
    Failed {
        /// The row.
        id: OutboxId,
        /// The conversation that sent it.
        key: ConversationKey,
        /// Its chat.
        chat: Option<i64>,
        /// The method.
        method: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// The chat cannot be reached any more: the bot is blocked or removed, or the chat does not exist.
    ChatUnreachable {
        /// The chat.
        chat: i64,
        /// Telegram's description.
        reason: Box<str>,
    },
    /// A group became a supergroup.
    Moved {
        /// The old chat.
        from: i64,
        /// The new chat.
        to: i64,
    },
    /// Telegram refuses the token. Nothing is sent until it accepts it.
    TokenRefused,
    /// Another instance has the lease. This one sends nothing more.
    Fenced,
}
