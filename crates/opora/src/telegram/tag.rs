//! Which turn offered a button.
//!
//! The tag stands before a button's data: `~{version in base 36}~`, and `~{version}+~` for a button that may be pressed
//! more than once. Data without a tag is anybody's: other programs' keyboards keep working.

use crate::store::Version;

/// The version of a conversation, as its buttons carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub Version);

/// What a button's data says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressed<'a> {
    /// The turn that offered the button; none if it carries no tag.
    pub version: Option<Version>,
    /// The button may be pressed more than once.
    pub repeatable: bool,
    /// The data proper.
    pub data: &'a str,
}

impl Tag {
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
        Self::tagged(data).unwrap_or(Pressed { version: None, repeatable: false, data })
    }

    fn tagged(whole: &str) -> Option<Pressed<'_>> {
        let (tag, data) = whole.strip_prefix('~')?.split_once('~')?;
        let (digits, repeatable) = tag.strip_suffix('+').map_or((tag, false), |digits| (digits, true));
        // Only what `put` writes is a tag: no sign, no capital, no empty number.
        let spelled = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        let version = i64::from_str_radix(digits, 36).ok().filter(|_| spelled)?;
        Some(Pressed { version: Some(Version(version)), repeatable, data })
    }

    fn join(self, end: &str, data: &str) -> String {
        // 13 digits in base 36 hold any version.
        let mut digits = [0_u8; 13];
        let mut rest = self.0.0.unsigned_abs();
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        let mut tagged = String::with_capacity(digits.len() - first + 1 + end.len() + data.len());
        tagged.push('~');
        tagged.extend(digits[first..].iter().map(|digit| char::from(*digit)));
        tagged.push_str(end);
        tagged.push_str(data);
        tagged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_reads_back() {
        for version in [0, 1, 35, 36, 1_000_000, i64::MAX] {
            let tag = Tag(Version(version));
            assert_eq!(Tag::split(&tag.put("yes")), (Some(Version(version)), "yes"));
            let again = tag.put_repeatable("yes");
            assert_eq!(Tag::read(&again), Pressed { version: Some(Version(version)), repeatable: true, data: "yes" });
        }
        assert_eq!(Tag(Version(46_655)).put("a~b"), "~zzz~a~b");
        assert_eq!(Tag(Version(36)).put_repeatable(""), "~10+~");
    }

    #[test]
    fn what_is_no_tag_is_left_alone() {
        for data in ["", "lang:en", "~", "~~", "~x", "~+~a", "~-1~a", "~A~a", "~zzzzzzzzzzzzzzzz~a", "a~1~b"] {
            assert_eq!(Tag::split(data), (None, data));
        }
    }
}
