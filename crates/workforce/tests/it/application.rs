//! The application as a whole: its tables, its connections to the database, and what a room adds to it.

mod lost_connections;
mod rooms;
mod tables;
