//! What stores need for instances that take updates together.
//!
//! One instance works; all of them may store updates, each in the order of their arrival at the store, and tell the one
//! that works where to look.

use futures_util::stream::BoxStream;

use super::Seq;
use crate::key::DialogueKey;

/// What became of an update that an instance has delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It is in the inbox now, and nothing else of its conversation waited there.
    First(Seq),
    /// It is in the inbox now, behind others of its conversation.
    Behind(Seq),
    /// It waits already, or was taken: nothing to do.
    Known,
}

/// The conversations of which instances have delivered something, as it is announced. It may miss some, and it ends when
/// its connection does.
pub type News = BoxStream<'static, Vec<DialogueKey>>;

/// Conversations as one text, of so many bytes at most; the rest comes in further texts.
pub(super) fn announcements(keys: &[DialogueKey], most_bytes: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for key in keys.iter().map(ToString::to_string) {
        match texts.last_mut().filter(|text| text.len() + key.len() < most_bytes) {
            Some(text) => {
                text.push('\n');
                text.push_str(&key);
            }
            None => texts.push(key),
        }
    }
    texts
}

/// The conversations of such a text; what names none is passed over.
pub(super) fn announced(text: &str) -> Vec<DialogueKey> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_is_heard_in_as_many_texts_as_it_needs() {
        let keys: Vec<_> = (1..=100).map(|user| DialogueKey::private(7, user)).collect();
        let texts = announcements(&keys, 200);
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() <= 200), "{texts:?}");
        assert_eq!(texts.iter().flat_map(|text| announced(text)).collect::<Vec<_>>(), keys);
        assert_eq!(announced("nobody\n7:1:1\n"), [DialogueKey::private(7, 1)]);
        assert_eq!(announcements(&[], 200), Vec::<String>::new());
    }
}
