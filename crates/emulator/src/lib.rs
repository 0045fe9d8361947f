//! A Telegram Bot API emulator. Bots in any language use it like Telegram; people use a web page or a JSON API.
//!
//! ```text
//!  bot ── /bot<token>/<method> ──▶ bot_api ──▶ world ◀── people ◀── /client/<token>/… ── page, tests, scripts
//!  bot ◀── getUpdates, webhook ── delivery ◀──── ┘ └────▶ events ──▶ WebSocket
//! ```
//!
//! - [`bot_api`]: reads a call, finds its method, answers as Telegram would;
//! - [`text`]: parse modes and entities;
//! - [`world`]: one bot's people, chats, messages, files and waiting updates, behind one lock;
//! - [`delivery`]: long polling and webhooks;
//! - [`people`]: the JSON API of the other side of the chat, for the page, tests and scripts;
//! - [`page`]: the chat page in the browser;
//! - [`hosts`]: which host names are served;
//! - [`event_log`]: the file that brings a world back after a restart.
//!
//! The crate knows nothing of the bots it serves. Start one with [`Emulator`]:
//!
//! ```no_run
//! # async fn start() -> std::io::Result<()> {
//! let emulator = opora_emulator::Emulator::new(opora_emulator::Settings::default())?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
//! axum::serve(listener, emulator.router()).await
//! # }
//! ```

pub mod bot_api;
pub mod clock;
pub mod delivery;
mod emulator;
pub mod event_log;
pub mod hosts;
pub mod page;
pub mod people;
mod server;
pub mod text;
pub mod token;
pub mod world;

pub use emulator::{Bot, Emulator, Settings, worker_threads};
pub use hosts::AllowedHosts;
pub use world::limit::Limits;
