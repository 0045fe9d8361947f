//! Whether somebody asked for an end: Ctrl-C, a termination, a closed terminal.
//!
//! The signals only raise a flag. Whoever waits for something looks at it, so that what was started is always stopped
//! in the ordinary way; nothing is done in a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    pub(crate) fn watched() -> Result<Self> {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interruption.0)).context("cannot watch for signals")?;
        }
        Ok(interruption)
    }

    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For places that can simply give up.
    pub(crate) fn check(&self) -> Result<()> {
        if self.came() {
            bail!("interrupted");
        }
        Ok(())
    }
}
