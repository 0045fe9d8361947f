//! What commands share: questions before something is destroyed, and output for people and for programs.

pub use self::confirm::Consent;

mod confirm;
pub mod output;
