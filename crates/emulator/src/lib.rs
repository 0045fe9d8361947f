//! A Telegram Bot API emulator: bots of any language talk to it as to Telegram, people by a page or by JSON.
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
//! - [`people`]: the other side of the chat, for people and tests;
//! - [`page`]: the chat page in the browser;
//! - [`hosts`]: which host names are served;
//! - [`journal`]: what keeps a world over restarts.
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
pub mod hosts;
pub mod journal;
pub mod page;
pub mod people;
mod server;
pub mod text;
pub mod token;
pub mod world;

pub use emulator::{Bot, Emulator, Settings, worker_threads};
pub use hosts::AllowedHosts;
pub use world::limit::Limits;
