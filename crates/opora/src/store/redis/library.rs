//! The functions that run in Redis: one library, named by a hash of its text.
//!
//! The name changes with the text, so two versions of the product can work side by side, and a server without this
//! library says so before it does anything. Where functions are not available (before Redis 7, or not permitted), the
//! same text is loaded as a script.

use std::sync::LazyLock;

use super::keys::KeyKind;
use crate::store::hash::hash_of;

/// The text of all functions. The positions of the keys come first.
static BODY: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = KeyKind::ALL.iter().map(|(_, text)| text.to_uppercase()).collect();
    let places: Vec<_> = (1..=names.len()).map(|place| place.to_string()).collect();
    let keys = format!("local {} = {}\n", names.join(", "), places.join(", "));
    let texts = [
        include_str!("library/base.lua"),
        include_str!("library/conversation.lua"),
        include_str!("library/lease.lua"),
        include_str!("library/turn.lua"),
        include_str!("library/decisions.lua"),
        include_str!("library/outbox.lua"),
        include_str!("library/maintenance.lua"),
        include_str!("library/jobs.lua"),
        include_str!("library/forget.lua"),
        include_str!("library/aiogram.lua"),
    ];
    keys + &texts.join("\n")
});

/// The prefix of the library names of all versions.
const NAME_PREFIX: &str = "opora_";

/// The name of the library, and the prefix of each function name.
static NAME: LazyLock<String> = LazyLock::new(|| format!("{NAME_PREFIX}{:016x}", hash_of(BODY.as_bytes())));

/// The text as a library of functions.
static LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let name = &*NAME;
    let body = &*BODY;
    // A library cannot call Redis while it is loaded, nor loop over a table.
    let register = |short: &str| {
        format!(
            "redis.register_function({{
  function_name = '{name}_{short}',
  callback = function(keys, args) call = redis.call; return functions.{short}(keys, args) end,
  flags = only_reads.{short} and {{ 'no-writes' }} or frees.{short} and {{ 'allow-oom' }} or {{}},
}})\n"
        )
    };
    let shorts = body.lines().filter_map(|line| line.strip_prefix("function functions.")?.split('(').next());
    format!("#!lua name={name}\n{body}\n{}", shorts.map(register).collect::<String>())
});

/// The text as a script whose last argument is the name of the function.
static SCRIPT: LazyLock<String> =
    LazyLock::new(|| format!("{}\ncall = redis.call\nreturn functions[table.remove(ARGV)](KEYS, ARGV)\n", *BODY));

pub(super) fn library() -> &'static str {
    &LIBRARY
}

pub(super) fn script() -> &'static str {
    &SCRIPT
}

/// A pattern that matches the library names of all versions.
pub(super) fn pattern() -> String {
    format!("{NAME_PREFIX}*")
}

/// Whether this is the library name of another version.
pub(super) fn is_of_another_version(name: &str) -> bool {
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    name != *NAME && name.strip_prefix(NAME_PREFIX).is_some_and(is_hash)
}

/// Whether a function only reads, so that a replica answers it too.
pub(super) fn only_reads(short: &str) -> bool {
    BODY.contains(&format!("\nonly_reads.{short} = true\n"))
}

pub(super) fn full_name(short: &str) -> String {
    format!("{}_{short}", *NAME)
}
