//! The only module of this crate that reads the environment.
//!
//! It reads the environment once, at the start.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Settings from the environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The workspace's root.
    pub root: PathBuf,
    /// Where cargo builds.
    pub target: PathBuf,
    /// Where installed tools and client libraries are kept between runs.
    pub cache: PathBuf,
    /// The search path, with the privately installed tools at its end.
    pub search_path: OsString,
    /// A Redis to test with instead of a private one.
    pub given_redis_url: Option<String>,
    /// A PostgreSQL to test with instead of a private one.
    pub given_database_url: Option<String>,
    /// Whether this is a run of continuous integration, which starts with nothing built.
    pub is_ci: bool,
    /// Variables that cargo set for this program, and that a cargo started here must not inherit.
    pub cargo_variables: Vec<OsString>,
}

impl Environment {
    pub(crate) fn read() -> Result<Self> {
        let cache = cache_directory()?;
        let root = workspace_root()?;
        Ok(Self {
            target: given_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target)),
            root,
            search_path: search_path(&cache)?,
            cache,
            given_redis_url: given("TEST_REDIS_URL"),
            given_database_url: given("TEST_DATABASE_URL"),
            is_ci: given("CI").is_some(),
            cargo_variables: env::vars_os().map(|(name, _)| name).filter(|name| is_cargo_variable(name)).collect(),
        })
    }
}

fn workspace_root() -> Result<PathBuf> {
    // The variable at run time comes first: a shared target directory may hold a binary of another clone.
    let here = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&here).parent().context("xtask lies directly under the workspace's root")?;
    Ok(root.to_path_buf())
}

fn cache_directory() -> Result<PathBuf> {
    if let Some(chosen) = given_os("OPORA_CACHE") {
        return std::path::absolute(chosen).context("OPORA_CACHE is no path");
    }
    if let Some(caches) = given_os("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(caches).join("opora"));
    }
    let home = env::home_dir().context("no home directory: set OPORA_CACHE to a directory for installed tools")?;
    Ok(home.join(".cache").join("opora"))
}

fn search_path(cache: &Path) -> Result<OsString> {
    let given = env::var_os("PATH").unwrap_or_default();
    let own = [cache.join("tools").join("bin"), PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")];
    env::join_paths(env::split_paths(&given).chain(own)).context("the cache directory's name contains a colon")
}

/// Build scripts watch these variables. If they change, cargo runs the scripts again and rebuilds much.
fn is_cargo_variable(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|p| name.starts_with(p))
}

fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn given_os(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
