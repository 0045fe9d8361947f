//! How to write, test and run a bot.
//!
//! 1. [First bot](first_bot): from an empty folder to a chat that survives `kill -9`.
//! 2. [States](states): names, versions, where a dialogue goes, buttons, Back, child dialogues, timers, failures.
//! 3. [Sending](sending): messages, edits, media, limits, broadcasts, and what "unsure" means.
//! 4. [Work outside](work_outside): effects, downloads, and the application's own tables.
//! 5. [Background jobs](jobs): queues, attempts, schedules.
//! 6. [Groups and other updates](groups): topics, who may press a button, channels, payments, edits, inline queries.
//! 7. [Testing](testing): a scripted chat, a manual clock, faults, crashes, golden files, a store of your own.
//! 8. [Stores](stores): which one to choose, what each promises, moving, server settings, TLS.
//! 9. [Going to production](production): the lease, webhooks, stopping, logs, metrics, operator commands.
//! 10. [Coming from aiogram](from_aiogram).
//! 11. [Coming from teloxide](from_teloxide).
//!
//! The code on these pages is compiled and, where possible, run as tests. The modules contain only documentation.

#[doc = include_str!("guide/first_bot.md")]
pub mod first_bot {}

#[doc = include_str!("guide/states.md")]
pub mod states {}

#[doc = include_str!("guide/sending.md")]
pub mod sending {}

#[doc = include_str!("guide/work_outside.md")]
pub mod work_outside {}

#[doc = include_str!("guide/jobs.md")]
pub mod jobs {}

#[doc = include_str!("guide/groups.md")]
pub mod groups {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/stores.md")]
pub mod stores {}

#[doc = include_str!("guide/production.md")]
pub mod production {}

#[cfg(feature = "aiogram")]
#[doc = include_str!("guide/from_aiogram.md")]
pub mod from_aiogram {}

#[doc = include_str!("guide/from_teloxide.md")]
pub mod from_teloxide {}
