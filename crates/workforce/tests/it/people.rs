//! People: their pages, their roles, and what is kept of them.

mod forgetting;
mod leaving;
mod pages;
mod rights_at_commit;
mod two_owners;
