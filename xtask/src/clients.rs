//! Client libraries of other languages, with which the emulator is tested, an S3 server, and an old Redis.
//!
//! Each has its own environment in the cache. Nothing is installed into the system or the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::cache;
use crate::commands::Commands;

/// The directory with the lists of requirements.
const LISTS: &str = "crates/emulator/tests/clients";
/// The requirements of the S3 server.
const STORAGE_LIST: &str = "crates/workforce/tests/servers/requirements.txt";
/// The requirements for Redis 6.2, the oldest supported version.
const OLD_REDIS_LIST: &str = "crates/opora/tests/servers/requirements.txt";
/// The jobs of the comparison with Celery.
pub(crate) const CELERY: &str = "bench/celery";
/// The teloxide bot is in the workspace of the benchmark, because it uses another framework.
const TELOXIDE_BOT: &str = "teloxide-walk";

/// The interpreter of an environment with the Python libraries.
pub(crate) fn python(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(LISTS).join("requirements.txt");
    Ok(python_with(commands, "python", &list, may_install)?.join("bin/python"))
}

/// The interpreter of an environment with the S3 server.
pub(crate) fn moto(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(STORAGE_LIST);
    Ok(python_with(commands, "moto", &list, may_install)?.join("bin/python"))
}

/// The interpreter of an environment with Celery.
pub(crate) fn celery(commands: &Commands) -> Result<PathBuf> {
    let list = commands.environment.root.join(CELERY).join("requirements.txt");
    Ok(python_with(commands, "celery", &list, true)?.join("bin/python"))
}

/// The server program of Redis 6.2.
pub(crate) fn old_redis(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(OLD_REDIS_LIST);
    Ok(python_with(commands, "old-redis", &list, may_install)?.join("bin/redis-server"))
}

/// An environment with the packages of a list.
fn python_with(commands: &Commands, kind: &str, list: &Path, may_install: bool) -> Result<PathBuf> {
    let recipe = recipe(commands, list, "python3")?;
    installed(commands, kind, &recipe, may_install, |directory| {
        commands.ask(commands.command("python3").args(["-m", "venv"]).arg(directory))?;
        let mut pip = commands.command(directory.join("bin/python"));
        commands.ask(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(list))
    })
}

/// The `node_modules` directory with the JavaScript libraries.
pub(crate) fn node(commands: &Commands, may_install: bool) -> Result<PathBuf> {
    let list = commands.environment.root.join(LISTS).join("package.json");
    let recipe = recipe(commands, &list, "node")?;
    let directory = installed(commands, "node", &recipe, may_install, |directory| {
        fs::copy(&list, directory.join("package.json"))?;
        let mut npm = commands.command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]);
        commands.ask(npm.current_dir(directory))
    })?;
    Ok(directory.join("node_modules"))
}

/// Builds the teloxide bot; none if this tree does not have it.
pub(crate) fn teloxide(commands: &Commands) -> Result<Option<PathBuf>> {
    let workspace = commands.environment.root.join("bench");
    if !workspace.join("bots").join(TELOXIDE_BOT).is_dir() {
        return Ok(None);
    }
    let target = commands.environment.cache.join("teloxide");
    let mut build = commands.cargo(&["build", "--locked", "--package", TELOXIDE_BOT]);
    commands.show(build.current_dir(&workspace).env("CARGO_TARGET_DIR", &target))?;
    let program = target.join("debug").join(TELOXIDE_BOT);
    ensure!(program.is_file(), "{} was built, but does not exist", program.display());
    Ok(Some(program))
}

/// The key of an environment: the list of requirements and the interpreter.
fn recipe(commands: &Commands, list: &Path, interpreter: &str) -> Result<String> {
    let wanted = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let program = commands.find(interpreter).with_context(|| format!("{interpreter} is missing"))?;
    let version = commands.ask(commands.command(&program).arg("--version"))?;
    Ok(format!("{} {version}{wanted}", program.display()))
}

/// The cache entry of a recipe, installed if it is missing.
fn installed(
    commands: &Commands,
    kind: &str,
    recipe: &str,
    may_install: bool,
    make: impl FnOnce(&Path) -> Result<String>,
) -> Result<PathBuf> {
    cache::get_or_create(&commands.environment.cache, kind, recipe, &commands.interruption, |directory| {
        ensure!(may_install, "the {kind} libraries are not installed, and --no-install was given");
        println!("Installing the {kind} libraries into {}", directory.display());
        make(directory).map(drop)
    })
}
