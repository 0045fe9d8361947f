//! What the data of a button of an order says: the order, the version that the person saw, and more.

use crate::notices::order_buttons::ANY_VERSION;

/// `7:3:max`: the order, its version (none: any version), and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderButton {
    pub order_id: i64,
    pub version: Option<i64>,
    pub rest: String,
}

impl OrderButton {
    pub fn parse(data: &str) -> Option<Self> {
        let mut parts = data.splitn(3, ':');
        let order_id = parts.next()?.parse().ok()?;
        let version = match parts.next()? {
            ANY_VERSION => None,
            version => Some(version.parse().ok()?),
        };
        Some(Self { order_id, version, rest: parts.next().unwrap_or_default().to_owned() })
    }

    /// The data of a button. `prefix` says what it does.
    pub fn data(prefix: &str, order_id: i64, version: Option<i64>, rest: &str) -> String {
        let version = version.map_or_else(|| ANY_VERSION.to_owned(), |version| version.to_string());
        format!("{prefix}{order_id}:{version}:{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_parsed_as_it_was_written() {
        for (version, rest) in [(Some(3), "12"), (None, "accept"), (Some(1), "")] {
            let data = OrderButton::data("x:", 7, version, rest);
            let parsed = OrderButton::parse(data.strip_prefix("x:").unwrap()).unwrap();
            assert_eq!(parsed, OrderButton { order_id: 7, version, rest: rest.into() });
        }
        for odd in ["", "7", "x:1:", "7:x:", "-:-:-", "99999999999999999999:1:"] {
            assert_eq!(OrderButton::parse(odd), None, "{odd}");
        }
    }
}
