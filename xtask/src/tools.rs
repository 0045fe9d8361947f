//! Tools that the checks need besides cargo. Missing ones are installed into the cache.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::Commands;

/// The test runner. An installed version is used, whatever it is.
const NEXTEST: &str = "cargo-nextest";
const NEXTEST_VERSION: &str = "0.9.143";

/// Installs the test runner if it is missing; returns what was installed.
pub(crate) fn provide(commands: &Commands, may_install: bool) -> Result<String> {
    if commands.find(NEXTEST).is_some() {
        return Ok(String::new());
    }
    ensure!(may_install, "{NEXTEST} is missing, and --no-install was given");
    println!("Building {NEXTEST}: this takes some minutes, once.");
    let building = commands.environment.cache.join("tools-building");
    install(commands, &building)?;
    // The build directory is large and not needed again.
    fs::remove_dir_all(&building).with_context(|| format!("cannot remove {}", building.display()))?;
    Ok(format!("installed {NEXTEST}"))
}

/// Installs a component of the toolchain (rustfmt, clippy) if it is missing.
pub(crate) fn provide_component(commands: &Commands, component: &str, may_install: bool) -> Result<()> {
    let subcommand = component.trim_start_matches("rust");
    if commands.succeeds(&mut commands.cargo(&[subcommand, "--version"])) {
        return Ok(());
    }
    if !may_install || commands.find("rustup").is_none() {
        bail!("{component} is missing; with rustup: `rustup component add {component}`");
    }
    commands.show(commands.command("rustup").args(["component", "add", component]))
}

fn install(commands: &Commands, building: &Path) -> Result<()> {
    // Low priority: other work on this machine goes first.
    let mut command = commands.command("nice");
    command.args(["-n", "19", "cargo", "install", "--locked", "--quiet", NEXTEST, "--version", NEXTEST_VERSION]);
    // Without self-update, which needs an HTTP client and half of the build time.
    command.args(["--no-default-features", "--features", "default-no-update"]);
    command.arg("--root").arg(commands.environment.cache.join("tools"));
    // It only starts other programs, so full optimisation would take longer than it saves.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    commands.show(command.env("CARGO_TARGET_DIR", building))?;
    ensure!(commands.find(NEXTEST).is_some(), "{NEXTEST} was installed, but is not found");
    Ok(())
}
