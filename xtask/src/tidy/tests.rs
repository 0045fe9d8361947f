//! For every rule a tree that breaks it, and for all rules one that does not.

use std::fs;

use super::*;

const HEADER: &str = "//! Purpose.\n";

/// The findings for a tree with these files: refusals, then warnings.
fn findings_of(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = findings(&Tree::read(root.path()).unwrap());
    let to_texts = |complaints: Vec<Complaint>| complaints.iter().map(Complaint::to_string).collect();
    (to_texts(found.refused), to_texts(found.warnings))
}

/// The file breaks exactly one rule: at this place, with these words in the complaint.
#[track_caller]
fn refused(path: &str, text: &str, line: usize, words: &str) {
    let (refused, _) = findings_of(&[(path, text)]);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with(&format!("{path}:{line}: ")), "{refused:?}");
    assert!(refused[0].contains(words), "{refused:?}");
}

#[track_caller]
fn accepted(path: &str, text: &str) {
    let (refused, _) = findings_of(&[(path, text)]);
    assert!(refused.is_empty(), "{refused:?}");
}

fn module(body: &str) -> String {
    format!("{HEADER}{body}")
}

#[test]
fn a_clean_tree_passes() {
    let files = [
        ("README.md", "# A product\n"),
        ("Cargo.lock", concat!("source = \"registry+https://github.com/rust-lang/crates", ".io-index\"\n")),
        ("crates/opora/src/lib.rs", &module("pub mod clock;\n#[cfg(test)]\nmod tests;\n")),
        ("crates/opora/src/clock.rs", &module("fn now() { SystemTime::now(); }\n")),
        ("crates/opora/src/config.rs", &module("fn read() { std::env::var(\"A\").ok(); }\n")),
        ("crates/opora/src/tests.rs", &module("fn a() { b().unwrap(); }\n")),
        ("crates/testkit/src/environment.rs", &module("fn read() { env::var_os(\"A\"); }\n")),
        ("crates/testkit/src/proxy.rs", &module("fn a() { b().unwrap(); }\n")),
        ("xtask/src/environment.rs", &module("fn read() { env::vars(); }\n")),
    ];
    assert_eq!(findings_of(&files), (Vec::new(), Vec::new()));
}

#[test]
fn pages_draw_their_elements_with_components() {
    let page = "crates/workforce/src/sites/pages/site.rs";
    let drawn = |markup: &str| module(&format!("fn draw() {{\n    html! {{\n        {markup}\n    }}\n}}\n"));
    for (markup, words) in [
        ("button.plain.small type=\"submit\" { (caption) }", "`Button`"),
        ("@if has_title { h1 data-testid=\"title\" { (title) } }", "`headline`"),
        ("section.card.wide #tasks { (body) }", "`Card`"),
        ("div.card { (body) }", "`Card`"),
    ] {
        refused(page, &drawn(markup), 4, words);
        accepted("crates/workforce/src/web/ui/card.rs", &drawn(markup));
    }
    for markup in ["div.cards { (tiles) }", "(button(h1))", "a.button href=(path) { (caption) }", "a.card { (card) }"] {
        accepted(page, &drawn(markup));
    }
}

#[test]
fn generated_files_are_not_checked() {
    accepted("target/debug/build/out.rs", "TODO");
    accepted("data/notes.md", "TODO");
    accepted("crates/emulator/tests/clients/node_modules/grammy/README.md", "TODO");
    refused("crates/opora/src/data/keys.rs", &module("// TODO\n"), 2, "TODO");
}

#[test]
fn a_module_opens_with_its_purpose() {
    refused("crates/opora/src/turn.rs", "use std::fmt;\n", 1, "opens with `//!`");
    refused("crates/opora/tests/suite.rs", "// No.\n", 1, "opens with `//!`");
    refused("xtask/src/main.rs", "", 1, "opens with `//!`");
}

