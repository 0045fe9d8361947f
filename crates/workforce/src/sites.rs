//! Sites: where people work, the times for which people are wanted there, what is to be done, and by which contract.
//!
//! The front door is [`Sites`]. What two people edit at once has a version: whoever comes second is told, and nothing is
//! lost silently. What is deleted can come back. Who comes when, and what came of it, is the room of [shifts](crate::shifts).

pub use self::records::{AboutSite, AboutSlot, AboutTask, KOPECKS_MOST, Site, Slot, Task, is_price};
pub use self::rules::{Hours, Period, Position, WorkingDays, local, monday_of};
pub use self::why::{NotDone, Why, kept};

mod records;
mod rules;
pub mod tables;
mod why;
