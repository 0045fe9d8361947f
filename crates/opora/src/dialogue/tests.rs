//! Dialogues on a stage, and scripts with mistakes.

mod asked;
mod buttons;
mod checks;
mod lives;
mod moves;
mod others;
mod routing;
mod shapes;
mod trouble;
