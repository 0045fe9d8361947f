//! The top-level domains that exist. Without a scheme, only a host that ends in one of them is a link.

use std::collections::HashSet;
use std::sync::LazyLock;

static KNOWN: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("top_level_domains.txt").split_ascii_whitespace().collect());

/// Whether a name is a top-level domain. A capitalised name is not: it is probably the next sentence after a missing
/// space.
pub(super) fn is_known(name: &str) -> bool {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return KNOWN.contains(name);
    }
    let lower = name.to_lowercase();
    let after_first = |name: &str| name.chars().skip(1).collect::<String>();
    let is_sentence = lower != name && after_first(&lower) == after_first(name);
    !is_sentence && KNOWN.contains(lower.as_str())
}
