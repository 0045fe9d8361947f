//! Random tokens, hashes, and comparison in constant time.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use subtle::ConstantTimeEq;

const PINS: u32 = 1_000_000;

/// A hash as bytes.
pub type Digest = [u8; 32];

/// A token of 256 random bits.
pub fn token() -> anyhow::Result<String> {
    Ok(encode(&random_bytes()?))
}

/// As many random bytes as a digest has.
pub fn random_bytes() -> anyhow::Result<Digest> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as text for addresses and forms.
pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// A short random id, to find a request in the log.
pub fn short_id() -> anyhow::Result<String> {
    let mut bytes = [0; 9];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Six random digits, uniformly distributed.
pub fn pin() -> anyhow::Result<String> {
    loop {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes)?;
        let number = u32::from_le_bytes(bytes);
        // The last, incomplete range would make some PINs more likely.
        if number < u32::MAX - u32::MAX % PINS {
            return Ok(format!("{:06}", number % PINS));
        }
    }
}

/// The hash of several strings; it also depends on where each of them ends.
pub fn hash(parts: &[&str]) -> String {
    encode(&digest(parts))
}

/// The same hash as bytes.
pub fn digest(parts: &[&str]) -> Digest {
    let mut hash = Context::new(&SHA256);
    for part in parts {
        hash.update(&part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(hash.finish().as_ref());
    digest
}

/// Whether two hashes are equal, in constant time.
pub fn is_same_digest(one: &Digest, other: &Digest) -> bool {
    one.ct_eq(other).into()
}

/// Whether two strings are equal, in constant time.
pub fn constant_time_eq(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_pins_have_six_digits() {
        assert_ne!(token().unwrap(), token().unwrap());
        for _ in 0..100 {
            let pin = pin().unwrap();
            assert!(pin.len() == 6 && pin.bytes().all(|digit| digit.is_ascii_digit()), "{pin}");
        }
    }

    #[test]
    fn a_hash_depends_on_where_strings_end() {
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        // Stored hashes of sessions and PINs must stay valid.
        assert_eq!(hash(&["ab", "c"]), "Q-5lVXneAcpzmz-VwcLT9G01OywN-BgGTqWUUGzbJhc");
        assert!(constant_time_eq("a", "a") && !constant_time_eq("a", "b") && !constant_time_eq("a", "aa"));
    }
}