#[test]
fn empty_names_are_refused() {
    for name in ["utils", "common", "helpers", "manager"] {
        refused(&format!("crates/opora/src/{name}.rs"), HEADER, 1, name);
        refused(&format!("crates/opora/tests/{name}/users.rs"), HEADER, 1, name);
        refused("crates/opora/src/lib.rs", &module(&format!("pub(crate) mod {name} {{\n}}\n")), 2, name);
    }
    accepted("crates/opora/src/managers_of_sites.rs", HEADER);
}

#[test]
fn a_mod_rs_is_refused() {
    refused("crates/opora/src/store/mod.rs", HEADER, 1, "foo.rs");
}

#[test]
fn the_environment_is_read_in_one_module() {
    let calls =
        ["std::env::var(\"A\")", "env::var_os(\"A\")", "env::vars()", "dotenvy::dotenv()", "std::env::home_dir()"];
    for call in calls {
        refused("crates/opora/src/turn.rs", &module(&format!("fn a() {{ {call}; }}\n")), 2, "src/config.rs");
        refused("crates/opora/tests/suite.rs", &module(&format!("fn a() {{ {call}; }}\n")), 2, "environment.rs");
        refused("xtask/src/main.rs", &module(&format!("fn a() {{ {call}; }}\n")), 2, "environment.rs");
    }
    refused("crates/opora/src/turn.rs", &module("use std::env::{self, var};\n"), 2, "src/config.rs");
    refused("crates/opora/src/main.rs", &module("#[arg(long, env = \"A\")]\n"), 2, "src/config.rs");
    refused("crates/opora/src/web/config.rs", &module("fn a() { env::var(\"A\"); }\n"), 2, "src/config.rs");
    accepted("crates/opora/src/turn.rs", &module("const A: &str = env!(\"CARGO_PKG_NAME\"); // env::var\n"));
    accepted("crates/opora/src/turn.rs", &module("fn a() { env::args(); env::variation(); }\n"));
    accepted("crates/opora/examples/smallest.rs", &module("fn main() { env::var(\"BOT_TOKEN\"); }\n"));
}

#[test]
fn tests_read_the_environment_in_the_test_kit() {
    let reader = module("fn a() { env::var(\"A\"); }\n");
    let home = "crates/testkit/src/environment.rs";
    accepted(home, &reader);
    for path in [
        "crates/emulator/tests/it/environment.rs",
        "crates/opora/benches/dialogues/environment.rs",
        "crates/testkit/src/proxy.rs",
        "crates/testkit/src/proxy/environment.rs",
    ] {
        refused(path, &reader, 2, home);
    }
}

#[test]
fn the_clock_is_read_in_one_module() {
    for call in ["SystemTime::now()", "tokio::time::Instant::now()", "Utc::now()", "chrono::Local::now()"] {
        let text = module(&format!("fn a() {{ {call}; }}\n"));
        refused("crates/emulator/src/call.rs", &text, 2, "src/clock.rs");
        accepted("crates/emulator/src/clock.rs", &text);
        accepted("crates/emulator/tests/suite.rs", &text);
        accepted("crates/workforce/src/main.rs", &text);
        accepted(
            "crates/emulator/src/call.rs",
            &module(&format!("#[cfg(test)]\nmod tests {{\n    fn a() {{ {call}; }}\n}}\n")),
        );
    }
}

#[test]
fn long_files_are_listed_and_longer_ones_refused() {
    let lines = |count: usize| HEADER.repeat(count);
    let (refused, warned) = findings_of(&[("crates/opora/src/turn.rs", &lines(400))]);
    assert!(refused.is_empty() && warned.is_empty());
    let (refused, warned) = findings_of(&[("crates/opora/src/turn.rs", &lines(401))]);
    assert!(refused.is_empty());
    assert_eq!(warned, ["crates/opora/src/turn.rs:401: 401 lines are more than 400"]);
    let (refused, _) = findings_of(&[("crates/opora/src/turn.rs", &lines(601))]);
    assert_eq!(refused.len(), 1);
}

