//! Deliveries: several instances store updates, and the leader runs their turns.
//!
//! Any instance may store updates; the store puts them in the order of arrival. The instance then announces their
//! conversations to the leader.

use futures_util::stream::BoxStream;

use super::Seq;
use crate::key::ConversationKey;

/// The result of delivering an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It is in the inbox, and nothing else of its conversation waited there.
    First(Seq),
    /// It is in the inbox, behind other inputs of its conversation.
    Behind(Seq),
    /// It was delivered before: it waits or is processed.
    Known,
}

/// A stream of conversations that received updates. It may miss some, and it ends when its connection is lost.
pub type AnnouncedConversations = BoxStream<'static, Vec<ConversationKey>>;

/// Conversations as texts of at most `max_bytes` each.
pub(super) fn encode_announcements(keys: &[ConversationKey], max_bytes: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for key in keys.iter().map(ToString::to_string) {
        match texts.last_mut().filter(|text| text.len() + key.len() < max_bytes) {
            Some(text) => {
                text.push('\n');
                text.push_str(&key);
            }
            None => texts.push(key),
        }
    }
    texts
}

/// The conversations of such a text. Invalid lines are skipped.
pub(super) fn decode_announcement(text: &str) -> Vec<ConversationKey> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_read_back_from_several_texts() {
        let keys: Vec<_> = (1..=100).map(|user| ConversationKey::private(7, user)).collect();
        let texts = encode_announcements(&keys, 200);
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() <= 200), "{texts:?}");
        assert_eq!(texts.iter().flat_map(|text| decode_announcement(text)).collect::<Vec<_>>(), keys);
        assert_eq!(decode_announcement("not a key\n7:1:1\n"), [ConversationKey::private(7, 1)]);
        assert_eq!(encode_announcements(&[], 200), Vec::<String>::new());
    }
}
