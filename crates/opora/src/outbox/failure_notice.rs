//! Tells a person once per turn that Telegram refused a message of the turn for good.
//!
//! Otherwise the conversation would be in a new state with nothing on the screen. The notice is posted to the outbox
//! before the refusal is settled, under an id that is posted only once, so a crash in between neither loses nor repeats
//! it. It belongs to no turn, so its own refusal causes no other notice.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::courier::{Shared, posted_rows};
use super::lanes::QueuedRow;
use super::verdict::backoff;
use crate::key::ConversationKey;
use crate::store::{OutboxRow, Outgoing, Version};
use crate::telegram::{ApiError, Destination, IntoOutgoing, RefusalKind, Say, Tag};

/// Attempts to store a notice before it is sent without the store.
const POST_ATTEMPTS: u32 = 3;
const POST_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Makes the text for the person of a conversation, in that person's language.
pub(crate) type FailureNotice = Arc<dyn Fn(ConversationKey) -> BoxFuture<'static, String> + Send + Sync>;

impl Shared {
    /// Posts the notice if this error means that a person does not see a message of a turn.
    pub(super) async fn send_failure_notice(&self, item: &QueuedRow, error: &ApiError) {
        let Some(failure_notice) = self.failure_notice.get().filter(|_| is_lost_message(item, error)) else { return };
        let key = &item.row.key;
        let turn_time = item.row.at;
        let text = failure_notice(key.clone()).await;
        let notice = Say::text(text).into_outgoing(&Destination::from(key), &Tag::new(Version::default()));
        let Ok(outgoing) = notice else {
            return tracing::error!(%key, "the notice about a refused message is invalid");
        };
        // All messages of a turn have the same time.
        let once = format!("opora:refused:{key}:{}", turn_time.0);
        self.post_notice(&once, vec![(key.clone(), outgoing)]).await;
    }

    /// Posts the notice. A post without an answer may be stored, so it is repeated under its id before the notice is
    /// sent without the store.
    async fn post_notice(&self, once: &str, post: Vec<(ConversationKey, Outgoing)>) {
        let at = self.clock.now();
        for attempt in 1.. {
            match self.store.post(self.epoch, once, post.clone(), at).await {
                // The attempt without an answer has stored it.
                Ok(ids) if ids.is_empty() && attempt > 1 => self.reload(),
                Ok(ids) => self.add_rows(posted_rows(ids, post, at).map(|row| QueuedRow::new(row, None))),
                Err(error) if error.ends_lease() => self.fenced(),
                Err(_) if attempt < POST_ATTEMPTS => {
                    tokio::time::sleep(backoff(attempt, POST_PAUSE_MAX)).await;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%once, %error, "the notice about a refused message cannot be stored; it is sent without");
                    self.add_unstored(post);
                }
            }
            return;
        }
    }
}

/// Whether the row is a message of a turn that its person should have seen.
fn is_lost_message(item: &QueuedRow, error: &ApiError) -> bool {
    let ApiError::Refused { kind, .. } = error else { return false };
    let OutboxRow { key, outgoing, .. } = &item.row;
    let is_gone_edit = *kind == RefusalKind::MessageGone && outgoing.method.starts_with("edit");
    let is_here = outgoing.chat == Some(key.chat);
    is_here && shows_something(&outgoing.method) && !is_gone_edit && (item.is_of_turn || has_tag(outgoing))
}

fn shows_something(method: &str) -> bool {
    let sends = method.starts_with("send") && method != "sendChatAction";
    sends || matches!(method, "editMessageText" | "editMessageCaption" | "editMessageMedia" | "copyMessage")
}

/// Whether a button has a tag. After a restart this shows that the message is of a turn: posts have no tags.
fn has_tag(outgoing: &Outgoing) -> bool {
    let body: serde_json::Value = serde_json::from_str(&outgoing.body).unwrap_or_default();
    let rows = body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    let mut buttons = rows.filter_map(|row| row.as_array()).flatten();
    buttons.any(|button| button["callback_data"].as_str().is_some_and(|data| Tag::parse(data).version.is_some()))
}
