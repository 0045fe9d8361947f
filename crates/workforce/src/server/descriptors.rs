//! The number of connections, by the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the bot: its database, its store, Telegram, downloads, the log.
const RESERVED: u64 = 256;
/// A connection may have one file open besides its socket.
const PER_CONNECTION: u64 = 2;
/// Enough for every sensible setting. A higher limit only slows down code that visits every descriptor.
const MAX_DESCRIPTORS: u64 = 65_536;
/// Minimum of connections.
const MIN_CONNECTIONS: u64 = 16;

/// Raises the limit of open files as far as possible and useful; returns the limit.
pub fn raise_descriptor_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let now = current.unwrap_or(u64::MAX);
    let wanted = maximum.unwrap_or(u64::MAX).min(MAX_DESCRIPTORS);
    if wanted <= now {
        return now;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => wanted,
        Err(_) => now,
    }
}

/// The wanted connections, or fewer if the bot would lack files and sockets.
pub fn connections_for(descriptors: u64, wanted: usize) -> usize {
    let max_connections = (descriptors.saturating_sub(RESERVED) / PER_CONNECTION).max(MIN_CONNECTIONS);
    usize::try_from(max_connections).unwrap_or(usize::MAX).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_bot() {
        for (descriptors, wanted, max_connections) in
            [(1024, 4096, 384), (65_536, 4096, 4096), (100, 4096, 16), (u64::MAX, 4096, 4096), (1024, 10, 10)]
        {
            assert_eq!(connections_for(descriptors, wanted), max_connections, "{descriptors}");
        }
    }
}
