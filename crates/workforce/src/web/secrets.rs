//! Random words, their hashes, and comparing them so that nobody learns by the time it takes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use subtle::ConstantTimeEq;

const PINS: u32 = 1_000_000;

/// A word of 256 random bits.
pub fn token() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// A short random word, to find a request in the log by.
pub fn short() -> anyhow::Result<String> {
    let mut bytes = [0; 9];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Six random digits, each number as likely as the others.
pub fn pin() -> anyhow::Result<String> {
    loop {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes)?;
        let number = u32::from_le_bytes(bytes);
        // The last numbers would make some PINs likelier than others.
        if number < u32::MAX - u32::MAX % PINS {
            return Ok(format!("{:06}", number % PINS));
        }
    }
}

/// The hash of several words; the same words in other places give another one.
pub fn hash(words: &[&str]) -> String {
    let mut hash = digest::Context::new(&digest::SHA256);
    for word in words {
        hash.update(&word.len().to_le_bytes());
        hash.update(word.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(hash.finish())
}

/// Whether two words are the same.
pub fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_pins_have_six_digits() {
        assert_ne!(token().unwrap(), token().unwrap());
        for _ in 0..100 {
            let pin = pin().unwrap();
            assert!(pin.len() == 6 && pin.bytes().all(|digit| digit.is_ascii_digit()), "{pin}");
        }
    }

    #[test]
    fn a_hash_depends_on_where_words_end() {
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        // Sessions and PINs that are stored by their hashes stay good.
        assert_eq!(hash(&["ab", "c"]), "Q-5lVXneAcpzmz-VwcLT9G01OywN-BgGTqWUUGzbJhc");
        assert!(same("a", "a") && !same("a", "b") && !same("a", "aa"));
    }
}
