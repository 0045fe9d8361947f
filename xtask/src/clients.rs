//! Client libraries of other languages and frameworks, which the emulator is checked with, a server that speaks S3, and
//! an old Redis.
//!
//! Each lives in an environment of its own in the cache; nothing is installed into the system or the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::cache;
use crate::commands::Commands;

/// Where the lists of requirements lie.
const LISTS: &str = "crates/emulator/tests/clients";
/// What the server that speaks S3 is made of.
const STORAGE_LIST: &str = "crates/workforce/tests/servers/requirements.txt";
/// What brings a Redis 6.2, the oldest that will do.
const OLD_REDIS_LIST: &str = "crates/opora/tests/servers/requirements.txt";
/// The check bot is written with another framework, so it belongs to the benchmark's workspace.
const TELOXIDE_BOT: &str = "teloxide-walk";

/// The interpreter of an environment with the Python libraries.
pub(crate) fn python(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(LISTS).join("requirements.txt");
    Ok(python_with(commands, "python", &list, may_install)?.join("bin/python"))
}

/// The interpreter of an environment with a server that speaks S3.
pub(crate) fn moto(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(STORAGE_LIST);
    Ok(python_with(commands, "moto", &list, may_install)?.join("bin/python"))
}

/// The program of a Redis 6.2.
pub(crate) fn old_redis(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(OLD_REDIS_LIST);
    Ok(python_with(commands, "old-redis", &list, may_install)?.join("bin/redis-server"))
}

/// An environment with what a list names.
fn python_with(commands: &Commands, kind: &str, list: &Path, may_install: bool) -> Result<PathBuf> {
    let recipe = recipe(commands, list, "python3")?;
    kept(commands, kind, &recipe, may_install, |directory| {
        commands.ask(commands.command("python3").args(["-m", "venv"]).arg(directory))?;
        let mut pip = commands.command(directory.join("bin/python"));
        commands.ask(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(list))
    })
}

/// The `node_modules` directory with the JavaScript libraries.
pub(crate) fn node(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(LISTS).join("package.json");
    let recipe = recipe(commands, &list, "node")?;
    let directory = kept(commands, "node", &recipe, may_install, |directory| {
        fs::copy(&list, directory.join("package.json"))?;
        let mut npm = commands.command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]);
        commands.ask(npm.current_dir(directory))
    })?;
    Ok(directory.join("node_modules"))
}

/// The teloxide check bot, built; nothing if this tree has none.
pub(crate) fn teloxide(commands: &Commands) -> Result<Option<PathBuf>> {
    let workspace = commands.environment.root.join("bench");
    if !workspace.join("bots").join(TELOXIDE_BOT).is_dir() {
        return Ok(None);
    }
    let target = commands.environment.cache.join("teloxide");
    let mut build = commands.cargo(&["build", "--locked", "--package", TELOXIDE_BOT]);
    commands.show(build.current_dir(&workspace).env("CARGO_TARGET_DIR", &target))?;
    let program = target.join("debug").join(TELOXIDE_BOT);
    ensure!(program.is_file(), "{} was built and yet is not there", program.display());
    Ok(Some(program))
}

/// A list of requirements together with the interpreter: an environment does not outlive either.
fn recipe(commands: &Commands, list: &Path, interpreter: &str) -> Result<String> {
    let wanted = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let program = commands.find(interpreter).with_context(|| format!("{interpreter} is missing"))?;
    let version = commands.ask(commands.command(&program).arg("--version"))?;
    Ok(format!("{} {version}{wanted}", program.display()))
}

fn kept(
    commands: &Commands,
    kind: &str,
    recipe: &str,
    may_install: bool,
    make: impl FnOnce(&Path) -> Result<String>,
) -> Result<PathBuf> {
    cache::kept(&commands.environment.cache, kind, recipe, &commands.interruption, |directory| {
        ensure!(may_install, "the {kind} libraries are not installed, and --no-install was given");
        println!("Installing the {kind} libraries into {}", directory.display());
        make(directory).map(drop)
    })
}
