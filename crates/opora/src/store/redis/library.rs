//! The functions that run within Redis: one library of them, named by its content.
//!
//! The name changes with the text, so that two versions of the product work side by side, and a server that lost the
//! library, or never had it, says so before it does anything. Where functions are not to be had (before Redis 7, or by
//! the server's rules), the same text is a script.

use std::sync::LazyLock;

use super::keys::Thing;
use crate::store::hash::hash_of;

/// The text of all functions; the keys' places come first.
static BODY: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = Thing::ALL.iter().map(|(_, text)| text.to_uppercase()).collect();
    let places: Vec<_> = (1..=names.len()).map(|place| place.to_string()).collect();
    let keys = format!("local {} = {}\n", names.join(", "), places.join(", "));
    let texts = [
        include_str!("library/base.lua"),
        include_str!("library/conversation.lua"),
        include_str!("library/lease.lua"),
        include_str!("library/turn.lua"),
        include_str!("library/decisions.lua"),
        include_str!("library/outbox.lua"),
        include_str!("library/keeping.lua"),
        include_str!("library/forget.lua"),
        include_str!("library/aiogram.lua"),
    ];
    keys + &texts.join("\n")
});

/// Begins the names of the libraries of all versions.
const FAMILY: &str = "opora_";

/// Begins the name of the library and of each function.
static NAME: LazyLock<String> = LazyLock::new(|| format!("{FAMILY}{:016x}", hash_of(BODY.as_bytes())));

/// As a library of functions.
static LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let name = &*NAME;
    let body = &*BODY;
    // While a library is loaded it can neither call nor loop over a table.
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

/// As a script whose last argument names the function.
static SCRIPT: LazyLock<String> =
    LazyLock::new(|| format!("{}\ncall = redis.call\nreturn functions[table.remove(ARGV)](KEYS, ARGV)\n", *BODY));

/// The library, to be loaded.
pub(super) fn library() -> &'static str {
    &LIBRARY
}

/// The script, to be loaded.
pub(super) fn script() -> &'static str {
    &SCRIPT
}

/// A pattern that the names of the libraries of all versions fit.
pub(super) fn pattern() -> String {
    format!("{FAMILY}*")
}

/// Whether a name is that of another version's library.
pub(super) fn is_of_another_version(name: &str) -> bool {
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    name != *NAME && name.strip_prefix(FAMILY).is_some_and(is_hash)
}

/// Whether a function writes nothing, so that a replica answers it too.
pub(super) fn only_reads(short: &str) -> bool {
    BODY.contains(&format!("\nonly_reads.{short} = true\n"))
}

/// The full name of a function.
pub(super) fn full_name(short: &str) -> String {
    format!("{}_{short}", *NAME)
}
