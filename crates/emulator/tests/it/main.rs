//! The emulator as its users meet it: over HTTP, with real clients. One binary, a module for each concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

use opora_testkit::stage;

mod chats;
mod clients;
mod faults;
mod groups;
mod hostile;
mod limits;
mod messages;
mod openapi;
mod polling;
mod read_back;
mod refusals;
mod restarts;
mod schema;
mod webhook;
