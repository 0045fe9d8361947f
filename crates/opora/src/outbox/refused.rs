//! A message of a turn that Telegram refuses for good: its person is told in a plain sentence, once for each turn.
//!
//! Otherwise the conversation would stand in a new state with nothing on the screen. The sentence enters the outbox
//! before the refusal is settled, under a name that counts once, so that an end of the process in between loses or
//! doubles nothing. It belongs to no turn itself, so that its own refusal leads to no other one.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::courier::{Shared, posted_rows};
use super::lanes::Item;
use crate::key::DialogueKey;
use crate::store::{OutboxRow, Outgoing, Version};
use crate::telegram::{ApiError, Destination, IntoOutgoing, RefusalKind, Say, Tag};

/// The sentence for the person of a conversation, in that person's language.
pub(crate) type Apology = Arc<dyn Fn(DialogueKey) -> BoxFuture<'static, String> + Send + Sync>;

impl Shared {
    /// Tells the person of a conversation that a message of its turn was refused, if this one was.
    pub(super) async fn apologise(&self, item: &Item, error: &ApiError) {
        let Some(apology) = self.apology.get().filter(|_| is_lost_question(item, error)) else { return };
        let key = &item.row.key;
        let said_at = item.row.at;
        let text = apology(key.clone()).await;
        let sentence = Say::text(text).into_outgoing(&Destination::from(key), &Tag::new(Version::default()));
        let Ok(outgoing) = sentence else {
            return tracing::error!(%key, "the sentence about a refused message cannot be said");
        };
        // All messages of a turn were said at one time.
        let once = format!("opora:refused:{key}:{}", said_at.0);
        let at = self.clock.now();
        let post = vec![(key.clone(), outgoing)];
        match self.store.post(self.epoch, &once, post.clone(), at).await {
            Ok(ids) => self.bring(posted_rows(ids, post, at).map(|row| Item::new(row, None))),
            Err(error) if error.ends_the_lease() => self.fenced(),
            Err(error) => {
                tracing::warn!(%key, %error, "the sentence about a refused message is sent without being stored");
                self.bring_unstored(post);
            }
        }
    }
}

/// Whether a person was to see this message of a turn, and does not.
fn is_lost_question(item: &Item, error: &ApiError) -> bool {
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

/// After a restart only its buttons tell that a message is a turn's: those of a post have no tags.
fn has_tag(outgoing: &Outgoing) -> bool {
    let body: serde_json::Value = serde_json::from_str(&outgoing.body).unwrap_or_default();
    let rows = body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    let mut buttons = rows.filter_map(|row| row.as_array()).flatten();
    buttons.any(|button| button["callback_data"].as_str().is_some_and(|data| Tag::read(data).version.is_some()))
}
