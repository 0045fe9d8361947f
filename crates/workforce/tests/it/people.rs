//! People: their pages, their roles, and what is kept of them.

mod editing;
mod forgetting;
mod pages;
mod personal_data;
pub mod rights_at_commit;
mod two_owners;
