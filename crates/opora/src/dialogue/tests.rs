//! Dialogues in a scripted chat, and scripts with mistakes.

mod buttons;
mod checks;
mod expiry;
mod interruptions;
mod others;
mod requested_inputs;
mod routing;
mod transitions;
mod upgrades;
