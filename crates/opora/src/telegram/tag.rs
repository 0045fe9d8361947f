//! Which turn offered a button.
//!
//! The tag stands before a button's data: `~{version in base 36}~`, and `~{version}+~` for a button that may be pressed
//! more than once. In a group, where others see the button too, it also says whose it is: `~{version}.{owner}~`. Data
//! without a tag is anybody's: other programs' keyboards keep working.

use crate::key::DialogueKey;
use crate::store::Version;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Owners are told apart by so much of their ids: four digits, for a button's data is short.
const OWNERS: u64 = 36_u64.pow(4);

/// The version of a conversation, as its buttons carry it, and in a group whose conversation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    version: Version,
    owner: Option<u64>,
}

/// What a button's data says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressed<'a> {
    /// The turn that offered the button; none if it carries no tag.
    pub version: Option<Version>,
    owner: Option<u64>,
    /// The button may be pressed more than once.
    pub repeatable: bool,
    /// The data proper.
    pub data: &'a str,
}

impl Pressed<'_> {
    /// Whether the button may have been offered in this conversation, and not in another one of the same chat.
    #[must_use]
    pub fn is_of(&self, key: &DialogueKey) -> bool {
        self.owner.is_none() || self.owner == owner(key)
    }
}

impl Tag {
    /// The tag of a version, of whoever sees it.
    #[must_use]
    pub const fn new(version: Version) -> Self {
        Self { version, owner: None }
    }

    /// The tag of a version of this conversation.
    #[must_use]
    pub fn of(key: &DialogueKey, version: Version) -> Self {
        Self { version, owner: owner(key) }
    }

    /// Data with this tag before it.
    #[must_use]
    pub fn put(self, data: &str) -> String {
        self.join("~", data)
    }

    /// Data with this tag before it, of a button that may be pressed more than once.
    #[must_use]
    pub fn put_repeatable(self, data: &str) -> String {
        self.join("+~", data)
    }

    /// The version and the data proper.
    #[must_use]
    pub fn split(data: &str) -> (Option<Version>, &str) {
        let pressed = Self::read(data);
        (pressed.version, pressed.data)
    }

    /// Everything that a button's data says.
    #[must_use]
    pub fn read(data: &str) -> Pressed<'_> {
        Self::tagged(data).unwrap_or(Pressed { version: None, owner: None, repeatable: false, data })
    }

    fn tagged(whole: &str) -> Option<Pressed<'_>> {
        let (tag, data) = whole.strip_prefix('~')?.split_once('~')?;
        let (digits, repeatable) = tag.strip_suffix('+').map_or((tag, false), |digits| (digits, true));
        let (version, owner) = match digits.split_once('.') {
            Some((version, owner)) => (number(version)?, Some(number(owner)?)),
            None => (number(digits)?, None),
        };
        let version = Some(Version(i64::try_from(version).ok()?));
        Some(Pressed { version, owner, repeatable, data })
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

/// In a private chat nobody else sees a button.
fn owner(key: &DialogueKey) -> Option<u64> {
    (key.chat != key.user).then(|| key.user.unsigned_abs() % OWNERS)
}

/// Only what `push` writes is a number: no sign, no capital, not nothing.
fn number(digits: &str) -> Option<u64> {
    let is_spelled = !digits.is_empty() && digits.bytes().all(|digit| DIGITS.contains(&digit));
    u64::from_str_radix(digits, 36).ok().filter(|_| is_spelled)
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
    fn a_tag_reads_back() {
        for version in [0, 1, 35, 36, 1_000_000, i64::MAX] {
            let tag = Tag::new(Version(version));
            assert_eq!(Tag::split(&tag.put("yes")), (Some(Version(version)), "yes"));
            let again = tag.put_repeatable("yes");
            assert_eq!(
                Tag::read(&again),
                Pressed { version: Some(Version(version)), owner: None, repeatable: true, data: "yes" }
            );
        }
        assert_eq!(Tag::new(Version(46_655)).put("a~b"), "~zzz~a~b");
        assert_eq!(Tag::new(Version(36)).put_repeatable(""), "~10+~");
    }

    #[test]
    fn in_a_group_a_tag_says_whose_the_button_is() {
        let member = |user| DialogueKey { chat: -100, ..DialogueKey::private(1, user) };
        let (anna, boris) = (member(7_000_000_001), member(7_000_000_002));
        let data = Tag::of(&anna, Version(36)).put_repeatable("yes");
        let pressed = Tag::read(&data);
        assert!(pressed.is_of(&anna) && !pressed.is_of(&boris), "{data}");
        assert_eq!((pressed.version, pressed.repeatable, pressed.data), (Some(Version(36)), true, "yes"));
        let private = Tag::of(&DialogueKey::private(1, 2), Version(36)).put("yes");
        assert_eq!(private, "~10~yes");
        assert!(Tag::read(&private).is_of(&anna), "a button from before, or of another program");
    }

    #[test]
    fn what_is_no_tag_is_left_alone() {
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
