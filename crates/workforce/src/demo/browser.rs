//! Opens the demo's chat page in a browser.
//!
//! Only at a terminal, on a machine with a display. A failure is silent: the welcome shows the link.

use std::io::IsTerminal;
use std::process::Stdio;

use tokio::process::Command;

use crate::config;

/// Opens a page, if there is a browser.
pub fn open(url: &str) {
    let is_terminal = std::io::stdout().is_terminal();
    let Some(program) = program(is_terminal, config::has_display()) else { return };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its own process group: Ctrl-C in the terminal stops the demo and leaves the browser open.
    let _ = command.process_group(0).spawn();
}

/// The program that opens a page in the user's browser.
const fn program(is_terminal: bool, has_display: bool) -> Option<&'static str> {
    match (is_terminal, cfg!(target_os = "macos"), has_display) {
        (false, ..) | (_, false, false) => None,
        (_, true, _) => Some("open"),
        (_, false, true) => Some("xdg-open"),
    }
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::program;

    #[test]
    fn a_browser_needs_a_terminal_and_a_display() {
        assert_eq!(program(true, true), Some("xdg-open"));
        for (is_terminal, has_display) in [(true, false), (false, true), (false, false)] {
            assert_eq!(program(is_terminal, has_display), None);
        }
    }
}
