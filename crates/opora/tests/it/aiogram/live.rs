//! A store on aiogram's own keys.
//!
//! What a store must do is tested with keys that a test writes; what two bots do together, with the real aiogram.

mod both;
mod keys;
mod locks;
mod operator;
mod python;
mod together;
