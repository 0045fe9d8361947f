//! Sites, contracts, and what managers may do there.

pub mod deleted;
mod managers_people;
pub mod permissions;
