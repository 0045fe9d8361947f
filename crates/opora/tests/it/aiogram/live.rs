//! A store on aiogram's own keys.
//!
//! Properties of the store are tested with keys that a test writes, two bots together with the real aiogram.

mod keys;
mod locks;
mod operator;
mod python;
mod together;
mod two_bots;
