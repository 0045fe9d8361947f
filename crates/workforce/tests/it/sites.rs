//! Sites, contracts, and what managers may do there.

mod broadcasts;
mod contract_commits;
mod contract_pages;
pub mod deleted_sites;
mod forms;
mod import;
mod managers_people;
pub mod permissions;
