//! Telegram bots that never forget.
//!
//! A dialogue is an enum of states and plain functions that handle inputs. Every turn is a transaction: the person's
//! message, the new state, the bot's messages and the application's writes become durable together or not at all. If
//! the process dies, the next one continues from there.
//!
//! ```text
//!             one durable write,        one conversation,         one durable step:          in order per chat,
//!             then acknowledged         one turn at a time        all of it or nothing       below the limits
//!                    │                         │                         │                          │
//! Telegram ──▶ intake ──▶ inbox ──▶ mailbox ──▶ turn ──▶ handler ──▶ commit ──▶ outbox ──▶ courier ──▶ Telegram
//!          polling or                  ▲        state in,      │
//!          webhook                     │        output out     ├──▶ timers ──▶ schedule ──┐
//!                                      │                       └──▶ effects ─▶ workers ───┤
//!                                      └──────────────────────────────────────────────────┘
//!                                        their results are inputs like any other
//! ```
//!
//! # The smallest bot
//!
//! ```
//! use opora::prelude::*;
//!
//! #[derive(Clone, Serialize, Deserialize, States)]
//! enum Greeting {
//!     Name,
//!     Age(Age),
//! }
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Age {
//!     name: String,
//! }
//!
//! async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> {
//!     turn.say("What is your name?");
//!     Ok(Next::Go(Greeting::Name))
//! }
//!
//! async fn name(turn: &mut Turn, name: String) -> Step<Greeting> {
//!     turn.say("How old are you?");
//!     Ok(Next::Go(Greeting::Age(Age { name })))
//! }
//!
//! async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Greeting> {
//!     turn.say(format!("{} is {age}.", state.name));
//!     Ok(Next::End)
//! }
//!
//! async fn run(token: String) -> Result<(), BoxError> {
//!     let greeting = Dialogue::new().start(command("start"), start);
//!     let greeting = greeting.on(Greeting::NAME, text(), name).on(Greeting::AGE, text(), age);
//! #   if token.is_empty() { return talk(greeting).await; }
//!     let store = opora::store::open("sqlite:greeting.db").await?;
//!     Ok(Bot::new(token).store(store).dialogue(greeting).run().await?)
//! }
//! # // The same dialogue, talked to without Telegram.
//! # async fn talk(greeting: Dialogue<Greeting>) -> Result<(), BoxError> {
//! #     let stage = opora::testing::chat::Stage::new(greeting);
//! #     let anna = stage.person("Anna");
//! #     anna.sends("/start").await;
//! #     anna.sees("What is your name?");
//! #     anna.sends("Anna").await;
//! #     anna.sees("How old are you?");
//! #     let anna = anna.on(&stage.restart().await);
//! #     anna.sends("30").await;
//! #     anna.sees("Anna is 30.");
//! #     assert_eq!(anna.state().await, None);
//! #     Ok(())
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { run(String::new()).await.unwrap() }
//! ```
//!
//! Continue with the [guide].
//!
//! # What is promised
//!
//! - **Nothing is lost.** An update is acknowledged to Telegram only when it is durable: its turn has committed, or it
//!   is in the inbox.
//! - **Nothing happens twice.** An update that Telegram delivers again is recognised. A press on an outdated button, or
//!   a second tap, is answered politely and changes nothing.
//! - **A turn is atomic.** The new state, messages, timers, effects, the record of the transition, the application's
//!   SQL and the mark of the update commit together or not at all.
//! - **One turn at a time.** Turns of one conversation run in order. A slow conversation does not delay others.
//! - **Messages are sent.** They leave after the commit, in order within a chat, below Telegram's limits, and survive
//!   restarts. A chat that Telegram slows down delays no other chat.
//! - **Old states can be read.** A state carries the version of its shape, and code upgrades it. A state that cannot be
//!   read is parked and shown to the operator, never dropped.
//! - **Failures are isolated.** A handler that fails, panics or hangs is retried, and then its turn is parked for the
//!   operator. The person is told and keeps their answers.
//! - **One instance leads.** Others stand by. The writes of a former leader are refused.
//!
//! # What is not promised
//!
//! - Telegram has no transactions. If the process dies or the connection breaks during a send, the message is sent
//!   again. [`Say::drop_if_unsure`](telegram::Say::drop_if_unsure) drops it instead. Effects, too, run at least once,
//!   with the same key each time.
//! - A handler may run more than once for one input. What it does outside of its [`Turn`](turn::Turn), such as a
//!   network call, is neither undone nor recorded. Use [effects] for that.
//! - The memory store is for tests and experiments: it loses everything when the process ends, and it has no SQL.
//! - There is no order between chats.
//! - There is no second copy: if the disk fails, the SQLite file is lost. Make backups.
//!
//! # Features
//!
//! The memory and SQLite stores are always there. No feature is on by default:
//!
//! | feature | what it brings |
//! |---|---|
//! | `postgres` | the store on PostgreSQL, with TLS |
//! | `redis` | the store on Redis, with TLS; its journal; Redis with an SQL database |
//! | `aiogram` | the module `aiogram` and the store on aiogram's keys; implies `redis` |
//!
//! # Modules, in the order of the data flow
//!
//! | module | what is there |
//! |---|---|
//! | [`guide`] | how to write, test and run a bot; coming from aiogram and teloxide |
//! | [`prelude`] | the names that most bots need |
//! | [`bot`] | a bot and its settings; starting and stopping; posting outside of turns; the webhook |
//! | [`update`], [`key`] | an update as Telegram sends it, and the key of its conversation |
//! | [`input`] | the inputs of a dialogue, and the kinds by which handlers are registered |
//! | [`dialogue`] | states, handlers, the next state; the script of all dialogues |
//! | [`turn`] | what a handler reads, and the output of its turn |
//! | [`store`] | where a turn becomes durable: memory, SQLite, PostgreSQL, Redis, or a store of your own |
//! | [`outbox`] | send limits, send events, broadcasts |
//! | [`telegram`] | messages, buttons, edits, files, escaping; the Bot API client |
//! | [`effects`] | work outside of turns; downloads |
//! | [`jobs`] | durable background jobs: queues, attempts, schedules |
//! | [`aiogram`] | import of conversations from aiogram bots |
//! | [`instance`] | the lease: leader and standby |
//! | [`clock`] | the only module that reads the time |
//! | [`metrics`](mod@metrics) | the list of all metrics |
//! | [`testing`] | a scripted chat, golden files, a faulty store, the conformance suite |
//! | [`failpoints`] | named places where a test pauses or kills the process |
#![warn(missing_docs)]
// The documentation links to items that exist only with some features.
#![cfg_attr(not(all(feature = "aiogram", feature = "postgres")), allow(rustdoc::broken_intra_doc_links))]

// The derive macro refers to `::opora`, also inside this crate.
extern crate self as opora;

pub use opora_derive::States;

pub mod guide;
pub mod prelude;

pub mod bot;

// Before the turn.
mod intake;

pub mod update;

pub mod key;

mod mailbox;

// The turn.

mod engine;

pub mod input;

pub mod dialogue;

pub mod turn;

// Stores share code that a build without some stores uses only in part. A build with all stores has no dead code.
#[cfg_attr(not(all(feature = "aiogram", feature = "postgres")), allow(dead_code))]
pub mod store;

// After the turn.
pub mod outbox;

pub mod telegram;

// Results that become inputs.
pub mod effects;

pub mod jobs;

mod schedule;

// Data of other frameworks.
#[cfg(feature = "aiogram")]
pub mod aiogram;

// Everything else.
mod backlog;
pub mod clock;
pub mod instance;
pub mod metrics;
mod progress;
mod rate_limit;
mod tls_provider;

pub mod failpoints;
pub mod testing;
