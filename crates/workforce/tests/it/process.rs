//! `opora demo` as a process: what it prints, what it keeps, and how it ends.

mod data_folder;
mod demo_in_browser;
mod demo_language;
mod demo_process;
mod exposition;
mod metrics;
mod private_files;
