//! An amount in kopecks, without floating point.

use std::fmt;
use std::str::FromStr;

/// Hundredths of an amount, written as `50` or `50.05`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kopecks(pub i64);

/// The highest amount, far from the limits of the integer.
const MAX_ROUBLES: i64 = 1_000_000_000;

impl FromStr for Kopecks {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (roubles, rest) = text.split_once(['.', ',']).unwrap_or((text, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(roubles) || !all_digits(rest) || rest.len() > 2 {
            return Err(());
        }
        let kopecks: i64 = format!("{rest:0<2}").parse().map_err(drop)?;
        let roubles: i64 = roubles.parse().ok().filter(|roubles| *roubles <= MAX_ROUBLES).ok_or(())?;
        let sum = roubles.checked_mul(100).and_then(|whole| whole.checked_add(kopecks));
        sum.map(Self).ok_or(())
    }
}

impl fmt::Display for Kopecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (roubles, kopecks) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        write!(f, "{sign}{roubles}.{kopecks:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_to_the_kopeck() {
        for (text, kopecks, written) in
            [("50", 5000, "50.00"), ("50.05", 5005, "50.05"), ("0,5", 50, "0.50"), ("007.10", 710, "7.10")]
        {
            assert_eq!(text.parse(), Ok(Kopecks(kopecks)), "{text}");
            assert_eq!(Kopecks(kopecks).to_string(), written);
        }
        for text in ["", "-1", "1.", ".5", "1.234", "1e3", "1000000001", "99999999999999999999", "100 roubles"] {
            assert!(text.parse::<Kopecks>().is_err(), "{text}");
        }
        assert_eq!(Kopecks(-5005).to_string(), "-50.05");
    }
}
