//! Sites and shifts: what the database keeps, what people do in the chat, and what comes of it.

mod invariants;
