//! Conversations of the real aiogram: every key and value that its storage writes is read, and it reads what is written;
//! and both at work on one Redis.

mod imports;
mod layout;
mod live;
