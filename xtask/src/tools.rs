//! Cargo's own additions that the checks need: installed privately, into the cache, if they are missing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::Commands;

/// What is installed where a tool is missing. Any version that is already there is used.
struct Tool {
    name: &'static str,
    version: &'static str,
    /// Which of its features are built.
    features: &'static [&'static str],
}

const TOOLS: [Tool; 2] = [
    Tool { name: "cargo-deny", version: "0.20.2", features: &[] },
    Tool {
        name: "cargo-nextest",
        version: "0.9.143",
        // It need not be able to update itself, which takes an HTTP client and half of the time to build.
        features: &["--no-default-features", "--features", "default-no-update"],
    },
];

/// Makes sure that every tool is on the search path; says what it did.
pub(crate) fn provide(commands: &Commands, may_install: bool) -> Result<String> {
    let missing: Vec<_> = TOOLS.iter().filter(|tool| commands.find(tool.name).is_none()).collect();
    if missing.is_empty() {
        return Ok(String::new());
    }
    let names = missing.iter().map(|tool| tool.name).collect::<Vec<_>>().join(" and ");
    ensure!(may_install, "{names} missing, and --no-install was given");
    println!("Building {names}: this takes some minutes, once.");
    // The tools have dependencies in common, so they are built in one place; afterwards it is only large.
    let building = commands.environment.cache.join("tools-building");
    for tool in missing {
        install(commands, tool, &building)?;
    }
    fs::remove_dir_all(&building).with_context(|| format!("cannot remove {}", building.display()))?;
    Ok(format!("installed {names}"))
}

/// Makes sure that a component of the toolchain (rustfmt, clippy) is there.
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

fn install(commands: &Commands, tool: &Tool, building: &Path) -> Result<()> {
    let Tool { name, version, features } = tool;
    // Somebody may be working on this machine meanwhile.
    let mut command = commands.command("nice");
    command.args(["-n", "19", "cargo", "install", "--locked", "--quiet", name, "--version", version]);
    command.args(*features).arg("--root").arg(commands.environment.cache.join("tools"));
    // The tools run for seconds: optimising them would take longer than it saves.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    commands.show(command.env("CARGO_TARGET_DIR", building))?;
    ensure!(commands.find(name).is_some(), "{name} was installed and yet is not found");
    Ok(())
}