#[test]
fn unfinished_work_is_refused() {
    refused("crates/opora/tests/suite.rs", &module("#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"), 3, "ignored");
    refused("crates/opora/src/turn.rs", &module("fn a() { todo!() }\n"), 2, "todo!");
    refused("crates/opora/src/turn.rs", &module("fn a() { unimplemented!(\"b\") }\n"), 2, "unimplemented!");
    refused("crates/opora/src/turn.rs", &module("// TODO: more\n"), 2, "TODO");
    refused("crates/opora/src/page.js", "// FIXME\n", 1, "FIXME");
    accepted("crates/opora/src/turn.rs", &module("const A: &str = \"TODO #[ignore] todo!()\";\n"));
}

#[test]
fn a_panic_in_the_product_needs_a_reason() {
    for call in [".unwrap()", ".expect(\"b\")"] {
        let bare = module(&format!("fn a() {{ b(){call}; }}\n"));
        refused("crates/opora/src/turn.rs", &bare, 2, "why it cannot fail");
        accepted("crates/opora/tests/suite.rs", &bare);
        accepted("crates/opora/src/testing/chat.rs", &bare);
        accepted("crates/opora/src/turn.rs", &module(&format!("fn a() {{ b(){call}; }} // It was checked.\n")));
        accepted(
            "crates/opora/src/turn.rs",
            &module(&format!("// It was checked.\nlet a = b\n    .c()\n    {call};\n")),
        );
        accepted("crates/opora/src/turn.rs", &module(&format!("#[test]\nfn a() {{\n    b(){call};\n}}\n")));
        accepted("crates/opora/src/turn.rs", &module(&format!("/// A doctest: `b(){call}`\nfn a() {{}}\n")));
        refused(
            "crates/opora/src/turn.rs",
            &module(&format!("/// Documentation.\nfn a() {{ b(){call}; }}\n")),
            3,
            "why",
        );
    }
}

#[test]
fn names_of_one_machine_and_of_registries_are_refused() {
    refused("README.md", concat!("Look at /", "home/anna/opora\n"), 1, "one machine");
    refused("deploy/unit.service", concat!("\nExecStart=/", "Root/opora\n"), 2, "one machine");
    refused("bench/README.md", concat!("https://pypi", ".org/simple\n"), 1, "registry");
    refused("crates/opora/src/turn.rs", &module(concat!("const A: &str = \"index.crates", ".io\";\n")), 2, "registry");
    accepted("README.md", concat!("https://example.com/", "home/\n"));
}

/// The refusals of an application with these rooms.
fn of_rooms(rooms: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<(String, String)> =
        rooms.iter().map(|(room, body)| (format!("crates/workforce/src/{room}.rs"), module(body))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    findings_of(&files).0
}

#[test]
fn rooms_that_import_each_other_are_refused_once() {
    let direct = of_rooms(&[("sites", "\nuse crate::shifts::Plan;\n"), ("shifts", "use crate::sites::Site;\n")]);
    assert_eq!(direct.len(), 1, "{direct:?}");
    assert!(direct[0].starts_with("crates/workforce/src/shifts.rs:2: "), "{direct:?}");
    assert!(direct[0].ends_with("shifts -> sites -> shifts"), "{direct:?}");
    let around = of_rooms(&[
        ("pay", "use crate::{key, texts::{Language, Values}, sites};\n"),
        ("sites/rules", "fn a() { crate::shifts::plan(); }\n"),
        ("shifts", "use crate::pay::Money;\n"),
        ("texts", ""),
    ]);
    assert_eq!(around.len(), 1, "{around:?}");
    assert!(around[0].ends_with("pay -> sites -> shifts -> pay"), "{around:?}");
}

#[test]
fn rooms_that_import_each_other_by_the_way_upward_are_refused() {
    let refused = of_rooms(&[
        ("sites/pages/list", "use super::super::super::{shifts::Plan, texts};\n"),
        ("shifts", "use super::sites::Site;\n"),
        ("texts", ""),
    ]);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].ends_with("shifts -> sites -> shifts"), "{refused:?}");
    let within = of_rooms(&[
        ("sites/pages/list", "use super::super::shifts::Plan;\n"),
        ("sites/shifts", ""),
        ("shifts", "use crate::sites::Site;\n"),
    ]);
    assert_eq!(within, Vec::<String>::new());
}

