//! Rules for dependencies: licences, sources, one version of each stack, and optional crates that a bot must not
//! compile by default.
//!
//! Everything is read from `cargo metadata` and `cargo tree`. Security advisories are not checked: their list has to be
//! downloaded, which is not possible everywhere.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::commands::Commands;

/// Crates of another TLS stack, which need a C library.
const BANNED: [&str; 3] = ["native-tls", "openssl", "openssl-sys"];
/// Crates that must have one version: two would mean two runtimes, two pools or incompatible types. Small crates may
/// have several versions.
const ONE_VERSION: [&str; 8] = ["axum", "hyper", "redis", "reqwest", "rustls", "sqlx", "sqlx-core", "tokio"];
/// Permissive licences only.
const LICENCES: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// Crates with another accepted licence. That of `frankenstein` demands nothing.
const EXCEPTIONS: [(&str, &str); 1] = [("frankenstein", "WTFPL")];
/// Crates that a bot compiles only with a feature of the library.
const OPT_IN: [&str; 2] = ["redis", "sqlx-postgres"];

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// None for the members of this workspace.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<String>,
}

/// Checks all dependencies; returns a summary with their number.
pub(crate) fn check(commands: &Commands) -> Result<String> {
    let asked = ["metadata", "--format-version", "1", "--locked", "--all-features", "--quiet"];
    let metadata = commands.ask(&mut commands.cargo(&asked))?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("`cargo metadata` is not understood")?;
    let mut complaints = complaints(&metadata.packages);
    let listed = ["tree", "--locked", "--quiet", "--package", "opora", "--edges", "normal", "--prefix", "none"];
    complaints.extend(unrequested(&commands.ask(&mut commands.cargo(&listed))?));
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(format!("{} crates", metadata.packages.len()))
}

fn complaints(packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for package in packages {
        let Package { name, version, .. } = package;
        versions.entry(name).or_default().insert(version);
        if BANNED.contains(&name.as_str()) {
            complaints.push(format!("{name} is banned: there is one TLS stack, rustls"));
        }
        match &package.source {
            None => complaints.extend(wildcards(package)),
            Some(source) => {
                sources.insert(source);
                if !source.starts_with("registry+") {
                    complaints.push(format!("{name} {version} does not come from the registry but from {source}"));
                }
                if !is_permissive(package) {
                    let licence = package.license.as_deref().unwrap_or("none");
                    complaints.push(format!("{name} {version} has a licence that is not on the list: {licence}"));
                }
            }
        }
    }
    if sources.len() > 1 {
        complaints.push(format!("dependencies come from several sources: {sources:?}"));
    }
    for name in ONE_VERSION {
        let found = versions.get(name).into_iter().flatten().copied().collect::<Vec<_>>();
        if found.len() > 1 {
            complaints.push(format!("{name} is there in several versions: {}", found.join(", ")));
        }
    }
    complaints
}

/// Opt-in crates that the library compiles without a feature. `tree` has one crate per line, its name first.
fn unrequested(tree: &str) -> Vec<String> {
    let names: BTreeSet<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let found = OPT_IN.into_iter().filter(|name| names.contains(name));
    found.map(|name| format!("opora brings {name} without any of its features")).collect()
}

/// Dependencies of a member that accept any version.
fn wildcards(member: &Package) -> impl Iterator<Item = String> {
    let any = member.dependencies.iter().filter(|dependency| dependency.req == "*" && dependency.path.is_none());
    any.map(|dependency| format!("{} accepts any version of {}", member.name, dependency.name))
}

fn is_permissive(package: &Package) -> bool {
    let Some(licence) = &package.license else { return false };
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else { return false };
    expression.evaluate(|requirement| {
        let wanted = requirement.to_string();
        let is_excepted = EXCEPTIONS.contains(&(&package.name, &wanted));
        is_excepted || LICENCES.contains(&wanted.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+index";

    fn package(name: &str, version: &str, licence: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: (!licence.is_empty()).then(|| licence.to_owned()),
            source: Some(REGISTRY.to_owned()),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn permissive_licences_pass_however_they_are_written() {
        let licences = ["MIT OR Apache-2.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "MIT OR GPL-3.0"];
        for licence in licences {
            assert_eq!(complaints(&[package("a", "1.0.0", licence)]), [""; 0], "{licence}");
        }
        assert_eq!(complaints(&[package("frankenstein", "1.0.0", "WTFPL")]), [""; 0]);
    }

    #[test]
    fn other_licences_are_refused() {
        for licence in ["GPL-3.0", "MIT AND GPL-3.0", "WTFPL", "Something-1.0", ""] {
            assert_eq!(complaints(&[package("a", "1.0.0", licence)]).len(), 1, "{licence}");
        }
    }

    #[test]
    fn a_stack_has_one_version() {
        let twice = |name| complaints(&[package(name, "1.0.0", "MIT"), package(name, "2.0.0", "MIT")]);
        assert_eq!(twice("hyper"), ["hyper is there in several versions: 1.0.0, 2.0.0"]);
        assert_eq!(twice("small"), [""; 0]);
    }

    #[test]
    fn banned_crates_and_other_sources_are_refused() {
        assert_eq!(complaints(&[package("openssl", "1.0.0", "MIT")]).len(), 1);
        let from_git = Package { source: Some("git+somewhere".to_owned()), ..package("a", "1.0.0", "MIT") };
        assert_eq!(complaints(&[from_git]).len(), 1);
        let elsewhere = Package { source: Some("registry+other".to_owned()), ..package("b", "1.0.0", "MIT") };
        assert_eq!(complaints(&[package("a", "1.0.0", "MIT"), elsewhere]).len(), 1);
    }

    #[test]
    fn an_opt_in_crate_is_not_compiled_by_default() {
        assert_eq!(unrequested("opora v0.1.0 (/opora)\nsqlx v0.9.0\nredis-of-others v1.0.0 (*)\n"), [""; 0]);
        assert_eq!(unrequested("opora v0.1.0\nredis v1.8.0 (*)\n"), ["opora brings redis without any of its features"]);
    }

    #[test]
    fn a_member_names_the_versions_it_needs() {
        let any = Dependency { name: "b".to_owned(), req: "*".to_owned(), path: None };
        let member = Package { source: None, dependencies: vec![any], ..package("a", "1.0.0", "MIT") };
        assert_eq!(complaints(&[member]), ["a accepts any version of b"]);
    }
}
