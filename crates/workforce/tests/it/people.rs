//! People: their pages, their roles, and what is kept of them.

mod leaving;
mod pages;
mod two_owners;
