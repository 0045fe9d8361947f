//! Whether the run was interrupted: by Ctrl-C, a termination, or a closed terminal.
//!
//! The signals only set a flag. Every wait checks the flag, so that started programs are always stopped in the ordinary
//! way. Nothing is done in a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    pub(crate) fn watch() -> Result<Self> {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interruption.0)).context("cannot watch for signals")?;
        }
        Ok(interruption)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if the run was interrupted.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_interrupted() {
            bail!("interrupted");
        }
        Ok(())
    }
}
