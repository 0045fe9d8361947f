//! How many connections there may be, by the files that the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the bot: its database, its store, Telegram, downloads, the log.
const RESERVED: u64 = 256;
/// A connection may have one file open besides itself.
const PER_CONNECTION: u64 = 2;
/// Enough for every setting that makes sense. A higher limit would only slow down what looks at every descriptor.
const WANTED: u64 = 65_536;
/// Fewer would be no server.
const LEAST: u64 = 16;

/// Raises the limit of open files as far as the system allows it and it is of use; answers the limit.
pub fn raise_descriptor_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let now = current.unwrap_or(u64::MAX);
    let wanted = maximum.unwrap_or(u64::MAX).min(WANTED);
    if wanted <= now {
        return now;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => wanted,
        Err(_) => now,
    }
}

/// As many of the wanted connections as leave the bot the files and sockets that it needs.
pub fn connections_within(descriptors: u64, wanted: usize) -> usize {
    let most = (descriptors.saturating_sub(RESERVED) / PER_CONNECTION).max(LEAST);
    usize::try_from(most).unwrap_or(usize::MAX).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_their_files_leave_some_for_the_bot() {
        for (descriptors, wanted, most) in
            [(1024, 4096, 384), (65_536, 4096, 4096), (100, 4096, 16), (u64::MAX, 4096, 4096), (1024, 10, 10)]
        {
            assert_eq!(connections_within(descriptors, wanted), most, "{descriptors}");
        }
    }
}
