//! Sites, contracts, and what managers may do there.

mod contract_pages;
pub mod deleted_sites;
mod forms;
mod managers_people;
pub mod permissions;
