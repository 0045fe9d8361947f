//! The emulator's chat page in a real browser.

mod dialogue;
mod hostile;
mod inspector;
mod preferences;
mod returning;
mod two_people;
