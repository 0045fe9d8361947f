//! Shifts: who plans to come, who works, what was done, and how it ended.
//!
//! The front door is [`Shifts`]. Every mark and every photo is in the database at once; closing writes the shift, its plan
//! and the amounts in one commit. What an amount comes to is the room of payroll.

pub mod tables;
