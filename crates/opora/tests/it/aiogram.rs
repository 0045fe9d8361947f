//! Conversations of the real aiogram: both sides read all keys and values that the other writes, and both work on one
//! Redis.

mod imports;
mod layout;
mod live;
