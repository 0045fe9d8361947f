//! `cargo xtask screenshots`: every page of the demo in both widths, themes and languages, with an index to look
//! through.
//!
//! The tests that look for mistakes on every page take the pictures, so both visit the same pages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::commands::{Commands, command_line};
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::tools;

const TESTS: &str = "test(/^web::every_page::/)";

pub(crate) fn run(environment: Environment) -> Result<ExitCode> {
    let folder = environment.target.join("screenshots/pages");
    let commands = Commands::new(environment, Interruption::watch()?);
    tools::provide(&commands, true)?;
    if folder.is_dir() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let mut take = commands.cargo(&["nextest", "run", "--package", "workforce", "--test", "it"]);
    take.args(["--profile", "screenshots", "--ignore-default-filter", "--filterset", TESTS])
        .env("OPORA_SCREENSHOTS", &folder);
    println!("{}", command_line(&take));
    commands.show(&mut take)?;
    let count = write_index(&folder)?;
    println!("{count} screenshots: {}", folder.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Writes a page that shows all pictures, a row for each page of the product.
fn write_index(folder: &Path) -> Result<usize> {
    let mut names: Vec<String> = Vec::new();
    for file in fs::read_dir(folder)? {
        names.push(file?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    ensure!(!names.is_empty(), "no screenshot was taken");
    fs::write(folder.join("index.html"), index(&names))?;
    Ok(names.len())
}

/// A name is `page.language.width.theme.png`.
fn index(names: &[String]) -> String {
    let mut pages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let page = name.split('.').next().unwrap_or(name);
        pages.entry(page).or_default().push(name);
    }
    let mut html = String::from(
        "<!doctype html><meta charset=utf-8><title>Every page</title><style>body{font:14px sans-serif}\
         div{display:flex;gap:8px;align-items:start;overflow-x:auto}img{border:1px solid #ccc;max-height:700px}</style>",
    );
    for (page, pictures) in pages {
        let _ = write!(html, "<h2>{page}</h2><div>");
        for picture in pictures {
            let _ = write!(html, "<a href=\"{picture}\"><img loading=lazy src=\"{picture}\" alt=\"{picture}\"></a>");
        }
        html.push_str("</div>");
    }
    html
}

#[cfg(test)]
mod tests {
    use super::index;

    #[test]
    fn an_index_has_a_row_for_each_page() {
        let names = ["home.ru.390.dark.png", "people.en.1280.light.png", "people.ru.390.dark.png"];
        let html = index(&names.map(str::to_owned));
        assert_eq!(html.matches("<h2>").count(), 2);
        assert_eq!(html.matches("<img").count(), 3);
    }
}
