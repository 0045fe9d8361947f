//! What the stores of the library may import.
//!
//! The engine, the bot and dialogues stand on the store. A store that imports one of them could not be read alone.

use super::Findings;
use super::rooms::imported;
use super::tree::Tree;

const MEMBER: &str = "opora";
/// The modules of the library that the stores may import.
const ALLOWED: [&str; 6] = ["aiogram", "clock", "failpoints", "key", "store", "tls_provider"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let modules: Vec<_> = tree.product().filter(|module| module.member == MEMBER).collect();
    let is_module = |name: &str| {
        let file = format!("src/{name}.rs");
        modules.iter().any(|module| module.within == file)
    };
    let stores =
        modules.iter().filter(|module| module.within == "src/store.rs" || module.within.starts_with("src/store/"));
    for module in stores {
        for (name, line) in imported(module) {
            if is_module(&name) && !ALLOWED.contains(&name.as_str()) {
                let why = format!("a store imports `{name}`, which stands on the store: move what both need below it");
                findings.refuse(&module.path, line, why);
            }
        }
    }
}
