//! A hash that is the same in all versions and on all machines, for names and partitions that outlive a process.

/// FNV-1a.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
