//! System packages that the tests need: found by their programs, installed with apt if they are missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::{Commands, command_line};

/// A Debian package, and a check whether its programs are installed, from any source.
struct Package {
    name: &'static str,
    is_installed: fn(&Commands) -> bool,
}

const PACKAGES: [Package; 8] = [
    Package { name: "redis-server", is_installed: |commands| commands.find("redis-server").is_some() },
    Package { name: "openssl", is_installed: |commands| commands.find("openssl").is_some() },
    Package { name: "postgresql", is_installed: |commands| postgres_programs(commands).is_some() },
    Package { name: "chromium", is_installed: |commands| commands.find("chromium").is_some() },
    Package { name: "chromium-driver", is_installed: |commands| commands.find("chromedriver").is_some() },
    Package { name: "nodejs", is_installed: |commands| commands.find("node").is_some() },
    Package { name: "npm", is_installed: |commands| commands.find("npm").is_some() },
    Package { name: "python3-venv", is_installed: has_venv },
];

/// Installs missing packages; returns what was installed.
pub(crate) fn provide(commands: &Commands, may_install: bool) -> Result<String> {
    let missing: Vec<_> = PACKAGES.iter().filter(|package| !(package.is_installed)(commands)).map(|p| p.name).collect();
    if missing.is_empty() {
        return Ok(String::new());
    }
    let names = missing.join(" ");
    let advice = format!("missing: {names}. Install by hand: apt-get install {names}");
    ensure!(may_install, "--no-install was given; {advice}");
    ensure!(commands.find("apt-get").is_some(), "no apt-get here; {advice}");
    let is_root = rustix::process::geteuid().is_root();
    ensure!(is_root || commands.find("sudo").is_some(), "neither root nor sudo; {advice}");

    println!("Installing {names}");
    if let Err(error) = commands.ask(&mut apt_get(commands, is_root, &["update"])) {
        // A broken package source may not matter; the installation below shows.
        println!("{error:#}");
    }
    let mut install = apt_get(commands, is_root, &["install", "--yes", "--no-install-recommends"]);
    install.args(&missing);
    println!("{}", command_line(&install));
    commands.ask(&mut install).context(advice)?;
    let still: Vec<_> = PACKAGES.iter().filter(|package| !(package.is_installed)(commands)).map(|p| p.name).collect();
    ensure!(still.is_empty(), "installed, but not found: {}", still.join(" "));
    Ok(format!("installed {names}"))
}

/// The directory with `initdb` and `postgres`. Debian keeps them off the search path.
pub(crate) fn postgres_programs(commands: &Commands) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<_> =
        versions.map(|version| version.path().join("bin")).filter(|bin| holds_postgres(bin)).collect();
    debian.sort_by_key(|bin| version_of(bin));
    let on_path = || commands.find("initdb")?.canonicalize().ok()?.parent().map(Path::to_path_buf);
    debian.pop().or_else(|| on_path().filter(|bin| holds_postgres(bin)))
}

fn holds_postgres(bin: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| bin.join(program).is_file())
}

fn version_of(bin: &Path) -> Option<u32> {
    bin.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Debian packages Python without `venv`.
fn has_venv(commands: &Commands) -> bool {
    commands.succeeds(commands.command("python3").args(["-c", "import venv, ensurepip"]))
}

fn apt_get(commands: &Commands, is_root: bool, arguments: &[&str]) -> Command {
    // Without these options, a question about a password or a configuration file would wait forever.
    let mut command = commands.command(if is_root { "env" } else { "sudo" });
    if !is_root {
        command.args(["--non-interactive", "env"]);
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]).args(arguments);
    command
}
