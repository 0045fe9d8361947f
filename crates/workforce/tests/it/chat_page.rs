//! The emulator's chat page in a real browser.

pub mod dialogue;
mod hostile;
mod inspector;
mod preferences;
mod returning;
mod two_people;
