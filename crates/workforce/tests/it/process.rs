//! `opora demo` as a process: what it prints, what it keeps, and how it ends.

mod demo_language;
mod keeping;
mod private_files;
mod running;
