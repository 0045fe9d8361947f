//! Conversations of the real aiogram: every key and value that its storage writes is read, and it reads what is written.

mod imports;
mod layout;
