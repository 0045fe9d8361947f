//! The emulator's chat page in a real browser.

mod dialogue;
mod hostile;
mod inspector;
mod preferences;
mod reconnect;
mod two_people;
