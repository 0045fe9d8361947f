//! Sites, contracts, and what managers may do there.

pub mod deleted_sites;
mod managers_people;
pub mod permissions;
