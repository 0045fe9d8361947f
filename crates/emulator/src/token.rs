//! A bot's token: `<id>:<secret>`.
//!
//! Any token of that form is valid. A bot exists from the first use of its token.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Ids have up to 52 bits, so that languages whose numbers are doubles can read them.
pub const MAX_ID: i64 = (1 << 52) - 1;

const MAX_SECRET: usize = 128;

/// A well-formed token. `Debug` hides the secret: developers paste real tokens into emulators.
#[derive(Clone)]
pub struct Token {
    text: Arc<str>,
    bot_id: i64,
}

impl Token {
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.split_once(':')?;
        let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let bot_id = id.parse().ok().filter(|id| digits && (1..=MAX_ID).contains(id))?;
        let fits = (3..=MAX_SECRET).contains(&secret.len());
        let spelled = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        (fits && spelled).then(|| Self { text: text.into(), bot_id })
    }

    pub fn bot_id(&self) -> i64 {
        self.bot_id
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

// Tokens are compared by their text, so that a map of tokens can be searched with a `&str`.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Token {}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Borrow<str> for Token {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}:…)", self.bot_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_digits_a_colon_and_a_secret() {
        assert_eq!(Token::parse("123456789:AAH-abc_DEF").map(|token| token.bot_id()), Some(123_456_789));
        for bad in
            ["", ":", "12", "12:", "x:secret", "+12:secret", "12:se cret", "12:sécret", "99999999999999999:secret"]
        {
            assert!(Token::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_printed_token_hides_its_secret() {
        let token = Token::parse("42:secretsecret").map(|token| format!("{token:?}"));
        assert_eq!(token.as_deref(), Some("Token(42:…)"));
    }
}
