//! Commands in the documents of this workspace, checked against a program's command line.
//!
//! A command is inline code or a line of a `sh` block that begins with the program's name, perhaps after environment
//! variables. Its subcommands and options must exist; values are not looked at.

use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's root directory.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// Commands of `program` in all documents under `root` that its command line does not know, each with its document.
/// `program` may have several words, such as `cargo xtask`.
pub fn unknown_commands(root: &Path, program: &str, command_line: &clap::Command) -> Vec<String> {
    let mut built = command_line.clone();
    // Options of a parent that are global reach its subcommands only now.
    built.build();
    let mut unknown = Vec::new();
    let mut count = 0;
    for path in documents(root) {
        let text = fs::read_to_string(&path).unwrap();
        for command in commands(&text, program) {
            count += 1;
            if let Err(word) = check(&built, &command) {
                unknown.push(format!("{}: `{program} {command}`: {word}", path.display()));
            }
        }
    }
    assert!(count > 0, "no document under {} names `{program}`", root.display());
    unknown
}

/// All Markdown files under `folder`, except those of build outputs and hidden folders.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with('.') || ["target", "node_modules", "data"].contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            found.extend(documents(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The arguments of each command of `program` in a document.
fn commands(text: &str, program: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    let mut is_shell = false;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_block = !is_block;
            is_shell = is_block && language == "sh";
        } else if is_shell {
            found.extend(arguments(line, program));
        } else if !is_block {
            found.extend(line.split('`').skip(1).step_by(2).filter_map(|code| arguments(code, program)));
        }
    }
    found
}

/// What follows `program` in a command, without a comment. None for another program.
fn arguments(code: &str, program: &str) -> Option<String> {
    let mut rest = code.split(" #").next().unwrap_or_default().trim();
    while let Some((first, later)) = rest.split_once(' ')
        && first.contains('=')
    {
        rest = later.trim_start();
    }
    let arguments = rest.strip_prefix(program)?;
    (arguments.is_empty() || arguments.starts_with(' ')).then(|| arguments.trim().to_owned())
}

/// Follows the words of a command through the subcommands. The error names the unknown word.
fn check(command_line: &clap::Command, command: &str) -> Result<(), String> {
    let mut current = command_line;
    for word in command.split_whitespace().map(|word| word.trim_matches(['[', ']'])) {
        let passes_on = current.get_positionals().any(clap::Arg::is_trailing_var_arg_set);
        if passes_on || ["|", ">", "&&"].contains(&word) {
            break;
        }
        let is_subcommand = current.find_subcommand(word);
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            let is_known = current.get_arguments().any(|argument| argument.get_long() == Some(name));
            if !is_known && !["", "help", "version"].contains(&name) {
                return Err(format!("{} has no --{name}", current.get_name()));
            }
        } else if let Some(subcommand) = is_subcommand {
            current = subcommand;
        } else if current.has_subcommands() && current.get_positionals().next().is_none() && is_plain(word) {
            return Err(format!("{} has no {word}", current.get_name()));
        }
    }
    Ok(())
}

/// Whether a word is typed as it stands: no placeholder and no value.
fn is_plain(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    fn program() -> Command {
        let list = Command::new("list").arg(Arg::new("store").long("store"));
        Command::new("tool").subcommand(Command::new("state").subcommand(list))
    }

    #[test]
    fn commands_are_found_in_prose_and_in_blocks() {
        let text = "Call `tool state list`, not `other`.\n```sh\nKEY=1 tool state   # why\n```\n```rust\ntool x\n```\n";
        assert_eq!(commands(text, "tool"), ["state list", "state"]);
    }

    #[test]
    fn unknown_subcommands_and_options_are_named() {
        assert_eq!(check(&program(), "state list --store sqlite:x"), Ok(()));
        assert_eq!(check(&program(), "state <key>"), Ok(()));
        assert_eq!(check(&program(), "state lst"), Err("state has no lst".into()));
        assert_eq!(check(&program(), "state list --stor x"), Err("list has no --stor".into()));
    }
}
