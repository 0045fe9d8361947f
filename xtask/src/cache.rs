//! Directories with installed programs, kept between runs.
//!
//! The key of an entry is its recipe (the list of requirements, the version of the interpreter), so a changed recipe
//! makes a new entry. An incomplete entry is created again. Parallel runs create an entry once.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};

use crate::interruption::Interruption;
use crate::process::POLL_INTERVAL;

/// Written last. An entry without it is incomplete.
const FINISHED: &str = ".finished";

/// The directory of an entry. `make` fills it if it does not exist yet.
pub(crate) fn get_or_create(
    cache: &Path,
    kind: &str,
    recipe: &str,
    interruption: &Interruption,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let directory = cache.join(format!("{kind}-{:016x}", fingerprint(recipe)));
    let _lock = lock(&cache.join(format!("{kind}.lock")), interruption)?;
    if directory.join(FINISHED).exists() {
        return Ok(directory);
    }
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    fs::create_dir(&directory)?;
    make(&directory)?;
    fs::write(directory.join(FINISHED), recipe)?;
    Ok(directory)
}

fn lock(path: &Path, interruption: &Interruption) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => interruption.check()?,
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the cache"),
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// FNV-1a. The hasher of the standard library may change between releases, and with it the names of all entries.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn entry(cache: &Path, recipe: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        get_or_create(cache, "kind", recipe, &Interruption::default(), make)
    }

    #[test]
    fn an_entry_is_created_once() {
        let cache = tempfile::tempdir().unwrap();
        let first = entry(cache.path(), "a==1", |_| Ok(())).unwrap();
        let second = entry(cache.path(), "a==1", |_| Err(anyhow!("made twice"))).unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn a_changed_recipe_makes_another_entry() {
        let cache = tempfile::tempdir().unwrap();
        let first = entry(cache.path(), "a==1", |_| Ok(())).unwrap();
        let second = entry(cache.path(), "a==2", |_| Ok(())).unwrap();
        assert_ne!(first, second);
    }

    #[test]
    fn an_incomplete_entry_is_created_again() {
        let cache = tempfile::tempdir().unwrap();
        let failed = entry(cache.path(), "a==1", |directory| {
            fs::write(directory.join("half"), "")?;
            Err(anyhow!("cut short"))
        });
        assert!(failed.is_err());
        let directory = entry(cache.path(), "a==1", |directory| Ok(fs::write(directory.join("whole"), "")?)).unwrap();
        assert!(directory.join("whole").exists() && !directory.join("half").exists());
    }
}
