//! The tables of this room.

pub use self::clients::{checklist_item, client, equipment, equipment_type, notice, price_item, recurrence};
pub use self::orders::{counter, history, offer, order, word};
pub use self::parts::{check, file, line, message, rating};

mod clients;
mod orders;
mod parts;