#[test]
fn rooms_may_meet_in_what_puts_them_together() {
    let rooms = [
        ("rooms", "use crate::sites::Sites;\n"),
        (
            "sites",
            "use crate::rooms::Room;\nuse crate::texts;\n#[cfg(test)]\nmod tests {\n    use crate::shifts::A;\n}\n",
        ),
        ("shifts", "//! Unlike crate::texts.\nuse crate::sites::Site;\n"),
        ("texts", ""),
    ];
    assert_eq!(of_rooms(&rooms), Vec::<String>::new());
}

#[test]
fn a_store_that_imports_the_engine_is_refused() {
    let clock = module("pub struct Millis;\n");
    let turn = module("pub struct When;\n");
    let store = module("use crate::clock::Millis;\nuse crate::turn::When;\n");
    let files = [
        ("crates/opora/src/clock.rs", clock.as_str()),
        ("crates/opora/src/turn.rs", turn.as_str()),
        ("crates/opora/src/store/rows.rs", store.as_str()),
    ];
    let (refused, _) = findings_of(&files);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("crates/opora/src/store/rows.rs:3: a store imports `turn`"), "{refused:?}");
    let (refused, _) = findings_of(&[files[1], ("crates/opora/src/engine.rs", store.as_str())]);
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_comment_past_the_wrap_is_refused() {
    refused(
        "crates/opora/src/a.rs",
        &module(&format!("/// {}\nfn a() {{}}\n", "word ".repeat(24))),
        2,
        "wrap it at 120",
    );
    refused("README.md", &format!("# A\n\n{}\n", "word ".repeat(27)), 3, "wrap it at 132");
    accepted("README.md", &format!("| {} |\n", "word ".repeat(40)));
}

#[test]
fn a_long_sentence_is_refused() {
    let long = "a word\n".repeat(21);
    refused("docs/a.md", &long, 1, "a sentence of 42 words");
    refused("crates/opora/src/a.rs", &module(&long.replace("a word", "/// a word")), 2, "a sentence of 42 words");
    accepted("docs/a.md", &"a word.\n".repeat(21));
}

#[test]
fn retired_words_are_refused_in_code_and_prose() {
    refused("docs/a.md", "It starts anew.\n", 1, "retired word");
    refused("crates/opora/src/a.rs", &module("struct Haste;\n"), 2, "direct update");
    accepted("docs/glossary.md", "| direct update | … | haste |\n");
}

#[test]
fn retired_words_are_refused_in_settings_tables_and_texts() {
    for path in ["a.sql", "a.toml", "deploy/a.conf", "bench/a.sh"] {
        refused(path, "-- whoever comes\n", 1, "retired word");
    }
    refused("crates/a/locales/en/a.ftl", "# For whoever asks.\n", 1, "retired word");
    accepted("crates/a/locales/ru/a.ftl", "# For whoever asks.\n");
}

#[test]
fn hidden_subjects_are_counted() {
    accepted("docs/a.md", &"Nobody knows.\n".repeat(50));
    let (refused, _) = findings_of(&[("docs/a.md", &"Nobody knows.\n".repeat(51))]);
    assert_eq!(refused.len(), 51);
}

#[test]
fn a_test_name_is_a_short_sentence() {
    let name = "a".repeat(61);
    refused("crates/opora/tests/it/a.rs", &module(&format!("#[test]\nfn {name}() {{}}\n")), 3, "a name of 61");
}
