//! The tag of a button: the turn that offered it.
//!
//! It is a prefix of the button's data: `~{version in base 36}~`, or `~{version}+~` for a button that may be pressed
//! more than once. In a group, where others see the button too, it also names the owner: `~{version}.{owner}~`. Data
//! without a tag belongs to no conversation, so keyboards of other programs keep working.

use crate::key::ConversationKey;
use crate::store::Version;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// A tag has four digits of the owner's id, because a button's data is short.
const OWNERS: u64 = 36_u64.pow(4);

/// The version of a conversation, and in a group its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    version: Version,
    owner: Option<u64>,
}

/// The parsed data of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedData<'a> {
    /// The turn that offered the button. None without a tag.
    pub version: Option<Version>,
    owner: Option<u64>,
    /// Whether the button may be pressed more than once.
    pub repeatable: bool,
    /// The data without the tag.
    pub data: &'a str,
}

impl TaggedData<'_> {
    /// Whether this conversation may have offered the button, and not another one of the same chat.
    #[must_use]
    pub fn is_of(&self, key: &ConversationKey) -> bool {
        self.owner.is_none() || self.owner == owner(key)
    }
}

impl Tag {
    /// The tag of a version, without an owner.
    #[must_use]
    pub const fn new(version: Version) -> Self {
        Self { version, owner: None }
    }

    /// The tag of a version of this conversation.
    #[must_use]
    pub fn for_conversation(key: &ConversationKey, version: Version) -> Self {
        Self { version, owner: owner(key) }
    }

    /// The data with this tag.
    #[must_use]
    pub fn apply(self, data: &str) -> String {
        self.join("~", data)
    }

    /// The data with this tag, for a button that may be pressed more than once.
    #[must_use]
    pub fn apply_repeatable(self, data: &str) -> String {
        self.join("+~", data)
    }

    /// The version, and the data without the tag.
    #[must_use]
    pub fn split(data: &str) -> (Option<Version>, &str) {
        let parsed = Self::parse(data);
        (parsed.version, parsed.data)
    }

    /// Parses a button's data.
    #[must_use]
    pub fn parse(data: &str) -> TaggedData<'_> {
        Self::parse_tagged(data).unwrap_or(TaggedData { version: None, owner: None, repeatable: false, data })
    }

    fn parse_tagged(tagged_data: &str) -> Option<TaggedData<'_>> {
        let (tag, data) = tagged_data.strip_prefix('~')?.split_once('~')?;
        let (digits, repeatable) = tag.strip_suffix('+').map_or((tag, false), |digits| (digits, true));
        let (version, owner) = match digits.split_once('.') {
            Some((version, owner)) => (number(version)?, Some(number(owner)?)),
            None => (number(digits)?, None),
        };
        let version = Some(Version(i64::try_from(version).ok()?));
        Some(TaggedData { version, owner, repeatable, data })
    }

    fn join(self, end: &str, data: &str) -> String {
        let mut tagged = String::with_capacity(20 + data.len());
        tagged.push('~');
        push(&mut tagged, self.version.0.unsigned_abs());
        if let Some(owner) = self.owner {
            tagged.push('.');
            push(&mut tagged, owner);
        }
        tagged.push_str(end);
        tagged.push_str(data);
        tagged
    }
}

/// The owner for the tag. None in a private chat, where only its person sees a button.
fn owner(key: &ConversationKey) -> Option<u64> {
    (key.chat != key.user).then(|| key.user.unsigned_abs() % OWNERS)
}

/// Parses a number as `push` writes it: no sign, no upper case, not empty.
fn number(digits: &str) -> Option<u64> {
    let is_valid = !digits.is_empty() && digits.bytes().all(|digit| DIGITS.contains(&digit));
    u64::from_str_radix(digits, 36).ok().filter(|_| is_valid)
}

fn push(text: &mut String, number: u64) {
    // 13 digits in base 36 hold any number.
    let mut digits = [0_u8; 13];
    let mut rest = number;
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = DIGITS[(rest % 36) as usize];
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    text.extend(digits[first..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_parsed_back() {
        for version in [0, 1, 35, 36, 1_000_000, i64::MAX] {
            let tag = Tag::new(Version(version));
            assert_eq!(Tag::split(&tag.apply("yes")), (Some(Version(version)), "yes"));
            let again = tag.apply_repeatable("yes");
            assert_eq!(
                Tag::parse(&again),
                TaggedData { version: Some(Version(version)), owner: None, repeatable: true, data: "yes" }
            );
        }
        assert_eq!(Tag::new(Version(46_655)).apply("a~b"), "~zzz~a~b");
        assert_eq!(Tag::new(Version(36)).apply_repeatable(""), "~10+~");
    }

    #[test]
    fn in_a_group_a_tag_names_the_owner() {
        let member = |user| ConversationKey { chat: -100, ..ConversationKey::private(1, user) };
        let (anna, boris) = (member(7_000_000_001), member(7_000_000_002));
        let data = Tag::for_conversation(&anna, Version(36)).apply_repeatable("yes");
        let pressed = Tag::parse(&data);
        assert!(pressed.is_of(&anna) && !pressed.is_of(&boris), "{data}");
        assert_eq!((pressed.version, pressed.repeatable, pressed.data), (Some(Version(36)), true, "yes"));
        let private = Tag::for_conversation(&ConversationKey::private(1, 2), Version(36)).apply("yes");
        assert_eq!(private, "~10~yes");
        assert!(Tag::parse(&private).is_of(&anna), "an older button, or one of another program");
    }

    #[test]
    fn data_without_a_tag_is_left_alone() {
        for data in [
            "",
            "lang:en",
            "~",
            "~~",
            "~x",
            "~+~a",
            "~-1~a",
            "~A~a",
            "~zzzzzzzzzzzzzzzz~a",
            "a~1~b",
            "~1.~a",
            "~.1~a",
            "~1.A~a",
        ] {
            assert_eq!(Tag::split(data), (None, data));
        }
    }
}
